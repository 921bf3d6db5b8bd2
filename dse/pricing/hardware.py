"""Attributes of accelerators, nodes and networks by axis value: one table per axis, built once.

A table has one row per value of the axis; :mod:`.points` takes from it the rows of its
points.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dse import catalog
from dse.catalog import (
    NODE_SHARE,
    Accelerator,
    Fabric,
    Fact,
    LinkWatts,
    Node,
    PriceList,
    Tier,
    Transport,
)
from dse.catalog.fabrics import HOST_BRIDGE, UPLINK
from dse.catalog.transports import EARLY, OTHER
from dse.errors import DseError
from dse.model.aggregation.nccl_tuner import FIRST_TREES, OLDEST_CAPABILITY
from dse.model.arrays import Array
from dse.model.bill import FatTree
from dse.pricing.unit_price import FREE, UNKNOWN, UnitPrice, unit_price
from dse.study import Study, Value, Wire

SOCKETS = "nccl-tcp"  # the transport of NCCL without RDMA
TCP = "tcp"
HOST_OF = "host of "  # and an accelerator: its host, where that has its own price


def number(value: float | None) -> float:
    """NaN where a fact is not known, so that it cannot pass for a number further on."""
    return float("nan") if value is None else float(value)


@dataclass(frozen=True)
class Machine:
    """One accelerator in its node, with its links and prices; NaN marks what is not known.

    pair_bytes_per_s: to one other of the node; infinite where a switch joins them. sold_in: how
    many accelerators are bought at once. at_once: how many nodes are, those of a rack. host_w: of
    the node without its accelerators; host_share: what it draws besides per watt of these.
    rack_units: of the node. sold_until: when it was last sold new, where that is past. rent: an
    hour of one accelerator, of the whole machine where it is a node type. boards: what accelerators
    are ordered on, by how many of them one has. with_server: whether the price of an accelerator
    pays its part of a server.
    """

    accelerator: Accelerator
    node: Node | None
    host_bytes_per_s: float
    intra_bytes_per_s: float
    pair_bytes_per_s: float
    accelerator_usd: UnitPrice
    host_usd: UnitPrice
    rent: UnitPrice
    sold_in: float
    at_once: float
    host_w: float
    host_share: float
    rack_units: float
    sold_until: Fact | None = None
    boards: Mapping[int, str] = field(default_factory=dict)
    with_server: bool = False

    @property
    def cores(self) -> float:
        """CPU cores of its host for each accelerator; NaN: not known."""
        if self.node is None:
            return catalog.decoding().cores
        return number(self.node.cores) / self.node.accelerators

    @property
    def liquid(self) -> bool:
        """Whether it is cooled by liquid, as trays are whose links reach beyond one node."""
        if self.node is None:
            return self.accelerator.scale_up_domain is not None
        return self.node.scale_up_domain > self.node.accelerators

    @property
    def unknown(self) -> str:
        """What the model cannot do without and the catalogue does not know; empty if nothing."""
        needed = {
            "memory size": self.accelerator.memory_bytes,
            "memory bandwidth": self.accelerator.memory_bytes_per_s,
            "link to its host": None if np.isnan(self.host_bytes_per_s) else 1.0,
            "network": 1.0 if self.node is None or self.node.inter_node else None,
        }
        return " and ".join(name for name, value in needed.items() if value is None)


def machines(axis: str, values: Sequence[Value], prices: PriceList) -> tuple[Machine, ...]:
    """One machine per value of the axis ``node`` or ``accelerator``."""
    if axis == "node":
        return tuple(_node_machine(catalog.node(str(value)), prices) for value in values)
    return tuple(_bare_machine(device(str(value), prices), prices) for value in values)


def device(name: str, prices: PriceList) -> Accelerator:
    """An accelerator that the study describes, or one of the catalogue."""
    return prices.described.get(name) or catalog.accelerator(name)


def machines_of(study: Study, prices: PriceList) -> tuple[Machine, ...]:
    """Those that a search of the study may choose."""
    axis = "node" if study.values("node") else "accelerator"
    return machines(axis, study.values(axis), prices)


def _bare_machine(device: Accelerator, prices: PriceList) -> Machine:
    host, intra = _links(device)
    shared = prices.includes.get(device.name) == NODE_SHARE
    return Machine(
        device,
        None,
        host,
        intra,
        pair_bytes_per_s=device.pair_bytes_per_s or np.inf,
        accelerator_usd=unit_price(device.name, prices.accelerator_usd.get(device.name), prices),
        host_usd=FREE if shared else host_price(prices, device.name),
        rent=unit_price(
            f"{device.name} for rent", prices.accelerator_hourly_usd.get(device.name), prices
        ),
        sold_in=number(prices.sold_in[device.name].value) if device.name in prices.sold_in else 1.0,
        at_once=1.0,
        sold_until=catalog.no_longer_sold(device.name, prices),
        boards={many: fact.text for many, fact in prices.boards.get(device.name, {}).items()},
        with_server=shared,
        host_w=number(prices.host_power_w.value),
        host_share=_host_share(device, prices),
        rack_units=number(prices.host_units.value),
    )


def _node_machine(node: Node, prices: PriceList) -> Machine:
    """A node type is bought and rented whole, also where not all of it is used."""
    bought = prices.purchase_of(node)
    device = catalog.accelerator(node.accelerator)
    host, intra = _links(device)
    host_w, share = _node_watts(node, device, prices)
    return Machine(
        device,
        node,
        host,
        intra,
        pair_bytes_per_s=node.pair_bytes_per_s or device.pair_bytes_per_s or np.inf,
        accelerator_usd=FREE,
        host_usd=unit_price(node.name, bought, prices),
        rent=unit_price(f"{node.name} for rent", prices.rent_of(node), prices),
        sold_until=None
        if bought and catalog.own(bought)
        else catalog.no_longer_sold(device.name, prices),
        sold_in=float(node.accelerators),
        at_once=node.sold_in / node.accelerators,
        host_w=host_w,
        host_share=share,
        rack_units=node.rack_units or number(prices.host_units.value),
    )


def _node_watts(node: Node, device: Accelerator, prices: PriceList) -> tuple[float, float]:
    """Watts of a node without its accelerators, and watts per watt of these: what the maker's
    maximum of the whole leaves, else as any host draws."""
    if node.power_w is None or device.power_w is None:
        return number(prices.host_power_w.value), _host_share(device, prices)
    return max(node.power_w - node.accelerators * device.power_w, 0.0), 0.0


def _host_share(device: Accelerator, prices: PriceList) -> float:
    """What a host draws per watt of its accelerators; more where a switch joins these."""
    switched = device.intra_node_bytes_per_s is not None and device.pair_bytes_per_s is None
    share = prices.host_power_share_switched if switched else prices.host_power_share
    return number(share.value)


def host_price(prices: PriceList, accelerator: str = "") -> UnitPrice:
    """The price of a node without its accelerators of such a name, or of one that serves
    parameters."""
    own = accelerator in prices.accelerator_host_usd
    part = f"{HOST_OF}{accelerator}" if own else "host"
    return unit_price(part, prices.host_of(accelerator), prices)


def _links(device: Accelerator) -> tuple[float, float]:
    """Bytes per second to the host, and to the node's other accelerators.

    Without links of its own an accelerator reaches the others over its link to the host.
    """
    host = float("nan")
    if device.host_link is not None:
        host = number(catalog.fabric(device.host_link).bytes_per_s)
    own = device.intra_node_bytes_per_s
    return host, host if own is None else own


def flows_bytes_per_s(machine: Machine) -> float:
    """``flows flow``: what NCCL's TCP flows of one network card carry at most, by the node type's
    cloud. NCCL is taken to be an early one where the node type has no RDMA and accelerators older
    than Ampere: that with a plugin for RDMA, or on a network of one's own, may be newer."""
    over, node = catalog.transport(SOCKETS), machine.node
    capability = machine.accelerator.compute_capability
    old = capability is not None and capability < OLDEST_CAPABILITY + FIRST_TREES
    part = next((part for part in over.flow_bytes_per_s if node and part in node.name), OTHER)
    early = f"{part}{EARLY}" if old and node and node.rdma == catalog.NO_RDMA else part
    return over.flows.get(early, over.flows[part]) * over.flow_bytes_per_s[part]


