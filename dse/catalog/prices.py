"""Price lists of accelerators, hosts, power and rental; a user's lists override the catalogue's."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from dse.catalog.accelerators import Accelerator
from dse.catalog.aliases import clear_aliases
from dse.catalog.extras import Extra, reading
from dse.catalog.fabrics import PARTS, UPLINK
from dse.catalog.facts import ON_DEMAND, USED, Fact, PriceTerms, day, day_of, last_day
from dse.catalog.nodes import Node
from dse.catalog.price_spread import STALE_YEARS, age_years, lapsed
from dse.catalog.price_spread import own as own_price
from dse.catalog.price_table import ENDING, PriceTable
from dse.catalog.purchases import CARD, NODE_SHARE
from dse.catalog.purchases import price as quoted_price
from dse.catalog.reader import Entry
from dse.catalog.rents import usual_rent
from dse.catalog.store import UnknownName, find, names
from dse.currencies import CODE, USD, Rate
from dse.mistakes import Mistakes, each
from dse.spelling import real_name

INCLUDES = (CARD, NODE_SHARE)
DEFAULT = "list-prices"
AS_OF, TODAY = "as_of", "today"
NEVER = "never"  # of what is not sold at all
T = TypeVar("T")


class General(NamedTuple):
    """A number of a price list that is no price of one item: its field of :class:`PriceList`, its
    dimension, the least that it may be, what to write instead, an example."""

    field: str
    dimension: str
    least: float = 0.0
    remedy: str = ""
    example: str = ""


_OF_SITE = "PUE is the power of the site over that of its machines; write 1.3, not 130 %"
GENERAL = {
    "host": General("host_usd", "usd"),
    "electricity": General("electricity_usd_per_kwh", "usd_per_kwh"),
    "operation": General("operation_share", "share", example="0.1 or 10 %"),
    "carbon": General("carbon_kg_per_kwh", "kg_per_kwh"),
    # A site draws at least what its machines draw.
    "pue": General("pue", "count", 1.0, _OF_SITE, "1.3, not 130 %"),
    "amortisation_years": General(
        "amortisation_years", "count", 0.1, "write years, such as 4", "4"
    ),
    "host_power": General("host_power_w", "watt"),
    "host_power_share": General("host_power_share", "count", example="0.4"),
    "host_power_share_switched": General("host_power_share_switched", "count", example="0.4"),
    "idle_power_share": General("idle_power_share", "share", example="0.1 or 10 %"),
    # A rack holds something, for a node to be in it.
    "host_units": General("host_units", "count", 0.01, "write rack units, such as 4", "4"),
    "rack": General("rack_usd", "usd"),
    "rack_power": General("rack_power_w", "watt", 1.0, "write for example 40 kW"),
    "rack_power_dense": General("rack_power_dense_w", "watt", 1.0, "write for example 40 kW"),
    "rack_power_liquid": General("rack_power_liquid_w", "watt", 1.0, "write for example 130 kW"),
    "rack_units": General("rack_units", "count", 0.01, "write rack units, such as 42", "42"),
}


@dataclass(frozen=True, eq=False, kw_only=True)
class PriceList:
    """Prices in USD, each a :class:`~dse.catalog.facts.Fact`, whose ``value`` may be None.

    ``accelerator_usd`` and ``accelerator_hourly_usd`` are for one accelerator, by name;
    ``includes`` says whether the purchase price is that of a ``card`` (then a node also needs
    ``host_usd``) or a share of a complete node (``node-share``); ``accelerator_host_usd`` is what
    the host of such cards costs where a list prices it apart from that of others, see
    :meth:`host_of`. ``sold_in`` is how many a buyer takes at once: a board of 4, a machine of 8;
    without an entry one by one. ``boards`` are what they are ordered on: by how many stand on one,
    its name. ``host_power_w`` is what a host draws without accelerators,
    ``host_power_share`` what it draws besides per watt of these (``_switched``: where a switch
    joins them), ``idle_power_share`` what one that does not train draws per watt of one that does;
    ``pue`` is a factor, at least 1. ``carbon_kg_per_kwh`` is the electricity's.
    ``operation_share`` is what support, staff and floor space cost a year, of the price of the
    hardware. ``rack_power_w`` and ``rack_units`` are what a rack holds, ``rack_power_dense_w`` one
    for nodes above 10 kW, ``rack_power_liquid_w`` one that is cooled by liquid, ``host_units`` what
    a host takes of it; ``rack_usd`` is 0 where the site has the racks.
    ``fabric_usd`` (name -> nic, switch_port, cable, and uplink: a cable between switches),
    ``node_usd`` and ``node_hourly_usd`` hold only what a user's list sets; elsewhere the prices of
    the fabric and the node type count, and that of its cables for uplinks.
    ``as_of`` is the day of the purchase: the older a price is on it, the less sure. ``stated``:
    whether a list of the user says it. ``sold_until``: of accelerators that are no longer sold new,
    the last day, month or year in which they were, or never. ``used_usd``: what one goes for used,
    without its host. ``rates``: USD for one of each other
    currency. ``extras``: what is bought beside the hardware, by name. ``accelerator_terms_usd``,
    ``node_terms_usd``: rents for other terms than on demand, by name and term. ``unsaid``:
    accelerators whose own price does not say what it includes, and is taken to be a share of a
    complete node, as that of the catalogue is. ``rent_class``: of sellers whose rents these are;
    empty where each accelerator's are those of its usual class. ``described``: accelerators that
    the buyer describes beside those of the catalogue, by name.
    """

    title: str
    as_of: datetime.date
    accelerator_usd: Mapping[str, Fact] = field(default_factory=dict)
    accelerator_hourly_usd: Mapping[str, Fact] = field(default_factory=dict)
    includes: Mapping[str, str] = field(default_factory=dict)
    sold_in: Mapping[str, Fact] = field(default_factory=dict)
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
    rack_power_dense_w: Fact
    rack_power_liquid_w: Fact
    operation_share: Fact
    rack_units: Fact
    fabric_usd: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    node_usd: Mapping[str, Fact] = field(default_factory=dict)
    node_hourly_usd: Mapping[str, Fact] = field(default_factory=dict)
    facts: tuple[Fact, ...]
    stated: bool = False
    sold_until: Mapping[str, Fact] = field(default_factory=dict)
    boards: Mapping[str, Mapping[int, Fact]] = field(default_factory=dict)
    used_usd: Mapping[str, Fact] = field(default_factory=dict)
    accelerator_host_usd: Mapping[str, Fact] = field(default_factory=dict)
    rates: Mapping[str, Rate] = field(default_factory=dict)
    extras: Mapping[str, Extra] = field(default_factory=dict)
    accelerator_terms_usd: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    node_terms_usd: Mapping[str, Mapping[str, Fact]] = field(default_factory=dict)
    unsaid: frozenset[str] = frozenset()
    rent_class: str = ""
    described: Mapping[str, Accelerator] = field(default_factory=dict)

    def rented(self, term: str) -> PriceList:
        """The same with rents of a term in place of those on demand, where a list has them."""

        def of_term(
            listed: Mapping[str, Fact], terms: Mapping[str, Mapping[str, Fact]]
        ) -> Mapping[str, Fact]:
            return {**listed, **{name: own[term] for name, own in terms.items() if term in own}}

        return replace(
            self,
            accelerator_hourly_usd=of_term(self.accelerator_hourly_usd, self.accelerator_terms_usd),
            node_hourly_usd=of_term(self.node_hourly_usd, self.node_terms_usd),
        )

    def host_of(self, accelerator: str) -> Fact:
        """The price of a host for cards of an accelerator: its own, else that of all hosts."""
        return self.accelerator_host_usd.get(accelerator, self.host_usd)

    def of_class(self, rent_class: str) -> PriceList:
        """The same with rents of a class of sellers, but for those that a list of the user has."""
        own = {name: fact for name, fact in self.accelerator_hourly_usd.items() if own_price(fact)}
        return replace(self, rent_class=rent_class,
                       accelerator_hourly_usd={**_rents(rent_class), **own})  # fmt: skip

    def rent_of(self, node: Node) -> Fact | None:
        """The rent of a whole machine: a list's, that of the cloud whose type it is, else that of
        its accelerators, as sellers of machines count it."""
        own = self.node_hourly_usd.get(node.name, node.hourly_usd)
        each = self.accelerator_hourly_usd.get(node.accelerator)
        if own is not None or each is None or each.value is None:
            return own
        usd = each.value * node.accelerators
        return replace(each, name=f"nodes.{node.name}.hourly", value=usd, text=f"{usd:g} USD/hour")

    def purchase_of(self, node: Node) -> Fact | None:
        """The price of a whole machine: a list's, else the catalogue's, as unsure as quotes of its
        accelerator differ where it is one of these months itself."""
        own = self.node_usd.get(node.name, node.purchase_usd)
        age = None if own is None else age_years(own, self.as_of)
        quoted = self.accelerator_usd.get(node.accelerator)
        if own is None or own_price(own) or age is None or age > STALE_YEARS:
            return own
        if own.offer is None or quoted is None or quoted.offer is None or own_price(quoted):
            return own
        return replace(own, offer=replace(own.offer, log_spread=quoted.offer.log_spread))

    def lapsed(self, price: Fact) -> bool:
        """Whether a price of the user is no offer any more: past its last day, on ``as_of`` where a
        list of the user says that, else today; or old, see :func:`.price_spread.lapsed`."""
        valid_on = self.as_of if self.stated else max(self.as_of, datetime.date.today())
        return lapsed(price, self.as_of, valid_on)


_MACHINES = ("accelerators", "fabrics", "nodes")  # named in a list as in the catalogue


def default_prices() -> PriceList:
    """The price list of the catalogue."""
    return _complete(find("prices", DEFAULT))


@cache
def _complete(path: Path) -> PriceList:
    entry = Entry.open(path)
    general: dict[str, Any] = {
        row.field: _general(entry, key) if entry.has(key) else quoted_price(key)
        for key, row in GENERAL.items()
    }
    found = {name: quoted_price(name) for name in names("accelerators")}
    bought, rents = {name: fact for name, fact in found.items() if fact}, _rents()
    blank = PriceList(
        title="",
        as_of=_day(entry),
        facts=(general["host_usd"], *bought.values(), *rents.values()),
        accelerator_usd=bought,
        includes={name: fact.offer.includes for name, fact in bought.items() if fact.offer},
        accelerator_hourly_usd=rents,
        **general,
    )
    return _overlay(blank, entry, Mistakes())


def _rents(rent_class: str = "") -> dict[str, Fact]:
    """What accelerators of the catalogue rent for in a class of sellers, where it has no offer in
    another one; in the usual one of each where none is named."""
    found = {name: usual_rent(name, rent_class) for name in names("accelerators")}
    return {name: one.fact() for name, one in found.items() if one}


def read_prices(
    *lists: Path | str | Entry, described: Mapping[str, Accelerator] = MappingProxyType({})
) -> PriceList:
    """The default list with the entries of a user's own lists put over it, the later over the
    earlier.

    A list is a YAML file in the format of ``prices/list-prices.yaml``, any part of it, where a
    value may also be plain text (``host: 18000 USD``), plus ``fabrics: {ib-ndr: {nic: ..}}``,
    ``nodes: {dgx-h100: {purchase: .., hourly: ..}}``, ``currencies: {EUR: 1.08 USD}`` and
    ``extras: {spares: 10 %}``; or a CSV table of the same (:class:`.price_table.PriceTable`); or
    such a part of another file. Raises :class:`~dse.errors.StudyError` where one is wrong or names
    something the catalogue does not know.
    """
    found = replace(default_prices(), described=described)
    for one in lists:
        entry, mistakes = (one, Mistakes()) if isinstance(one, Entry) else open_list(Path(one))
        found = _overlay(found, entry, mistakes)
    return found


def open_list(path: Path) -> tuple[Entry, Mistakes]:
    """A user's price list, YAML or CSV by the ending of its name, and what is wrong with rows."""
    if path.suffix.lower() != ENDING:
        return Entry.open(path), Mistakes()
    table = PriceTable(path, (*GENERAL, "title", AS_OF))
    return Entry(table, table.data), table.mistakes


