"""The prices of what a study may choose, and whether some point pays the cards of a network."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.catalog import Fact
from dse.pricing.problem import Problem
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


def part(name: str) -> str:
    """What a price is of, by the name of the fact: ``a10``, ``400gbe switch port``."""
    _, _, found = name.partition(".")
    return (found or name).removesuffix(".purchase").replace(".", " ").replace("_", " ")
