"""Accelerators: memory, links, power, peak arithmetic and prices of one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry
from dse.catalog.store import find


@dataclass(frozen=True, eq=False)
class Accelerator:
    """One accelerator; None marks what is not known.

    ``intra_node_bytes_per_s`` is what one device sends to the others of its node, in one
    direction; None where there is only PCIe (then ``host_link``, the name of a fabric, carries
    it). ``pair_bytes_per_s`` is what it sends to one of them where links join them two by two; None
    where a switch does, through which all of it goes to any. ``peak_flops_per_s`` is dense, by
    precision (fp32, tf32, fp16, bf16, fp8, fp4). ``compute_capability`` is CUDA's, by which NCCL's
    constants go. ``units``: what computes side by side, streaming multiprocessors or what a maker
    has in their place. ``generation``: the maker's name for the architecture. ``scale_up_domain``:
    accelerators that share its links, where it is sold in such a domain alone.
    """

    name: str
    title: str
    memory_bytes: float | None
    memory_bytes_per_s: float | None
    intra_node_bytes_per_s: float | None
    host_link: str | None
    power_w: float | None
    compute_capability: float | None
    peak_flops_per_s: Mapping[str, float]
    notes: str
    facts: tuple[Fact, ...]
    units: float | None = None
    generation: str | None = None
    pair_bytes_per_s: float | None = None
    scale_up_domain: float | None = None


def accelerator(name: str) -> Accelerator:
    """The accelerator of that name. Raises :class:`~dse.catalog.store.UnknownName`."""
    return read_accelerator(find("accelerators", name))


@cache
def read_accelerator(path: Path) -> Accelerator:
    """The accelerator in a file; a mistake in it raises :class:`~dse.errors.StudyError`."""
    entry = Entry.open(path)
    name, title = entry.text("name"), entry.text("title")
    memory = entry.number("memory", "bytes").value
    bandwidth = entry.number("memory_bandwidth", "bytes_per_s").value
    link = entry.number("intra_node_bandwidth", "bytes_per_s").value
    pair = None
    if entry.has("pair_bandwidth"):
        pair = entry.number("pair_bandwidth", "bytes_per_s").value
    host_link = entry.name("host_link")
    power = entry.number("tdp", "watt").value
    capability = None
    if entry.has("compute_capability"):
        capability = entry.number("compute_capability", "count").value
    units = entry.number("units", "count").value if entry.has("units") else None
    generation = entry.text("generation") if entry.has("generation") else None
    peak = {
        precision: fact.value
        for precision, fact in entry.numbers("peak", "flops_per_s").items()
        if fact.value is not None
    }
    prices = entry.section("prices")
    prices.series("purchase", "usd")
    prices.series("hourly", "usd_per_hour")
    prices.finish()
    entry.numbers("measured")
    domain = None
    if entry.has("scale_up_domain"):
        domain = entry.number("scale_up_domain", "count").value
    notes = entry.text("notes", "")
    entry.finish()
    return Accelerator(
        name=name,
        title=title,
        memory_bytes=memory,
        memory_bytes_per_s=bandwidth,
        intra_node_bytes_per_s=link,
        host_link=host_link,
        power_w=power,
        compute_capability=capability,
        peak_flops_per_s=peak,
        notes=notes,
        facts=tuple(entry.facts),
        units=units,
        generation=generation,
        pair_bytes_per_s=pair,
        scale_up_domain=domain,
    )
