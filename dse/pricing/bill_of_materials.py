"""The bill of materials of a point: what is ordered, at what price, and where that is from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from dse import catalog
from dse.catalog.extras import PER_NODE, SHARE
from dse.catalog.facts import ESTIMATE, LIST, QUOTE, UNCHECKED
from dse.catalog.price_spread import OLD_YEARS, STALE_RENT_YEARS, STALE_YEARS, age_years
from dse.currencies import Converted
from dse.model.arrays import Array
from dse.model.bill import most_endpoints
from dse.model.leaves import leaf_ports
from dse.model.money import anything
from dse.pricing import extras, hardware, market, power
from dse.pricing.costs import Costs
from dse.pricing.points import Points
from dse.pricing.study_facts import StudyFacts
from dse.pricing.unit_price import FREE, UnitPrice, unit_price
from dse.spelling import enumerated
from dse.study import Wire

_IF_ANY = {"if any": True}  # not written to run.json where there is none
# What stands in the way of an order: nobody sells it new, a rack feeds too little, a network has
# too few tiers, a price is far from what the catalogue lets one expect, or is taken to pay servers,
# though its list does not say so.
Obstacle: TypeAlias = Literal["unsold", "rack", "tiers", "unlikely price", "unsaid server"]
UNSOLD: Obstacle = "unsold"
RACK: Obstacle = "rack"
TIERS: Obstacle = "tiers"
UNLIKELY: Obstacle = "unlikely price"
UNSAID: Obstacle = "unsaid server"


@dataclass(frozen=True, kw_only=True)
class Terms(Converted):
    """The terms of an offer. list_usd: the unit price of which ``discount``, that of a term of a
    rent, is taken off, None without one. quote: its number. valid_until: its last day, empty where
    it has none. expired: whether it is no offer any more (:func:`.price_spread.lapsed`). currency,
    rate: in which it is given, and USD for one of it; empty and 1 where that is USD; rate_date: of
    what day that is, where it is known. vendor: who sells it, where that is known."""

    list_usd: float | None = None
    discount: float = 0.0
    quote: str = ""
    valid_until: str = ""
    expired: bool = False
    currency: str = ""
    rate: float = 1.0
    rate_date: str = field(default="", metadata=_IF_ANY)
    vendor: str = ""


_NO_TERMS = Terms()


@dataclass(frozen=True, kw_only=True)
class Rent:
    """For how long an item is rented; its unit price is of an hour. term: ``on-demand``,
    ``1-year``, ``3-year`` or ``spot``. hours: that are billed, which are the sum of the others:
    training; lost to failures and checkpoints; starting; what the least bill or whole units of it
    add; and those of a commitment between runs, None of other terms. These are None where the bill
    is for an hour, whatever is done in it. hours: None where the length of the run is not known.
    committed_hours: that whoever rents pays by the whole term, None of what is no commitment.
    """

    term: str
    hours: float | None
    training_hours: float | None = None
    lost_hours: float | None = None
    start_up_hours: float | None = None
    rounding_hours: float | None = None
    idle_hours: float | None = field(default=None, metadata=_IF_ANY)
    committed_hours: float | None = field(default=None, metadata=_IF_ANY)


# Lines of a bill.
HOST, SERVER = "Host for accelerators", "Host for a parameter server"
HOST_FOR = "Host for "  # and an accelerator, where its hosts have their own price
CARD, CABLE, UPLINK = "Network card", "Cable", "Cable between switches"
# Classes of what is counted and not bought.
OF_SITE, OWNED = "of the site", "owned"


@dataclass(frozen=True, kw_only=True)
class Item:
    """A line of a bill. quantity: that the point needs. owned: how many of them stand there
    already, None where the study owns nothing. usd: ``to_buy unit_usd``; None where the price is
    not known. Of what is rented usd is for its hours.

    price_class: ``list``, what is published, ``quote``, offered to the user, ``used``, ``cloud``,
    ``estimate``, ``of the site``, which has it, or ``owned``, where all stand there. price_date:
    when it was asked; empty where that is not known. age_years: on the day that the price list is
    for; None where it has no date. checked: False where nobody compared the price with its source.
    source: a key of the catalogue's sources, or the name of a file; empty where there is no price.
    idle: how many are bought beyond those that train, since fewer are not sold. terms: of an offer,
    None where there are none. remark: what else to know of it; obstacle: what keeps it from being
    ordered so. extra: it is no part of the hardware. rent: for how long it is rented, None where it
    is bought. boards: what modules stand on and are ordered as, ``2 HGX A100 8-GPU baseboards``,
    ``with their servers`` where the price pays these, too.
    """

    item: str
    quantity: int
    unit_usd: float | None
    usd: float | None
    price_class: str
    price_date: str
    age_years: float | None
    checked: bool
    source: str
    idle: int = 0
    terms: Terms | None = field(default=None, metadata=_IF_ANY)
    remark: str | None = field(default=None, metadata=_IF_ANY)
    obstacle: Obstacle | None = field(default=None, metadata=_IF_ANY)
    extra: bool | None = field(default=None, metadata=_IF_ANY)
    owned: int | None = field(default=None, metadata=_IF_ANY)
    rent: Rent | None = field(default=None, metadata=_IF_ANY)
    boards: str | None = field(default=None, metadata=_IF_ANY)

    @property
    def unit(self) -> str:
        """What the unit price is in."""
        return "USD" if self.rent is None else "USD/hour"

    @property
    def own(self) -> bool:
        """Whether its price is the buyer's, and not the catalogue's."""
        return self.source not in catalog.sources()

    @property
    def asked_anew(self) -> bool:
        """Whether an offer is wanted for it: its price is not the buyer's, nor a rent of late,
        which is what a cloud asks. That an offer is past its last day is told apart from that."""
        offered = self.own and self.price_class != ESTIMATE
        late = self.rent is not None and self.age_years is not None and self.age_years <= OLD_YEARS
        return not (self.checked and (offered or late))

    @property
    def stale(self) -> bool:
        """Whether its price is the catalogue's and none of today: eighteen months old, a rent of
        nine, or without a date."""
        most = STALE_YEARS if self.rent is None else STALE_RENT_YEARS
        known = self.source in catalog.sources()
        return known and (self.age_years is None or self.age_years > most)

    @property
    def to_buy(self) -> int:
        """How many must be added."""
        return self.quantity - (self.owned or 0)


def bill_of_materials(points: Points) -> tuple[Item, ...]:
    """The bill of a single point, without what it does not need and what comes with something else.
    Its sum is the purchase price, that of what must be added to what stands there."""
    hardware_items = tuple(_items(points))
    return (*hardware_items, *_extras(points, hardware_items))


def _items(points: Points) -> Iterator[Item]:
    bill, buy = points.bill, Costs(points).bill_to_buy
    axis, links = points.wiring
    machine, link = points.only, links[points.position(axis)]
    device, node = machine.accelerator, machine.node
    whole = np.any(bill.accelerators > bill.training)
    units = f", sold in units of {machine.sold_in:.0f}" if whole else ""
    gone: dict[str, Any] = {}
    if remark := market.remark(machine):
        gone = {"remark": remark, "obstacle": UNSOLD}
    devices = (bill.accelerators, buy.accelerators)
    for item in _item(points, device.title + units, *devices, machine.accelerator_usd):
        idle = item.quantity - int(np.ravel(bill.training)[0])
        boards = _boards(points, machine, item.to_buy)
        said: dict[str, Any] = {}
        if machine.with_server and not item.obstacle:
            said = {"remark": "its part of a server is in the price"}
            if device.name in points.problem.prices.unsaid and item.to_buy:
                remark = "its part of a server is taken to be in the price, as in the catalogue's"
                said = {"remark": remark, "obstacle": UNSAID}
        yield replace(item, idle=idle, boards=boards, **(gone if gone and item.to_buy else said))
    name = node.title if node else host_title(device, points.problem.prices)
    nodes = (bill.nodes - buy.nodes + buy.bought, buy.bought)
    for item in _item(points, name + _racks_of(machine, nodes[1]), *nodes, machine.host_usd):
        item = replace(item, idle=item.idle + int(np.ravel(buy.bought - buy.nodes)[0]))
        yield replace(item, **gone) if node and item.to_buy else item
    network = _network_name(points, axis)
    yield from _item(points, f"{CARD}, {network}", bill.nics, buy.nics, link.nic_usd)
    port = link.switch_port_usd
    switch = UnitPrice(port.part, port.usd * link.switch_radix, port.log_spread, port.fact)
    ratio = float(np.ravel(points.oversubscription)[0])
    beyond = _beyond(int(np.ravel(bill.endpoints)[0]), link.switch_radix, ratio)
    tree, added, ports = bill.tree, buy.tree, f"{link.switch_radix:.0f} ports"
    leaf, uplinks = "Switch", ""
    if np.any(tree.spines > 0):
        leaf, led = "Leaf switch", leaf_ports(link.switch_radix, ratio)
        if ratio > 1:
            parts = f"{led.down:.0f} ports down and {led.up:.0f} up"
            uplinks = f"oversubscribed {ratio:g} to 1, {parts}"
    for tier, count, lacking, remark, obstacle in (
        (leaf, tree.leaves, added.leaves, uplinks, None),
        ("Spine switch", tree.spines, added.spines, "", None),
        ("Core switch", tree.cores, added.cores, beyond, TIERS if beyond else None),
    ):
        for item in _item(points, f"{tier} of {ports}, {network}", count, lacking, switch):
            yield _remarked(item, remark, obstacle)
    cables = zip((CABLE, UPLINK), link.cabling(tree), link.cabling(added), strict=False)
    for title, (price, needed), (_, lacking) in cables:
        yield from _item(points, f"{title}, {network}", needed, lacking, price)
    host = hardware.host_price(points.problem.prices)
    yield from _item(points, SERVER, bill.servers, buy.servers, host)
    yield from _racks(points)


def host_title(device: catalog.Accelerator, prices: catalog.PriceList) -> str:
    """What a bill calls the hosts of an accelerator: by its name where they have their own
    price."""
    return f"{HOST_FOR}{device.title}" if device.name in prices.accelerator_host_usd else HOST


def _boards(points: Points, machine: hardware.Machine, to_buy: int) -> str | None:
    """What accelerators that are bought stand on, in words: in each node the largest boards that
    they fill, in the last one of what is left; None where boards of these sizes are not known, or
    they are sold one by one."""
    each = int(machine.sold_in)
    sizes = sorted((many for many in machine.boards if many % each == 0), reverse=True)
    if each <= 1 or not sizes or not to_buy:
        return None
    training = int(np.ravel(np.minimum(points.gpus, points.gpus_per_node))[0])
    in_node = -(-training // each) * each
    nodes, last = divmod(to_buy, in_node)
    found: dict[int, int] = {}
    for count, left in ((nodes, in_node), (1, last)):
        for size in sizes:
            boards, left = divmod(left, size)
            found[size] = found.get(size, 0) + count * boards
        if left and count:
            return None
    said = [
        f"one {name}" if count == 1 else f"{count:,} {name}{'s' * name.endswith('board')}"
        for size, count in found.items() if count
        for name in [machine.boards[size]]
    ]  # fmt: skip
    server = f" with {'its server' if sum(found.values()) == 1 else 'their servers'}"
    paid = machine.with_server and machine.accelerator.name not in points.problem.prices.unsaid
    return f"{enumerated(said)}{server * paid}"


def _racks_of(machine: hardware.Machine, nodes: Array) -> str:
    """``, 1 rack of 72``, where nodes that are bought come in racks; else nothing."""
    racks = int(np.ravel(nodes)[0] / machine.at_once)
    if machine.at_once <= 1 or not racks:
        return ""
    return f", {racks:,} rack{'s' * (racks > 1)} of {machine.at_once * machine.sold_in:.0f}"


def _racks(points: Points) -> Iterator[Item]:
    """Racks, where it is known how many; free where the site has them."""
    prices, costs = points.problem.prices, Costs(points)
    cost = costs.cost()
    units = prices.rack_units.value or 0.0
    draw = cost.draw
    node_w = float(np.ravel((draw.accelerators_w + draw.hosts_w) / points.bill.nodes)[0])
    feeds = float(np.ravel(power.rack_feeds_w(points, draw))[0])
    name = f"Rack of {feeds * 1e-3:g} kW and {units:g} units"
    price = unit_price("rack", prices.rack_usd, prices)
    many = float(np.ravel(cost.racks)[0])
    tight = f"a node draws {node_w * 1e-3:.1f} kW, more than such a rack feeds (rack_power)"
    fits = node_w <= feeds or np.max(points.bill.at_once) > 1  # which come in racks of their own
    remark, obstacle = (None, None) if fits else (tight, RACK)
    if price.usd == 0 and np.isfinite(many) and many:
        yield Item(
            item=name, quantity=int(many), unit_usd=0.0, usd=0.0, price_class=OF_SITE,
            price_date="", age_years=None, checked=True, source="", remark=remark,
            obstacle=obstacle,
        )  # fmt: skip
    elif np.isfinite(many):
        for item in _item(points, name, cost.racks, costs.racks_to_buy, price):
            yield _remarked(item, remark or "", obstacle)


def _remarked(item: Item, remark: str, obstacle: Obstacle | None) -> Item:
    """The line with a remark, unless its price is in the way already and this is not."""
    if not remark or (item.obstacle and not obstacle):
        return item
    return replace(item, remark=remark, obstacle=obstacle)


def _beyond(endpoints: int, radix: float, ratio: float) -> str:
    """A clause which says that three tiers of switches cannot join so many network cards; empty
    where they can."""
    most = int(most_endpoints(radix, ratio))
    if endpoints <= most:
        return ""
    return f"three tiers join {most:,} network cards, not {endpoints:,}: a fourth is not counted"


def _network_name(points: Points, axis: str) -> str:
    """The name of the link between nodes, as people call it."""
    if axis == "inter_node":
        value = points.coordinates[axis].values[points.position(axis)]
        if isinstance(value, Wire):
            if value.fabric is None:
                return f"{value.bytes_per_s * 8e-9:g} Gbps"
            return f"{catalog.fabric(value.fabric).title} at {value.bytes_per_s * 8e-9:g} Gbps"
    return catalog.fabric(points.link_name).title if points.link_name else "network"


def _item(
    points: Points, name: str, needed: Array, added: Array, price: UnitPrice
) -> Iterator[Item]:
    """The line of a part; none where it is not needed, or comes with something else. added: how
    many are bought."""
    quantity, buys = int(np.ravel(needed)[0]), int(np.ravel(added)[0])
    if not quantity or price == FREE:
        return
    owned = quantity - buys if points.problem.standing else None
    yield line_of(points.problem, name, quantity, price, owned)


def line_of(
    problem: StudyFacts, name: str, quantity: int, price: UnitPrice, owned: int | None = None
) -> Item:
    """The line of so many parts at a price, with its date, class and source; owned: how many of
    them stand there already."""
    if owned == quantity:
        return Item(
            item=name, quantity=quantity, unit_usd=None, usd=0.0, price_class=OWNED, price_date="",
            age_years=None, checked=True, source="", owned=owned,
        )  # fmt: skip
    fact, known = price.fact, np.isfinite(price.usd)
    offer = None if fact is None else fact.offer
    own = QUOTE if fact is None or fact.source not in catalog.sources() else LIST
    doubt = "" if fact is None else catalog.implausible(fact)
    return Item(
        item=name,
        quantity=quantity,
        unit_usd=price.usd if known else None,
        usd=(quantity - (owned or 0)) * price.usd if known else None,
        price_class=LIST if not known else own if offer is None else offer.price_class,
        price_date="" if fact is None else fact.date,
        age_years=None if fact is None else age_years(fact, problem.prices.as_of),
        checked=fact is None or fact.status not in UNCHECKED,
        source=_source(problem, fact) if known else "",
        terms=None if fact is None else _terms(problem, fact),
        owned=owned,
        remark=doubt or None,
        obstacle=UNLIKELY if doubt else None,
    )


def _terms(problem: StudyFacts, fact: catalog.Fact) -> Terms | None:
    """Those that a bill shows of a unit price; None where there are none."""
    offer = fact.offer
    if offer is None:
        return None
    found = Terms(
        quote=offer.quote,
        valid_until="" if offer.valid_until is None else str(offer.valid_until),
        expired=problem.prices.lapsed(fact),
        currency=offer.currency,
        rate=offer.rate,
        rate_date=offer.rate_date,
        vendor=offer.vendor,
    )
    return None if found == _NO_TERMS else found


def _extras(points: Points, parts: tuple[Item, ...]) -> Iterator[Item]:
    """The lines beside the hardware."""
    sums = [item.usd for item in parts]
    hardware_usd = float("nan") if None in sums else sum(usd for usd in sums if usd is not None)
    buy = Costs(points).bill_to_buy
    hosts = int(np.ravel(buy.nodes + buy.servers)[0])
    for line in extras.lines(points.problem.prices):
        price, basis = line.price, line.extra.basis
        if basis == SHARE:
            price = replace(price, usd=price.usd * hardware_usd)
        if price.usd:
            count = hosts if basis == PER_NODE else int(np.ravel(anything(buy))[0])
            if not count:
                continue
            yield replace(line_of(points.problem, line.title, count, price), extra=True)


def _source(problem: StudyFacts, fact: catalog.Fact | None) -> str:
    """A source of the catalogue, else the name of the file that has the price."""
    if fact is None:
        return Path(problem.study.path).name
    return fact.source if fact.source in catalog.sources() else Path(fact.source).name
