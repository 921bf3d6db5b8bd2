"""The points that may be recommended at other prices: those near the front, and those that only
other prices could bring up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, Mask
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.problem import Problem
from dse.report.repricing.dependence import PRICED, moves
from dse.search import exhaustive
from dse.search.certainty.near_front import SEARCHED_AGAIN, point_key
from dse.search.certainty.study_draws import StudyDraws, purchases
from dse.search.certainty.usefulness import above_nothing
from dse.study import Objective, Study, Value

MOST = 110  # points
NEAR = 70  # of them near the front, where there are more than fit
DRAWS = 250  # of them

Values = Mapping[str, Value | None]


@dataclass(frozen=True)
class Candidates:
    """near: positions among the points near the front of the first of them; the others are too dear
    or too slow today. purchases: (points,), numbered as those near the front are. quantities, met:
    the first DRAWS draws by name, and by the text of a limit, (draws, points)."""

    points: tuple[Values, ...]
    near: tuple[int, ...]
    purchases: NDArray[np.intp]
    quantities: Mapping[str, Array]
    met: Mapping[str, Mask]


def movable(study: Study) -> tuple[str, ...]:
    """The limits that prices may change, by their text."""
    return tuple(c.text for c in study.constraints if c.expression and moves(c.expression.names))


def candidates(found: StudyDraws, first: Iterable[int]) -> Candidates:
    """MOST points at most. first: positions near the front of points that must be among them."""
    problem, near = found.problem, found.near
    # What misses a limit by little is there if its price may bring it within.
    known = {point_key(values) for values in near.points[: near.feasible]}
    others = [values for values in _other_fronts(problem) if point_key(values) not in known]
    kept = _kept(found, first, max(NEAR, MOST - len(others)))
    cost = found.problem.study.objectives[1].name
    own = _numbers(problem, [near.points[kept[0]]], cost)[0]
    rest = _numbers(problem, others, cost) if others else np.zeros(0)
    costs = above_nothing(np.append(rest, own))
    far = np.abs(np.log(costs[:-1] / costs[-1]))
    order = np.argsort(far, kind="stable")[: MOST - len(kept)]
    more = [others[at] for at in order]
    positions = sorted(kept)
    names = found.drawn.quantities
    drawn = drawn_quantities(problem, more, names, count=DRAWS) if more else None
    every = purchases(problem, [*near.points, *more])
    return Candidates(
        (*(near.points[at] for at in positions), *more),
        tuple(positions),
        every[[*positions, *range(len(near.points), len(every))]],
        {name: np.hstack([values[:DRAWS, positions], *([drawn[name]] if drawn else [])])
         for name, values in found.drawn.quantities.items()},
        {text: np.hstack([mask[:DRAWS, positions], *([drawn.met[text]] if drawn else [])])
         for text, mask in found.drawn.met.items()},
    )  # fmt: skip


def _kept(found: StudyDraws, first: Iterable[int], most: int) -> list[int]:
    """Positions of so many points near the front that meet every limit: the first ones, then the
    best of every purchase, then others, each by rising regret."""
    order = found.by_regret(range(found.near.feasible))
    _, best = np.unique(found.purchases[order], return_index=True)
    best_first = [order[at] for at in sorted(best.tolist())]
    return list(dict.fromkeys([*first, *best_first, *order]))[:most]


def _other_fronts(problem: Problem) -> Iterator[Values]:
    """Of every accelerator or node type the front, whatever it costs.

    A limit on another cost counts as one more objective, since of two points that are equal the one
    that the study names may miss it. Nothing of a space that is too large to be searched again.
    """
    study = problem.study
    if problem.points is None or problem.points > SEARCHED_AGAIN:
        return
    kept = tuple(c for c in study.constraints if c.text not in movable(study))
    limited = [name for c in study.constraints if c.expression for name in c.expression.names]
    compared = [objective.name for objective in study.objectives]
    also = [name for name in sorted(limited) if name in PRICED and name not in compared]
    objectives = (*study.objectives, *(Objective(name, "minimize") for name in also))[:3]
    axis = study.axis("node") or study.axis("accelerator")
    values = zip(axis.values, axis.labels, strict=True) if axis else [(None, "")]
    for value, label in values:
        axes = study.axes
        if axis is not None and value is not None:
            alone = replace(axis, values=(value,), labels=(label,))
            axes = tuple(alone if one is axis else one for one in axes)
        freed = replace(study, axes=axes, constraints=kept, objectives=objectives)
        part: Problem = replace(problem, study=freed)
        # Baseline and rental are the study's, whatever this part compares, and a price of the
        # reader's admits what is sold no longer.
        part.__dict__ |= {"baseline": problem.baseline, "rental": problem.rental,
                          "buys_new": False}  # fmt: skip
        front = exhaustive.search(part, part.space.boxes(exhaustive.BOX_POINTS)).front
        for indices in front.indices:
            yield part.space.point(int(indices[0]))


def _numbers(problem: Problem, points: Sequence[Values], name: str) -> Array:
    """A quantity of every point, (points,)."""
    found = np.empty(len(points))
    for where, evaluation in problem.rows(points):
        found[where] = evaluation[name]
    return found
