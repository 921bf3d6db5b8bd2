"""What every part costs that a search may choose, whether or not a named point has it."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.catalog import fabrics
from dse.pricing import hardware
from dse.pricing.bill_of_materials import CABLE, CARD, UPLINK, Item, host_title, line_of
from dse.pricing.problem import Problem
from dse.pricing.unit_price import UnitPrice, unit_price
from dse.study import Wire


def part_prices(problem: Problem) -> tuple[Item, ...]:
    """One of each machine and network part that has a price, named as bills name them.

    A switch is named once, whatever its tier: all tiers have the same.
    """
    found = {name: price for name, price in _prices(problem) if price.fact and price.usd}
    return tuple(line_of(problem, name, 1, price) for name, price in found.items())


def _prices(problem: Problem) -> Iterator[tuple[str, UnitPrice]]:
    prices = problem.prices
    for name in _chosen(problem, "accelerator"):
        device, fact = catalog.accelerator(name), prices.accelerator_usd.get(name)
        yield device.title, unit_price(name, fact, prices)
        yield host_title(device, prices), hardware.host_price(prices, name)
    nodes = [catalog.node(name) for name in _chosen(problem, "node")]
    for node in nodes:
        fact = prices.node_usd.get(node.name, node.purchase_usd)
        yield node.title, unit_price(node.name, fact, prices)
    built_in = [node.inter_node for node in nodes if node.inter_node]
    for name in dict.fromkeys([*_chosen(problem, "inter_node"), *built_in]):
        yield from _network(problem, name)


def _network(problem: Problem, name: str) -> Iterator[tuple[str, UnitPrice]]:
    fabric, own = catalog.fabric(name), problem.prices.fabric_usd.get(name, {})
    facts = {
        CARD: own.get("nic", fabric.prices_usd["nic"]),
        CABLE: own.get("cable", fabric.prices_usd["cable"]),
    }
    if fabrics.UPLINK in own:
        facts[UPLINK] = own[fabrics.UPLINK]
    for part, fact in facts.items():
        yield f"{part}, {fabric.title}", unit_price(f"network {name}", fact, problem.prices)
    port = unit_price(
        f"network {name}", own.get("switch_port", fabric.prices_usd["switch_port"]), problem.prices
    )
    radix = hardware.number(fabric.switch_radix) if fabric.switch_radix else hardware.DEFAULT_RADIX
    whole = UnitPrice(port.part, port.usd * radix, port.log_spread, port.fact)
    yield f"Switch of {radix:.0f} ports, {fabric.title}", whole


def _chosen(problem: Problem, axis: str) -> list[str]:
    """Names of the catalogue on an axis, and of the baseline."""
    study = problem.study
    values = (*study.values(axis), study.baseline.values.get(axis))
    return list(dict.fromkeys(
        str(value.fabric if isinstance(value, Wire) else value)
        for value in values
        if value is not None and not (isinstance(value, Wire) and value.fabric is None)
    ))  # fmt: skip