@dataclass(frozen=True)
class Wiring:
    """One link as a transport meets it, with its prices and watts; NaN where not known.

    through_host: whether bytes pass the bridge of the host between a card and an accelerator.
    sockets: whether they leave by TCP sockets, which do not reach the accelerators' memory. fabric:
    its name in the catalogue, where it has one.
    """

    bytes_per_s: float
    latency_s: float
    nic_usd: UnitPrice
    switch_port_usd: UnitPrice
    cable_usd: UnitPrice
    uplink_usd: UnitPrice
    switch_radix: float
    watts: LinkWatts
    through_host: bool = False
    sockets: bool = False
    fabric: str = ""

    def prices_usd(self) -> dict[str, UnitPrice]:
        """The prices under the names that a study gives them by."""
        return {"nic": self.nic_usd, "switch_port": self.switch_port_usd, "cable": self.cable_usd}

    def cabling(self, tree: FatTree) -> list[tuple[UnitPrice, Array]]:
        """Prices and numbers of the cables to endpoints and of those between switches; all as one
        where they cost the same."""
        if self.uplink_usd == self.cable_usd:
            return [(self.cable_usd, tree.links)]
        return [(self.cable_usd, tree.cables), (self.uplink_usd, tree.uplinks)]


DEFAULT_RADIX = 64.0  # ports of a switch where neither study nor catalogue says


