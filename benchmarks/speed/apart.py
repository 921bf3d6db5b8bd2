"""Functions called in processes of their own: their memory and their Ray are their own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

Function = Callable[..., dict[str, Any]]  # of a module, taking and returning what JSON can hold


def apart(function: Function, *arguments: str | int) -> dict[str, Any]:
    """What a function says in a process of its own."""
    (found,) = side_by_side(function, [arguments])
    return found


def side_by_side(function: Function, calls: Sequence[Sequence[str | int]]) -> list[dict[str, Any]]:
    """The same in several processes at once, one per call. Raises RuntimeError if one fails."""
    code = (
        f"import json, sys; from {function.__module__} import {function.__name__} as called; "
        "print(json.dumps(called(*json.loads(sys.argv[1]))))"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, json.dumps(list(arguments))],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for arguments in calls
    ]  # fmt: skip
    ended = [child.communicate() for child in started]
    for child, (_, said) in zip(started, ended, strict=True):
        if child.returncode:
            raise RuntimeError(f"{function.__name__} failed: {said}")
    return [json.loads(printed.splitlines()[-1]) for printed, _ in ended]
