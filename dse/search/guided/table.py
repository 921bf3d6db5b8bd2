"""Every point that a guided search priced, as a table for people and other programs."""

from __future__ import annotations

import csv
import io

from dse.search.guided.archive import Archive
from dse.search.objectives import by_goal

VIOLATION = "violation"  # 0 where the point meets every constraint


def points_csv(archive: Archive, labels: list[dict[str, str]]) -> str:
    """A column per axis, then the objectives and how far a point is from feasible.

    labels: of every point of the archive, axis -> its value as text. Rows are in the order of
    pricing; an objective that cannot be computed is empty.
    """
    goals = [objective.name for objective in by_goal(archive.problem.study.objectives)]
    names = archive.space.names
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*names, *goals, VIOLATION])
    for row, numbers in zip(labels, archive.numbers.tolist(), strict=True):
        shown = ["" if number != number else repr(number) for number in numbers]
        writer.writerow([*(row[name] for name in names), *shown])
    return out.getvalue()
