"""What is known of points without pricing them: their numbers if communication took no time.

No point gains more, and none costs less. What communication does not change, most costs and most
limits, is exact.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from dse.model.aggregation.base import SERVER_AXES
from dse.model.aggregation.tensorwise import FUSION_AXES
from dse.model.arrays import Array, Mask
from dse.pricing.points import BUCKET
from dse.pricing.problem import Problem
from dse.search import bounds
from dse.search.guided.archive import block_of
from dse.search.guided.codes import Coded, Codes
from dse.study import AggregationName, Value

# Axes that only communication depends on, unless a study says otherwise.
OF_MESSAGES = (BUCKET, *sorted(FUSION_AXES))
KEPT = 1 << 15  # points, half a kilobyte each


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
    """The bounds of points. Those of the last :data:`KEPT` are remembered."""

    problem: Problem
    coded: Coded
    _known: dict[bytes, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        study, names = self.problem.study, self.coded.space.names
        decided = bounds.steps_decide(study)
        compared = [c.text not in decided for c in study.constraints if c.expression]
        self._certain = np.array([True, True, *compared])  # built-in demands and memory come first
        needed = {other for c in study.conditions for other, _ in c.requires}
        needed |= {name for c in study.constraints if c.expression for name in c.expression.names}
        self._idle = [names.index(name) for name in OF_MESSAGES if name in {*names} - needed]
        self._aggregation = names.index("aggregation")
        self._alike = _alike(self.problem, self.coded.space.levels["aggregation"])
        self._objectives = len(study.objectives)

    def __call__(self, codes: Codes) -> Bounds:
        """Bounds of buildable points and others."""
        codes = self._distinct(codes)
        keys = [row.tobytes() for row in codes]
        fresh = {key: at for at, key in enumerate(keys) if key not in self._known}
        if fresh:
            self._known.update(zip(fresh, self._computed(codes[[*fresh.values()]]), strict=True))
        width = self._objectives + 1 + len(self._certain)
        rows = np.array([self._known[key] for key in keys]).reshape(-1, width)
        for key in [*islice(self._known, max(len(self._known) - KEPT, 0))]:
            del self._known[key]
        numbers, excesses = np.split(rows, [self._objectives + 1], axis=1)
        missed = (excesses[:, self._certain] > 0).any(axis=1)
        return Bounds(numbers, excesses, np.asarray(~missed))

    def _distinct(self, codes: Codes) -> Codes:
        """The points, in place of each one that has the same bounds."""
        codes = codes.copy()
        codes[:, self._idle] = 0
        codes[:, self._aggregation] = self._alike[codes[:, self._aggregation].astype(np.int64)]
        return codes

    def _computed(self, codes: Codes) -> Array:
        found = self.problem.scattered_points(self.coded.columns(codes))
        rows = ((where, bounds.ideal(arrays)) for where, arrays in found)
        block = block_of(self.problem, len(codes), rows)
        return np.column_stack([block.values, block.violation, block.excesses])


def _alike(problem: Problem, aggregations: Iterable[Value]) -> Array:
    """Of each aggregation the position of the first that differs from it in communication alone,
    and -1 of the last, which stands for none."""
    first: dict[tuple[bool, frozenset[str]], int] = {}
    found = []
    for at, name in enumerate(aggregations):
        assert isinstance(name, AggregationName)
        model = problem.aggregation(name).model
        found.append(first.setdefault((model.updates_on_servers, model.axes & SERVER_AXES), at))
    return np.array([*found, -1], dtype=np.float64)
