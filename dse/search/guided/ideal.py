"""What is known of points without pricing them: their numbers if communication took no time.

No point gains more, and none costs less. What communication does not change, most costs and most
limits, is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing.coordinates import columns_of
from dse.pricing.point_arrays import BUCKET
from dse.pricing.problem import Problem
from dse.search import bounds
from dse.search.guided.archive import block_of
from dse.search.guided.codes import Coded, Codes


@dataclass(frozen=True)
class Bounds:
    """Of points. numbers, excesses: as an archive has them, shape (points, ...), but with
    communication that takes no time. possible: whether they may meet every limit, shape (points,).
    """

    numbers: Array
    excesses: Array
    possible: Mask


@dataclass
class Ideal:
    """The bounds of points, each worked out once."""

    problem: Problem
    coded: Coded
    _known: dict[bytes, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        study, names = self.problem.study, self.coded.space.names
        decided = bounds.steps_decide(study)
        compared = [c.text not in decided for c in study.constraints if c.expression]
        self._certain = np.array([True, True, *compared])  # built-in demands and memory come first
        # Only communication depends on the bucket, unless the study says otherwise.
        needed = {other for c in study.conditions for other, _ in c.requires}
        needed |= {name for c in study.constraints if c.expression for name in c.expression.names}
        self._idle = names.index(BUCKET) if BUCKET in {*names} - needed else None
        self._objectives = len(study.objectives)

    def __call__(self, codes: Codes) -> Bounds:
        """Bounds of buildable points and others."""
        if self._idle is not None:
            codes = codes.copy()
            codes[:, self._idle] = 0
        keys = [row.tobytes() for row in codes]
        fresh = {key: at for at, key in enumerate(keys) if key not in self._known}
        if fresh:
            self._known.update(zip(fresh, self._computed(codes[[*fresh.values()]]), strict=True))
        width = self._objectives + 1 + len(self._certain)
        rows = np.array([self._known[key] for key in keys]).reshape(-1, width)
        numbers, excesses = np.split(rows, [self._objectives + 1], axis=1)
        missed = (excesses[:, self._certain] > 0).any(axis=1)
        return Bounds(numbers, excesses, np.asarray(~missed))

    def _computed(self, codes: Codes) -> Array:
        points = self.coded.points(codes)
        columns = columns_of([self.coded.space.values(point) for point in points])
        found = self.problem.scattered_points(columns)
        rows = ((where, bounds.ideal(arrays)) for where, arrays in found)
        block = block_of(self.problem, points, rows)
        return np.column_stack([block.values, block.violation, block.excesses])
