"""Points proposed by Optuna, by ask and tell, a generation at a time.

Optuna's time per trial grows with the trials of its study, so a study ends after
:data:`MOST_TRIALS`; the next begins with what the archive knows best. Its seed follows from how
many points are known, so that a search that goes on does not repeat its first choices.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dse.search.guided.archive import Archive
from dse.search.guided.points import Point, Points, continuous_value, size
from dse.search.guided.samplers import POPULATION, make_sampler
from dse.study import Axis, Value

MOST_TRIALS = 1024
STALE = 4  # generations without a new point: the sampler has converged


def propose(archive: Archive, sampler: str, seed: int, count: int) -> None:
    """Price up to ``count`` new points that the sampler proposes."""
    goal = len(archive) + count
    while len(archive) < goal:
        before = len(archive)
        _one_study(archive, sampler, (seed + len(archive)) % 2**32, goal)
        if len(archive) == before:
            return


def _one_study(archive: Archive, sampler: str, seed: int, goal: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        directions=["maximize", "minimize"], sampler=make_sampler(sampler, seed)
    )
    _enqueue_best(study, archive, np.random.default_rng(seed))
    stale = asked = 0
    generation = 8 if sampler == "gp" else POPULATION
    while len(archive) < goal and stale < STALE and asked < MOST_TRIALS:
        trials = [study.ask() for _ in range(generation)]
        points = [suggested(trial, archive.space) for trial in trials]
        before = len(archive)
        fresh = [p for p in dict.fromkeys(points) if p not in archive][: goal - before]
        archive.price(fresh)
        numbers = archive.numbers
        for trial, point in zip(trials, points, strict=True):
            if point not in archive:  # beyond the budget
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
                continue
            gain, cost, violation = numbers[archive.price([point])[0]]
            trial.set_constraint("violation", float(violation))
            study.tell(trial, [bounded(gain, -1.0), bounded(cost, 1.0)])
        asked += generation
        stale = stale + 1 if len(archive) == before else 0


def _enqueue_best(study: Any, archive: Archive, rng: np.random.Generator) -> None:
    """Begin with the front, and others at random: histories are not taken as parents, trials are.

    All are known, so that asking for them again prices nothing.
    """
    if not len(archive):
        return
    best = archive.best()
    if len(best) > POPULATION // 2:
        best = sorted(rng.choice(best, POPULATION // 2, replace=False).tolist())
    others = rng.choice(len(archive), min(len(archive), POPULATION - len(best)), replace=False)
    for at in dict.fromkeys([*best, *others.tolist()]):
        study.enqueue_trial(parameters(archive.points[at], archive.space))


def suggested(trial: Any, space: Points) -> Point:
    """The point of a trial."""
    chosen = {axis.name: _ask(trial, axis) for axis in space.axes}
    for name in space.conditional:
        number, values = space.applicable(name, chosen)
        at = trial.suggest_int(f"{name}/{number}", 0, len(values) - 1) if values else None
        chosen[name] = None if at is None else values[at]
    return tuple(chosen[name] for name in space.names)


def _ask(trial: Any, axis: Axis) -> Value | None:
    if axis.continuous:
        assert axis.low is not None
        assert axis.high is not None
        number = trial.suggest_float(axis.name, axis.low, axis.high, log=axis.low > 0)
        return continuous_value(axis, float(number))
    if len(axis.values) == 1:
        return axis.values[0]
    if axis.ordered:
        return axis.values[int(trial.suggest_int(axis.name, 0, len(axis.values) - 1))]
    return axis.values[int(trial.suggest_categorical(axis.name, list(range(len(axis.values)))))]


def parameters(point: Point, space: Points) -> dict[str, int | float]:
    """What :func:`suggested` would have to be given for this point."""
    chosen = space.values(point)
    found: dict[str, int | float] = {}
    for axis in space.free:
        value = chosen[axis.name]
        assert value is not None
        found[axis.name] = size(value) if axis.continuous else axis.values.index(value)
    for name in space.conditional:
        number, values = space.applicable(name, chosen)
        value = chosen[name]
        if values and value is not None:
            found[f"{name}/{number}"] = list(values).index(value)
    return found


def bounded(number: float, worst: float) -> float:
    """Optuna takes no NaN: what cannot be computed is as bad as can be."""
    return float(number) if math.isfinite(number) else worst * 1e300
