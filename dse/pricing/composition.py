"""What a point's costs are made of: how many of every priced part, and what does not have a price.

All costs follow from it and from unit prices (:mod:`dse.model.money`), so whoever has it can price
the point anew without the model of a step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import ArrayLike, scalar
from dse.model.owned import anything
from dse.pricing.hardware import Machine, host_price, number
from dse.pricing.point_arrays import Points
from dse.pricing.unit_price import UnitPrice


@dataclass(frozen=True)
class Composition:
    """The parts that a single point is made of. bought, rented: priced parts and how many of each,
    those that are there.

    bought: the sum of quantity times unit price is the price of the hardware, racks included,
    without what stands there already. adds: whether there is any. rented: the same is the rent of
    an hour on demand, without that of ``servers``, which are hosts of one's own. hosts: nodes and
    servers that are bought. housed_w: watts without cooling. NaN where not known. retired: the
    price of its machines where these are bought and no longer sold new; else None.
    """

    bought: tuple[tuple[UnitPrice, float], ...]
    rented: tuple[tuple[UnitPrice, float], ...]
    servers: float
    hosts: float
    housed_w: float
    adds: bool = True
    retired: UnitPrice | None = None


def composition(points: Points) -> Composition:
    """The parts that a single point is made of, and how many of each."""
    bill, buy, cost = points.bill, points.bill_to_buy, points.cost()
    machine = points.machines[_at(points, points.machine_axis)]
    axis, links = points.wiring
    link = links[_at(points, axis)]
    ports = buy.tree.switches * link.switch_radix
    return Composition(
        bought=tuple(_there(
            (machine.accelerator_usd, buy.accelerators),
            (machine.host_usd, buy.nodes),
            (link.nic_usd, buy.nics),
            (link.switch_port_usd, ports),
            *link.cabling(buy.tree),
            (host_price(points.problem.prices), buy.servers),
            (UnitPrice("rack", number(points.problem.prices.rack_usd.value)), points.racks_to_buy),
        )),
        rented=tuple(_there(
            (machine.usd_per_hour, bill.rented), (machine.host_usd_per_hour, bill.nodes)
        )),
        servers=scalar(bill.servers),
        hosts=scalar(buy.nodes + buy.servers),
        housed_w=scalar(cost.draw.housed_w),
        adds=bool(scalar(anything(buy))),
        retired=_retired(machine) if scalar(buy.accelerators) > 0 else None,
    )  # fmt: skip


def _retired(machine: Machine) -> UnitPrice | None:
    if machine.sold_until is None:
        return None
    return machine.host_usd if machine.node else machine.accelerator_usd


def _at(points: Points, axis: str) -> int:
    return int(np.ravel(points.coordinates[axis].at)[0])


def _there(*parts: tuple[UnitPrice, ArrayLike]) -> Iterator[tuple[UnitPrice, float]]:
    """Those of which there is any, and which are not free."""
    for price, count in parts:
        quantity = scalar(count)
        if quantity != 0 and price.usd != 0:
            yield price, quantity
