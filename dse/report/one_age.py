"""The answer at prices of one age, where the prices that it compares are years apart."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.catalog.observations import PURCHASE as BOUGHT
from dse.catalog.observations import nearest
from dse.catalog.observations import of_one_age as observed_together
from dse.catalog.price_spread import DAYS_PER_YEAR, OLD_YEARS, age_years, standing
from dse.pricing.problem import Problem
from dse.report.document import OneAge
from dse.report.recommendation import LEAST_REGRET, recommended
from dse.search.run import FrontPoint
from dse.study import Value
from dse.study.quantities import PURCHASE, facts_of

_CLOSE_DAYS = int(DAYS_PER_YEAR)  # prices of one age lie within a year of one day


def of_one_age(
    problem: Problem, front: Sequence[FrontPoint], best: int, rule: str
) -> OneAge | None:
    """What recommended point and baseline would cost at prices of one age, and which point would be
    recommended then; None where the prices are of one age, or too few are known.

    A price that the buyer is offered today is what he pays, whatever others paid years ago, and
    nobody buys a baseline that stands there: both leave nothing to compare. best: position of the
    point recommended.
    """
    study = problem.study
    mine, theirs = (
        str(values.get("accelerator")) for values in (front[best].values, study.baseline.values)
    )
    if PURCHASE not in facts_of(objective.name for objective in study.objectives):
        return None
    if rule == LEAST_REGRET:  # that hangs on draws, not on prices alone
        return None
    if mine == theirs or not _apart(problem, mine, theirs):
        return None
    if _offered(problem, mine) or _offered(problem, theirs) or _stands(problem, theirs):
        return None
    day = observed_together(mine, theirs, BOUGHT)
    if day is None or any(
        nearest(name, BOUGHT, day, _CLOSE_DAYS) is None for name in (mine, theirs)
    ):
        return None
    names = dict.fromkeys(
        str(point.values["accelerator"]) for point in (*front, front[best])
    ) | {theirs: None}  # fmt: skip
    found, missing = _aged(problem, day, list(names))
    capital, base = (
        [_capital(one, values) for one in (problem, found)]
        for values in (front[best].values, study.baseline.values)
    )
    if not capital[0] or not base[0] or not base[1]:  # it stands there already
        return None
    then = _recommended(found, front, rule)
    return OneAge(
        month=f"{day:%Y-%m}",
        capital=capital[1],
        baseline_capital=base[1],
        instead=None if then == best else then + 1,
        missing=tuple(missing),
    )


def _apart(problem: Problem, *names: str) -> bool:
    """Whether the prices of these accelerators are of different years."""
    listed = problem.prices.accelerator_usd
    facts = [listed[name] for name in names if name in listed]
    ages = [age_years(fact, problem.prices.as_of) for fact in facts]
    known = [age for age in ages if age is not None]
    return len(known) == len(names) and max(known) - min(known) > OLD_YEARS


def _offered(problem: Problem, name: str) -> bool:
    """Whether the price of an accelerator is a valid offer to the buyer."""
    prices = problem.prices
    fact = prices.accelerator_usd.get(name)
    return fact is not None and standing(fact, prices.as_of, prices.valid_on).offer


def _stands(problem: Problem, name: str) -> bool:
    """Whether all accelerators of the baseline are owned."""
    study = problem.study
    count = sum(entry.count for entry in study.owned if entry.machine == name)
    needed = study.baseline.values.get("gpus")
    return isinstance(needed, int | float) and count >= needed


def _aged(problem: Problem, day: datetime.date, names: Sequence[str]) -> tuple[Problem, list[str]]:
    """The problem with accelerators at their prices around a day, but for those that the buyer is
    offered; those that have none."""
    prices = dict(problem.prices.accelerator_usd)
    missing = []
    for name in names:
        if _offered(problem, name):
            continue
        observed = nearest(name, BOUGHT, day, _CLOSE_DAYS)
        if observed is None:
            missing.append(name)
        else:
            prices[name] = replace(prices[name], value=observed.usd, date=str(observed.day))
    return replace(problem, prices=replace(problem.prices, accelerator_usd=prices)), missing


def _capital(problem: Problem, values: Mapping[str, Value | None]) -> float:
    return float(np.ravel(problem.point(values)["capital"])[0])


def _recommended(problem: Problem, front: Sequence[FrontPoint], rule: str) -> int:
    """Which point of a front the rule recommends at the prices of this problem."""
    most, least, *also = (objective.name for objective in problem.study.objectives)
    again = list(front)
    for where, evaluation in problem.rows([point.values for point in front]):
        gain, cost, other = (
            np.broadcast_to(evaluation[name], len(where))
            for name in (most, least, *(also or [least]))
        )
        for row, at in enumerate(where):
            again[at] = replace(
                front[at], gain=float(gain[row]), cost=float(cost[row]),
                other=float(other[row]) if also else front[at].other,
            )  # fmt: skip
    order = sorted(range(len(again)), key=lambda at: (again[at].cost, again[at].other))
    kept, fastest = list[int](), -np.inf
    for at in order:
        if also or again[at].gain > fastest:  # else another is cheaper and as fast
            kept.append(at)
            fastest = again[at].gain
    return kept[recommended([again[at] for at in kept], rule)]
