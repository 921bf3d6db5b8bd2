"""Which runs would narrow a profile's intervals the most where a study needs them.

Runs are chosen one by one, each the one that takes most off the sum of half widths per second it
costs, counting only what lies above the target at points inside the measured range. What a run
tells of other points: :mod:`dse.calibration.belief`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.calibration.belief import NOISE, Points, conditioned, covariance, predicted, priced_by
from dse.calibration.library_part import AUTO, NORMAL_90
from dse.calibration.profile import Profile
from dse.calibration.runners.plan import MIN_REPETITIONS, start_s
from dse.errors import MeasurementError
from dse.model.arrays import Array, Mask
from dse.model.collectives import ALGORITHMS, node_count

TARGET = 0.1  # relative half width of the 90 % interval at which enough is measured
REPETITIONS = 4 * MIN_REPETITIONS
LEAST_S = 0.05  # a cell of short messages is repeated for so long
MOST_RUNS = 40
LEAST_GAIN = 0.02  # of what the best run narrows; a run below it is not worth its line
REACH = 2  # times the most ranks measured: what is taken as there to be measured


@dataclass(frozen=True)
class Run:
    """One suggested measurement. cost_s: repetitions, and the start of the ranks where this is the
    first of its layout. narrows: what it takes off the sum of relative half widths."""

    algorithm: str
    ranks: int
    ranks_per_node: int
    bytes: int
    cost_s: float
    narrows: float


@dataclass(frozen=True)
class Advice:
    """Runs, best first, and what they do to the demanded points.

    width_now, width_then: median relative half width (90 %) before and after; good_now,
    good_then: how many points are inside the range and below TARGET. demanded: points. enough:
    all are good now. beyond: points whose ranks or nodes exceed what can be run. unreachable:
    demanded algorithms that no run can narrow. unpriced: points that the profile cannot price, left
    out of all the others; why_unpriced: the reason of the first.
    """

    runs: tuple[Run, ...]
    demanded: int
    width_now: float
    width_then: float
    worst_now: float
    worst_then: float
    good_now: int
    good_then: int
    beyond: int
    max_ranks: int
    max_nodes: int
    unreachable: tuple[str, ...]
    unpriced: int = 0
    why_unpriced: str = ""

    @property
    def enough(self) -> bool:
        """Whether nothing more need be measured."""
        return self.good_now == self.demanded and not self.unpriced

    @property
    def cost_s(self) -> float:
        """Seconds of all runs."""
        return sum(run.cost_s for run in self.runs)


@dataclass
class _Range:
    """What is measured, runs chosen so far included. otherwise: demanded points that lie in the
    range of a profile that has measured every size, rank count and number of nodes."""

    ranks: tuple[int, int]
    message_bytes: tuple[float, float]
    max_nodes: int
    otherwise: Mask

    def holds(self, points: Points) -> Mask:
        """Which points lie inside: (points,)."""
        n, m = points.ranks, points.message_bytes
        return np.asarray(
            self.otherwise
            & (n >= self.ranks[0])
            & (n <= self.ranks[1])
            & (m >= self.message_bytes[0])
            & (m <= self.message_bytes[1])
            & (node_count(n, points.ranks_per_node) <= self.max_nodes)
        )

    def include(self, run: Run) -> None:
        """Widen by a run."""
        self.ranks = (min(self.ranks[0], run.ranks), max(self.ranks[1], run.ranks))
        low, high = self.message_bytes
        self.message_bytes = (min(low, run.bytes), max(high, run.bytes))
        nodes = int(node_count(run.ranks, run.ranks_per_node))
        self.max_nodes = max(self.max_nodes, nodes)


def suggest(
    profile: Profile,
    demand: Points,
    budget_s: float = 60.0,
    max_ranks: int | None = None,
    max_nodes: int | None = None,
) -> Advice:
    """The next runs within ``budget_s`` seconds that narrow the intervals at ``demand`` the most.

    ``max_ranks`` (default: twice the most measured) and ``max_nodes`` (default: as many as were
    measured) bound what can be run. Points that the profile cannot price are left out and counted.
    Raises MeasurementError where nothing is demanded, or nothing that can be priced.
    """
    asked = as_measured(profile, demand)
    if not asked.size:
        raise MeasurementError("the study sums nothing over more than one rank; nothing to measure")
    priced, why = priced_by(profile, asked)
    demand = asked.take(priced)
    if not demand.size:
        raise MeasurementError(f"none of the study's {asked.size} points can be priced: {why}")
    most = max_ranks or REACH * profile.ranks[1]
    nodes = max_nodes or profile.max_nodes
    candidates = candidates_of(profile, demand, most, nodes)
    candidates = candidates.take(priced_by(profile, candidates)[0])
    count = demand.size
    everything = Points(*(
        np.concatenate([getattr(demand, name), getattr(candidates, name)])
        for name in ("algorithm", "ranks", "ranks_per_node", "message_bytes")
    ))  # fmt: skip
    covariances = covariance(profile, everything)
    measured = _Range(profile.ranks, profile.message_bytes, profile.max_nodes,
                      _otherwise_inside(profile, demand))  # fmt: skip
    before, inside = half_width(covariances[:count, :count]), measured.holds(demand)
    runs, left = _greedy(profile, demand, candidates, covariances, measured, budget_s)
    after, then = half_width(left), measured.holds(demand)
    out_of_reach = (demand.ranks > most) | (node_count(demand.ranks, demand.ranks_per_node) > nodes)
    return Advice(
        runs=tuple(runs),
        demanded=count,
        width_now=float(np.median(before)),
        width_then=float(np.median(after)),
        worst_now=float(before.max()),
        worst_then=float(after.max()),
        good_now=int(np.count_nonzero(inside & (before <= TARGET))),
        good_then=int(np.count_nonzero(then & (after <= TARGET))),
        beyond=int(np.count_nonzero(out_of_reach)),
        max_ranks=most,
        max_nodes=nodes,
        unreachable=tuple(sorted(set(demand.algorithm.tolist()) - set(_runnable(profile)))),
        unpriced=asked.size - demand.size,
        why_unpriced=why,
    )


def as_measured(profile: Profile, demand: Points) -> Points:
    """The demanded points that are allreduces of several ranks; 'auto' where that is what the
    profile knows."""
    known = np.isin(demand.algorithm, [*ALGORITHMS, AUTO])
    kept = demand.take(known & (demand.ranks > 1))
    local = np.minimum(kept.ranks_per_node, kept.ranks)
    kept = replace(kept, ranks_per_node=local)
    if not (profile.fits or profile.network):
        return replace(kept, algorithm=np.full(kept.size, AUTO))
    chosen = (kept.algorithm == AUTO) & (profile.auto is not None)
    between = np.isin(kept.algorithm, list(profile.network)) & (kept.ranks > local)
    on_node = (kept.algorithm != AUTO) & bool(profile.fits)
    return kept.take(chosen | between | on_node)


def _runnable(profile: Profile) -> tuple[str, ...]:
    """Algorithms that a run can be made of: those that were."""
    return profile.measured_algorithms


def candidates_of(profile: Profile, demand: Points, max_ranks: int, max_nodes: int) -> Points:
    """What could be run: demanded layouts, those too large cut to what there is, at powers of two
    that span the demanded sizes."""
    rows: dict[tuple[str, int, int, int], None] = {}
    for name in sorted(set(demand.algorithm.tolist()) & set(_runnable(profile))):
        mine = demand.take(demand.algorithm == name)
        least = int(np.floor(np.log2(max(float(mine.message_bytes.min()), 4.0))))
        most = int(np.ceil(np.log2(max(float(mine.message_bytes.max()), 4.0))))
        layouts = set(zip(mine.ranks.tolist(), mine.ranks_per_node.tolist(), strict=True))
        for n, g in sorted(layouts):
            cut = int(min(n, max_ranks))
            local = int(min(g, cut))
            if node_count(cut, local) > max_nodes:
                local = int(np.ceil(cut / max_nodes))
            for power in range(least, most + 1):
                rows[name, cut, local, 2**power] = None
    names, counts, locals_, sizes = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Points(
        np.array(names, dtype=np.str_),
        *(np.array(c, dtype=np.float64) for c in (counts, locals_, sizes)),
    )


def half_width(covariances: Array) -> Array:
    """Relative half widths of the 90 % intervals, of the variances on the diagonal: (points,)."""
    return _relative(np.diag(covariances))


def _relative(variance: Array) -> Array:
    return np.asarray(np.expm1(NORMAL_90 * np.sqrt(np.maximum(variance, 0.0))))


def cost_of(profile: Profile, points: Points) -> Array:
    """Seconds to measure every point once its ranks have started: (points,)."""
    seconds = np.zeros(points.size)
    for name in sorted(set(points.algorithm.tolist())):
        mine = points.algorithm == name
        some = points.take(mine)
        times = predicted(profile, name, some).seconds
        seconds[mine] = np.maximum(REPETITIONS * times, LEAST_S)
    return seconds


def _otherwise_inside(profile: Profile, points: Points) -> Mask:
    """Whether each point lies in the range but for its ranks, nodes and size."""
    endless = replace(profile, ranks=(1, 2**62), message_bytes=(1e-9, 1e30), max_nodes=2**62)
    inside = np.zeros(points.size, dtype=bool)
    for name in sorted(set(points.algorithm.tolist())):
        at = points.algorithm == name
        some = points.take(at)
        inside[at] = predicted(endless, name, some).in_range
    return inside


def _greedy(
    profile: Profile,
    demand: Points,
    candidates: Points,
    covariances: Array,
    measured: _Range,
    budget_s: float,
) -> tuple[list[Run], Array]:
    """Choose runs one by one; ``measured`` is widened by each.

    Returns them, and the covariance of the demanded points that they leave.
    """
    runs: list[Run] = []
    started: set[tuple[float, float]] = set()
    count, left = demand.size, budget_s
    spending = cost_of(profile, candidates)
    layouts = list(zip(candidates.ranks, candidates.ranks_per_node, strict=True))
    while candidates.size and len(runs) < MOST_RUNS:
        variance = np.diag(covariances)
        width = _relative(variance[:count])
        floor = np.where(measured.holds(demand), TARGET, 0.0)
        excess = np.maximum(width, floor)
        shared = covariances[:count, count:]
        then = _relative(variance[:count, None] - shared**2 / (variance[None, count:] + NOISE**2))
        gain = np.sum(excess[:, None] - np.maximum(then, floor[:, None]), axis=0)
        starts = [
            0.0 if layout in started else start_s(int(layout[1]), profile.cores)
            for layout in layouts
        ]
        cost = spending + np.array(starts)
        rate = np.where(cost <= left, gain / cost, 0.0)
        best = int(np.argmax(rate))
        if rate[best] <= 0 or (runs and gain[best] < LEAST_GAIN * runs[0].narrows):
            break
        run = Run(
            str(candidates.algorithm[best]), int(layouts[best][0]), int(layouts[best][1]),
            int(candidates.message_bytes[best]), float(cost[best]), float(gain[best]),
        )  # fmt: skip
        runs.append(run)
        started.add(layouts[best])
        measured.include(run)
        left -= run.cost_s
        covariances = conditioned(covariances, count + best)
    return runs, covariances[:count, :count]
