"""The searches that are compared; each returns the points it priced, in order.

An evaluation is one pricing of one point by the model. The rivals run as their documentation shows
them, one objective function with their defaults; a point that they ask for again counts again, as
it would there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np

from dse.model.arrays import Array
from dse.pricing.problem import Problem
from dse.search.guided import Guided, Point, Points
from dse.search.guided.archive import evaluated
from dse.search.guided.points import at_fraction
from dse.search.guided.proposals import suggested

Method = Callable[[Problem, int, int], Array]  # (problem, budget, seed) -> gain, cost, violation


def dse(problem: Problem, budget: int, seed: int) -> Array:
    """The guided engine as ``dse run`` starts it; shape (at most budget, 3)."""
    search = Guided(problem, budget, seed)
    search.run()
    assert search.archive.priced == len(search.archive) <= budget
    return search.archive.numbers


def optuna_nsga2(problem: Problem, budget: int, seed: int) -> Array:
    """Optuna's NSGA-II with its defaults."""
    from optuna.samplers import NSGAIISampler

    return _optuna(problem, budget, NSGAIISampler(seed=seed))


def optuna_tpe(problem: Problem, budget: int, seed: int) -> Array:
    """Optuna's TPE with its defaults."""
    from optuna.samplers import TPESampler

    return _optuna(problem, budget, TPESampler(seed=seed))


def _optuna(problem: Problem, budget: int, sampler: object) -> Array:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = Points(problem.study)
    rows: list[Array] = []

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        numbers = _numbers(problem, space, [suggested(trial, space)])
        rows.append(numbers[0])
        trial.set_constraint("violation", float(numbers[0, 2]))
        return _bounded(numbers[0, 0], -1.0), _bounded(numbers[0, 1], 1.0)

    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=budget)
    return np.array(rows)


def _bounded(number: float, worst: float) -> float:
    """Optuna takes no NaN: what cannot be computed is as bad as can be."""
    return float(number) if np.isfinite(number) else worst * 1e300


def pymoo_nsga2(problem: Problem, budget: int, seed: int) -> Array:
    """pymoo's NSGA-II with its defaults (population 100, SBX, polynomial mutation).

    Every axis is a real variable from 0 to 1, cut into as many parts as the axis has values; a
    conditional axis has a variable of its own, which is not read where the axis does not apply.
    """
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.problem import Problem as Plain
    from pymoo.optimize import minimize

    space = Points(problem.study)
    width = len(space.axes) + len(space.conditional)
    rows: list[Array] = []

    class Ours(Plain):
        def __init__(self) -> None:
            super().__init__(n_var=width, n_obj=2, n_ieq_constr=1, xl=0.0, xu=1.0)

        def _evaluate(self, x: Array, out: dict[str, Array], *_: object, **__: object) -> None:
            numbers = _numbers(problem, space, [_read(space, genes) for genes in x])
            rows.extend(numbers)
            gain = np.nan_to_num(numbers[:, 0], nan=-1e300)
            cost = np.nan_to_num(numbers[:, 1], nan=1e300, posinf=1e300)
            out["F"] = np.column_stack([-gain, cost])
            out["G"] = numbers[:, 2:]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimize(Ours(), NSGA2(), ("n_eval", budget), seed=seed, verbose=False)
    return np.array(rows)[:budget]


def _read(space: Points, genes: Array) -> Point:
    chosen = {a.name: at_fraction(a, float(g)) for a, g in zip(space.axes, genes, strict=False)}
    for name, gene in zip(space.conditional, genes[len(space.axes) :], strict=True):
        values = space.applicable(name, chosen)[1]
        last = len(values) - 1
        chosen[name] = values[min(int(gene * len(values)), last)] if values else None
    return tuple(chosen[name] for name in space.names)


def _numbers(problem: Problem, space: Points, points: Sequence[Point]) -> Array:
    block = evaluated(problem, space, points)
    return np.column_stack([block.values, block.violation])


METHODS: dict[str, Method] = {
    "dse": dse,
    "Optuna NSGA-II": optuna_nsga2,
    "Optuna TPE": optuna_tpe,
    "pymoo NSGA-II": pymoo_nsga2,
}
