"""``python -m tests.golden [NAME ...]``: what differs from the golden answers, and by how much.

With ``--write`` it writes them anew; with ``--words`` only their words. Both also write the answers
that docs/answers.md quotes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.answers import NUMBERS, PAGE, WORDS, Golden, Record, quoted, subjects, text
from tests.golden.difference import differences

SHOWN = 12  # of each file
OPTIONS = ("--write", "--words")


def main(arguments: list[str]) -> int:
    """0 where no number differs, or what differs was written."""
    options = [name for name in arguments if name in OPTIONS]
    names = [name for name in arguments if name not in OPTIONS]
    changed = 0
    for name, answered in subjects().items():
        if names and name not in names:
            continue
        golden: Golden = answered()
        moved = _compared(NUMBERS / f"{name}.txt", golden.numbers, "--write" in options)
        _compared(WORDS / f"{name}.txt", golden.words, bool(options))
        changed += moved and "--write" not in options
    if options:
        PAGE.write_text(quoted(PAGE.read_text()))
    return min(changed, 1)


def _compared(path: Path, record: Record, write: bool) -> bool:
    """Print how a file differs, and write it where asked."""
    before = path.read_text() if path.exists() else ""
    now = text(record)
    found = list(differences(before, now)) if before else ["a new answer"]
    print(f"{path.parent.name} of {path.stem}: {f'{len(found)} differ' if found else 'the same'}")
    for line in found[:SHOWN]:
        print(f"  {line}")
    if write and before != now:
        path.write_text(now)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