def _overlay(base: PriceList, entry: Entry, mistakes: Mistakes) -> PriceList:
    """``base`` with everything that a list sets. mistakes: found in the list so far; all are told
    together."""
    title = mistakes.part(lambda: entry.text("title", entry.path.name))
    as_of = mistakes.part(lambda: _day(entry) if entry.has(AS_OF) else base.as_of)
    entry.rates = {**base.rates, **_rates(entry, mistakes)}
    general = mistakes.by_key(partial(_general, entry), [key for key in GENERAL if entry.has(key)])
    bought, rented = dict(base.accelerator_usd), dict(base.accelerator_hourly_usd)
    used, hosts = dict(base.used_usd), dict(base.accelerator_host_usd)
    includes, sold_in, sold_until = dict(base.includes), dict(base.sold_in), dict(base.sold_until)
    boards, unsaid = dict(base.boards), set(base.unsaid)
    terms = {name: dict(own) for name, own in base.accelerator_terms_usd.items()}
    machine_terms = {name: dict(own) for name, own in base.node_terms_usd.items()}

    def accelerator(name: str, own: Entry) -> None:
        _all(
            partial(_set, own, "purchase", name, bought, _usd),
            partial(_set_rents, own, name, rented, terms),
            partial(_set, own, "sold_in", name, sold_in, _sold_in),
            partial(_set, own, "used", name, used, _used),
            partial(_set, own, "boards", name, boards, _boards),
            partial(_set, own, "sold_until", name, sold_until, _sold_until),
            partial(_set, own, "host", name, hosts, _usd),
        )
        if own.has("purchase"):
            said = _included(own, bought[name])
            if not said and (own.has("host") or entry.has("host")):
                said = CARD  # hosts are offered beside it
            includes[name] = said or includes.get(name, CARD)
            taken = not (said or entry.shipped) and includes[name] == NODE_SHARE
            (unsaid.add if taken else unsaid.discard)(name)
        includes.setdefault(name, CARD)
        if includes[name] == NODE_SHARE:
            hosts.pop(name, None)
            if own.has("host"):
                raise own.wrong(
                    f"the price of {name} already includes its host",
                    f"add includes: {CARD} to it if yours does not, or leave host out", "host",
                )  # fmt: skip

    fabrics = {name: dict(prices) for name, prices in base.fabric_usd.items()}

    def fabric(name: str, own: Entry) -> None:
        prices = fabrics.setdefault(name, {})
        _all(*(partial(_set, own, part, part, prices, _usd) for part in (*PARTS, UPLINK)))

    machines, machine_hours = dict(base.node_usd), dict(base.node_hourly_usd)

    def node(name: str, own: Entry) -> None:
        _all(partial(_set, own, "purchase", name, machines, _usd),
             partial(_set_rents, own, name, machine_hours, machine_terms))  # fmt: skip
        if own.has("purchase") and (offer := machines[name].offer) and offer.includes:
            problem = f"'includes' does not apply to {name}, which is sold whole"
            raise own.wrong(problem, "drop it", "purchase", "includes")

    for kind, read in zip(_MACHINES, (accelerator, fabric, node), strict=True):
        own = base.described if kind == _MACHINES[0] else ()
        mistakes.part(partial(_each_named, entry, kind, read, own))
    extras = mistakes.part(lambda: _extras(entry))
    mistakes.part(entry.finish)
    mistakes.told()
    return replace(
        base,
        title=title(),
        as_of=as_of(),
        stated=base.stated or (not entry.shipped and entry.has(AS_OF)),
        accelerator_usd=bought,
        accelerator_hourly_usd=rented,
        includes=includes,
        sold_in=sold_in,
        sold_until=sold_until,
        boards=boards,
        accelerator_terms_usd=terms,
        node_terms_usd=machine_terms,
        used_usd=used,
        accelerator_host_usd=hosts,
        rates=entry.rates,
        extras={**base.extras, **extras()},
        fabric_usd=fabrics,
        node_usd=machines,
        node_hourly_usd=machine_hours,
        unsaid=frozenset(unsaid),
        described=base.described,
        facts=_newest(base.facts, entry.facts),
        **{GENERAL[key].field: fact() for key, fact in general.items()},  # type: ignore[arg-type]
    )


