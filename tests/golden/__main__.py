"""``python -m tests.golden [NAME ...]``: what differs from the golden answers, and by how much.

With ``--write`` it writes them anew.
"""

from __future__ import annotations

import sys

from tests.golden.answers import ANSWERS, subjects, text
from tests.golden.difference import differences

SHOWN = 12  # of each study


def main(arguments: list[str]) -> int:
    """0 where nothing differs, or what differs was written."""
    write = "--write" in arguments
    names = [name for name in arguments if name != "--write"]
    changed = 0
    for name, answered in subjects().items():
        if names and name not in names:
            continue
        path = ANSWERS / f"{name}.txt"
        before = path.read_text() if path.exists() else ""
        now = text(answered())
        found = list(differences(before, now)) if before else ["a new answer"]
        changed += bool(found)
        print(f"{name}: {f'{len(found)} differ' if found else 'the same'}")
        for line in found[:SHOWN]:
            print(f"  {line}")
        if write and before != now:
            path.write_text(now)
    return 0 if write else min(changed, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
