"""What is known of the price of a part: the one that counts, and the catalogue's others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import exp

from dse import catalog
from dse.calibration.ps_part import PS
from dse.catalog.facts import UNCHECKED
from dse.catalog.price_spread import age_years, price_spread
from dse.catalog.prices import CARD, NODE_SHARE
from dse.pricing import offers
from dse.pricing.hardware import HOST_OF
from dse.pricing.problem import Problem
from dse.report.certainty.facts import KnownPrice, SeenPrice, Turn
from dse.report.certainty.titles import NETWORK, RENTED, rented
from dse.study import Value, Wire

_DEVIATIONS = 1.6449  # of a normal distribution, to the ends of its middle 90 %


def known_price(problem: Problem, part: str) -> KnownPrice | None:
    """Of a part by its name in draws of prices; None of what has no price of its own.

    Of a network, whose parts are asked for together, the widest interval and the oldest day. A rent
    is that of the study's term.
    """
    facts = [fact for fact in _facts(problem, part) if fact.value is not None]
    if not facts:
        return None
    prices, usd = problem.prices, facts[0].value
    spread = max(price_spread().log_spread(fact, prices.as_of, prices.valid_on) for fact in facts)
    ages = [age_years(fact, prices.as_of) for fact in facts]
    dated = [age for age in ages if age is not None]
    sellers = {fact.offer.vendor if fact.offer else "" for fact in facts}
    return KnownPrice(
        usd=_paid(problem, part, usd, facts[0]) if usd is not None and len(facts) == 1 else None,
        bounds=(exp(-_DEVIATIONS * spread), exp(_DEVIATIONS * spread)),
        own=all(catalog.own(fact) for fact in facts),
        expired=any(catalog.lapsed(fact, prices.valid_on) for fact in facts),
        date=min(fact.date for fact in facts),
        age_years=max(dated) if len(dated) == len(ages) else None,
        checked=all(fact.status not in UNCHECKED for fact in facts),
        estimate=any(map(catalog.estimated, facts)),
        seller=sellers.pop() if len(sellers) == 1 else "",
    )


def seen_prices(
    problem: Problem, part: str, point: Mapping[str, Value | None], turns: Mapping[int, Turn]
) -> Iterator[SeenPrice]:
    """The highest and the lowest price of the catalogue at which something else is recommended.

    point: the recommended one. turns: by sign, what a rise (1) and a fall (-1) leads to. A price
    with a share of a server counts without that where the study buys servers apart, a rent at what
    the study's term is off the price on demand.
    """
    known = known_price(problem, part)
    if known is None or not known.usd or known.own:  # an offer is not what others asked
        return
    found = [
        (_alone(problem, part, point, fact), fact)
        for fact in _observed(part)
        if fact.value is not None and not catalog.own(fact)
    ]
    for sign, turn in turns.items():
        if not found:
            return
        usd, fact = max(found, key=lambda one: sign * one[0])
        if sign * (_paid(problem, part, usd) / known.usd - turn.factor) >= 0:
            assert fact.value is not None
            paid = _paid(problem, part, fact.value)
            yield SeenPrice(
                usd=paid,
                on_demand_usd=fact.value if paid != fact.value else None,
                date=fact.date,
                source=fact.source,
                detail=fact.detail.partition("http")[0].strip("; "),
                with_server=usd != fact.value,
                above=sign > 0,
            )


def _paid(problem: Problem, part: str, usd: float, fact: catalog.Fact | None = None) -> float:
    """A price as it is paid: a rent at its share of the price on demand, unless the fact is of the
    study's term."""
    return usd * problem.rental.share_of(fact) if rented(part) else usd


def _alone(
    problem: Problem, part: str, point: Mapping[str, Value | None], fact: catalog.Fact
) -> float:
    """A price as the study counts it: without a share of the server that it buys apart."""
    assert fact.value is not None
    shared = fact.offer is not None and fact.offer.includes == NODE_SHARE
    each = point.get("gpus_per_node")
    host = problem.prices.host_of(part).value
    if not shared or problem.prices.includes.get(part) != CARD or not host:
        return fact.value
    return fact.value - host / float(each if isinstance(each, int | float) else 1)


def _observed(part: str) -> Iterator[catalog.Fact]:
    """All prices that the catalogue's own file of a machine has."""
    kind = "prices.hourly" if rented(part) else "prices.purchase"
    name = part.removesuffix(RENTED)
    if name in catalog.names("accelerators"):
        facts = catalog.accelerator(name).facts
    elif name in catalog.names("nodes"):
        facts = catalog.node(name).facts
    else:
        return
    yield from (fact for fact in facts if fact.name == kind)


def _facts(problem: Problem, part: str) -> Iterator[catalog.Fact]:
    """The prices that count."""
    prices = problem.prices
    name = part.removesuffix(RENTED)
    if part.startswith(NETWORK):
        fabric = part.removeprefix(NETWORK)
        if fabric in catalog.names("fabrics"):
            own = prices.fabric_usd.get(fabric, {})
            parts = {**catalog.fabric(fabric).prices_usd, **own}
            if not _cards_paid(problem, fabric):
                del parts["nic"]
            yield from parts.values()
    elif part.startswith(HOST_OF):
        yield prices.host_of(part.removeprefix(HOST_OF))
    elif name in catalog.names("nodes"):
        node = catalog.node(name)
        fact = (
            prices.node_hourly_usd.get(name, node.hourly_usd)
            if rented(part)
            else prices.node_usd.get(name, node.purchase_usd)
        )
        yield from [fact] if fact else []
    else:
        group = prices.accelerator_hourly_usd if rented(part) else prices.accelerator_usd
        named = {"host": prices.host_usd, "rack": prices.rack_usd}
        fact = group.get(name) or named.get(part)
        yield from [fact] if fact else []


def _cards_paid(problem: Problem, fabric: str) -> bool:
    """Whether some point, or the baseline, pays network cards; machines come with those of their
    own network, servers of parameters do not."""
    if any(name.algorithm == PS for name in problem.study.named_aggregations):
        return True
    base = problem.study.baseline.values
    node, link = base.get("node"), base.get("inter_node")
    wired = (link.fabric if isinstance(link, Wire) else link) == fabric
    own = node is not None and catalog.node(str(node)).inter_node == link
    return (wired and not own) or offers.cards_charged(problem, fabric)
