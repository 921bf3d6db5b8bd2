"""The bill of a rented point: what is rented, for how many hours, at what price an hour."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from dse import catalog
from dse.model.arrays import Array, scalar
from dse.model.money import HOURS_PER_YEAR
from dse.pricing import hardware
from dse.pricing.bill_of_materials import Item, Rent, Terms, bill_of_materials, line_of
from dse.pricing.evaluation import Evaluation
from dse.pricing.market import rents
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.pricing.rental import Rental
from dse.study import Value
from dse.study.quantities import RENT, SECONDS_PER_HOUR, facts_of
from dse.study.terms import COMMITMENTS

RENTED = "_rented"  # what follows the name of a bill of rent, where there is one of purchase, too


def bills(problem: Problem, values: Mapping[str, Value | None]) -> dict[str, tuple[Item, ...]]:
    """What a study pays for a point: the bill of its rent where its money is rent, else that of its
    purchase, which has an empty name; where it counts both, that of the rent is named RENTED."""
    study = problem.study
    if rents(study):
        return {"": bill_of_rent(problem, values)}
    found = {"": bill_of_materials(problem.points_at(values))}
    if RENT in facts_of(objective.name for objective in study.objectives):
        found[RENTED] = bill_of_rent(problem, values)
    return found


def bill_of_rent(problem: Problem, values: Mapping[str, Value | None]) -> tuple[Item, ...]:
    """The rent of a single point, in whole machines. Its sum is the cost of a run where that is the
    first money that the study minimizes, else the rent of an hour."""
    aims = [one.name for one in problem.study.objectives if RENT in facts_of([one.name])]
    points = problem.points_at(values)
    (rental,) = points.rentals
    if aims[:1] == ["per_run"]:
        rent = _of_a_run(rental, problem.point(values))
    else:
        rent = Rent(term=rental.study.term, hours=1.0)
    committed = COMMITMENTS.get(rental.study.term, 0) * HOURS_PER_YEAR or None
    return tuple(_items(points, rental, replace(rent, committed_hours=committed)))


def _of_a_run(rental: Rental, evaluation: Evaluation) -> Rent:
    """For how long a run is billed, and what for."""
    term = rental.study.term
    training = _hours(evaluation["samples_to_target"] / evaluation["throughput"])
    held = _hours(evaluation.held_s)
    billed = _hours(evaluation.billed_s)
    if not np.isfinite(billed):
        return Rent(term=term, hours=None)
    start_up = scalar(rental.start_up_s) / SECONDS_PER_HOUR
    committed = rental.study.committed
    over = billed - held - start_up
    return Rent(
        term=term,
        hours=billed,
        training_hours=training,
        lost_hours=held - training,
        start_up_hours=start_up,
        rounding_hours=0.0 if committed else over,
        idle_hours=over if committed else None,
    )


def _hours(seconds: Array) -> float:
    return float(np.ravel(seconds)[0]) / SECONDS_PER_HOUR


def _items(points: Points, rental: Rental, rent: Rent) -> Iterator[Item]:
    bill, prices = points.bill, points.problem.prices
    machine = points.only
    several = rental.rented_in(machine.accelerator.name)
    whole = f", rented in machines of {several:.0f}" if several > 1 else ", rented one by one"
    name = machine.node.title if machine.node else machine.accelerator.title + whole
    price, quantity = machine.rent, int(np.ravel(bill.rented)[0])
    share = scalar(rental.share_of(price.fact))
    item = _for_hours(_on_terms(line_of(points.problem, name, quantity, price), share), share, rent)
    idle = quantity - int(np.ravel(bill.training)[0]) if machine.node is None else 0
    yield replace(item, idle=idle)
    servers = int(np.ravel(bill.servers)[0])
    host = hardware.host_price(prices)
    if servers and host.usd:
        years = hardware.number(prices.amortisation_years.value)
        name = f"Host for a parameter server, its price spread over {years:g} years"
        spread = 1 / (years * HOURS_PER_YEAR)
        bought = replace(rent, committed_hours=None)
        yield _for_hours(line_of(points.problem, name, servers, host), spread, bought)


def _for_hours(item: Item, share: float, rent: Rent) -> Item:
    """A line at a price, for the hours of a rent and at a share of that price."""
    if item.unit_usd is None:
        return replace(item, rent=rent)
    unit_usd = item.unit_usd * share
    usd = None if rent.hours is None else item.quantity * unit_usd * rent.hours
    return replace(item, unit_usd=unit_usd, usd=usd, rent=rent)


def _on_terms(item: Item, share: float) -> Item:
    """The line with the discount that its term is off the price on demand."""
    listed = item.unit_usd
    if share == 1 or not listed:
        return item
    terms = item.terms or Terms()
    assert item.unit_usd is not None
    off = 1 - item.unit_usd * share / listed
    return replace(item, terms=replace(terms, list_usd=listed, discount=off))


def for_other_terms(problem: Problem) -> dict[tuple[str, ...], list[str]]:
    """Machines that the study may choose, by the terms of the buyer's own rents of them, where
    these are other terms than the study's and so do not count; empty where it rents nothing."""
    if not rents(problem.study):
        return {}
    study, prices = problem.study, problem.prices
    wanted = {rental.study.term for rental in problem.rentals}
    found: dict[tuple[str, ...], list[str]] = {}
    for axis, listed, terms in (
        ("accelerator", prices.accelerator_hourly_usd, prices.accelerator_terms_usd),
        ("node", prices.node_hourly_usd, prices.node_terms_usd),
    ):
        for name in dict.fromkeys((*study.values(axis), study.baseline.values.get(axis))):
            own, counts = terms.get(str(name), {}), listed.get(str(name))
            if own and not wanted & own.keys() and not (counts and catalog.own(counts)):
                found.setdefault(tuple(own), []).append(str(name))
    return found
