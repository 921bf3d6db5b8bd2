"""The runs that would narrow a profile's intervals the most where a study needs them.

Runs are chosen one by one. Each is the run that reduces the sum of half widths the most per second
of its cost; only the part of a width above the target counts. The joint uncertainty of predictions
tells what one more measurement reveals elsewhere.

The logarithm of a predicted time is taken as Gaussian. Its covariance between two points x and y of
the same algorithm has two parts, that of the bootstrap draws of the coefficients and that of the
model's own error, which is similar at points that lie near each other::

    C(x, y) = cov_draws(ln T(x), ln T(y)) + sd(x) sd(y) exp(-d(x, y))
    d = |lg n_x/n_y| / RANK_OCTAVES + |lg m_x/m_y| / SIZE_OCTAVES

sd(x) is what is left of the interval that :func:`prediction.predict` gives once the draws are taken
out, so that C(x, x) is that interval's variance: held-out error inside the measured range, and
wider with every doubling beyond it. 'auto' profiles keep no draws: theirs is the second part alone,
and d also counts |lg g_x/g_y| / RANK_OCTAVES, g the ranks per node.
Algorithms err independently. One more measurement at x then leaves, at every demanded point p,

    var_new(p) = var(p) - C(p, x)^2 / (var(x) + NOISE^2)

(conditioning of a Gaussian: Rasmussen & Williams 2006, Gaussian Processes, eq. 2.23-2.24).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from dse.calibration.library_part import AUTO
from dse.calibration.number_text import percent, size_text, time_text
from dse.calibration.prediction import Prediction, drawn_s, predict
from dse.calibration.profile import Profile, local_ranks
from dse.calibration.runners.plan import MIN_REPETITIONS, start_s
from dse.calibration.spread import NORMAL_90
from dse.console_table import Columns, console_table, numbers
from dse.errors import MeasurementError, OutsideCalibration
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.arrays import Array, ArrayLike, Mask

if TYPE_CHECKING:
    from rich.console import Console

CPU = "cpu"
TARGET = 0.1  # relative half width of the 90 % interval at which enough is measured
REPETITIONS = 4 * MIN_REPETITIONS
LEAST_S = 0.05  # a cell of short messages is repeated for so long
MOST_RUNS = 40
LEAST_GAIN = 0.02  # of what the best run narrows; a run below it is not worth its line
LEAST_MEAN = 0.0005  # of a relative half width, in the mean of all points; the same
NOISE = 0.05  # relative, of one measured median; starts of the same thing differ by so much
RANK_OCTAVES = 1.0  # assumed: over how many doublings of ranks a model's error keeps its sign
SIZE_OCTAVES = 2.0  # assumed: the same of the size; library protocols change about every 4x


@dataclass(frozen=True)
class Points:
    """Allreduces, all of shape (points,).

    algorithm: names. ranks_per_node: at most ranks. message_bytes: > 0.
    """

    algorithm: np.ndarray[tuple[int], np.dtype[np.str_]]
    ranks: Array
    ranks_per_node: Array
    message_bytes: Array

    def take(self, index: ArrayLike) -> Points:
        """The points of a mask or an index array."""
        return Points(self.algorithm[index], self.ranks[index], self.ranks_per_node[index],
                      self.message_bytes[index])  # fmt: skip

    @property
    def size(self) -> int:
        return int(self.ranks.size)


def predicted(profile: Profile, algorithm: str, points: Points) -> Prediction:
    """Predictions of points of one algorithm, each array (points,)."""
    return predict(profile, algorithm, points.ranks, points.message_bytes, points.ranks_per_node)


def priced_by(profile: Profile, points: Points) -> tuple[Mask, str]:
    """Which points the profile can price, (points,), and why not the first of the others."""
    priced, why = np.ones(points.size, dtype=bool), ""
    layouts = list(zip(points.algorithm.tolist(), points.ranks, points.ranks_per_node, strict=True))
    for layout in dict.fromkeys(layouts):
        at = np.array([other == layout for other in layouts])
        try:
            predicted(profile, layout[0], points.take(np.flatnonzero(at)[:1]))
        except OutsideCalibration as cause:
            priced &= ~at
            why = why or str(cause)
    return priced, why


def covariance(profile: Profile, points: Points) -> Array:
    """C of the module's equation: (points, points). 0 between algorithms."""
    result = np.zeros((points.size, points.size))
    for name in sorted(set(points.algorithm.tolist())):
        at = np.flatnonzero(points.algorithm == name)
        mine = points.take(at)
        n, g, m = mine.ranks, mine.ranks_per_node, mine.message_bytes
        _, low, high, _ = predicted(profile, name, mine)
        variance = (np.log(high / low) / 2 / NORMAL_90) ** 2
        drawn = _draws(profile, name, mine)
        left = np.sqrt(np.maximum(variance - np.diag(drawn), 0.0))
        apart = [(n, RANK_OCTAVES), (m, SIZE_OCTAVES)]
        if name == AUTO:  # the cost of a forced algorithm's step does not depend on the node
            apart.append((g, RANK_OCTAVES))
        distance = sum(
            np.abs(np.log2(value[:, None] / value[None, :])) / octaves for value, octaves in apart
        )
        result[np.ix_(at, at)] = drawn + left[:, None] * left[None, :] * np.exp(-distance)
    return result


