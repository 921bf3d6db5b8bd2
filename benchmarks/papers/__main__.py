"""``python -m benchmarks.papers``: every paper's facts, to the screen and to a JSON file.

The exit status is 1 where one of them disagrees.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.papers import published

OUT = Path("reports") / "papers" / "facts.json"


def main() -> int:
    """Write the list and print it."""
    facts = published.facts()
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(facts, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for fact in facts:
        computed = fact["computed"]
        here = computed if isinstance(computed, str) else f"{computed:.4g}"
        mark = "ok " if fact["ok"] else "NO "
        print(
            f"{mark} {fact['role']:<7} {fact['fact']}: {fact['published']} published, {here} here"
        )
    missed = [fact for fact in facts if not fact["ok"]]
    checks = sum(fact["role"] == "check" for fact in facts)
    print(f"{len(facts)} facts, {checks} of them checks, {len(missed)} disagree; wrote {OUT}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
