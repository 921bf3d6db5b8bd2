"""Workloads that share one cluster, each with its own best software on the same hardware.

On the baseline each takes its share of the time, elsewhere its share over its own speedup:

    speedup = 1 / sum(share_w / speedup_w)

The points of such a study are those of its first workload. Of those on the same hardware the
fastest dominates the others, at the same cost, so that the front is exactly that of hardware. Of
every other workload the best software on each hardware is found once, by best estimates; it may buy
no hosts for parameter servers. Draws of errors go by name, so that what two workloads share errs
alike in both.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array
from dse.pricing import constraints
from dse.pricing.coordinates import Coordinate, coded
from dse.pricing.evaluation import Evaluation
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.pricing.stocktaking import Values
from dse.study import Value
from dse.study.axes import HARDWARE, RENTAL
from dse.study.definition import written
from dse.study.mix import of_each

SHARED = tuple(name for name in HARDWARE if name != RENTAL)  # no term changes a speed
BOX_POINTS = 1 << 17  # priced in one call
# What the first workload is judged by on the same hardware.
_OF_HARDWARE = (constraints.WHOLE_NODES, constraints.SOLD, constraints.KNOWN)
_NONE = Coordinate((None,), np.zeros(1, dtype=np.int64))
Hardware: TypeAlias = tuple[Value | None, ...]  # a value for each axis of it


def _hardware(points: Points) -> tuple[list[Hardware], NDArray[np.intp]]:
    """What hardware points have, and which of it each of them, (*S)."""
    axes = [points.at(name) or _NONE for name in SHARED]
    codes = coded(axes)
    each, places = np.unique(codes, return_inverse=True)
    at = np.unravel_index(each, tuple(len(axis.values) for axis in axes))
    values = [[axis.values[one] for one in own] for axis, own in zip(axes, at, strict=True)]
    return [*zip(*values, strict=True)], places.reshape(codes.shape)


class Best(NamedTuple):
    """The best software on some hardware: samples per second, 0 where nothing trains, those that it
    is chosen by, and the point, by its number in the space of a problem. over: of its memory, see
    :class:`.Room`."""

    samples_per_s: float
    expected: float
    over: float
    problem: Problem
    number: int

    @property
    def point(self) -> dict[str, Value | None]:
        """Its values by axis."""
        return self.problem.space.point(self.number)


@dataclass(repr=False)
class MixedWorkload:
    """A workload of a mix. share: of the time on the baseline. problem: the study as it would be of
    this workload alone; sampled: the same once per draw, where draws are priced."""

    name: str
    share: float
    problem: Problem
    sampled: Problem | None = None
    _known: dict[Hardware, Best] = field(default_factory=dict)

    def best(self, points: Points) -> tuple[list[Best], NDArray[np.intp]]:
        """Its best software on all hardware of points, in the study's space or not, and which
        hardware each has, (*S)."""
        hardware, places = _hardware(points)
        if not self._known:
            self._search(self.problem)
        for missing in {*hardware} - {*self._known}:
            values = {name: [one] for name, one in zip(SHARED, missing, strict=True)}
            self._search(self.problem.narrowed(values))
            self._known.setdefault(missing, Best(0.0, 0.0, np.nan, self.problem, 0))
        return [self._known[one] for one in hardware], places

    def _search(self, problem: Problem) -> None:
        """Note the first of the fastest points on each hardware of a space."""
        for box in problem.space.boxes(BOX_POINTS):
            points = problem.placed(box)
            evaluation = Evaluation(points)
            told = evaluation["throughput"]
            likely = constraints.expected(told, evaluation, problem.study)
            rate: Array = np.where(points.bill.servers > 0, 0.0, likely)
            for demand, mask in constraints.demands(evaluation, problem.study):
                rate = rate if demand in _OF_HARDWARE else np.where(mask, rate, 0.0)
            hardware, places = _hardware(points)
            told = np.broadcast_to(told, box.shape).ravel()
            over = np.broadcast_to(evaluation.room.over, box.shape).ravel()
            rate = np.nan_to_num(np.broadcast_to(rate, box.shape)).ravel()
            at = np.broadcast_to(places, box.shape).ravel()
            order = np.lexsort((-rate, at))
            first = order[np.diff(at[order], prepend=-1) > 0]
            for key, one in zip(hardware, first.tolist(), strict=True):
                seen = float(told[one]) if rate[one] > 0 else 0.0
                found = Best(seen, float(rate[one]), float(over[one]), problem, box.first + one)
                if found.expected > self._known.setdefault(key, found).expected:
                    self._known[key] = found

    def speedup(self, points: Points) -> Array:
        """With its best software on the hardware of points, (*S), in each draw (draws, *S); 0 where
        it cannot train."""
        found, places = self.best(points)
        rates = np.array([one.samples_per_s for one in found])
        if self.sampled is None:
            return np.asarray((rates / self.problem.baseline_samples_per_s)[places])
        able = np.flatnonzero(rates)
        drawn = np.zeros((self.sampled.draws, len(found)))
        trained = [found[at].point for at in able]
        for where, evaluation in self.sampled.rows(trained) if trained else ():
            drawn[:, able[where]] = evaluation["speedup"]
        return drawn[:, places]


@dataclass(frozen=True)
class Mix:
    """The workloads of a mix, first the one whose points are priced, without any other."""

    workloads: tuple[MixedWorkload, ...]

    def speedup(self, points: Points, first: Array) -> Array:
        """Of the mix, where the first workload has a speedup of ``first`` at points and the others
        train as fast as they can on the same hardware; 0 where one of them cannot."""
        own, *others = self.workloads
        with np.errstate(divide="ignore"):
            times = [one.share / one.speedup(points) for one in others]
            return np.asarray(1 / sum(times, start=own.share / first))

    def over(self, points: Points) -> Array:
        """By how much the memory of the others is exceeded, the most, (*S), see :class:`.Room`."""
        found = [one.best(points) for one in self.workloads[1:]]
        each = [np.array([one.over for one in best])[places] for best, places in found]
        return reduce(np.fmax, each, np.asarray(np.nan))

    def trained(self, values: Values) -> list[tuple[Problem, Values]]:
        """A single point of the first workload as each trains there, with its own software."""
        own, *others = self.workloads
        points = own.problem.points_at(values)
        best = [one.best(points)[0][0].point for one in others]
        return [(own.problem, values), *zip((one.problem for one in others), best, strict=True)]

    def drawn(self, count: int) -> Mix:
        """The same software, priced once per draw."""
        own, *others = self.workloads
        return Mix((own, *(replace(one, sampled=one.problem.drawn(count)) for one in others)))


def own_software(problem: Problem) -> Problem:
    """A problem of a mix whose baseline has the workload's best software on its hardware, as far as
    the study does not give it. Layouts have been chosen already."""
    study, base = problem.study, problem.study.baseline
    free = {name for name in base.assumed if name not in HARDWARE}
    if not study.mix or study.laid_out or not free:
        return problem
    fixed = {*base.values, *problem.space.names} - free
    narrow = study.narrowed({name: [base.values.get(name)] for name in fixed})
    limits = tuple(filter(of_each, study.constraints))
    alone = replace(problem, study=replace(narrow, constraints=limits))
    (found,), _ = MixedWorkload("", 1.0, alone).best(problem.points_at(base.values))
    if not found.samples_per_s:
        return problem
    every = {**base.values, **found.point}
    values = {name: one for name, one in every.items() if one is not None}
    labels = {name: written(name, one) for name, one in values.items()}
    assumed = tuple(name for name in base.assumed if name in HARDWARE)
    base = replace(base, values=values, labels=labels, assumed=assumed)
    return replace(problem, study=replace(study, baseline=base))
