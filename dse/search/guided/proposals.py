"""Points proposed by Optuna, by ask and tell, a generation at a time.

Optuna's time per trial grows with the trials of its study, so a study ends after
:data:`MOST_TRIALS`; the next begins with what the archive knows best. Its seed follows from how
many points are known, so that a search that goes on does not repeat its first choices.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, TypeAlias

import numpy as np

from dse.model.arrays import Array
from dse.search.guided.archive import Archive
from dse.search.guided.codes import Coded
from dse.search.guided.ideal import Ideal
from dse.search.guided.points import Point, Points, size
from dse.study import Axis, Value

Direction: TypeAlias = Literal["maximize", "minimize"]

GENETIC = ("nsga2", "nsga3")
POPULATION = 64  # of a genetic sampler, and the points of one block
FEW_TRIALS = 200  # below, TPE learns more from a trial than two generations of NSGA-II would
MOST_TRIALS = 1024
STALE = 4  # generations without a new point: the sampler has converged


def choose_sampler(budget: int, objectives: int) -> str:
    """Its name: TPE for a budget of less than a few generations, NSGA-III where more than two
    objectives need reference directions, else NSGA-II."""
    if budget < FEW_TRIALS:
        return "tpe"
    return "nsga3" if objectives > 2 else "nsga2"


def make_sampler(name: str, seed: int) -> Any:
    """The Optuna sampler of that name."""
    from optuna import samplers
    from optuna.exceptions import ExperimentalWarning

    if name == "nsga2":
        return samplers.NSGAIISampler(population_size=POPULATION, seed=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        if name == "nsga3":
            return samplers.NSGAIIISampler(population_size=POPULATION, seed=seed)
        if name == "tpe":
            return samplers.TPESampler(seed=seed, n_startup_trials=20, constant_liar=True)
        return samplers.RandomSampler(seed=seed)


def propose(
    archive: Archive, coded: Coded, ideal: Ideal, sampler: str, seed: int, count: int
) -> None:
    """Price up to ``count`` new points that the sampler proposes."""
    goal = len(archive) + count
    while len(archive) < goal:
        before = len(archive)
        _one_study(archive, coded, ideal, sampler, (seed + len(archive)) % 2**32, goal)
        if len(archive) == before:
            return


def _one_study(
    archive: Archive, coded: Coded, ideal: Ideal, sampler: str, seed: int, goal: int
) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    later = make_sampler(sampler, seed)
    # A genetic sampler takes trials as parents that it asked for; others need not be asked.
    first = later if sampler in GENETIC else make_sampler("random", seed)
    objectives = len(archive.problem.study.objectives)
    study = optuna.create_study(directions=directions(objectives), sampler=first)
    known = _enqueue_best(study, archive, np.random.default_rng(seed))
    _generation(study, archive, coded, ideal, known, goal)
    study.sampler = later
    stale, trials = 0, known
    while len(archive) < goal and stale < STALE and trials < MOST_TRIALS:
        before = len(archive)
        _generation(study, archive, coded, ideal, POPULATION, goal)
        trials += POPULATION
        stale = stale + 1 if len(archive) == before else 0


def _generation(
    study: Any, archive: Archive, coded: Coded, ideal: Ideal, count: int, goal: int
) -> None:
    """Ask for points, price those that are new in one block, and tell all."""
    from optuna.trial import TrialState

    trials = [study.ask() for _ in range(count)]
    points = [suggested(trial, archive.space) for trial in trials]
    bounds = ideal(coded.of(points))
    possible = dict(zip(points, bounds.possible, strict=True))
    fresh = [point for point in possible if possible[point] and point not in archive]
    archive.price(fresh[: goal - len(archive)])
    numbers = archive.numbers
    for trial, point, bound in zip(trials, points, bounds.numbers, strict=True):
        if point in archive:
            told = numbers[archive.price([point])[0]]
            trial.set_constraint("violation", float(told[-1]))
            study.tell(trial, bounded(told[:-1], numbers[:, :-1]))
        elif not possible[point]:  # known without a price
            trial.set_constraint("violation", float(bound[-1]))
            study.tell(trial, bounded(bound[:-1], numbers[:, :-1]))
        else:  # beyond the budget
            study.tell(trial, state=TrialState.FAIL)


def _enqueue_best(study: Any, archive: Archive, rng: np.random.Generator) -> int:
    """Begin with the front, and others at random; returns how many.

    All are known, so that asking for them again prices nothing.
    """
    best = archive.best()
    if len(best) > POPULATION // 2:
        best = sorted(rng.choice(best, POPULATION // 2, replace=False).tolist())
    others = rng.choice(len(archive), min(len(archive), POPULATION - len(best)), replace=False)
    begun = dict.fromkeys([*best, *others.tolist()])
    for at in begun:
        study.enqueue_trial(parameters(archive.points[at], archive.space))
    return len(begun)


def suggested(trial: Any, space: Points) -> Point:
    """The point of a trial."""
    found = {axis.name: _ask(trial, axis) for axis in space.axes}
    for name in space.conditional:
        number, values = space.applicable(name, found)
        at = trial.suggest_int(f"{name}/{number}", 0, len(values) - 1) if values else None
        found[name] = None if at is None else values[at]
    return tuple(found[name] for name in space.names)


def _ask(trial: Any, axis: Axis) -> Value | None:
    if axis.continuous:
        assert axis.low is not None
        assert axis.high is not None
        number = trial.suggest_float(axis.name, axis.low, axis.high, log=axis.low > 0)
        return axis.continuous_value(float(number))
    if len(axis.values) == 1:
        return axis.values[0]
    if axis.ordered:
        return axis.values[int(trial.suggest_int(axis.name, 0, len(axis.values) - 1))]
    return axis.values[int(trial.suggest_categorical(axis.name, list(range(len(axis.values)))))]


def parameters(point: Point, space: Points) -> dict[str, int | float]:
    """What :func:`suggested` would have to be given for this point."""
    given = space.values(point)
    found: dict[str, int | float] = {}
    for axis in space.free:
        value = given[axis.name]
        assert value is not None
        found[axis.name] = size(value) if axis.continuous else axis.values.index(value)
    for name in space.conditional:
        number, values = space.applicable(name, given)
        value = given[name]
        if values and value is not None:
            found[f"{name}/{number}"] = list(values).index(value)
    return found


def directions(objectives: int) -> list[Direction]:
    """Which way is better, in the order of the study."""
    more: list[Direction] = ["minimize"] * (objectives - 1)
    return ["maximize", *more]


def bounded(values: Array, known: Array) -> list[float]:
    """Optuna takes no NaN: what cannot be computed is as bad as the worst that is known.

    values: shape (objectives,). known: shape (points, objectives).
    """
    finite = np.where(np.isfinite(known), known, np.nan)
    found = np.isfinite(finite).any(axis=0)
    worst = np.where(found, 0.0, [-1.0, *[1.0] * (len(values) - 1)])
    if found.any():
        worst[found] = np.nanmax(finite[:, found], axis=0)
    if np.isfinite(finite[:, 0]).any():
        worst[0] = np.nanmin(finite[:, 0])
    return [float(x) for x in np.where(np.isfinite(values), values, worst)]
