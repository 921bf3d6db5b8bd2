"""What is beside speed: prices, samples to a quality, watts, failures, spot machines.

``python -m benchmarks.accuracy.money`` writes their table alone into docs/accuracy.md and
README.md, in seconds; ``make accuracy`` writes it with all others.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.accuracy import power, prices, quality, reliability
from benchmarks.accuracy.board import COVERAGE, ENOUGH, Line, table
from benchmarks.page import put

NAME = "money"  # of the markers
ROOT = Path(__file__).parents[2]
PAGE, README = ROOT / "docs" / "accuracy.md", ROOT / "README.md"


def lines() -> list[Line]:
    """All of them."""
    return [*prices.lines(), *quality.lines(), *power.lines(), *reliability.lines()]


def text(found: list[Line]) -> str:
    """The table, and how many of the values lie in their intervals."""
    judged = [line for line in found if line.inside is not None]
    inside = np.concatenate([line.inside for line in judged])
    low, high = COVERAGE
    off = [
        f"{line.data} ({line.coverage:.0%} of {len(line.ratio)})"
        for line in judged
        if line.misses_coverage or (line.coverage or 0.0) < low
    ]
    return (
        f"{table(found)}\n\n90 % intervals hold {np.mean(inside):.0%} of these {inside.size} "
        f"held-out values. Lines of any number of points that hold fewer than {low:.0%}, and of "
        f"{ENOUGH} or more that hold more than {high:.0%}: {'; '.join(off) or 'none'}."
    )


def write(found: list[Line]) -> None:
    """Put the table into the page, and into the README its lines of many values with intervals."""
    enough = [line for line in found if len(line.ratio) >= ENOUGH and line.inside is not None]
    for path, content in ((PAGE, text(found)), (README, table(enough))):
        if put(path, NAME, content):
            print(f"updated {path.name}")


if __name__ == "__main__":
    known = lines()
    print(text(known))
    write(known)
