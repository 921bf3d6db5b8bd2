"""Price lists of accelerators, hosts, power and rental; a user's list overrides the catalogue's."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from dse.catalog.fabrics import PARTS
from dse.catalog.facts import Fact
from dse.catalog.reader import Entry
from dse.catalog.store import UnknownName, find

CARD, NODE_SHARE = "card", "node-share"
INCLUDES = (CARD, NODE_SHARE)
DEFAULT = "list-prices"
AS_OF = "as_of"

# key of a price list, or of a study's prices -> (field of PriceList, dimension)
GENERAL = {
    "host": ("host_usd", "usd"),
    "electricity": ("electricity_usd_per_kwh", "usd_per_kwh"),
    "carbon": ("carbon_kg_per_kwh", "kg_per_kwh"),
    "pue": ("pue", "count"),
    "amortisation_years": ("amortisation_years", "count"),
    "host_power": ("host_power_w", "watt"),
    "host_power_share": ("host_power_share", "count"),
    "host_power_share_switched": ("host_power_share_switched", "count"),
    "idle_power_share": ("idle_power_share", "count"),
    "host_units": ("host_units", "count"),
    "rack": ("rack_usd", "usd"),
    "rack_power": ("rack_power_w", "watt"),
    "rack_units": ("rack_units", "count"),
}
LEAST_PUE = 1.0  # a site draws what its machines draw, at least
# What must be more than nothing, for a rack to hold a node.
_POSITIVE = ("host_units", "rack_power", "rack_units")


@dataclass(frozen=True, eq=False)
class PriceList:
    """Prices in USD, each a :class:`~dse.catalog.facts.Fact`, whose ``value`` may be None.

    ``accelerator_usd`` and ``accelerator_hourly_usd`` are for one accelerator, by name;
    ``includes`` says whether the purchase price is that of a ``card`` (then a node also needs
    ``host_usd``) or a share of a complete node (``node-share``), ``sold_in`` how many a buyer takes
    at once: a board of 4, a machine of 8; without an entry one by one. ``host_power_w`` is what a
    host draws without accelerators, ``host_power_share`` what it draws besides per watt of these
    (``_switched``: where a switch joins them), ``idle_power_share`` what one that does not train
    draws per watt of one that does; ``pue`` is a factor, at least 1. ``carbon_kg_per_kwh`` is the
    electricity's. ``rack_power_w`` and ``rack_units`` are what a rack holds, ``host_units`` what a
    host takes of it; ``rack_usd`` is 0 where the site has the racks.
    ``fabric_usd`` (name -> nic, switch_port, cable), ``node_usd`` and ``node_hourly_usd`` hold
    only what a user's list sets; elsewhere the prices of the fabric and the node type count.
    ``as_of`` is the day of the purchase: the older a price is on it, the less sure.
    """

    title: str
    as_of: datetime.date
    accelerator_usd: Mapping[str, Fact]
    accelerator_hourly_usd: Mapping[str, Fact]
    includes: Mapping[str, str]
    sold_in: Mapping[str, Fact]
    host_usd: Fact
    electricity_usd_per_kwh: Fact
    pue: Fact
    amortisation_years: Fact
    carbon_kg_per_kwh: Fact
    host_power_w: Fact
    host_power_share: Fact
    host_power_share_switched: Fact
    idle_power_share: Fact
    host_units: Fact
    rack_usd: Fact
    rack_power_w: Fact
    rack_units: Fact
    fabric_usd: Mapping[str, Mapping[str, Fact]]
    node_usd: Mapping[str, Fact]
    node_hourly_usd: Mapping[str, Fact]
    facts: tuple[Fact, ...]


def default_prices() -> PriceList:
    """The price list of the catalogue."""
    return _complete(find("prices", DEFAULT))


@cache
def _complete(path: Path) -> PriceList:
    entry = Entry.open(path)
    general = {field: entry.number(key, dimension) for key, (field, dimension) in GENERAL.items()}
    blank = PriceList(
        "",
        _day(entry),
        {},
        {},
        {},
        {},
        **general,
        fabric_usd={},
        node_usd={},
        node_hourly_usd={},
        facts=tuple(entry.facts),
    )
    return _overlay(blank, entry)


def read_prices(path: Path | str) -> PriceList:
    """The default list with the entries of a user's own list put over it.

    The user's list has the format of ``prices/list-prices.yaml``, any part of it, where a value
    may also be plain text (``host: 18000 USD``), plus ``fabrics: {ib-ndr: {nic: ..}}`` and
    ``nodes: {dgx-h100: {purchase: .., hourly: ..}}``. Raises :class:`~dse.errors.StudyError`
    where it is wrong or names something the catalogue does not know.
    """
    return _overlay(default_prices(), Entry.open(Path(path)))


def _overlay(base: PriceList, entry: Entry) -> PriceList:
    """``base`` with everything that a list sets."""
    title = entry.text("title", entry.path.name)
    as_of = _day(entry) if entry.has(AS_OF) else base.as_of
    general = {
        field: entry.number(key, dimension)
        for key, (field, dimension) in GENERAL.items()
        if entry.has(key)
    }
    _check_general(entry, general)
    bought, rented = dict(base.accelerator_usd), dict(base.accelerator_hourly_usd)
    includes, sold_in = dict(base.includes), dict(base.sold_in)
    for name, own in _named(entry, "accelerators", "accelerators"):
        _set(own, "purchase", "usd", name, bought)
        _set(own, "hourly", "usd_per_hour", name, rented)
        if own.has("sold_in"):
            sold_in[name] = own.number("sold_in", "count")
            many = sold_in[name].value or 0.0
            if many < 1 or many % 1:
                raise own.wrong(f"sold_in {many:g} is no number of accelerators", "write 1, 4 or 8",
                                "sold_in")  # fmt: skip
        if own.has("includes"):
            includes[name] = own.text("includes")
        includes.setdefault(name, CARD)
        if includes[name] not in INCLUDES:
            remedy = f"write {' or '.join(INCLUDES)}"
            raise own.wrong(f"includes '{includes[name]}'", remedy, "includes")
        own.finish()
    fabrics = {name: dict(prices) for name, prices in base.fabric_usd.items()}
    for name, own in _named(entry, "fabrics", "fabrics"):
        for part in PARTS:
            _set(own, part, "usd", part, fabrics.setdefault(name, {}))
        own.finish()
    machines, machine_hours = dict(base.node_usd), dict(base.node_hourly_usd)
    for name, own in _named(entry, "nodes", "nodes"):
        _set(own, "purchase", "usd", name, machines)
        _set(own, "hourly", "usd_per_hour", name, machine_hours)
        own.finish()
    entry.finish()
    return replace(
        base,
        title=title,
        as_of=as_of,
        accelerator_usd=bought,
        accelerator_hourly_usd=rented,
        includes=includes,
        sold_in=sold_in,
        fabric_usd=fabrics,
        node_usd=machines,
        node_hourly_usd=machine_hours,
        facts=tuple(_newest(base.facts, entry.facts)),
        **general,
    )


def _check_general(entry: Entry, general: Mapping[str, Fact]) -> None:
    """Raise for what no site or rack can be."""
    for key, (field, _) in GENERAL.items():
        value = general[field].value if field in general else None
        if key == "pue" and value is not None and value < LEAST_PUE:
            raise entry.wrong(below_one(value), PUE_REMEDY, key)
        if key in _POSITIVE and value == 0:
            raise entry.wrong(f"{key} is 0", "write a number above 0", key)


def below_one(pue: float) -> str:
    """What is wrong with a PUE below 1."""
    return f"pue {pue:g} is below 1"


PUE_REMEDY = "PUE is the power of the site over that of its machines; write for example 1.3"


def _day(entry: Entry) -> datetime.date:
    """The day that a list is for."""
    written = entry.text(AS_OF, example="2026-11-16")
    try:
        return datetime.date.fromisoformat(written)
    except ValueError as cause:
        raise entry.wrong(f"{AS_OF} '{written}'", "write a day: 2026-11-16", AS_OF) from cause


def _named(entry: Entry, key: str, kind: str) -> list[tuple[str, Entry]]:
    """The sections under ``key`` with their names, each of which must be known as ``kind``."""
    group = entry.section(key)
    for name in group.labels():
        try:
            find(kind, name)
        except UnknownName as cause:
            raise group.wrong(str(cause), "", name) from cause
    return [(name, group.section(name)) for name in group.labels()]


def _set(own: Entry, key: str, dimension: str, name: str, prices: dict[str, Fact]) -> None:
    if own.has(key):
        prices[name] = own.number(key, dimension)


def _newest(base: tuple[Fact, ...], own: list[Fact]) -> list[Fact]:
    """Facts of both, those of ``own`` in place of those of the same name."""
    merged = {fact.name: fact for fact in base}
    merged.update({fact.name: fact for fact in own})
    return list(merged.values())
