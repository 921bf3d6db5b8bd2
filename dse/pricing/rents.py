"""Whose rental prices an answer compares, and of what years."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse import catalog
from dse.catalog.price_spread import age_years
from dse.pricing.market import rents
from dse.pricing.problem import Problem
from dse.study import Value

_APART_YEARS = 2.0


def notes(problem: Problem, recommended: Mapping[str, Value | None]) -> list[str]:
    """That recommended point and baseline are rented from two sellers, or at prices of different
    years or without a date, and what the rent does not hold; nothing where the study rents nothing.
    """
    if not rents(problem.study):
        return []
    return [*_of_two_sellers(problem, recommended), *_by_the_accelerator(problem, recommended)]


def _by_the_accelerator(problem: Problem, values: Mapping[str, Value | None]) -> list[str]:
    """That a rent by the accelerator is the same in any machine on any network."""
    points = problem.points_at(values)
    if points.machine_axis == "node":
        return []
    each = int(np.ravel(points.gpus_per_node)[0])
    joined = " and with a network that joins them so" * (int(np.ravel(points.gpus)[0]) > each)
    return [
        f"The rent of the recommended point is by the accelerator, whatever machine and network it "
        f"comes with. Ask whether machines with {each} each{joined} are let at that price, or name "
        "the machines that can be rented (node: in the study's space)."
    ]


def _of_two_sellers(problem: Problem, recommended: Mapping[str, Value | None]) -> list[str]:
    """That two rents cannot simply be compared."""
    mine, theirs = _rent(problem, recommended), _rent(problem, problem.study.baseline.values)
    if mine is None or theirs is None or mine == theirs:
        return []
    sellers = {fact.offer.vendor for fact in (mine, theirs) if fact.offer and fact.offer.vendor}
    as_of = problem.prices.as_of
    ages = [age for fact in (mine, theirs) if (age := age_years(fact, as_of)) is not None]
    apart = max(ages) - min(ages) if len(ages) > 1 else 0.0
    two, undated = len(sellers) > 1, len(ages) < 2
    if not two and not undated and apart <= _APART_YEARS:
        return []
    why = ["they are of two clouds"] * two
    why += ["not both have a date"] * undated
    why += [f"they lie {apart:.1f} years apart"] * (apart > _APART_YEARS)
    return [
        f"The rent of the recommended point is {_said(mine)}, the baseline's {_said(theirs)}: "
        f"{' and '.join(why)}. Ask one seller for both."
    ]


def _rent(problem: Problem, values: Mapping[str, Value | None]) -> catalog.Fact | None:
    """The price of a point's machine by the hour."""
    points = problem.points_at(values)
    machine = points.machines[int(np.ravel(points.coordinates[points.machine_axis].at)[0])]
    return machine.usd_per_hour.fact or machine.host_usd_per_hour.fact


def _said(fact: catalog.Fact) -> str:
    seller = fact.offer.vendor if fact.offer else ""
    kind = fact.offer.price_class if fact.offer else "list"
    return f"{f'a price of {seller}' if seller else f'a {kind} price'} of {fact.date or 'no date'}"
