"""The searches that are compared; each returns the points it priced, in order.

An evaluation is one pricing of one point by the model. The rivals run as their documentation shows
them, one objective function with their defaults, but with dse's cache and filter before it: only
points that dse would price count, each once.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from dse.model.arrays import Array
from dse.pricing.problem import Problem
from dse.search.guided import Guided, Point, Points
from dse.search.guided.archive import evaluated
from dse.search.guided.codes import Coded
from dse.search.guided.ideal import Ideal
from dse.search.guided.points import at_fraction
from dse.search.guided.proposals import suggested

Method = Callable[[Problem, int, int], Array]  # (problem, budget, seed) -> gain, cost, violation

MOST_ASKED = 10  # times the budget: who has converged asks for what is known
MOST_ASKED_OF_TPE = 3  # its time grows with the square of what it has asked
MOST_ASKED_OF_GP = 1  # its time grows with more than the cube


def dse(problem: Problem, budget: int, seed: int) -> Array:
    """The guided engine as ``dse run`` starts it; shape (at most budget, 3)."""
    search = Guided(problem, budget, seed)
    search.run()
    assert search.archive.priced == len(search.archive) <= budget
    return search.archive.numbers


@dataclass
class Counted:
    """The model as the rivals see it: with dse's cache and filter, and a budget.

    A point that was priced before is answered again, without counting. So is one that dse would not
    price because of its bounds, with these: what misses a limit that communication does not change,
    and what some priced point beats even if its communication took no time.
    """

    problem: Problem
    budget: int
    rows: list[Array] = field(default_factory=list)
    known: dict[Point, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.coded = Coded(self.problem)
        self.ideal = Ideal(self.problem, self.coded)

    @property
    def spent(self) -> bool:
        """Whether no further point may be priced."""
        return len(self.rows) >= self.budget

    def __call__(self, points: Sequence[Point]) -> Array:
        """Gain, cost, violation of every point, shape (points, 3)."""
        fresh = [p for p in dict.fromkeys(points) if p not in self.known]
        bounds = self.ideal(self.coded.of(fresh))
        kept = bounds.possible & ~self._beaten(bounds.numbers)
        found = {
            p: row for p, row, keep in zip(fresh, bounds.numbers, kept, strict=True) if not keep
        }
        fresh = [p for p, keep in zip(fresh, kept, strict=True) if keep]
        fresh = fresh[: self.budget - len(self.rows)]
        if fresh:
            block = evaluated(self.problem, self.coded.space, fresh)
            rows = np.column_stack([block.values, block.violation])
            self.rows.extend(rows)
            self.known.update(zip(fresh, rows, strict=True))
        self.known.update(found)
        beyond_budget = np.array([np.nan, np.nan, 1.0])
        return np.array([self.known.get(point, beyond_budget) for point in points])

    def _beaten(self, numbers: Array) -> Array:
        """Whether a priced point costs no more and gains more than each, shape (points,)."""
        priced = np.array([row for row in self.rows if row[2] == 0]).reshape(-1, 3)
        gain, cost = priced[:, 0], priced[:, 1]
        return np.array([bool(((gain > g) & (cost <= c)).any()) for g, c, _ in numbers], dtype=bool)


def optuna_nsga2(problem: Problem, budget: int, seed: int) -> Array:
    """Optuna's NSGA-II with its defaults."""
    from optuna.samplers import NSGAIISampler

    return _optuna(problem, budget, NSGAIISampler(seed=seed))


def optuna_nsga3(problem: Problem, budget: int, seed: int) -> Array:
    """Optuna's NSGA-III with its defaults."""
    from optuna.samplers import NSGAIIISampler

    return _optuna(problem, budget, NSGAIIISampler(seed=seed))


def optuna_tpe(problem: Problem, budget: int, seed: int) -> Array:
    """Optuna's TPE with its defaults."""
    from optuna.samplers import TPESampler

    return _optuna(problem, budget, TPESampler(seed=seed), most_asked=MOST_ASKED_OF_TPE)


