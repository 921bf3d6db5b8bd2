"""Whether a price of the buyer's own can be meant, by what the catalogue knows."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from dse.catalog.fabrics import fabric
from dse.catalog.facts import Fact
from dse.catalog.nodes import node
from dse.catalog.price_spread import own, price_spread
from dse.catalog.price_terms import USED
from dse.catalog.prices import default_prices
from dse.catalog.reader import Entry
from dse.catalog.rental import rental_facts
from dse.catalog.scale import Spread
from dse.catalog.store import models_dir, names

FILE = "currencies.yaml"
_DEVIATIONS = 2.576  # of a normal distribution, to the ends of its middle 99 %
_MARGIN = 1.125  # judged: of a day beyond the averages of years, and of what they become
_NEVER_FREE = {"accelerators": "accelerator", "nodes": "machine"}
_OF_THE_WHOLE = ("purchase", "hourly")
_FAR = 2.0  # judged: no rate of these currencies goes so far beyond its averages unseen


def implausible(price: Fact, asked: datetime.date, valid_on: datetime.date | None = None) -> str:
    """Why a price of the buyer's own is hardly meant, as a clause; empty where it may well be, for
    parts that may come with something else at no charge, and for what the catalogue has no price
    of. valid_on: the day on which offers must be valid, ``asked`` where it is None."""
    if not own(price):
        return ""
    if not price.value:
        return _nothing(price)
    late = _later(price, valid_on or asked)
    return late or _rate(price) or far(price, usual_price(price), asked)


def _nothing(price: Fact) -> str:
    """That nobody gives away what trains; empty for parts that the price of something else may
    contain, as network cards, hosts and cables."""
    kind, _, rest = price.name.removesuffix(f".{_term(price)}").partition(".")
    whole, _, part = rest.rpartition(".")
    if kind not in _NEVER_FREE or not whole or part not in _OF_THE_WHOLE:
        return ""
    deal = "for rent" if part == "hourly" else "for sale"
    return (
        f"no {_NEVER_FREE[kind]} is {deal} at USD 0; write what it costs, and what stands there "
        "already under owned"
    )


def _later(price: Fact, valid_on: datetime.date) -> str:
    """That it is of a day after that of the purchase."""
    if price.date <= str(valid_on)[: len(price.date)]:  # of a month, or a year, with that alone
        return ""
    return f"it is of {price.date}, after the day of the purchase, {valid_on} (as_of)"


def far(price: Fact, usual: Fact | None, asked: datetime.date) -> str:
    """That a price lies where 1 offer of 100 would, by the catalogue's of the same, as a clause;
    empty where it does not, or that is not known."""
    if usual is None or not usual.value or not price.value:
        return ""
    discount = _discount(price)
    spread = math.hypot(price_spread().log_spread(usual, asked), discount.draws)
    factor = math.exp(_DEVIATIONS * spread)
    expected = usual.value * (1 - discount.value)
    ratio = price.value / expected
    if 1 / factor <= ratio <= factor:
        return ""
    unit = " an hour" * price.unit.endswith("/hour")
    off = max(ratio, 1 / ratio)
    many = f"{off:,.{0 if off >= 10 else 1}f}"
    times = f"{many} times" if ratio > 1 else f"1/{many} of"
    low, high = expected / factor, expected * factor
    dated = f" of {usual.date}" if usual.date else ""
    less = f" less {100 * discount.value:.3g} % for the term" if discount.value else ""
    return (
        f"USD {price.value:,.2f}{unit} is {times} the catalogue's {_usd(usual.value)}{dated}{less}"
        f", by which 99 of 100 offers are between {_usd(low)} and {_usd(high)}"
    )


def _discount(price: Fact) -> Spread:
    """What a price of this term is usually off that on demand; nothing where it is on demand, or
    none is known."""
    return rental_facts().discounts.get(_term(price), Spread(0.0, 0.0))


def _term(price: Fact) -> str:
    """Of a rent, empty where it is on demand or no rent."""
    return price.offer.term if price.offer else ""


def _usd(value: float) -> str:
    return f"USD {value:,.{0 if value >= 100 else 2}f}"


def _rate(price: Fact) -> str:
    """That it is converted at a rate that is hardly meant: one the wrong way round, or half or
    twice what its currency was ever worth; empty where that is not known."""
    if price.offer is None:
        return ""
    code, rate = price.offer.currency, price.offer.rate
    known = _rates(models_dir() / FILE).get(code)
    if known is None:
        return ""
    low, high = known
    other = 1 / rate
    usual, turned = (low / _MARGIN <= one <= high * _MARGIN for one in (rate, other))
    if usual or not (turned or rate < low / _FAR or rate > high * _FAR):
        return ""
    inverse = f"; was USD 1 = {code} {rate:g} meant? Then write {other:.4g}" * turned
    return (
        f"it is converted at USD {rate:g} for one {code}, which was worth USD {low:.3g} to "
        f"{high:.3g} from 2012 to mid-2024{inverse}"
    )


@cache
def _rates(path: Path) -> Mapping[str, tuple[float, float]]:
    """What one of each currency was worth in USD, the least and the most; a mistake in the file
    raises :class:`~dse.errors.StudyError`."""
    entry = Entry.open(path)
    found = {}
    for code in entry.labels():
        one = entry.section(code)
        found[code] = (one.known("lowest", "usd"), one.known("highest", "usd"))
        one.finish()
    entry.finish()
    return found


def usual_price(price: Fact) -> Fact | None:
    """The catalogue's price of what a price of the buyer's is of, on demand where that is a rent;
    None where it has none."""
    kind, _, rest = price.name.removesuffix(f".{_term(price)}").partition(".")
    prices = default_prices()
    if not rest:
        return {"host": prices.host_usd, "rack": prices.rack_usd}.get(kind)
    name, _, part = rest.rpartition(".")
    if kind == "accelerators":
        used = price.offer is not None and price.offer.price_class == USED
        bought = prices.used_usd if used else prices.accelerator_usd
        of = {"purchase": bought, "hourly": prices.accelerator_hourly_usd}
        return prices.host_usd if part == "host" else of.get(part, {}).get(name)
    if kind == "nodes" and name in names(kind):
        return {"purchase": node(name).purchase_usd, "hourly": node(name).hourly_usd}.get(part)
    if kind == "fabrics" and name in names(kind):
        return fabric(name).prices_usd.get(part)
    return None
