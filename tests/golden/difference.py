"""How two golden answers differ, in a line for each value."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any


def differences(before: str, now: str, tolerance: float = 0.0) -> Iterator[str]:
    """Every value that differs, with where it is; numbers by more than a share ``tolerance``."""
    old, new = (entries(text) for text in (before, now))
    for place in dict.fromkeys([*old, *new]):
        if place not in old or place not in new:
            yield f"{place}: only {'before' if place in old else 'now'}"
            continue
        for where, was, is_now in _values(old[place], new[place]):
            if not _same(was, is_now, tolerance):
                yield f"{place}{where}: {was} -> {is_now}{_by(was, is_now)}"


def entries(text: str) -> dict[str, Any]:
    """By part and key the value of every line."""
    found = {}
    for line in text.splitlines():
        part, key, value = line.split(" | ", 2)
        found[f"{part} | {key}"] = json.loads(value)
    return found


def _values(was: Any, is_now: Any, where: str = "") -> Iterator[tuple[str, Any, Any]]:
    """The leaves of two values of the same shape; where the shapes differ, the whole."""
    if isinstance(was, dict) and isinstance(is_now, dict):
        for key in dict.fromkeys([*was, *is_now]):
            yield from _values(was.get(key), is_now.get(key), f"{where}.{key}")
    elif isinstance(was, list) and isinstance(is_now, list) and len(was) == len(is_now):
        for at, pair in enumerate(zip(was, is_now, strict=True)):
            yield from _values(*pair, f"{where}[{at}]")
    else:
        yield where, was, is_now


def _same(was: Any, is_now: Any, tolerance: float) -> bool:
    if was == is_now or not _numbers(was, is_now):
        return bool(was == is_now)
    return math.isclose(was, is_now, rel_tol=tolerance, abs_tol=0.0)


def _numbers(*values: Any) -> bool:
    return all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def _by(was: Any, is_now: Any) -> str:
    if not _numbers(was, is_now) or not was:
        return ""
    return f"  ({is_now / was - 1:+.3g})"
