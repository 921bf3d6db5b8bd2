"""The exhaustive end of a guided search: the front's neighbourhood, then what is left unseen."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Mask
from dse.search import pareto
from dse.search.guided.acquisition import losses_of
from dse.search.guided.archive import Archive
from dse.search.guided.codes import Coded
from dse.search.guided.ideal import Bounds, Ideal
from dse.search.guided.points import Point

BLOCK = 1024


def polish(archive: Archive, coded: Coded, ideal: Ideal, budget: int) -> None:
    """Price every single-axis change of every front point that may be on the front, until the front
    stays.
    """
    tried: set[Point] = set()
    while len(archive) < budget:
        best = [archive.points[at] for at in archive.best()]
        centres = [point for point in best if point not in tried]
        if not centres:
            return
        tried.update(centres)
        near = np.vstack([coded.neighbours(row) for row in coded.of(centres)])
        near = near[wanted(ideal(near), archive)]
        fresh = [p for p in dict.fromkeys(coded.points(near)) if p not in archive]
        archive.price(fresh[: budget - len(archive)])


def wanted(bounds: Bounds, archive: Archive) -> Mask:
    """Which points may be on the front, by their bounds, shape (points,)."""
    _, usable = losses_of(bounds.numbers, bounds.excesses, archive.numbers)
    front = archive.front()
    if not len(front):
        return usable
    kept = usable & bounds.possible
    kept[kept] = pareto.may_enter([*bounds.numbers[kept, :-1].T], front)
    return kept


def sweep_rest(archive: Archive, budget: int) -> None:
    """If the budget covers the whole space, price the points not seen."""
    size = archive.problem.points
    if size is None or size > budget:
        return
    space, names = archive.problem.space, archive.space.names
    for first in range(0, size, BLOCK):
        found = [space.point(index) for index in range(first, min(first + BLOCK, size))]
        archive.price([tuple(values[name] for name in names) for values in found])
