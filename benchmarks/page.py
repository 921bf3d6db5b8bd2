"""Parts of pages that commands write, between markers ``<!-- NAME: begin -->`` and ``end``."""

from __future__ import annotations

from pathlib import Path


def put(path: Path, name: str, text: str) -> bool:
    """Replace what is between the markers of that name; False where the page has none."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    head, found, rest = path.read_text(encoding="utf-8").partition(begin)
    if not found:
        return False
    tail = rest.partition(end)[2]
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")
    return True
