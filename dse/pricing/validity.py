"""Offers of the user's price lists that are past their last day, or old without one."""

from __future__ import annotations

from collections.abc import Iterator

from dse.catalog import Fact, lapsed
from dse.pricing.problem import Problem
from dse.study import Wire

_AXES = ("accelerator", "node", "inter_node", "intra_node")


def notes(problem: Problem) -> list[str]:
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


def prices_of(problem: Problem) -> Iterator[Fact]:
    """The prices of what a search may choose and of the baseline."""
    study, prices = problem.study, problem.prices
    names = dict.fromkeys(
        str(value.fabric if isinstance(value, Wire) else value)
        for axis in _AXES
        for value in (*study.values(axis), study.baseline.values.get(axis))
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