def no_longer_sold(name: str, prices: PriceList) -> Fact | None:
    """Until when an accelerator was sold new, where that is past on the day of the list; else None.

    One that the buyer has a price of his own for is sold to him.
    """
    until, price = prices.sold_until.get(name), prices.accelerator_usd.get(name)
    if until is None or not until.known or (price is not None and own_price(price)):
        return None
    last = None if until.text == NEVER else last_day(until.text)
    return until if last is None or last < prices.as_of else None


def with_used_prices(prices: PriceList) -> PriceList:
    """The list with prices of used accelerators where they are no longer sold new and such are
    known; their hosts are bought apart."""
    found = {name: fact for name, fact in prices.used_usd.items() if no_longer_sold(name, prices)}
    return replace(
        prices,
        accelerator_usd={**prices.accelerator_usd, **found},
        includes={**prices.includes, **dict.fromkeys(found, CARD)},
    )


def _extras(entry: Entry) -> dict[str, Extra]:
    """What a list has bought beside the hardware."""
    group = entry.section("extras")
    found = each(lambda name: Extra(name, group.read(name, reading)), group.labels())
    return {extra.name: extra for extra in found}


def _day(entry: Entry) -> datetime.date:
    """The day that a list is for."""
    written = entry.text(AS_OF, example="2026-11-16")
    if written == TODAY:
        return datetime.date.today()
    try:
        return day(written)
    except ValueError as cause:
        remedy = f"write a day: 2026-11-16, or {TODAY}"
        raise entry.wrong(f"{AS_OF} '{written}'", remedy, AS_OF) from cause


