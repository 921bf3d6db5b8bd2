"""The bill of materials of a point: what is ordered, at what price, and where that is from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dse import catalog
from dse.catalog.facts import UNCHECKED
from dse.catalog.price_spread import age_years
from dse.model.arrays import Array
from dse.pricing import hardware
from dse.pricing.point_arrays import Points
from dse.pricing.unit_price import UnitPrice, unit_price
from dse.study import Wire

LIST, QUOTE = "list", "quote"  # classes of prices
OF_SITE = "of the site"  # the class of what is counted and not bought


@dataclass(frozen=True, kw_only=True)
class Item:
    """A line of a bill. usd: ``quantity unit_usd``; None where the price is not known.

    price_class: ``list``, of the catalogue, ``quote``, the user's own, or ``of the site``, which
    has it already. price_date: when it was
    asked; empty where that is not known. age_years: on the day that the price list is for; None
    where it has no date. checked: False where the price is from memory. source: a key of the
    catalogue's sources, or the name of a file; empty where there is no price. idle: how many are
    bought beyond those that train, since fewer are not sold.
    """

    item: str
    quantity: int
    unit_usd: float | None
    usd: float | None
    price_class: str
    price_date: str
    age_years: float | None
    checked: bool
    source: str
    idle: int = 0


def bill_of_materials(points: Points) -> tuple[Item, ...]:
    """Of a single point; what is not bought is left out. The sum is its purchase price."""
    return tuple(_items(points))


def _items(points: Points) -> Iterator[Item]:
    bill = points.bill
    axis, links = points.wiring
    machine = points.machines[_at(points, points.machine_axis)]
    link = links[_at(points, axis)]
    device, node = machine.accelerator, machine.node
    whole = np.any(bill.accelerators > bill.training)
    boards = f", sold in units of {machine.sold_in:.0f}" if whole else ""
    for item in _item(points, device.title + boards, bill.accelerators, machine.accelerator_usd):
        yield replace(item, idle=item.quantity - int(np.ravel(bill.training)[0]))
    name = node.title if node else "Host for accelerators"
    yield from _item(points, name, bill.nodes, machine.host_usd)
    network = _network_name(points, axis)
    yield from _item(points, f"Network card, {network}", bill.nics, link.nic_usd)
    port = link.switch_port_usd
    switch = UnitPrice(port.part, port.usd * link.switch_radix, port.log_spread, port.fact)
    tree, ports = bill.tree, f"{link.switch_radix:.0f} ports"
    for tier, count in (("Leaf", tree.leaves), ("Spine", tree.spines), ("Core", tree.cores)):
        only = tier == "Leaf" and not np.any(tree.spines > 0)
        title = f"{'Switch' if only else f'{tier} switch'} of {ports}, {network}"
        yield from _item(points, title, count, switch)
    yield from _item(points, f"Cable, {network}", tree.cables, link.cable_usd)
    host = hardware.host_price(points.problem.prices)
    yield from _item(points, "Host for a parameter server", bill.servers, host)
    yield from _racks(points)


def _racks(points: Points) -> Iterator[Item]:
    """Racks, where it is known how many; free where the site has them."""
    prices, count = points.problem.prices, points.cost().racks
    feeds, units = prices.rack_power_w.value or 0.0, prices.rack_units.value or 0.0
    name = f"Rack of {feeds * 1e-3:g} kW and {units:g} units"
    price = unit_price("rack", prices.rack_usd, prices)
    many = float(np.ravel(count)[0])
    if price.usd == 0 and np.isfinite(many):
        yield Item(item=name, quantity=int(many), unit_usd=0.0, usd=0.0, price_class=OF_SITE,
                   price_date="", age_years=None, checked=True, source="")  # fmt: skip
    elif np.isfinite(many):
        yield from _item(points, name, count, price)


def _at(points: Points, axis: str) -> int:
    """Position of a single point on an axis."""
    return int(np.ravel(points.coordinates[axis].at)[0])


def _network_name(points: Points, axis: str) -> str:
    """Of the link between nodes, as people call it."""
    if axis == "inter_node":
        value = points.coordinates[axis].values[_at(points, axis)]
        if isinstance(value, Wire):
            if value.fabric is None:
                return f"{value.bytes_per_s * 8e-9:g} Gbps"
            return f"{catalog.fabric(value.fabric).title} at {value.bytes_per_s * 8e-9:g} Gbps"
    return catalog.fabric(points.link_name).title if points.link_name else "network"


def _item(points: Points, name: str, count: Array, price: UnitPrice) -> Iterator[Item]:
    """The line of a part; none where it is not bought, or free."""
    quantity = int(np.ravel(count)[0])
    if not quantity or price.usd == 0:
        return
    fact, known = price.fact, np.isfinite(price.usd)
    own = fact is None or fact.source not in catalog.sources()
    checked = own or (fact is not None and fact.status not in UNCHECKED)
    yield Item(
        item=name,
        quantity=quantity,
        unit_usd=price.usd if known else None,
        usd=quantity * price.usd if known else None,
        price_class=QUOTE if own and known else LIST,
        price_date="" if fact is None else fact.date,
        age_years=None if fact is None else age_years(fact, points.problem.prices.as_of),
        checked=checked,
        source=_source(points, fact) if known else "",
    )


def _source(points: Points, fact: catalog.Fact | None) -> str:
    """A source of the catalogue, else the name of the file that has the price."""
    if fact is None:
        return Path(points.problem.study.path).name
    return fact.source if fact.source in catalog.sources() else Path(fact.source).name
