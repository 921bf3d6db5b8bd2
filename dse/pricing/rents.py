"""Whose rental prices an answer compares, and of what years."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse import catalog
from dse.catalog.price_spread import age_years
from dse.pricing.hardware import Machine
from dse.pricing.market import rents
from dse.pricing.problem import Problem
from dse.spelling import enumerated
from dse.study import Value

_APART_YEARS = 2.0
_APART = 1.25  # what another seller asks differs by more than a quotation would


def notes(problem: Problem, recommended: Mapping[str, Value | None]) -> list[str]:
    """What the rent does not hold, and what others ask; nothing where the study rents nothing."""
    if not rents(problem.study):
        return []
    return [
        *_own_on_demand(problem, recommended),
        *for_other_terms(problem),
        *_by_the_accelerator(problem, recommended),
        *_elsewhere(problem, recommended),
    ]


def _own_on_demand(problem: Problem, values: Mapping[str, Value | None]) -> list[str]:
    """That a price of the study's own counts as one on demand, where its term is another at the
    discount of the catalogue."""
    machine, fact = _rented(problem, values)
    rental = problem.study.rental
    if fact is None or not fact.value or not catalog.own(fact) or "discount" in rental.given:
        return []
    share = problem.rental.share_of(fact)
    if share == 1:
        return []
    of = (machine.node or machine.accelerator).title
    stated = fact.offer is not None and bool(fact.offer.term)
    remedy = "If it is a price of that term already, say so in the price list"
    told = "" if stated else f" {remedy} (term: {rental.term})."
    counts = "is" if stated else "counts as"
    return [
        f"Your USD {fact.value:,.2f} an hour for {of} {counts} a price on demand, so the bill has "
        f"{100 * share:.0f} % of it, USD {fact.value * share:,.2f}, for the term {rental.term}."
        f"{told}"
    ]


def for_other_terms(problem: Problem) -> list[str]:
    """That the study's own lists have rents of what it may choose for other terms alone, which do
    not count."""
    study, prices, term = problem.study, problem.prices, problem.study.rental.term
    found: dict[tuple[str, ...], dict[str, str]] = {}
    for axis, listed, terms in (
        ("accelerator", prices.accelerator_hourly_usd, prices.accelerator_terms_usd),
        ("node", prices.node_hourly_usd, prices.node_terms_usd),
    ):
        for name in dict.fromkeys((*study.values(axis), study.baseline.values.get(axis))):
            own, counts = terms.get(str(name), {}), listed.get(str(name))
            if own and term not in own and not (counts and catalog.own(counts)):
                files = dict.fromkeys(fact.offer.file for fact in own.values() if fact.offer)
                found.setdefault(tuple(own), {})[str(name)] = enumerated([*files])
    return [
        f"The rent of {enumerated([*names])} in {enumerated([*dict.fromkeys(names.values())])} is "
        f"for {enumerated(terms)} alone, and the study rents {term}: it is not used."
        for terms, names in found.items()
    ]


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


def _elsewhere(problem: Problem, values: Mapping[str, Value | None]) -> list[str]:
    """What the catalogue knows of other rents of the same accelerator, where they are far off."""
    machine, fact = _rented(problem, values)
    if fact is None or not fact.value or catalog.own(fact):
        return []
    per_machine = machine.node.accelerators if machine.node else 1
    share = problem.rental.price_share
    mine, name, prices = fact.value * share / per_machine, machine.accelerator.name, problem.prices
    offers = [("accelerator by accelerator", prices.accelerator_hourly_usd.get(name), 1)]
    offers += [
        (node.name, prices.node_hourly_usd.get(node.name, node.hourly_usd), node.accelerators)
        for node in map(catalog.node, catalog.names("nodes"))
        if node.accelerator == name
    ]
    others = sorted(
        (
            offer.value * share / each,
            f"USD {offer.value * share / each:,.2f} ({what}, {offer.date or 'no date'})",
        )
        for what, offer, each in offers
        if offer is not None and offer.value and offer is not fact
        and (age_years(offer, prices.as_of) or 0.0) <= _APART_YEARS
    )  # fmt: skip
    if not others or (others[0][0] * _APART > mine and others[-1][0] < mine * _APART):
        return []
    ends = list(dict.fromkeys((others[0][1], others[-1][1])))
    off = "" if share == 1 else f", each at {100 * share:.0f} % of its price on demand"
    return [
        f"The bill's rent is USD {mine:,.2f} an hour for one {machine.accelerator.title}; the "
        f"catalogue also has {' to '.join(ends)}{off}. Ask several sellers."
    ]


def of_two_sellers(problem: Problem, recommended: Mapping[str, Value | None]) -> list[str]:
    """That recommended point and baseline are rented from two sellers, or at prices of different
    years or without a date, so that the rents cannot simply be compared; nothing where the study
    rents nothing.
    """
    if not rents(problem.study):
        return []
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
    why += ["not both have a date" if ages else "neither has a date"] * undated
    why += [f"they lie {apart:.1f} years apart"] * (apart > _APART_YEARS)
    return [
        f"The rent of the recommended point is {_said(mine)}, the baseline's {_said(theirs)}: "
        f"{' and '.join(why)}. Ask one seller for both."
    ]


def asked(problem: Problem, values: Mapping[str, Value | None]) -> str:
    """Whose price of what day the rent of a point is, ``a price of Lambda of 2026-11-16``; empty
    where it is not known."""
    fact = _rent(problem, values)
    if fact is None or not fact.value:
        return ""
    if catalog.own(fact):
        seller = fact.offer.vendor if fact.offer else ""
        return f"your price of {f'{seller} of ' * bool(seller)}{fact.date or 'no date'}"
    return _said(fact)


def _rent(problem: Problem, values: Mapping[str, Value | None]) -> catalog.Fact | None:
    """The price of a point's machine by the hour."""
    return _rented(problem, values)[1]


def _rented(
    problem: Problem, values: Mapping[str, Value | None]
) -> tuple[Machine, catalog.Fact | None]:
    """A point's machine, and its price by the hour."""
    points = problem.points_at(values)
    machine = points.machines[int(np.ravel(points.coordinates[points.machine_axis].at)[0])]
    return machine, machine.usd_per_hour.fact or machine.host_usd_per_hour.fact


def _said(fact: catalog.Fact) -> str:
    seller = fact.offer.vendor if fact.offer else ""
    kind = fact.offer.price_class if fact.offer else "list"
    return f"{f'a price of {seller}' if seller else f'a {kind} price'} of {fact.date or 'no date'}"