def _rates(entry: Entry, mistakes: Mistakes) -> dict[str, Rate]:
    """What a list says that other currencies are worth in USD, on the day that it says of the rate,
    else on the one that it is for."""
    group = entry.section("currencies")
    day = entry.text(AS_OF, TODAY) if group.labels() else TODAY

    def rate(code: str) -> Rate:
        if not CODE.fullmatch(code) or code == USD:
            raise group.wrong(f"'{code}' is no code of a currency", "write EUR, GBP, JPY", code)
        usd = group.positive(code, "usd", example="1.08 USD")
        return Rate(usd, group.facts[-1].date or (day if day != TODAY else ""))

    # A mistaken rate stands for one, so that prices in its currency are read to their end.
    return {code: one.otherwise(Rate(1.0))
            for code, one in mistakes.by_key(rate, group.labels()).items()}  # fmt: skip


def _general(entry: Entry, key: str) -> Fact:
    """A number that is no price of one item."""
    row = GENERAL[key]
    fact = entry.number(key, row.dimension, row.least, row.remedy, row.example)
    if row.dimension == "share" and fact.value is not None and fact.value > 1:
        raise entry.wrong(f"{key} is more than the whole", f"write for example {row.example}", key)
    return fact


def _included(own: Entry, bought: Fact) -> str:
    """What of a node the price of an accelerator pays; empty where it does not say so."""
    word = bought.offer.includes if bought.offer else ""
    if word not in ("", *INCLUDES):
        remedy = f"write {' or '.join(INCLUDES)}"
        raise own.wrong(f"includes '{word}'", remedy, "purchase", "includes")
    return word


