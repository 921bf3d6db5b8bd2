"""What is to doubt of the prices that a study counts with: offers past their last day, or old
without one; prices far from what the catalogue lets one expect; one currency at several rates; two
offers for one part."""

from __future__ import annotations

from collections.abc import Iterator

from dse.catalog import Fact, implausible, lapsed
from dse.pricing.problem import Problem
from dse.spelling import enumerated
from dse.study import Wire

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