def wiring(value: Value, transport: Transport, tier: Tier, prices: PriceList) -> Wiring:
    """A catalogue fabric or an inline link, at the bandwidth and latency this transport gets.

    tier: of the transport, which the link serves. A protocol whose latency is not known takes the
    other one's. Raises DseError where the bandwidth, or every latency, is unknown.
    """
    if isinstance(value, Wire):
        return _inline(value, transport, tier, prices)
    fabric = catalog.fabric(str(value))
    if fabric.bytes_per_s is None:
        raise DseError(f"{fabric.name}: its bandwidth is unknown; write it inline: {INLINE}")
    own = prices.fabric_usd.get(fabric.name, {})

    def price(part: str) -> UnitPrice:
        if part == UPLINK and part not in own:
            return price("cable")
        listed = own[part] if part in own else fabric.prices_usd[part]
        return unit_price(f"{part} of {fabric.name}", listed, prices)

    return Wiring(
        fabric.bytes_per_s * tier.link_efficiency,
        _latency_s(fabric, transport),
        price("nic"),
        price("switch_port"),
        price("cable"),
        price(UPLINK),
        number(fabric.switch_radix) if fabric.switch_radix else DEFAULT_RADIX,
        catalog.link_power().watts(fabric.bytes_per_s),
        fabric.card_path == HOST_BRIDGE,
        transport.protocol == TCP and not fabric.device_sockets,
        fabric.name,
    )


def own_wiring(node: Node | None, transport: Transport, prices: PriceList) -> Wiring:
    """The network that a node type comes with; without RDMA any transport has TCP's latency."""
    if node is None or not node.inter_node:
        return UNWIRED
    over = replace(transport, protocol=TCP) if node.rdma == catalog.NO_RDMA else transport
    return wiring(node.inter_node, over, transport.across, prices)


def _inline(wire: Wire, transport: Transport, tier: Tier, prices: PriceList) -> Wiring:
    """A link written in the study; what it leaves out is that of its ``fabric``, else unknown."""
    base = UNWIRED if wire.fabric is None else wiring(wire.fabric, transport, tier, prices)
    sockets = base.sockets if wire.fabric else transport.protocol == TCP
    return Wiring(
        wire.bytes_per_s * tier.link_efficiency,
        base.latency_s if wire.latency_s is None else wire.latency_s,
        _asked("nic", wire.nic_usd, base.nic_usd),
        _asked("switch_port", wire.switch_port_usd, base.switch_port_usd),
        _asked("cable", wire.cable_usd, base.cable_usd),
        _asked("cable", wire.cable_usd, base.uplink_usd),
        base.switch_radix,
        catalog.link_power().watts(wire.bytes_per_s),
        base.through_host,
        sockets,
        base.fabric,
    )


def _asked(part: str, usd: float | None, otherwise: UnitPrice) -> UnitPrice:
    """A price written in the study, which is certain; else another."""
    return otherwise if usd is None else UnitPrice(part, usd)


INLINE = "{bandwidth: 100 Gbps, latency: 2 us}"


def _latency_s(fabric: Fabric, transport: Transport) -> float:
    known = fabric.latency_s
    if transport.protocol in known:
        return known[transport.protocol]
    if known:
        return next(iter(known.values()))
    raise DseError(f"{fabric.name}: its latency is unknown; write it inline: {INLINE}")


def column(rows: Sequence[object], read: Callable[..., float]) -> Array:
    """One attribute of every row, shape (rows,)."""
    return np.array([read(row) for row in rows], dtype=np.float64)


UNWIRED = Wiring(
    *(float("nan"),) * 2, *(UNKNOWN,) * 4, DEFAULT_RADIX, LinkWatts(*(float("nan"),) * 3)
)  # a node type whose network is not known


def accelerators_of(study: Study, prices: PriceList) -> Sequence[str]:
    """The accelerators of the study, and those of its node types, each once."""
    return [*dict.fromkeys(one.accelerator.name for one in machines_of(study, prices))]


def fabrics_of(study: Study) -> Sequence[str]:
    """The networks between nodes that the catalogue knows, each once: those of the study, else of
    its node types."""
    chosen = [value.fabric if isinstance(value, Wire) else str(value)
              for value in study.values("inter_node")]  # fmt: skip
    if not chosen:
        chosen = [catalog.node(str(name)).inter_node for name in study.values("node")]
    return [*dict.fromkeys(name for name in chosen if name)]
