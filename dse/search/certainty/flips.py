"""By how much a price may change before the rule recommends something else.

Every cost is linear in every unit price, so two prices of a part tell the cost at all others:
``cost(f) = cost(1) + (f - 1) (cost(2) - cost(1))``. The factor at which the rule picks another
purchase is looked for on a fine grid and then by halving. The same machines on another network, as
fast and as cheap to the study's resolution at that price, are no other purchase to a buyer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.catalog.extras import SHARE
from dse.model.arrays import Array, Mask
from dse.pricing import extras
from dse.pricing.drawn_points import DrawnQuantities, drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.problem import Problem
from dse.search.certainty.sources import PRICE, sources
from dse.search.certainty.usefulness import Priced, best, worth
from dse.study import Study, Value
from dse.study.axes import MACHINES
from dse.study.choices import alike

FARTHEST = 10.0  # factor up or down that is looked at
_STEPS = 800  # of the grid, on a logarithmic scale: 0.3 % apart
_HALVINGS = 40
_MACHINES = (*MACHINES, "gpus")


@dataclass(frozen=True)
class Flip:
    """What the price of a part decides.

    share: of the cost ``of``, at the recommended point, as its bill has it: extras that are a share
    of the hardware, such as spares, are not the part's; 0 where it has none of the part. of: the
    first of the costs that the study minimizes, then limits, which depends on the price. rise,
    fall: the factors from which on another purchase is recommended, and its position; None where
    that takes more than FARTHEST.
    """

    part: str
    of: str
    share: float
    rise: tuple[float, int] | None
    fall: tuple[float, int] | None


def flips(
    problem: Problem,
    points: Sequence[Mapping[str, Value | None]],
    rule: str,
    purchases: NDArray[np.intp],
    recommended: int,
    rivals: Sequence[int] = (),
) -> list[Flip]:
    """For each part of the recommended point's bill, and of its rivals': those of the first cost
    before those of the next, of each the largest share first. None where the rule picks another
    purchase to begin with, as where least regret recommends.

    purchases: of each point which purchase it is, (points,). rivals: positions of points.
    """
    study = problem.study
    costs = [objective.name for objective in study.objectives[1:]]
    costs += sorted({name for c in study.constraints if c.expression
                     for name in c.expression.names} - {*costs})  # fmt: skip
    names = sorted({study.objectives[0].name, *costs})
    parts = _parts(problem, [points[at] for at in (recommended, *rivals)], names)
    found = _at_twice(problem, points, names, parts)
    # What each part alone adds to the bill, which brings none of the extras that are a share of it.
    shares = [line.price.part for line in extras.lines(problem.prices) if line.extra.basis == SHARE]
    own_lines = _at_twice(problem, [points[recommended]], names, parts, shares)
    asked = [recommended, *rivals]
    flipped = []
    machines = [tuple(str(point.get(axis)) for axis in _MACHINES) for point in points]
    same = np.array([one == machines[recommended] for one in machines])

    def picked(row: int, factors: Array) -> tuple[NDArray[np.intp], Mask]:
        priced = _priced(study, found, row, factors)
        return picks(rule, priced, purchases, recommended, same, study.resolution)

    if not parts or picked(1, np.ones(1))[1][0]:
        return []
    for row, part in enumerate(parts, 1):
        moved = [name for name in costs
                 if not np.array_equal(found[name][0, asked], found[name][row, asked])]  # fmt: skip
        if not moved:
            continue  # nothing that the study weighs or limits depends on it
        of = moved[0]
        once = float(found[of][0, recommended])
        own = float(own_lines[of][row, 0] - own_lines[of][0, 0])
        share = own / once if once else 0.0
        ends: list[tuple[float, int] | None] = []
        for farthest in (FARTHEST, 1 / FARTHEST):
            factors = np.geomspace(1.0, farthest, _STEPS)
            other = np.flatnonzero(picked(row, factors)[1])
            if not len(other):
                ends.append(None)
                continue
            before, after = factors[other[0] - 1], factors[other[0]]
            for _ in range(_HALVINGS):
                middle = np.sqrt(before * after)
                turned = picked(row, np.array([middle]))[1][0]
                before, after = (before, middle) if turned else (middle, after)
            ends.append((float(after), int(picked(row, np.array([after]))[0][0])))
        rise, fall = ends
        flipped.append(Flip(part, of, share, rise, fall))
    return sorted(flipped, key=lambda flip: (costs.index(flip.of), -flip.share))


def picks(
    rule: str,
    priced: Priced,
    purchases: NDArray[np.intp],
    own: int,
    same: Mask,
    resolution: float,
) -> tuple[NDArray[np.intp], Mask]:
    """The best point of each row, -1 for none, and whether that is another purchase than one's own,
    (rows,). same: which points have the same machines, (points,): these are no other purchase where
    they are as good."""
    at = best(worth(rule, priced))
    as_good = same[at]  # as fast and as cheap; of two costs the first counts, as in the rules
    for values in (priced.gain, priced.costs[0]):
        as_good &= alike(values[:, own], values[np.arange(len(at)), at], resolution)
    return at, (at < 0) | ((purchases[at] != purchases[own]) & ~as_good)


def _parts(
    problem: Problem, points: Sequence[Mapping[str, Value | None]], names: Sequence[str]
) -> Mapping[str, frozenset[str]]:
    """What a buyer asks prices for, with the parts that each stands for."""
    asked = set[str]()
    drawn_quantities(problem, points, names, Variation(alone=frozenset(), asked=asked), 1)
    kind = f"{PRICE}: "
    return {
        source.removeprefix(kind): frozenset(name.removeprefix(kind) for name in drawn)
        for source, drawn in sources(asked).items()
        if source.startswith(kind)
    }


def _at_twice(
    problem: Problem,
    points: Sequence[Mapping[str, Value | None]],
    names: Sequence[str],
    parts: Mapping[str, frozenset[str]],
    free: Iterable[str] = (),
) -> DrawnQuantities:
    """The points at their best fit; the first row at today's prices, then a row for each part at
    twice its price, one of those that are free at its price."""
    rows = 1 + len(parts)
    factors = dict.fromkeys(free, np.zeros(rows))
    for row, every in enumerate(parts.values(), 1):
        for name in every:
            factors[name] = factors.get(name, np.ones(rows)) + (np.arange(rows) == row)
    variation = Variation(alone=frozenset(), factors=factors)
    return drawn_quantities(problem, points, names, variation, rows)


def _priced(study: Study, found: DrawnQuantities, row: int, factors: Array) -> Priced:
    """The points with one part at so many times its price, (factors, points)."""
    column = factors[:, np.newaxis]
    at = {
        name: values[0] + (column - 1) * (values[row] - values[0])
        for name, values in found.quantities.items()
    }
    gain, *costs = (at[objective.name] for objective in study.objectives)
    met = np.ones(gain.shape, dtype=bool)
    for constraint in study.constraints:
        if constraint.expression is not None:
            met &= constraint.expression.evaluate(at)
    return Priced(gain, costs, met)
