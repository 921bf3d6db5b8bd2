"""What is to doubt of the prices that a study counts with: offers past their last day, or old
without one; prices far from what the catalogue lets one expect; links of several speeds at one
price."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.calibration.number_text import gbps
from dse.catalog import Fact, implausible, lapsed
from dse.pricing.problem import Problem
from dse.spelling import abridged, enumerated
from dse.study import Study, Value, Wire
from dse.study.quantities import PURCHASE, facts_of

_AXES = ("accelerator", "node", "inter_node", "intra_node")


def expired(problem: Problem) -> list[str]:
    """That offers which the study counts with are no longer valid, one line for all of them."""
    day = problem.prices.valid_on
    past = [fact for fact in prices_of(problem) if lapsed(fact, day)]
    if not past:
        return []
    offers = dict.fromkeys(map(_offer, past))
    named = "; ".join(
        f"{', '.join(part(fact.name) for fact in past if _offer(fact) == offer)} ({offer})"
        for offer in offers
    )
    return [f"Past their validity on {day}: {named}. Ask for new offers."]


def unlikely(problem: Problem) -> list[str]:
    """That prices are hardly meant, a line for each reason."""
    found: dict[str, list[str]] = {}
    for fact in prices_of(problem):
        if why := implausible(fact):
            found.setdefault(why, []).append(part(fact.name))
    return [f"Check the price of {enumerated(parts)}: {why}." for why, parts in found.items()]


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


def other_speeds(problem: Problem) -> list[str]:
    """That links of several speeds cost the same, since the prices of one fabric count for them, a
    line for each fabric."""
    study = problem.study
    if PURCHASE not in facts_of(objective.name for objective in study.objectives):
        return []
    found: dict[tuple[str, float], list[str]] = {}
    for link in study.values("inter_node"):
        if not isinstance(link, Wire) or link.fabric is None:
            continue
        if None not in (link.nic_usd, link.switch_port_usd, link.cable_usd):
            continue
        nominal = catalog.fabric(link.fabric).bytes_per_s
        if nominal is not None and link.bytes_per_s != nominal:
            found.setdefault((link.fabric, nominal), []).append(link.label)
    return [
        f"{abridged(list(dict.fromkeys(labels)))}: priced as {fabric}, whose prices are of "
        f"{gbps(nominal)} Gbps. Give nic, switch_port and cable of each "
        "speed, or name fabrics, before a speed is chosen by its price."
        for (fabric, nominal), labels in found.items()
    ]


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
    groups = (prices.accelerator_usd, prices.accelerator_hourly_usd, prices.accelerator_host_usd,
              prices.node_usd, prices.node_hourly_usd)  # fmt: skip
    for name in names:
        yield from (group[name] for group in groups if name in group)
        yield from prices.fabric_usd.get(name, {}).values()
    yield from (prices.host_usd, prices.electricity_usd_per_kwh, prices.rack_usd)
    yield from (extra.fact for extra in prices.extras.values())


def part(name: str) -> str:
    """What a price is of, by the name of the fact: ``a10``, ``400gbe switch port``."""
    _, _, found = name.partition(".")
    return (found or name).removesuffix(".purchase").replace(".", " ").replace("_", " ")


def _offer(fact: Fact) -> str:
    """Whose offer it is: quotation, file and last day, or its own where it has none."""
    offer = fact.offer
    quote = f"quotation {offer.quote}, " if offer and offer.quote else ""
    until = offer and offer.valid_until
    day = f"valid until {until}" if until else f"of {fact.date}, without a last day"
    return f"{quote}{offer.file if offer else fact.source}, {day}"
