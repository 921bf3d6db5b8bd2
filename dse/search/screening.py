"""One box of the space: every point is counted, and priced only if it may be wanted.

What decides whether a point is feasible, what it costs, and what it could reach if communication
took no time depends on few axes. Points that a known front dominates even so are not priced.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Mask
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.search import bounds, pareto
from dse.search.cells import Cells, parts, whole
from dse.search.pareto import Front, Indices, Values
from dse.search.tally import Tally
from dse.study.space import Box

# Whether points of these gains and costs are wanted, (points,) each. A point that gains more or
# costs less than a wanted one is wanted too: so a bound that is not wanted rules out its points.
Wanted: TypeAlias = Callable[[Values], Mask]


@dataclass(frozen=True)
class Counts:
    """How many points of a box the demands leave. masks: of the demands that some fail, with an
    axis for each of the box, of length 1 where they do not depend on it. rejected: points that each
    demand rejects.
    """

    masks: tuple[Mask, ...]
    rejected: dict[str, int]
    feasible: int

    def joint(self, rank: int) -> Mask:
        """The points that meet every demand."""
        joint: Mask = np.ones((1,) * rank, dtype=bool)
        for mask in sorted(self.masks, key=lambda mask: mask.size):  # small first
            joint = joint & mask
        return joint


def counted(evaluation: Evaluation, problem: Problem, shape: tuple[int, ...]) -> Counts:
    """What the study's demands leave of points of this shape."""
    size = int(np.prod(shape, dtype=np.int64))
    masks, rejected = [], {}
    for reason, passed in constraints.demands(evaluation, problem.study):
        failed = passed.size - int(np.count_nonzero(passed))
        if failed:
            rejected[reason] = failed * (size // passed.size)
            masks.append(_full_rank(passed, len(shape)))
    return Counts(tuple(masks), rejected, common(masks, shape))


def common(masks: Iterable[Mask], shape: tuple[int, ...]) -> int:
    """How many points of a grid all masks hold for; masks: an axis for each of ``shape`` or 1 long.

    Axis by axis, as sums of products: what some masks leave of batch sizes, say, is counted for
    each number of accelerators, and multiplied by what others leave of the networks. No array is as
    large as the grid unless one mask is.
    """
    alike: dict[tuple[int, ...], Mask] = {}
    for mask in masks:
        known = alike.get(mask.shape)
        alike[mask.shape] = mask if known is None else known & mask
    counts = [mask.astype(np.int64) for mask in alike.values()]
    left = set(range(len(shape)))
    number = 1
    while left:
        used = {axis: [c for c in counts if c.shape[axis] > 1] for axis in left}
        shapes = {axis: [c.shape for c in used[axis]] for axis in left}
        sizes = {axis: math.prod(np.broadcast_shapes(*shapes[axis])) for axis in left}
        axis = min(left, key=lambda axis: (sizes[axis], axis))
        left.discard(axis)
        if not used[axis]:
            number *= shape[axis]
            continue
        counts = [c for c in counts if c.shape[axis] == 1]
        counts.append(reduce(np.multiply, used[axis]).sum(axis=axis, keepdims=True))
    return number * math.prod(int(count.item()) for count in counts)


def wanted_cells(problem: Problem, box: Box, wanted: Wanted) -> tuple[Counts, Iterator[Cells]]:
    """Counts of a box on which :func:`bounds.screens` holds, and its cells that may be wanted."""
    ideal = bounds.ideal(problem.placed(box))
    counts = counted(ideal, problem, box.shape)
    if not counts.feasible:
        return counts, iter(())
    alive, possible = _alive(ideal, counts.masks, problem, len(box.shape), wanted)
    return counts, parts(problem, box, alive, possible)


def screened_box(problem: Problem, box: Box, rival: Front) -> Tally:
    """The same as :func:`whole_box`; only where :func:`bounds.screens` holds."""
    counts, found = wanted_cells(problem, box, lambda values: pareto.may_enter(values, rival))
    front, priced = pareto.empty_front(), 0
    for part in found:
        _, entered = _front(problem, part, rival)
        priced += part.size
        if len(entered):
            front = pareto.merge([front, entered])
            rival = pareto.merge([rival, entered])
    return Tally(box.size, counts.feasible, counts.rejected, front, priced)


def whole_box(problem: Problem, box: Box, rival: Front) -> Tally:
    """Counts of a box, and its points that may enter the front ``rival``; every point is priced."""
    counts, front = _front(problem, whole(problem, box), rival)
    return Tally(box.size, counts.feasible, counts.rejected, front, box.size)


def _front(problem: Problem, part: Cells, rival: Front) -> tuple[Counts, Front]:
    evaluation = part.evaluation(problem)
    counts = counted(evaluation, problem, part.shape)
    if not counts.feasible:
        return counts, pareto.empty_front()
    gain, *costs = constraints.compared(evaluation, problem.study)
    gain, joint = np.broadcast_to(gain, part.shape), counts.joint(len(part.shape))
    return counts, pareto.box_front([gain, *costs], joint, part.index, rival)


def wanted_points(problem: Problem, part: Cells, wanted: Wanted) -> tuple[Values, Indices]:
    """Objectives and index of the feasible points of cells that are wanted; (points,) each."""
    evaluation = part.evaluation(problem)
    joint = counted(evaluation, problem, part.shape).joint(len(part.shape))
    at = np.flatnonzero(np.broadcast_to(joint, part.shape))
    values = [
        np.broadcast_to(column, part.shape).ravel()[at]
        for column in constraints.compared(evaluation, problem.study)
    ]
    kept = wanted(values)
    return [column[kept] for column in values], part.index(at[kept])


def _alive(
    ideal: Evaluation, masks: Sequence[Mask], problem: Problem, rank: int, wanted: Wanted
) -> tuple[Mask, Mask]:
    """Which cells may hold a wanted point, on the axes that costs and ideal gain depend on.

    The second mask, on those of the gain alone, leaves out what is not wanted at any cost.
    """
    compared = constraints.compared(ideal, problem.study)
    gain, *costs = (_full_rank(column, rank) for column in compared)
    gain = np.where(np.isnan(gain), -np.inf, gain)  # what is not known is not feasible
    costs = [np.where(np.isnan(cost), np.inf, cost) for cost in costs]
    for mask in masks:
        # A mask on other axes is left out: the bound is then weaker, and still one.
        if _within(mask.shape, gain.shape):
            gain = np.where(mask, gain, -np.inf)
        costs = [
            np.where(mask, cost, np.inf) if _within(mask.shape, cost.shape) else cost
            for cost in costs
        ]
    priced = np.broadcast_shapes(*(cost.shape for cost in costs))
    free = _others(priced, gain.shape)
    least = [cost.min(axis=_others(gain.shape, cost.shape), keepdims=True) for cost in costs]
    possible = _possible([gain, *least], wanted)
    gain = gain.max(axis=free, keepdims=True)
    shape = np.broadcast_shapes(gain.shape, priced)
    alive = np.array(np.broadcast_to(possible.any(axis=free, keepdims=True), shape))
    # Few are left: now one by one.
    left = [np.broadcast_to(column, shape)[alive] for column in (gain, *costs)]
    alive[alive] = _possible(left, wanted)
    return alive, possible


def _possible(values: Values, wanted: Wanted) -> Mask:
    gain, *costs = np.broadcast_arrays(*values)
    possible = gain > -np.inf
    for cost in costs:
        possible &= cost < np.inf
    possible[possible] = wanted([column[possible] for column in (gain, *costs)])
    return np.asarray(possible)


def _within(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    return all(a in (1, b) for a, b in zip(inner, outer, strict=True))


def _others(shape: tuple[int, ...], larger: tuple[int, ...]) -> tuple[int, ...]:
    """Axes that only ``larger`` depends on."""
    pairs = zip(shape, larger, strict=True)
    return tuple(axis for axis, (a, b) in enumerate(pairs) if a == 1 and b > 1)


def _full_rank(values: NDArray[Any], rank: int) -> NDArray[Any]:
    return values.reshape((1,) * (rank - values.ndim) + values.shape)