def _usd(own: Entry, key: str) -> Fact:
    """A price of one."""
    return own.number(key, "usd")


def _used(own: Entry, key: str) -> Fact:
    """A price of what is used: it is one, whatever else is written."""
    fact = _usd(own, key)
    return replace(fact, offer=replace(fact.offer or PriceTerms(USED), price_class=USED))


def _sold_in(own: Entry, key: str) -> Fact:
    """How many are sold at once, a whole number."""
    fact = own.number(key, "count")
    many = fact.value or 0.0
    if many < 1 or many % 1:
        raise own.wrong(f"{key} {many:g} is no number of accelerators", "write 1, 4 or 8", key)
    return fact


def _boards(accelerator: Entry, key: str) -> dict[int, Fact]:
    """By how many accelerators stand on a board, its name; those of unknown name are none."""
    found, own = {}, accelerator.section(key)
    for label in own.labels():
        count = str(label)
        if not count.isdecimal() or int(count) < 1:
            remedy = "write how many stand on one: {8: its name}"
            raise own.wrong(f"boards of '{count}'", remedy, label)
        fact = own.word(label)
        if fact.known:
            found[int(count)] = fact
    return found


def _sold_until(own: Entry, key: str) -> Fact:
    """The end of sales, a date or never."""
    fact = own.word(key)
    try:
        if fact.known and fact.text != NEVER:
            day_of(fact.text)
    except ValueError as cause:
        remedy = f"write 2022, 2022-03, 2022-03-31, {NEVER} or unknown"
        raise own.wrong(f"{key} '{fact.text}'", remedy, key) from cause
    return fact


def _each_named(
    entry: Entry, kind: str, read: Callable[[str, Entry], None], described: Collection[str]
) -> None:
    """Read the sections under ``kind``, each of which must be named as one in the catalogue, or as
    one that is described."""
    group = entry.section(kind)

    def one(word: str) -> None:
        name = real_name(word, (*names(kind), *described), clear_aliases(kind))
        try:
            if name not in described:
                find(kind, name)
        except UnknownName as cause:
            raise group.wrong(str(cause), "", word) from cause
        read(name, group.section(word))

    each(one, group.labels())


def _all(*readings: Callable[[], None]) -> None:
    """Read what does not depend on one another; all mistakes are raised as one error."""
    each(lambda read: read(), readings)


def _set(
    own: Entry, key: str, name: str, found: dict[str, T], read: Callable[[Entry, str], T]
) -> None:
    if own.has(key):
        found[name] = read(own, key)


def _set_rents(
    own: Entry, name: str, on_demand: dict[str, Fact], terms: dict[str, dict[str, Fact]]
) -> None:
    for term, fact in own.rents("hourly").items() if own.has("hourly") else ():
        if term == ON_DEMAND:
            on_demand[name] = fact
        else:
            terms.setdefault(name, {})[term] = fact


def _newest(base: tuple[Fact, ...], own: list[Fact]) -> tuple[Fact, ...]:
    """Facts of both, those of ``own`` in place of those of the same name."""
    return tuple({fact.name: fact for fact in (*base, *own)}.values())
