"""A line of the scoreboard, and the table of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

OWN = ("dse", "dse roofline")  # predictors whose lines say how far dse's predictions are off
AT_EACH_END = 4  # lines of the short table
COVERAGE = (0.83, 0.98)  # wanted of 90 % intervals, in every group of ENOUGH or more
ENOUGH = 20  # values of which a share says something

Floats = np.ndarray[Any, np.dtype[np.float64]]


def missed(held: float, of: int) -> bool:
    """Whether intervals hold a share outside COVERAGE, in a group of ENOUGH values or more."""
    low, high = COVERAGE
    return of >= ENOUGH and not low <= held <= high


@dataclass(frozen=True)
class Line:
    """One predictor on one held-out group.

    ratio: predicted over measured, (points,). inside: whether the measured value lay in the 90 %
    interval, (points,), None where there is no interval. target: median and 90th percentile of the
    absolute relative error to reach; None for the latter where it has no target. again: its points
    are those of other lines, so they are not counted with the rest.
    """

    data: str
    predictor: str
    ratio: Floats
    inside: np.ndarray[Any, np.dtype[np.bool_]] | None = None
    target: tuple[float, float | None] | None = None
    again: bool = False

    @property
    def median(self) -> float:
        """Of the absolute relative error."""
        return float(np.median(np.abs(self.ratio - 1)))

    @property
    def p90(self) -> float:
        """90th percentile of the absolute relative error."""
        return float(np.quantile(np.abs(self.ratio - 1), 0.9))

    @property
    def coverage(self) -> float | None:
        """Share of the measured values in the 90 % interval."""
        return None if self.inside is None else float(np.mean(self.inside))

    @property
    def misses_coverage(self) -> bool:
        """Whether that share is not the one wanted, of values that are enough to tell."""
        return self.coverage is not None and missed(self.coverage, len(self.ratio))

    def record(self) -> dict[str, Any]:
        """The line for the JSON file."""
        return {
            "data": self.data,
            "predictor": self.predictor,
            "points": len(self.ratio),
            "median": self.median,
            "p90": self.p90,
            "bias": float(np.median(self.ratio) - 1),
            "coverage": self.coverage,
            "target": self.target,
        }


def extremes(lines: Sequence[Line], each: int = AT_EACH_END) -> list[Line]:
    """dse's own lines with the smallest and the largest median error, so many of each, rising.

    Lines whose points are those of others are left out; all are there if they are few.
    """
    own = [line for line in lines if line.predictor in OWN and not line.again]
    ranked = sorted(own, key=lambda line: line.median)
    return ranked if len(ranked) <= 2 * each else [*ranked[:each], *ranked[-each:]]


def table(lines: Sequence[Line]) -> str:
    """The scoreboard as Markdown."""
    head = ["predicted", "by", "points", "median error", "90 % of errors below", "bias",
            "in the 90 % interval", "target"]  # fmt: skip
    rows = [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for line in lines:
        goal = ""
        if line.target:
            median, p90 = line.target
            off = line.median > median or (p90 is not None and line.p90 > p90)
            goal = f"{median:.0%}{'' if p90 is None else f' / {p90:.0%}'}{' missed' * off}"
        held = "" if line.coverage is None else f"{line.coverage:.0%}"
        cells = (
            line.data,
            line.predictor,
            str(len(line.ratio)),
            f"{line.median:.1%}",
            f"{line.p90:.0%}",
            f"{np.median(line.ratio) - 1:+.0%}",
            held + " missed" * line.misses_coverage,
            goal,
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows)