def _draws(profile: Profile, algorithm: str, points: Points) -> Array:
    """Covariance of the logarithms over the bootstrap draws: (points, points)."""
    if algorithm == AUTO or not profile.fits:
        return np.zeros((points.size, points.size))
    seconds = drawn_s(profile, algorithm, points.ranks, points.message_bytes)
    result = np.atleast_2d(np.cov(np.log(np.maximum(seconds, 1e-30)), rowvar=False))
    if algorithm in profile.network:  # a fit of its own, which keeps no draws
        own = points.ranks > points.ranks_per_node
        result[own, :] = result[:, own] = 0.0
    return np.asarray(result)


def conditioned(covariances: Array, at: int) -> Array:
    """``covariances`` after one more measurement of its point ``at``: the same shape."""
    column = covariances[:, at]
    return np.asarray(covariances - np.outer(column, column) / (column[at] + NOISE**2))


@dataclass(frozen=True)
class Capacity:
    """The largest possible numbers of nodes and of ranks on one node."""

    nodes: int
    ranks_per_node: int

    def layout(self, ranks: float, ranks_per_node: float) -> tuple[int, int]:
        """A layout cut to what there is: fuller nodes where there are too few of them."""
        cut = min(int(ranks), self.nodes * self.ranks_per_node)
        fewest = -(-cut // self.nodes)  # of a node, or not all would find a place
        return cut, max(min(int(ranks_per_node), cut, self.ranks_per_node), fewest)


def capacity_of(
    profile: Profile, nodes: int | None = None, ranks_per_node: int | None = None
) -> Capacity:
    """The capacity given; by default the measured number of nodes, and on each the most ranks
    measured on one, or its cores if ranks run on CPUs."""
    auto, network = profile.auto, profile.network.values()
    local = [1, *(local_ranks(profile, point) for point in profile.points)]
    local += [auto.ranks_per_node[1]] if auto else []
    local += [fit.ranks_per_node[1] for fit in network]
    local += [profile.cores] if profile.device == CPU else []
    return Capacity(nodes or profile.max_nodes, ranks_per_node or max(local))


def candidates_of(profile: Profile, demand: Points, capacity: Capacity) -> Points:
    """The possible runs: demanded layouts, cut down to the capacity, at powers of two that span the
    demanded sizes."""
    rows: dict[tuple[str, int, int, int], None] = {}
    for name in sorted(set(demand.algorithm.tolist()) & set(profile.measured_algorithms)):
        mine = demand.take(demand.algorithm == name)
        least = int(np.floor(np.log2(max(float(mine.message_bytes.min()), 4.0))))
        most = int(np.ceil(np.log2(max(float(mine.message_bytes.max()), 4.0))))
        for n, g in sorted(
            set(zip(mine.ranks.tolist(), mine.ranks_per_node.tolist(), strict=True))
        ):
            layout = capacity.layout(n, g)
            for power in range(least, most + 1):
                rows[name, *layout, 2**power] = None
    names, counts, locals_, sizes = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Points(
        np.array(names, dtype=np.str_),
        *(np.array(c, dtype=np.float64) for c in (counts, locals_, sizes)),
    )


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

    width_now, width_then: median relative half width (90 %) before and after; worst_*: the largest;
    good_now, good_then: how many points are below TARGET. demanded: points. unpriced: points that
    the profile cannot price, left out of all the others; why_unpriced: the reason of the first.
    """

    runs: tuple[Run, ...]
    demanded: int
    width_now: float
    width_then: float
    worst_now: float
    worst_then: float
    good_now: int
    good_then: int
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


def suggest(
    profile: Profile,
    demand: Points,
    budget_s: float = 60.0,
    max_nodes: int | None = None,
    max_ranks_per_node: int | None = None,
) -> Advice:
    """The next runs within ``budget_s`` seconds that narrow the intervals at ``demand`` the most.

    ``max_nodes`` and ``max_ranks_per_node`` bound what can be run, by default as
    :func:`capacity_of` says. Points that the profile cannot price are left out and counted.
    Raises MeasurementError if no point is demanded, or none that can be priced.
    """
    measurable = as_measured(profile, demand)
    if not measurable.size:
        raise MeasurementError(
            "there is nothing to measure: the study has no allreduce between several ranks over "
            "this profile's transport"
        )
    priced, why = priced_by(profile, measurable)
    demand = measurable.take(priced)
    if not demand.size:
        raise MeasurementError(f"none of the study's {measurable.size} points can be priced: {why}")
    capacity = capacity_of(profile, max_nodes, max_ranks_per_node)
    candidates = candidates_of(profile, demand, capacity)
    candidates = candidates.take(priced_by(profile, candidates)[0])
    count = demand.size
    everything = Points(*(
        np.concatenate([getattr(demand, name), getattr(candidates, name)])
        for name in ("algorithm", "ranks", "ranks_per_node", "message_bytes")
    ))  # fmt: skip
    covariances = covariance(profile, everything)
    before = half_width(covariances[:count, :count])
    runs, left = _greedy(profile, count, candidates, covariances, budget_s)
    after = half_width(left)
    return Advice(
        runs=tuple(runs),
        demanded=count,
        width_now=float(np.median(before)),
        width_then=float(np.median(after)),
        worst_now=float(before.max()),
        worst_then=float(after.max()),
        good_now=int(np.count_nonzero(before <= TARGET)),
        good_then=int(np.count_nonzero(after <= TARGET)),
        unpriced=measurable.size - demand.size,
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
    by_library = (kept.algorithm == AUTO) & (profile.auto is not None)
    between = np.isin(kept.algorithm, list(profile.network)) & (kept.ranks > local)
    on_node = (kept.algorithm != AUTO) & bool(profile.fits)
    return kept.take(by_library | between | on_node)


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


def _greedy(
    profile: Profile, count: int, candidates: Points, covariances: Array, budget_s: float
) -> tuple[list[Run], Array]:
    """Choose runs one by one. Returns them and what is left of the demanded points' covariance.

    count: demanded points, whose rows stand before those of the candidates.
    """
    runs: list[Run] = []
    started: set[tuple[float, float]] = set()
    left = budget_s
    taken = np.zeros(candidates.size, dtype=bool)
    spending = cost_of(profile, candidates)
    layouts = list(zip(candidates.ranks, candidates.ranks_per_node, strict=True))
    while candidates.size and len(runs) < MOST_RUNS:
        variance = np.diag(covariances)
        excess = np.maximum(_relative(variance[:count]), TARGET)
        shared = covariances[:count, count:]
        then = _relative(variance[:count, None] - shared**2 / (variance[None, count:] + NOISE**2))
        gain = np.sum(excess[:, None] - np.maximum(then, TARGET), axis=0)
        starts = [
            0.0 if layout in started else start_s(int(layout[1]), profile.cores)
            for layout in layouts
        ]
        cost = spending + np.array(starts)
        first = runs[0].narrows if runs else 0.0
        worth = ~taken & (gain > max(LEAST_GAIN * first, LEAST_MEAN * count))
        rate = np.where(worth & (cost <= left), gain / cost, 0.0)
        best = int(np.argmax(rate))
        if rate[best] <= 0:
            break
        run = Run(
            str(candidates.algorithm[best]), int(layouts[best][0]), int(layouts[best][1]),
            int(candidates.message_bytes[best]), float(cost[best]), float(gain[best]),
        )  # fmt: skip
        runs.append(run)
        taken[best] = True
        started.add(layouts[best])
        left -= run.cost_s
        covariances = conditioned(covariances, count + best)
    return runs, covariances[:count, :count]


def show_advice(profile: Profile, advice: Advice, budget_s: float, out: Console) -> None:
    """Print what is known, which runs to make next, and what they would achieve."""
    out.print(
        f"{advice.good_now} of the {advice.demanded} points that the study needs are known to "
        f"within {percent(TARGET)}; the half width of the 90 % intervals is "
        f"{percent(advice.width_now)} in the median, {percent(advice.worst_now)} at most",
        highlight=False,
    )
    if advice.unpriced:
        out.print(
            f"{advice.unpriced} more of its points cannot be priced: {advice.why_unpriced}",
            highlight=False,
        )
    if not advice.runs:
        reason = "nothing more needs to be measured" if advice.enough else "none would narrow them"
        out.print(f"No run is suggested: {reason}.")
        return
    columns: Columns = (
        "algorithm",
        *numbers("ranks", "per node", "bytes", "cost", "narrows by"),
    )
    rows = [
        (run.algorithm, f"{run.ranks:,}", f"{run.ranks_per_node:,}", size_text(run.bytes),
         time_text(run.cost_s), percent(run.narrows / advice.demanded))
        for run in advice.runs
    ]  # fmt: skip
    out.print(console_table(columns, rows, f"next runs for {profile.name}, best first"))
    out.print(
        f"They take {time_text(advice.cost_s)} of the {time_text(budget_s)} allowed. With them "
        f"{advice.good_then} points would be known to within {percent(TARGET)}; half width "
        f"{percent(advice.width_then)} in the median, {percent(advice.worst_then)} at most",
        highlight=False,
    )
