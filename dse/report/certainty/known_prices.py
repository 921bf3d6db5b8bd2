"""What is known of the price of a part."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

from dse import catalog
from dse.calibration.ps_part import PS
from dse.catalog.facts import UNCHECKED
from dse.catalog.price_spread import age_years, price_spread
from dse.pricing import offers
from dse.pricing.hardware import HOST_OF
from dse.pricing.problem import Problem
from dse.report.certainty.facts import KnownPrice
from dse.report.certainty.titles import NETWORK, RENTED, rented
from dse.study import Wire

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
    if usd is not None and rented(part):
        usd *= problem.rental.share_of(facts[0])
    spread = max(price_spread().log_spread(fact, prices.as_of, prices.valid_on) for fact in facts)
    ages = [age_years(fact, prices.as_of) for fact in facts]
    dated = [age for age in ages if age is not None]
    return KnownPrice(
        usd=usd if len(facts) == 1 else None,
        bounds=(exp(-_DEVIATIONS * spread), exp(_DEVIATIONS * spread)),
        own=all(catalog.own(fact) for fact in facts),
        expired=any(catalog.lapsed(fact, prices.valid_on) for fact in facts),
        date=min(fact.date for fact in facts),
        age_years=max(dated) if len(dated) == len(ages) else None,
        checked=all(fact.status not in UNCHECKED for fact in facts),
        estimate=any(map(catalog.estimated, facts)),
    )


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
