"""``python -m benchmarks.papers``: every paper's facts, to the screen and to a JSON file.

A check that is missed is a finding and is listed. What was fitted, and what follows exactly, must
agree: where one of those does not, the exit status is 1.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.papers import published
from benchmarks.papers.fact import CHECK, ROLES

OUT = Path("reports") / "papers" / "facts.json"
MARKS = {True: "ok ", False: "NO ", None: " - "}


def main() -> int:
    """Write the list and print it."""
    facts = published.facts()
    OUT.parent.mkdir(parents=True, exist_ok=True)
    OUT.write_text(json.dumps(facts, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    for fact in facts:
        print(
            f"{MARKS[fact['ok']]} {fact['role']:<8} {fact['fact']}: {_shown(fact['published'])} "
            f"published, {_shown(fact['computed'])} here{_moves(fact)}"
        )
    missed = [fact for fact in facts if fact["ok"] is False]
    count = Counter(fact["role"] for fact in facts)
    checks_missed = sum(fact["role"] == CHECK for fact in missed)
    print(f"{len(facts)} facts: {', '.join(f'{count[role]} {role}' for role in ROLES)}")
    print(f"{checks_missed} of {count[CHECK]} checks missed; wrote {OUT}")
    return 1 if len(missed) > checks_missed else 0


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(f"{end:.4g}" for end in value)
    return value if isinstance(value, str) else f"{value:.4g}"


def _moves(fact: dict[str, Any]) -> str:
    moves = fact.get("moves")
    return f" (by what is assumed {_shown(moves)})" if moves else ""


if __name__ == "__main__":
    sys.exit(main())
