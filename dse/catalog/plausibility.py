"""One question about a price of the buyer's own: is it really so far from the catalogue's?"""

from __future__ import annotations

from dataclasses import replace

from dse.catalog.fabrics import fabric
from dse.catalog.facts import USED, Fact
from dse.catalog.nodes import node
from dse.catalog.price_spread import own
from dse.catalog.prices import default_prices
from dse.catalog.purchases import HOST, quotes
from dse.catalog.rental import rental_facts
from dse.catalog.rents import RENT_CLASSES, class_of, rent
from dse.catalog.store import names

FACTOR = 3.0  # judged: beyond it a slip (a lost digit, another unit) is likelier than a bargain


def implausible(price: Fact) -> str:
    """Why a price of the buyer's own is hardly meant, as a clause; empty where it is within
    :data:`FACTOR` of the catalogue's, or the catalogue has none. A rent for a term is compared with
    the one on demand less what that term is usually off."""
    usual = _usual_price(price) if own(price) else None
    if usual is None or not usual.value or price.value is None:
        return ""
    discount = rental_facts().discount(class_of(usual), _term(price))
    expected = usual.value * (1 - (discount.value if discount else 0.0))
    if expected / FACTOR <= price.value <= expected * FACTOR:
        return ""
    per = " an hour" * price.unit.endswith("/hour")
    return (
        f"USD {price.value:,.2f}{per} is more than a factor of {FACTOR:g} off the USD "
        f"{expected:,.2f} that the catalogue lets expect"
    )


def _term(price: Fact) -> str:
    """Of a rent, empty where it is on demand or no rent."""
    return price.offer.term if price.offer else ""


def _usual_price(price: Fact) -> Fact | None:
    """The catalogue's price of what a price of the buyer's is of, on demand where that is a rent;
    None where it has none."""
    kind, _, rest = price.name.removesuffix(f".{_term(price)}").partition(".")
    prices = default_prices()
    if not rest:
        return _host(price) if kind == "host" else {"rack": prices.rack_usd}.get(kind)
    name, _, part = rest.rpartition(".")
    if kind == "accelerators":
        used = price.offer is not None and price.offer.price_class == USED
        bought = prices.used_usd if used else prices.accelerator_usd
        if part == "hourly":  # of the class of sellers that is nearest
            found = [one.fact() for kind in RENT_CLASSES if (one := rent(name, kind))]
            return min(found, key=lambda one: _apart(one, price), default=None)
        return _host(price) if part == "host" else bought.get(name)
    if kind == "nodes" and name in names(kind):
        return {"purchase": node(name).purchase_usd, "hourly": node(name).hourly_usd}.get(part)
    if kind == "fabrics" and name in names(kind):
        return fabric(name).prices_usd.get(part)
    return None


def _host(price: Fact) -> Fact:
    """The nearest price of a host: one for two cards costs a tenth of one for eight modules."""
    asked = (replace(default_prices().host_usd, value=one.usd) for one in quotes(HOST))
    return min(asked, key=lambda one: _apart(one, price))


def _apart(one: Fact, other: Fact) -> float:
    """How far two prices lie apart, as the factor of the higher one."""
    low, high = sorted([one.value or 0.0, other.value or 0.0])
    return high / low if low else float("inf")
