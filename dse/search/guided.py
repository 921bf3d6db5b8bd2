"""The guided engine: Optuna proposes, the model prices whole generations at once.

For spaces too large to enumerate, and for continuous axes. Optuna's ask/tell runs in this process;
what was priced before is answered from a cache; at the end the neighbours of the front are tried
until it no longer moves, and what is left of the budget goes to points not yet seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from dse.search import feasibility, pareto
from dse.search.exhaustive import by_goal
from dse.search.pareto import Front
from dse.search.problem import Problem
from dse.study import Axis, Value

Point: TypeAlias = tuple[Value | None, ...]  # one value per axis, in the order of Guided.axes

POPULATION = 128  # NSGA-II's generation, and one call of the model
FEW_TRIALS = 200  # below, TPE learns more from a trial than NSGA-II's two generations would
MOST_PROPOSALS = 3_000  # Optuna's time per proposal grows with all before it
STALE = 3  # generations without a new point: the sampler has converged
NUDGES = (-0.1, -0.01, 0.01, 0.1)  # of a continuous axis' range, for the neighbourhood


@dataclass
class Guided:
    """State of one guided search. ``progress`` is called with the number of points priced."""

    problem: Problem
    budget: int
    seed: int
    progress: Callable[[int], None] = lambda _: None
    points: list[Point] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    cost: list[float] = field(default_factory=list)
    violation: list[float] = field(default_factory=list)
    rejected: dict[str, int] = field(default_factory=dict)
    position: dict[int, int] = field(default_factory=dict)
    _index: list[int] = field(default_factory=list)
    _known: dict[Point, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        study = self.problem.study
        self.axes: tuple[Axis, ...] = (*study.axes, *study.defaults)
        self.conditional = {condition.axis for condition in study.conditions}
        self.names = (*(a.name for a in self.axes), *sorted(self.conditional))

    @property
    def sampler_name(self) -> str:
        """What proposes points, by budget."""
        return "TPE" if self.budget < FEW_TRIALS else "NSGA-II"

    def run(self) -> Front:
        """Search until the budget is spent or nothing is left."""
        self._optimize()
        self._polish()
        self._sweep_rest()
        return self.front()

    def front(self) -> Front:
        """Front of the feasible points priced so far.

        Indices are those of the space, so that ties are named as the exhaustive engine names them;
        ``position`` leads back to ``points``. In a space without indices they are positions.
        """
        feasible = np.flatnonzero(np.array(self.violation) == 0)
        gain, cost = np.array(self.gain), np.array(self.cost)
        if len(feasible) == 0:
            return pareto.empty_front()
        index = np.array(self._index, dtype=np.int64)
        return pareto.front_of(gain[feasible], cost[feasible], index[feasible])

    @property
    def feasible(self) -> int:
        """Number of points priced that meet every constraint."""
        return int(np.count_nonzero(np.array(self.violation) == 0))

    def values(self, position: int) -> dict[str, Value | None]:
        """The point at a position, axis -> value."""
        return dict(zip(self.names, self.points[position], strict=True))

    # -- proposing ---------------------------------------------------------------------------

    def _optimize(self) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        sampler: Any
        if self.sampler_name == "TPE":
            sampler = optuna.samplers.TPESampler(seed=self.seed, multivariate=False)
        else:
            sampler = optuna.samplers.NSGAIISampler(population_size=POPULATION, seed=self.seed)
        study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
        # Two thirds propose, the rest is for the neighbourhood of what was found; and proposing
        # more than half of a finite space would be a slow way to enumerate it.
        proposals = max(1, min(self.budget * 2 // 3, MOST_PROPOSALS))
        if self.problem.points is not None:
            proposals = min(proposals, max(1, self.problem.points // 2))
        stale = asked = 0
        while len(self.points) < proposals and stale < STALE and asked < 1.5 * proposals:
            generation = min(POPULATION, max(1, proposals - len(self.points)))
            trials = [study.ask() for _ in range(generation)]
            before = len(self.points)
            where = self.price([self._suggest(trial) for trial in trials])
            for trial, position in zip(trials, where, strict=True):
                trial.set_constraint("violation", self.violation[position])
                study.tell(
                    trial, [_bounded(self.gain[position], -1.0), _bounded(self.cost[position], 1.0)]
                )
            asked += generation
            stale = stale + 1 if len(self.points) == before else 0

    def _suggest(self, trial: Any) -> Point:
        chosen: dict[str, Value | None] = {}
        for axis in self.axes:
            chosen[axis.name] = _ask(trial, axis)
        for condition in self.problem.study.conditions:
            if self._applies(condition.requires, chosen):
                index = trial.suggest_int(condition.axis, 0, len(condition.values) - 1)
                chosen[condition.axis] = condition.values[index]
        return tuple(chosen.get(name) for name in self.names)

    @staticmethod
    def _applies(
        requires: Sequence[tuple[str, tuple[Value, ...]]], chosen: Mapping[str, Value | None]
    ) -> bool:
        return all(chosen[name] in allowed for name, allowed in requires)

    # -- pricing -----------------------------------------------------------------------------

    def price(self, points: Sequence[Point]) -> list[int]:
        """Positions of the points after pricing those not seen before, all in one call."""
        fresh = [p for p in dict.fromkeys(points) if p not in self._known]
        if fresh:
            start = len(self.points)
            for offset, point in enumerate(fresh):
                self._known[point] = start + offset
            self.points.extend(fresh)
            self._number(fresh, start)
            rows = [dict(zip(self.names, point, strict=True)) for point in fresh]
            gain, cost, past = np.zeros(len(fresh)), np.zeros(len(fresh)), np.zeros(len(fresh))
            most, least = by_goal(self.problem.study.objectives)
            study = self.problem.study
            for where, evaluation in self.problem.rows(rows):
                gain[where] = evaluation[most.name]
                cost[where] = evaluation[least.name]
                past[where] = feasibility.violation(evaluation, study)
                passed = np.ones(len(where), dtype=bool)
                for reason, mask in feasibility.checks(evaluation, study):
                    failed = len(where) - int(np.count_nonzero(np.broadcast_to(mask, passed.shape)))
                    passed &= mask
                    if failed:
                        self.rejected[reason] = self.rejected.get(reason, 0) + failed
                past[where] = np.where(passed, 0.0, np.maximum(past[where], 1e-9))
            self.gain.extend(gain.tolist())
            self.cost.extend(cost.tolist())
            self.violation.extend(past.tolist())
            self.progress(len(self.points))
        return [self._known[point] for point in points]

    def _number(self, fresh: Sequence[Point], start: int) -> None:
        finite = self.problem.points is not None
        for at, point in enumerate(fresh, start):
            values = dict(zip(self.names, point, strict=True))
            index = self.problem.space.index(values) if finite else at
            self._index.append(index)
            self.position[index] = at

    # -- after the proposals -----------------------------------------------------------------

    def _polish(self) -> None:
        """Try every single-axis change of every front point until the front stays."""
        tried: set[Point] = set()
        while len(self.points) < self.budget:
            best = [self.points[self.position[int(index)]] for index in self.front().best]
            centres = [point for point in best if point not in tried]
            if not centres:
                return
            tried.update(centres)
            room = self.budget - len(self.points)
            fresh = [
                neighbour
                for centre in centres
                for neighbour in self._neighbours(centre)
                if neighbour not in self._known
            ]
            self.price(list(dict.fromkeys(fresh))[:room])

    def _neighbours(self, point: Point) -> Iterator[Point]:
        chosen = dict(zip(self.names, point, strict=True))
        for axis in self.axes:
            for value in _alternatives(axis, chosen[axis.name]):
                yield from self._completed({**chosen, axis.name: value})
        yield from self._completed(chosen)

    def _completed(self, chosen: dict[str, Value | None]) -> Iterator[Point]:
        """The point with its conditional axes set right: every value where one newly applies."""
        options: list[dict[str, Value | None]] = [{**chosen, **dict.fromkeys(self.conditional)}]
        for condition in self.problem.study.conditions:
            if self._applies(condition.requires, chosen):
                options = [
                    {**option, condition.axis: value}
                    for option in options
                    for value in condition.values
                ]
        for option in options:
            yield tuple(option[name] for name in self.names)

    def _sweep_rest(self) -> None:
        """If what is left of the budget covers all points not seen, see them."""
        if any(axis.continuous for axis in self.axes):
            return
        room = self.budget - len(self.points)
        if self.problem.space.size - len(self.points) > room:
            return
        space = self.problem.space
        block: list[Point] = []
        for index in range(space.size):
            values = space.point(index)
            block.append(tuple(values[name] for name in self.names))
            if len(block) == 8 * POPULATION:
                self.price(block)
                block = []
        self.price(block)


def _ask(trial: Any, axis: Axis) -> Value:
    if axis.continuous:
        assert axis.low is not None
        assert axis.high is not None
        number = trial.suggest_float(axis.name, axis.low, axis.high, log=axis.low > 0)
        return _continuous_value(axis, float(number))
    if len(axis.values) == 1:
        return axis.values[0]
    if axis.ordered:
        return axis.values[int(trial.suggest_int(axis.name, 0, len(axis.values) - 1))]
    return axis.values[int(trial.suggest_categorical(axis.name, list(range(len(axis.values)))))]


def _continuous_value(axis: Axis, number: float) -> Value:
    if axis.wire is None:
        return number
    from dataclasses import replace

    label = f"{number * 8 / 1e9:.4g} Gbps"
    return replace(axis.wire, bytes_per_s=number, label=label)


def _alternatives(axis: Axis, value: Value | None) -> Iterator[Value]:
    if not axis.continuous:
        yield from (other for other in axis.values if other != value)
        return
    assert axis.low is not None
    assert axis.high is not None
    now = getattr(value, "bytes_per_s", value)
    span = axis.high - axis.low
    moves = [float(now) + nudge * span for nudge in NUDGES]  # type: ignore[arg-type]
    for number in (axis.low, axis.high, *moves):
        if axis.low <= number <= axis.high:
            yield _continuous_value(axis, number)


def _bounded(number: float, worst: float) -> float:
    """Optuna takes no NaN: what cannot be computed is as bad as can be."""
    return number if math.isfinite(number) else worst * 1e300
