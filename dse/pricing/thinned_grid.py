"""A grid of a study's hardware that is small enough to be priced beside the search."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from dse.model.aggregation.base import HARDWARE_AXES
from dse.pricing.coordinates import Coordinate
from dse.pricing.point_arrays import Points
from dse.pricing.problem import Problem
from dse.study.space import Slab

MOST_COUNTS = 16  # of accelerators that are priced


def thinned(problem: Problem, slab: Slab, whole: Collection[str] = HARDWARE_AXES) -> Points:
    """All hardware of a slab on some of its counts of accelerators, the rest at its first value.

    whole: the axes of which all values are taken.
    """
    rank = len(slab.axes)
    coordinates = {}
    for number, axis in enumerate(slab.axes):
        count = len(axis.values)
        kept = np.arange(count) if axis.name in whole else np.zeros(1, dtype=np.int64)
        if axis.name == "gpus":
            kept = np.unique(np.linspace(0, count - 1, min(count, MOST_COUNTS)).astype(np.int64))
        shape = tuple(-1 if other == number else 1 for other in range(rank))
        coordinates[axis.name] = Coordinate(axis.values, kept.reshape(shape))
    return Points(problem, slab.fixed, coordinates, rank)
