"""A cost of points as a linear form of unit prices: ``cost = usd @ quantities + constant``.

No price changes how fast a point is, and every cost is a sum of quantities times unit prices, so
whoever has the form can price the points anew without the model of a step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dse.model.arrays import Array, ArrayLike, scalar
from dse.model.money import HOURS_PER_YEAR, WATT_PER_KILOWATT
from dse.pricing import extras
from dse.pricing.costs import Costs
from dse.pricing.evaluation import Evaluation
from dse.pricing.hardware import host_price, number
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.pricing.unit_price import UnitPrice
from dse.study import Value
from dse.study.axes import RENTAL
from dse.study.quantities import SECONDS_PER_HOUR

ELECTRICITY = "electricity"
_ROUNDING = 1e-12  # of a cost, that a sum of floats may be off


class PartPrice(NamedTuple):
    """What is paid for one of a part, in ``unit``: USD, USD/h or USD/kWh."""

    part: str
    usd: float
    unit: str


@dataclass(frozen=True)
class LinearCost:
    """The form. prices: each once. quantities: of each, in the unit of the cost over that of the
    price, (prices, points). constant: what follows from no price, (points,)."""

    prices: tuple[PartPrice, ...]
    quantities: Array
    constant: Array


Paid = Iterable[tuple[PartPrice, float]]


def linear_cost(
    problem: Problem, points: Sequence[Mapping[str, Value | None]], name: str
) -> LinearCost | None:
    """The form of a cost, by its name among the quantities; None where no unit price changes it."""
    paid = _PAID.get(name)
    if paid is None:
        return None
    costs, columns = np.zeros(len(points)), dict[PartPrice, Array]()
    for at, values in enumerate(points):
        evaluation = problem.point(values)
        costs[at] = scalar(evaluation[name])
        for price, quantity in paid(problem.points_at(values), evaluation):
            columns.setdefault(price, np.zeros(len(points)))[at] += quantity
    prices = sorted(columns, key=lambda one: (one.part.partition(" of ")[2], one))
    usd = np.array([price.usd for price in prices])
    quantities = np.array([columns[price] for price in prices]).reshape(len(prices), len(points))
    constant = costs - usd @ quantities
    rounding = np.abs(constant) < _ROUNDING * np.abs(costs)
    return LinearCost(tuple(prices), quantities, np.where(rounding, 0.0, constant))


def _capital(points: Points, _: Evaluation) -> Paid:
    """Hardware, with what a price list adds as a share of it."""
    share = scalar(extras.summed(points.problem.prices).share)
    return _times(_hardware(points), 1 + share)


def _tco(points: Points, evaluation: Evaluation) -> Paid:
    """Purchase less what it is sold for and operation, over the hours in use, and electricity."""
    prices, ownership = points.problem.prices, points.problem.study.ownership
    years = number(prices.amortisation_years.value)
    lost = 1 + scalar(extras.summed(prices).share) - ownership.residual_value
    lost += number(prices.operation_share.value) * years
    yield from _times(_hardware(points), lost / (_hours(points) * ownership.utilisation))
    kilowatts = scalar(evaluation["power"]) / WATT_PER_KILOWATT
    usd = number(prices.electricity_usd_per_kwh.value)
    yield from _there("USD/kWh", (UnitPrice(ELECTRICITY, usd), kilowatts))


def _hourly(points: Points, _: Evaluation) -> Paid:
    """Rents as the term of the point has them, named with it where terms are compared, and servers
    of one's own beside rented machines."""
    bill, rent, (rental,) = points.bill, points.only.rent, points.rentals
    part = rent.part if points.at(RENTAL) is None else f"{rent.part}, {rental.study.term}"
    paid = UnitPrice(part, rent.usd * scalar(rental.share_of(rent.fact)))
    yield from _there("USD/h", (paid, bill.rented))
    servers = _there("USD", (host_price(points.problem.prices), bill.servers))
    yield from _times(servers, 1 / _hours(points))


def _per_run(points: Points, evaluation: Evaluation) -> Paid:
    """The rent of the hours that a run is billed."""
    return _times(_hourly(points, evaluation), scalar(evaluation.billed_s) / SECONDS_PER_HOUR)


_PAID: Mapping[str, Callable[[Points, Evaluation], Paid]] = {
    "capital": _capital, "tco": _tco, "hourly": _hourly, "per_run": _per_run,
}  # fmt: skip


def _hardware(points: Points) -> Paid:
    """What must be bought, without what stands there already."""
    costs, machine = Costs(points), points.only
    buy = costs.bill_to_buy
    axis, links = points.wiring
    link = links[points.position(axis)]
    rack = UnitPrice("rack", number(points.problem.prices.rack_usd.value))
    return _there(
        "USD",
        (machine.accelerator_usd, buy.accelerators),
        (machine.host_usd, buy.bought),
        (link.nic_usd, buy.nics),
        (link.switch_port_usd, buy.tree.switches * link.switch_radix),
        *link.cabling(buy.tree),
        (host_price(points.problem.prices), buy.servers),
        (rack, costs.racks_to_buy),
    )


def _hours(points: Points) -> float:
    """Over which a purchase is spread."""
    return number(points.problem.prices.amortisation_years.value) * HOURS_PER_YEAR


def _there(unit: str, *parts: tuple[UnitPrice, ArrayLike]) -> Iterator[tuple[PartPrice, float]]:
    """Those of which there is any, and which have a price."""
    for price, count in parts:
        quantity = scalar(count)
        if quantity > 0 and price.usd > 0:
            yield PartPrice(price.part, price.usd, unit), quantity


def _times(paid: Paid, each: float) -> Paid:
    return ((price, quantity * each) for price, quantity in paid)
