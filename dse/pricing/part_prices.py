"""What every part costs that a search may choose, whether or not a named point has it."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.pricing import hardware
from dse.pricing.bill_of_materials import CABLE, CARD, UPLINK, Item, host_title, line_of
from dse.pricing.problem import Problem
from dse.pricing.unit_price import UnitPrice
from dse.study import Value, Wire
from dse.study.axes import MACHINES


def part_prices(problem: Problem) -> tuple[Item, ...]:
    """One of each machine and network part that has a price, named as bills name them.

    A switch is named once, whatever its tier: all tiers have the same.
    """
    found = {name: price for name, price in _prices(problem) if price.fact and price.usd}
    return tuple(line_of(problem, name, 1, price) for name, price in found.items())


def _prices(problem: Problem) -> Iterator[tuple[str, UnitPrice]]:
    prices, networks = problem.prices, _chosen(problem, "inter_node")
    for axis in MACHINES:
        for machine in hardware.machines(axis, _chosen(problem, axis), prices):
            device, node = machine.accelerator, machine.node
            if node is None:
                yield device.title, machine.accelerator_usd
                yield host_title(device, prices), hardware.host_price(prices, device.name)
            else:
                yield node.title, machine.host_usd
                networks += [node.inter_node] if node.inter_node else []
    for name in dict.fromkeys(networks):
        yield from _network(problem, str(name))


def _network(problem: Problem, name: str) -> Iterator[tuple[str, UnitPrice]]:
    title, transport = catalog.fabric(name).title, catalog.transport("mpi")  # of any one price
    link = hardware.wiring(name, transport, transport.across, problem.prices)
    yield f"{CARD}, {title}", link.nic_usd
    yield f"{CABLE}, {title}", link.cable_usd
    if link.uplink_usd.part != link.cable_usd.part:
        yield f"{UPLINK}, {title}", link.uplink_usd
    port, ports = link.switch_port_usd, link.switch_radix
    whole = UnitPrice(port.part, port.usd * ports, port.log_spread, port.fact)
    yield f"Switch of {ports:.0f} ports, {title}", whole


def _chosen(problem: Problem, axis: str) -> list[Value]:
    """Names of the catalogue on an axis, and of the baseline."""
    study = problem.study
    values = (*study.values(axis), study.baseline.values.get(axis))
    names = (value.fabric if isinstance(value, Wire) else value for value in values)
    return list(dict.fromkeys(name for name in names if name is not None))
