"""Hardware that stands there already, counted part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from dse import catalog
from dse.study import OwnedHardware, Study, Value, Wire
from dse.study.definition import written

# A link between nodes as its parts are ordered: fabric, bandwidth, and latency where it is of no
# fabric of the catalogue.
Network: TypeAlias = tuple[str, float, float | None]


@dataclass(frozen=True, kw_only=True)
class Stock:
    """How many of every part an entry of ``owned`` stands for.

    machine: accelerator or node type. held: accelerators that one of its hosts holds. network: None
    where it is not known, and none of it counts.
    """

    network: Network | None
    machine: str
    accelerators: float
    held: float
    hosts: float
    nics: float
    switches: float
    cables: float
    racks: float


def network_of(value: Value) -> Network:
    """The network that a value of the axis ``inter_node`` stands for."""
    if isinstance(value, Wire):
        known = value.fabric or ""
        return known, value.bytes_per_s, None if known else value.latency_s
    return str(value), float(catalog.fabric(str(value)).bytes_per_s or np.nan), None


def titles(study: Study, standing: Sequence[Stock]) -> list[str]:
    """What stands there, an entry each: ``64 x NVIDIA Tesla V100 SXM2 16 GB in 8 nodes, 100 Gbps
    Ethernet``."""
    return [_title(entry, stock) for entry, stock in zip(study.owned, standing, strict=True)]


def _title(entry: OwnedHardware, stock: Stock) -> str:
    if entry.axis == "node":
        parts = [f"{entry.count:,} x {catalog.node(entry.machine).title}"]
    else:
        known = entry.machine in catalog.names("accelerators")
        device = catalog.accelerator(entry.machine).title if known else entry.machine
        many = f"{stock.hosts:,.0f} node{'s' * (stock.hosts != 1)}"
        parts = [f"{entry.count:,} x {device} in {many}"]
    if entry.inter_node is not None:
        joined = entry.inter_node
        name = joined.fabric if isinstance(joined, Wire) else str(joined)
        parts.append(catalog.fabric(name).title if name else written("inter_node", joined))
    return ", ".join(parts)


def unused(study: Study, standing: Sequence[Stock]) -> Iterator[str]:
    """Titles of the owned hardware of which no point of the study uses machines or network."""
    networks = {network_of(v) for v in study.values("inter_node")}
    networks |= {network_of(name) for value in study.values("node")
                 if (name := catalog.node(str(value)).inter_node)}  # fmt: skip
    for entry, title, stock in zip(study.owned, titles(study, standing), standing, strict=True):
        machines = study.has(entry.axis, entry.machine)
        if not machines or (stock.network is not None and stock.network not in networks):
            yield title
