"""Values of an axis -> the model's numbers: one table of attributes per axis, built once.

A table has one row per value of the axis; the model is handed the rows it needs in the shape the
search wants them in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse import catalog
from dse.catalog import Accelerator, Fabric, Node, PriceList, Transport
from dse.errors import DseError
from dse.model.arrays import Array
from dse.study import Value, Wire


def number(value: float | None) -> float:
    """NaN where a fact is not known, so that it cannot pass for a number further on."""
    return float("nan") if value is None else float(value)


@dataclass(frozen=True)
class Machine:
    """One accelerator in its node, with its links and prices; NaN marks what is not known."""

    accelerator: Accelerator
    node: Node | None
    host_bytes_per_s: float
    intra_bytes_per_s: float
    accelerator_usd: float
    host_usd: float
    nic_included: bool
    usd_per_hour: float


def machines(axis: str, values: Sequence[Value], prices: PriceList) -> tuple[Machine, ...]:
    """One machine per value of the axis ``node`` or ``accelerator``."""
    if axis == "node":
        return tuple(_node_machine(catalog.node(str(value)), prices) for value in values)
    return tuple(_bare_machine(catalog.accelerator(str(value)), prices) for value in values)


def _bare_machine(device: Accelerator, prices: PriceList) -> Machine:
    bought = prices.accelerator_usd.get(device.name)
    rented = prices.accelerator_hourly_usd.get(device.name)
    host, intra = _links(device)
    shared = prices.includes.get(device.name) == "node-share"
    return Machine(
        device,
        None,
        host,
        intra,
        accelerator_usd=number(bought.value if bought else None),
        host_usd=0.0 if shared else number(prices.host_usd.value),
        nic_included=False,
        usd_per_hour=number(rented.value if rented else None),
    )


def _node_machine(node: Node, prices: PriceList) -> Machine:
    """A node type is bought and rented whole: each accelerator carries its share."""
    own = prices.node_usd.get(node.name)
    own_hourly = prices.node_hourly_usd.get(node.name)
    bought = number(own.value if own else node.purchase_usd)
    rented = number(own_hourly.value if own_hourly else node.hourly_usd)
    device = catalog.accelerator(node.accelerator)
    host, intra = _links(device)
    return Machine(
        device,
        node,
        host,
        intra,
        accelerator_usd=bought / node.accelerators,
        host_usd=0.0,
        nic_included=True,
        usd_per_hour=rented / node.accelerators,
    )


def _links(device: Accelerator) -> tuple[float, float]:
    """Bytes per second to the host, and to the node's other accelerators.

    Without links of its own an accelerator reaches the others over its link to the host.
    """
    host = float("nan")
    if device.host_link is not None:
        host = number(catalog.fabric(device.host_link).bytes_per_s)
    own = device.intra_node_bytes_per_s
    return host, host if own is None else own


@dataclass(frozen=True)
class Wiring:
    """One link as a transport meets it, with its prices in USD; NaN where not known."""

    bytes_per_s: float
    latency_s: float
    nic_usd: float
    switch_port_usd: float
    cable_usd: float
    switch_radix: float


DEFAULT_RADIX = 64.0  # ports of a switch where neither study nor catalogue says


def wiring(value: Value, transport: Transport, prices: PriceList) -> Wiring:
    """A catalogue fabric or an inline link, at the bandwidth and latency this transport gets.

    A protocol whose latency is not known takes the other one's. Raises DseError where the
    bandwidth, or every latency, is unknown.
    """
    if isinstance(value, Wire):
        return Wiring(
            value.bytes_per_s * transport.link_efficiency,
            number(value.latency_s) if value.latency_s is not None else 0.0,
            number(value.nic_usd),
            number(value.switch_port_usd),
            number(value.cable_usd),
            DEFAULT_RADIX,
        )
    fabric = catalog.fabric(str(value))
    if fabric.bytes_per_s is None:
        raise DseError(f"{fabric.name}: its bandwidth is unknown; write it inline: {INLINE}")
    own = prices.fabric_usd.get(fabric.name, {})

    def price(part: str, listed: float | None) -> float:
        return number(own[part].value if part in own else listed)

    return Wiring(
        fabric.bytes_per_s * transport.link_efficiency,
        _latency_s(fabric, transport),
        price("nic", fabric.nic_usd),
        price("switch_port", fabric.switch_port_usd),
        price("cable", fabric.cable_usd),
        number(fabric.switch_radix) if fabric.switch_radix else DEFAULT_RADIX,
    )


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


def lookup(table: Mapping[str, float], values: Sequence[Value]) -> Array:
    """Named values -> numbers, shape (values,)."""
    return np.array([table[str(value)] for value in values], dtype=np.float64)


UNWIRED = Wiring(*(float("nan"),) * 5, DEFAULT_RADIX)  # a node type whose network is not known
