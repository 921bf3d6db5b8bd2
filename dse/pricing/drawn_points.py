"""Points priced once per draw: their quantities as arrays (draws, points), and what they meet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, Mask
from dse.pricing import constraints, draws
from dse.pricing.coordinates import columns_of
from dse.pricing.problem import Problem
from dse.study import Value


@dataclass(frozen=True)
class DrawnQuantities:
    """Quantities by name, and by the text of a constraint which points meet it; (draws, points)
    each. One draw is the same for all points. Memory is a constraint where one may not fit."""

    quantities: Mapping[str, Array]
    met: Mapping[str, Mask]

    def __getitem__(self, name: str) -> Array:
        return self.quantities[name]

    @property
    def meets_all(self) -> Mask:
        """Which points meet every constraint, (draws, points)."""
        some = next(iter(self.quantities.values()))
        every = np.ones(some.shape, dtype=bool)
        for mask in self.met.values():
            every &= mask
        return every


def drawn_quantities(
    problem: Problem,
    points: Sequence[Mapping[str, Value | None]],
    names: Iterable[str],
    variation: draws.Variation | None = None,
    count: int = draws.DRAWS,
    judged: bool = True,
) -> DrawnQuantities:
    """Quantities of points in each draw, speedups over the baseline of the same draw.

    variation: how the draws differ from the usual ones. count: how many there are. judged: by
    the constraints, too.
    """
    names = tuple(dict.fromkeys(names))
    shape = (count, len(points))
    found = {name: np.full(shape, np.nan) for name in names}
    compared = [
        (c.text, c.expression) for c in problem.study.constraints if judged and c.expression
    ]
    met = {text: np.zeros(shape, dtype=bool) for text, _ in compared}
    with draws.varied(variation or draws.Variation()):
        sampled = problem.drawn(count)
        for where, evaluation in sampled.scattered(columns_of(points)):
            part = (count, len(where))
            for name in names:
                found[name][:, where] = np.broadcast_to(evaluation[name], part)
            for text, expression in compared:
                met[text][:, where] = np.broadcast_to(expression.evaluate(evaluation), part)
            if judged and constraints.may_not_fit(evaluation, problem.study):
                normal = draws.normal("memory", count)[:, None]  # layouts draw theirs themselves
                fits = evaluation.room.fits(normal, problem.study.laid_out)
                met.setdefault(constraints.FITS, np.ones(shape, dtype=bool))[:, where] = fits
    return DrawnQuantities(found, met)
