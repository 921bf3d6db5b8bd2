"""The answer at prices of one age, where the prices that it compares are years apart."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dse.catalog.observations import PURCHASE as BOUGHT
from dse.catalog.observations import nearest, of_one_age
from dse.catalog.price_spread import DAYS_PER_YEAR, age_years
from dse.pricing.problem import Problem
from dse.report.bills import OLD_YEARS
from dse.report.design_point import Point
from dse.report.recommendation import LEAST_REGRET, recommended
from dse.report.words import describe, significant
from dse.search.run import FrontPoint
from dse.study import Value
from dse.study.quantities import PURCHASE, facts_of

_CLOSE_DAYS = int(DAYS_PER_YEAR)  # prices of one age lie within a year of one day


def notes(
    problem: Problem, front: Sequence[FrontPoint], points: Sequence[Point], best: int, rule: str
) -> list[str]:
    """What recommended point and baseline would cost at prices of one age, and which point would be
    recommended then; nothing where the prices are of one age, or too few are known.

    front, points: the same points. best: the one recommended.
    """
    study = problem.study
    mine, theirs = (
        str(values.get("accelerator")) for values in (front[best].values, study.baseline.values)
    )
    if PURCHASE not in facts_of(objective.name for objective in study.objectives):
        return []
    if rule == LEAST_REGRET:  # that hangs on draws, not on prices alone
        return []
    if mine == theirs or not _apart(problem, mine, theirs):
        return []
    day = of_one_age(mine, theirs, BOUGHT)
    if day is None or any(
        nearest(name, BOUGHT, day, _CLOSE_DAYS) is None for name in (mine, theirs)
    ):
        return []
    names = dict.fromkeys(
        str(point.values["accelerator"]) for point in (*front, front[best])
    ) | {theirs: None}  # fmt: skip
    found, missing = _aged(problem, day, list(names))
    capital = [_capital(one, front[best].values) for one in (problem, found)]
    base = [_capital(one, study.baseline.values) for one in (problem, found)]
    if not capital[0] or not base[0] or not base[1]:  # it stands there already
        return []
    then = _recommended(found, front, rule)
    changed = "it stays the recommended point" if then == best else (
        f"recommended would then be {describe(points[then])}"
    )  # fmt: skip
    without = f" No price of that time is known of {', '.join(missing)}." if missing else ""
    return [
        f"At prices of one age, of accelerators around {day:%Y-%m} (hosts and network as above), "
        f"the recommended point costs USD {capital[1]:,.0f} and the baseline USD {base[1]:,.0f}: "
        f"{significant(capital[1] / base[1], 2)} times as much instead of "
        f"{significant(capital[0] / base[0], 2)} times; {changed}.{without}"
    ]


def _apart(problem: Problem, *names: str) -> bool:
    """Whether the prices of these accelerators are of different years."""
    listed = problem.prices.accelerator_usd
    facts = [listed[name] for name in names if name in listed]
    ages = [age_years(fact, problem.prices.as_of) for fact in facts]
    known = [age for age in ages if age is not None]
    return len(known) == len(names) and max(known) - min(known) > OLD_YEARS


def _aged(problem: Problem, day: datetime.date, names: Sequence[str]) -> tuple[Problem, list[str]]:
    """The problem with accelerators at their prices around a day; those that have none."""
    prices = dict(problem.prices.accelerator_usd)
    missing = []
    for name in names:
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