def optuna_gp(problem: Problem, budget: int, seed: int) -> Array:
    """Optuna's Gaussian process with its defaults; needs torch."""
    from optuna.samplers import GPSampler

    return _optuna(problem, budget, GPSampler(seed=seed), most_asked=MOST_ASKED_OF_GP)


def _optuna(problem: Problem, budget: int, sampler: object, most_asked: int = MOST_ASKED) -> Array:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    model = Counted(problem, budget)

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        ((gain, cost, violation),) = model([suggested(trial, model.coded.space)])
        trial.set_constraint("violation", float(violation))
        if model.spent:
            trial.study.stop()
        return _bounded(gain, -1.0), _bounded(cost, 1.0)

    study = optuna.create_study(directions=["maximize", "minimize"], sampler=sampler)
    study.optimize(objective, n_trials=most_asked * budget)
    return np.array(model.rows)


def _bounded(number: float, worst: float) -> float:
    """Optuna takes no NaN: what cannot be computed is as bad as can be."""
    return float(number) if np.isfinite(number) else worst * 1e300


def pymoo_nsga2(problem: Problem, budget: int, seed: int) -> Array:
    """pymoo's NSGA-II with its defaults (population 100, SBX, polynomial mutation)."""
    from pymoo.algorithms.moo.nsga2 import NSGA2

    return _pymoo(problem, budget, NSGA2(), seed)


def pymoo_sms(problem: Problem, budget: int, seed: int) -> Array:
    """pymoo's SMS-EMOA, which selects by hypervolume, with its defaults."""
    from pymoo.algorithms.moo.sms import SMSEMOA

    return _pymoo(problem, budget, SMSEMOA(), seed)


def pymoo_spea2(problem: Problem, budget: int, seed: int) -> Array:
    """pymoo's SPEA2 with its defaults."""
    from pymoo.algorithms.moo.spea2 import SPEA2

    return _pymoo(problem, budget, SPEA2(), seed)


def _pymoo(problem: Problem, budget: int, algorithm: object, seed: int) -> Array:
    """Every axis is a real variable from 0 to 1, cut into as many parts as the axis has values; a
    conditional axis has a variable of its own, which is not read where the axis does not apply.
    """
    from pymoo.core.problem import Problem as Plain
    from pymoo.optimize import minimize

    model = Counted(problem, budget)
    space = model.coded.space
    width = len(space.axes) + len(space.conditional)

    class Ours(Plain):
        def __init__(self) -> None:
            super().__init__(n_var=width, n_obj=2, n_ieq_constr=1, xl=0.0, xu=1.0)

        def _evaluate(self, x: Array, out: dict[str, Array], *_: object, **__: object) -> None:
            numbers = model([_read(space, genes) for genes in x])
            gain = np.nan_to_num(numbers[:, 0], nan=-1e300)
            cost = np.nan_to_num(numbers[:, 1], nan=1e300, posinf=1e300)
            out["F"] = np.column_stack([-gain, cost])
            out["G"] = numbers[:, 2:]
            if model.spent:
                raise _Spent

    with warnings.catch_warnings(), suppress(_Spent):
        warnings.simplefilter("ignore")
        minimize(Ours(), algorithm, ("n_eval", MOST_ASKED * budget), seed=seed, verbose=False)
    return np.array(model.rows)


class _Spent(Exception):
    """The budget is."""


def _read(space: Points, genes: Array) -> Point:
    chosen = {a.name: at_fraction(a, float(g)) for a, g in zip(space.axes, genes, strict=False)}
    for name, gene in zip(space.conditional, genes[len(space.axes) :], strict=True):
        values = space.applicable(name, chosen)[1]
        last = len(values) - 1
        chosen[name] = values[min(int(gene * len(values)), last)] if values else None
    return tuple(chosen[name] for name in space.names)


METHODS: dict[str, Method] = {
    "dse": dse,
    "Optuna NSGA-II": optuna_nsga2,
    "Optuna NSGA-III": optuna_nsga3,
    "Optuna TPE": optuna_tpe,
    "Optuna GP": optuna_gp,
    "pymoo NSGA-II": pymoo_nsga2,
    "pymoo SMS-EMOA": pymoo_sms,
    "pymoo SPEA2": pymoo_spea2,
}
