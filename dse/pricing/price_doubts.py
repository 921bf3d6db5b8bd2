"""What is to doubt of the prices that a study counts with: offers past their last day, or old
without one; prices far from what the catalogue lets one expect; what is given away with machines of
other offers; one currency at several rates; two offers for one part."""

from __future__ import annotations

from collections.abc import Iterator

from dse import catalog
from dse.calibration.number_text import gbps
from dse.catalog import Fact, implausible, lapsed
from dse.catalog.plausibility import usual_price
from dse.catalog.price_spread import own
from dse.pricing import market
from dse.pricing.problem import Problem
from dse.spelling import abridged, enumerated
from dse.study import Study, Value, Wire
from dse.study.quantities import PURCHASE, facts_of

MOST_PARTS = 2  # that are named, of those that are converted at one rate
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
    day = problem.prices.valid_on
    for fact in prices_of(problem):
        if why := implausible(fact, problem.prices.as_of, day):
            found.setdefault(why, []).append(part(fact.name))
    return [f"Check the price of {enumerated(parts)}: {why}." for why, parts in found.items()]


def given(problem: Problem) -> list[str]:
    """That parts of a network, or hosts, have a price of 0 that counts also with machines which
    that offer does not sell, a line for each part."""
    if market.rents(problem.study):
        return []
    found = []
    for fact in prices_of(problem):
        usual = usual_price(fact) if own(fact) and fact.value == 0 else None
        if usual is None or not usual.value or implausible(fact, problem.prices.as_of):
            continue
        others = [name for name in _machines_with(problem, fact)
                  if _seller_of(problem, name) != _whose(fact)]  # fmt: skip
        if others:
            needless = "; cards of a machine's own network are not charged, and need no price of 0"
            told = needless * (fact.name.endswith(".nic") and bool(problem.study.values("node")))
            found.append(
                f"The price of 0 for {part(fact.name)} ({_whose(fact)}) counts also with "
                f"{enumerated(others)}, which that offer does not sell; the catalogue has USD "
                f"{usual.value:,.0f}{told}."
            )
    return found


def _machines_with(problem: Problem, fact: Fact) -> list[str]:
    """Accelerators and machines of which some point pays this price of a part."""
    kind, _, rest = fact.name.partition(".")
    network, _, piece = rest.partition(".")
    if kind != "fabrics":
        devices = map(str, problem.study.values("accelerator"))
        return [name for name in devices if problem.prices.host_of(name) is fact]
    return charged(problem, network, card=piece == "nic")


def charged(problem: Problem, network: str, card: bool) -> list[str]:
    """Accelerators and machines that some point has on a network; card: those whose network cards
    are charged, since it is not the machine's own or more cards are asked for than it has."""
    study = problem.study
    cards = max(study.numbers("nics_per_node", 0.0))
    found = [str(device) for device in study.values("accelerator")
             if any(_links(study, "accelerator", str(device), network))]  # fmt: skip
    for node in (catalog.node(str(value)) for value in study.values("node")):
        links = list(_links(study, "node", node.name, network))
        own_cards = node.inter_node in links and len(links) == 1 and cards <= (node.nics or 1)
        if links and not (card and own_cards):
            found.append(node.name)
    return found


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


def _seller_of(problem: Problem, machine: str) -> str:
    """Whose offer the price of an accelerator or a machine is; empty where it is no offer."""
    prices = problem.prices
    fact = prices.accelerator_usd.get(machine) or prices.node_usd.get(machine)
    return _whose(fact) if fact is not None and own(fact) else ""


def _whose(fact: Fact) -> str:
    """Whose offer a price is: ``quotation Q-1, vendor.csv``; its file where it has no number."""
    quote = fact.offer.quote if fact.offer else ""
    return f"quotation {quote}, {_file(fact)}" if quote else _file(fact)


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


def rates(problem: Problem) -> list[str]:
    """That prices in one currency are converted at several rates, a line for each currency."""
    at: dict[str, dict[str, list[Fact]]] = {}
    for fact in prices_of(problem):
        if fact.offer is not None and fact.offer.currency:
            by_rate = at.setdefault(fact.offer.currency, {})
            by_rate.setdefault(f"USD {fact.offer.rate:.10g}", []).append(fact)
    found = []
    for code, by_rate in at.items():
        if len(by_rate) > 1:
            told = [
                f"{rate} for {enumerated([part(fact.name) for fact in facts[:MOST_PARTS]])}"
                f"{f' and {len(facts) - MOST_PARTS} more' * (len(facts) > MOST_PARTS)} "
                f"({enumerated(list(dict.fromkeys(_file(fact) for fact in facts)))})"
                for rate, facts in by_rate.items()
            ]
            found.append(
                f"{len(by_rate)} rates of {code} in one answer: {enumerated(told)}. Use the rate "
                "of the day of payment for all."
            )
    return found


def replaced(problem: Problem) -> list[str]:
    """That the study has two offers for one part, of which the later list counts."""
    counted = {id(fact) for fact in prices_of(problem)}
    return [
        f"Two offers for {part(new.name)}: {_seller(new)} replaces {_seller(old)}"
        f"{', though that is cheaper' * ((old.value or 0.0) < (new.value or 0.0))}. Of several "
        "price lists the later counts."
        for old, new in problem.prices.replaced
        if id(new) in counted
    ]


def _seller(fact: Fact) -> str:
    """Whose offer it is, and its price: ``ZetaCom's (zeta.csv, USD 400,680)``."""
    vendor = fact.offer.vendor if fact.offer else ""
    usd = "an unknown price" if fact.value is None else f"USD {fact.value:,.2f}"
    return f"{vendor}'s ({_file(fact)}, {usd})" if vendor else f"that of {_file(fact)} ({usd})"


def _file(fact: Fact) -> str:
    return fact.offer.file if fact.offer and fact.offer.file else fact.source


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
