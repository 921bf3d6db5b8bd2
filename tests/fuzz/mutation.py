"""Damaged copies of good files, by a seeded generator: the same seed damages in the same way."""

from __future__ import annotations

import json
import random
import re
from copy import deepcopy
from typing import Any

NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
WORDS = (
    b"nan", b"inf", b"-inf", b".nan", b".inf", b"-1", b"0", b"1e308", b"-1e308", b"1e400",
    b"5e-324", b"9" * 40, b"true", b"null", b"~", b"unknown", b"{}", b"[]", b"''", b'"', b"'",
    b",", b":", b"- ", b"\t", b"\n", b"\r\n", b"\x00", b"\x1b[31m", b"\x9b2J", b"\xff\xfe",
    b"\xef\xbb\xbf", b"\xe2\x80\xae", b"<script>", b"{{x}}", b"%s", b"../../x", b"&a", b"*a",
    b"!!python/object:os.system", b"1 PB", b"0 Gbps", b"-5 us", b"2 MUSD", b"x" * 5_000,
    b"1" * 200_000, "\u0665".encode(), b"1_000", b"1e3 EUR",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1e308, -1e308, 5e-324, 10**40, float("nan"), float("inf"), "", "x",
    "\x1b[31m", "x" * 5_000, "nan", [], {}, [None], {"x": 1}, [[]], [1, "a"],
)  # fmt: skip


def damaged(text: bytes, chance: random.Random) -> bytes:
    """``text`` with one to three faults."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        text = chance.choice(_FAULTS)(text, chance)
    return text


def damaged_json(text: bytes, chance: random.Random) -> bytes:
    """A document with one to three values or keys that are not what they were; still JSON.

    Its checksum is left alone.
    """
    found = json.loads(text)
    checksum = found.pop("checksum")
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        found = _elsewhere(found, chance)
    return json.dumps({**found, "checksum": checksum}).encode()


def _elsewhere(found: Any, chance: random.Random) -> Any:
    """``found`` with one fault, at a random depth."""
    inside = found.keys() if isinstance(found, dict) else range(len(found))
    place = chance.choice(list(inside))
    below = found[place]
    if isinstance(below, dict | list) and below and chance.random() < 0.85:
        found[place] = _elsewhere(below, chance)
    elif chance.random() < 0.3:
        del found[place]
    else:
        found[place] = deepcopy(chance.choice(VALUES))  # the next fault may be in it
    return found


def _span(text: bytes, chance: random.Random) -> tuple[int, int]:
    start = chance.randrange(len(text) + 1)
    return start, min(len(text), start + chance.choice((1, 1, 2, 8, 40, 400)))


def _cut(text: bytes, chance: random.Random) -> bytes:
    start, end = _span(text, chance)
    return text[:start] + text[end:]


def _short(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text) + 1)]


def _twice(text: bytes, chance: random.Random) -> bytes:
    start, end = _span(text, chance)
    return text[:end] + text[start:]


def _byte(text: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(text) + 1)
    return text[:start] + bytes([chance.randrange(256)]) + text[start + 1 :]


def _word(text: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(text) + 1)
    return text[:start] + chance.choice(WORDS) + text[start:]


def _number(text: bytes, chance: random.Random) -> bytes:
    """Another number, or none, where one stood."""
    places = [found.span() for found in NUMBER.finditer(text)]
    if not places:
        return _word(text, chance)
    start, end = chance.choice(places)
    return text[:start] + chance.choice(WORDS) + text[end:]


def _lines(text: bytes, chance: random.Random) -> bytes:
    """A line in another place, or once more."""
    lines = text.split(b"\n")
    moved = chance.choice(lines)
    if chance.random() < 0.5:
        lines.remove(moved)
    lines.insert(chance.randrange(len(lines) + 1), moved)
    return b"\n".join(lines)


_FAULTS = (_cut, _short, _twice, _byte, _word, _number, _number, _number, _lines)
