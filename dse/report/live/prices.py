"""The prices of a study as a page may change them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dse import catalog
from dse.catalog.fabrics import UPLINK
from dse.catalog.facts import Fact
from dse.catalog.price_terms import QUOTE, PriceTerms
from dse.catalog.prices import PriceList
from dse.pricing.hardware import fabrics_of
from dse.pricing.problem import Problem
from dse.report.live.questions import Refused

_GENERAL = {
    "host": ("Host", "USD", "host_usd", 0.0, 1e9),
    "electricity": ("Electricity", "USD/kWh", "electricity_usd_per_kwh", 0.0, 100.0),
    "pue": ("PUE", "", "pue", 1.0, 10.0),
    "amortisation_years": ("Amortisation", "years", "amortisation_years", 0.1, 100.0),
}
_PARTS = {
    "nic": "Network card",
    "switch_port": "Port of a switch",
    "cable": "Cable",
    UPLINK: "Cable between switches",
}


@dataclass(frozen=True)
class Price:
    """A price that may be changed. key: ``kind/name/part``."""

    key: str
    label: str
    unit: str
    value: float | None
    least: float = 0.0
    most: float = 1e9

    @property
    def text(self) -> str:
        """The value to its last digit; empty where it is not known."""
        return "" if self.value is None else repr(float(self.value)).removesuffix(".0")


def prices_of(problem: Problem) -> list[Price]:
    """Every price that the costs of the study follow from and may be changed."""
    found, prices = list[Price](), problem.prices
    for name in (str(value) for value in problem.study.values("accelerator")):
        own = (facts.get(name) for facts in
               (prices.accelerator_usd, prices.accelerator_hourly_usd))  # fmt: skip
        title = catalog.accelerator(name).title
        found += _two_prices(f"accelerator/{name}", title, *own)
        if name in prices.accelerator_host_usd:
            host = prices.host_of(name).value
            found.append(Price(f"accelerator/{name}/host", f"Host of {title}", "USD", host))
    for name in (str(value) for value in problem.study.values("node")):
        node = catalog.node(name)
        bought = prices.node_usd.get(name, node.purchase_usd)
        rented = prices.node_hourly_usd.get(name, node.hourly_usd)
        found += _two_prices(f"node/{name}", node.title, bought, rented)
    for key, (label, unit, where, least, most) in _GENERAL.items():
        value = getattr(prices, where).value
        found.append(Price(f"general/{key}", label, unit, value, least, most))
    for name in fabrics_of(problem.study):
        fabric = catalog.fabric(name)
        for part, label in _PARTS.items():
            fact = {**fabric.prices_usd, **prices.fabric_usd.get(name, {})}.get(part)
            if fact is None:
                continue  # an uplink that costs what any cable does
            title = f"{label}, {fabric.title}"
            found.append(Price(f"fabric/{name}/{part}", title, "USD", fact.value))
    return found


def _two_prices(
    key: str, title: str, bought: Fact | None = None, rented: Fact | None = None
) -> list[Price]:
    return [
        Price(f"{key}/purchase", title, "USD", bought.value if bought else None),
        Price(f"{key}/hourly", title, "USD/h", rented.value if rented else None, most=1e6),
    ]


def repriced(problem: Problem, asked: Mapping[str, float]) -> PriceList:
    """The price list with the prices that are asked, which are those of the reader."""
    known = {price.key: price for price in prices_of(problem)}
    prices = problem.prices
    other: dict[str, Any]
    for key, value in asked.items():
        if key not in known:
            raise Refused(f"there is no price '{key}' to change")
        price = known[key]
        if not (math.isfinite(value) and price.least <= value <= price.most):
            raise Refused(f"{price.label} must be a number from {price.least:g} to {price.most:,g}")
        kind, name, part = (*key.split("/"), "")[:3]
        fact = Fact(price.label, float(value), price.unit, f"{value:g}", "this page", "")
        if kind == "general":
            other = {_GENERAL[name][2]: fact}
            prices = replace(prices, **other)
        elif kind == "fabric":
            own = {**prices.fabric_usd.get(name, {}), part: fact}
            prices = replace(prices, fabric_usd={**prices.fabric_usd, name: own})
        else:
            of = {("accelerator", "purchase"): "accelerator_usd",
                  ("accelerator", "hourly"): "accelerator_hourly_usd",
                  ("accelerator", "host"): "accelerator_host_usd",
                  ("node", "purchase"): "node_usd",
                  ("node", "hourly"): "node_hourly_usd"}[kind, part]  # fmt: skip
            listed = getattr(prices, of)
            if name in listed and (offer := listed[name].offer) and offer.term:
                fact = replace(fact, offer=PriceTerms(QUOTE, term=offer.term))  # as what it is for
            other = {of: {**listed, name: fact}}
            prices = replace(prices, **other)
    return prices
