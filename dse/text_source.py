"""The text of a file that a person wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from dse.errors import StudyError

# Control characters, and those that reverse the direction of writing, which would make a line look
# like another.
_NOT_TEXT = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


# In JSON: what stands for a character by its number, or for one that rings or erases.
_ESCAPE = re.compile(r"\\(?:(u[0-9a-fA-F]{4}(?:\\u[dD][c-fC-F][0-9a-fA-F]{2})?|[bf])|.)")

_ENDINGS = (".yaml", ".yml", ".json", ".csv")


def is_path(text: str) -> bool:
    """Whether a name is meant as the path of a file."""
    return "/" in text or text.endswith(_ENDINGS)


def text_of(name: str, content: bytes, kind: str = "plain UTF-8 text") -> str:
    """The text in a file. Raises :class:`~dse.errors.StudyError` at the first byte or character
    that is no text; kind: the kind of file that should be there instead."""
    try:
        text = content.decode("utf-8-sig")
        odd = _NOT_TEXT.search(text)
        if odd is None:
            return text
        before = text[: odd.start()]
        problem = f"not a text file: it holds the character U+{ord(odd[0]):04X}"
    except UnicodeDecodeError as cause:
        before = content[: cause.start].decode("utf-8", "replace")
        problem = "not UTF-8 text"
    place = (before.count("\n") + 1, len(before) - before.rfind("\n"))
    raise StudyError(name, *place, problem, f"save it as {kind}")


def not_shown(text: str) -> str:
    """Say which character of a text cannot be shown, or would steer a terminal; empty if none."""
    odd = _NOT_TEXT.search(text)
    return f"holds the character U+{ord(odd[0]):04X}" if odd else ""


def from_json(text: str) -> Any:
    """The value of a text in JSON. Raises :class:`json.JSONDecodeError`, also where a string holds
    a character that cannot be shown."""
    found = json.loads(text)
    if odd := _NOT_TEXT.search(text):
        raise json.JSONDecodeError(not_shown(odd[0]), text, odd.start())
    for escape in _ESCAPE.finditer(text) if "\\" in text else ():
        if escape[1] and (problem := not_shown(json.loads(f'"{escape[0]}"'))):
            raise json.JSONDecodeError(problem, text, escape.start())
    return found


def is_fleet(path: Path) -> bool:
    """Whether a file begins as a fleet study does."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("fleet:") for line in lines)
