"""The text of a file that a person wrote."""

from __future__ import annotations

import re
from pathlib import Path

from dse.errors import StudyError

# Control characters, and those that reverse the direction of writing, which would make a line look
# like another.
_NOT_TEXT = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
)


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


def is_fleet(path: Path) -> bool:
    """Whether a file begins as a fleet study does."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.startswith("fleet:") for line in lines)
