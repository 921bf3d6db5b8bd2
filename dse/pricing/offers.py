"""The prices of what a study may choose, bought or not, and whether some point pays the cards of a
network."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.catalog import Fact
from dse.pricing import hardware
from dse.pricing.bill_of_materials import CABLE, CARD, UPLINK, Item, host_title, line_of
from dse.pricing.problem import Problem
from dse.pricing.unit_price import UnitPrice
from dse.study import Study, Value, Wire
from dse.study.axes import LINKS, MACHINES

_AXES = (*MACHINES, *LINKS)


def cards_charged(problem: Problem, network: str) -> bool:
    """Whether some point pays cards of a network: it joins accelerators bought apart, is not a
    machine's own, or more cards are asked for than the machine has."""
    study = problem.study
    cards = max(study.numbers("nics_per_node", 0.0))
    if any(any(_links(study, "accelerator", str(one), network))
           for one in study.values("accelerator")):  # fmt: skip
        return True
    for node in (catalog.node(str(value)) for value in study.values("node")):
        links = list(_links(study, "node", node.name, network))
        own_cards = node.inter_node in links and len(links) == 1 and cards <= (node.nics or 1)
        if links and not own_cards:
            return True
    return False


def _links(study: Study, axis: str, machine: str, network: str) -> Iterator[Value]:
    """The links of a fabric that a machine may be joined by, as the study writes them."""
    shared = study.axis("inter_node")
    links = [] if shared is None else [*(shared.ends or shared.values)]
    for condition in study.conditions:
        names = [map(str, values) for of, values in condition.requires if of == axis]
        if condition.axis == "inter_node" and all(machine in known for known in names):
            links += condition.values
    yield from (one for one in dict.fromkeys(links)
                if (one.fabric if isinstance(one, Wire) else one) == network)  # fmt: skip


def prices_of(problem: Problem) -> Iterator[Fact]:
    """The prices of what a search may choose and of the baseline, which come last, and of what all
    share."""
    study, prices = problem.study, problem.prices
    chosen = [value for axis in _AXES for value in study.values(axis)]
    base = [study.baseline.values.get(axis) for axis in _AXES]
    names = dict.fromkeys(
        str(value.fabric if isinstance(value, Wire) else value)
        for value in (*(one for one in chosen if one not in base), *chosen, *base)
        if value is not None
    )
    terms = [problem.prices.rented(rental.study.term) for rental in problem.rentals]
    rents = [group for one in terms for group in (one.accelerator_hourly_usd, one.node_hourly_usd)]
    groups = (prices.accelerator_usd, prices.accelerator_host_usd, prices.node_usd, *rents)
    for name in names:
        yield from {id(group[name]): group[name] for group in groups if name in group}.values()
        yield from prices.fabric_usd.get(name, {}).values()
    yield from (prices.host_usd, prices.electricity_usd_per_kwh, prices.rack_usd)
    yield from (extra.fact for extra in prices.extras.values())


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


def part(name: str) -> str:
    """What a price is of, by the name of the fact: ``a10``, ``400gbe switch port``."""
    _, _, found = name.partition(".")
    return (found or name).removesuffix(".purchase").replace(".", " ").replace("_", " ")
