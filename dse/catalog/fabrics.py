"""Fabrics: bandwidth, latency and prices of one kind of link, inside a node or between nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_kind

TIERS = ("inter-node", "intra-node")
PARTS = ("nic", "switch_port", "cable")
CARD_PATHS = (PCIE_SWITCH, HOST_BRIDGE) = ("pcie-switch", "host-bridge")
UPLINK = "uplink"  # a cable between switches, which costs what a cable does unless a list says


@dataclass(frozen=True, eq=False)
class Fabric:
    """One kind of link; None marks what is not known.

    ``bytes_per_s`` is that of one link (one NIC; for NVLink all links of an accelerator
    together), in one direction. ``latency_s`` is one way, by protocol (rdma, tcp; inside a node
    rdma stands for a direct copy between devices) and lacks the protocols not known.
    ``prices_usd`` are for one of each of :data:`PARTS`: a NIC, a port of a switch, a cable with its
    optics. ``medium`` is ``pcie`` where accelerators of a node meet over the bus of their host,
    else empty. ``card_path``: of :data:`CARD_PATHS`, where a card meets the accelerators.
    ``device_sockets``: whether TCP sockets of it reach the accelerators' memory.
    """

    name: str
    title: str
    tier: str
    bytes_per_s: float | None
    latency_s: Mapping[str, float]
    prices_usd: Mapping[str, Fact]
    switch_radix: int | None
    notes: str
    medium: str
    card_path: str
    device_sockets: bool
    facts: tuple[Fact, ...]


@of_kind("fabrics")
def fabric(entry: Entry) -> Fabric:
    """The fabric of that name."""
    bandwidth = entry.number("bandwidth", "bytes_per_s").value
    latency = {
        protocol: fact.value
        for protocol, fact in entry.numbers("latency", "seconds").items()
        if fact.value is not None
    }
    prices = entry.section("prices")
    parts = {part: prices.number(part, "usd") for part in PARTS}
    radix = entry.number("switch_radix", "count").value
    entry.optional("nics_per_node", "count")
    entry.numbers("measured")
    entry.numbers("alternatives")
    entry.numbers("fat_tree_switches", "count")
    return Fabric(
        name=entry.text("name"),
        title=entry.text("title"),
        tier=entry.choice("tier", *TIERS),
        bytes_per_s=bandwidth,
        latency_s=latency,
        prices_usd=parts,
        switch_radix=None if radix is None else int(radix),
        notes=entry.text("notes", ""),
        medium=entry.text("medium", ""),
        card_path=entry.one_word("card_path", CARD_PATHS, PCIE_SWITCH),
        device_sockets=entry.choice("sockets", "device", "host", default="host") == "device",
        facts=tuple(entry.facts),
    )
