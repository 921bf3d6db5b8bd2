"""Every point that a guided search priced, as a table for people and other programs."""

from __future__ import annotations

import csv
import io

from dse.search.guided.archive import Archive
from dse.search.guided.points import continuous_numbers, number_name

VIOLATION = "violation"  # 0 where the point meets every constraint


def points_csv(archive: Archive, labels: list[dict[str, str]]) -> str:
    """A column per axis, then the exact numbers of continuous ones, the objectives, the violation.

    labels: of every point of the archive, axis -> its value as text. Rows are in the order of
    pricing; an objective that cannot be computed is empty.
    """
    goals = [objective.name for objective in archive.problem.study.objectives]
    names = archive.space.names
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    space = archive.space
    writer.writerow([*names, *map(number_name, space.continuous), *goals, VIOLATION])
    for point, row, numbers in zip(archive.points, labels, archive.numbers.tolist(), strict=True):
        exact = continuous_numbers(space.study, space.values(point)).values()
        shown = ["" if number != number else repr(number) for number in numbers]
        writer.writerow([*(row[name] for name in names), *map(repr, exact), *shown])
    return out.getvalue()
