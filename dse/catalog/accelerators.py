"""Accelerators: memory, links, power, peak arithmetic and prices of one device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_kind
from dse.catalog.store import names
from dse.spelling import alternatives


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

    @property
    def maker(self) -> str:
        """The first word of its title: ``NVIDIA``."""
        return self.title.partition(" ")[0]


@of_kind("accelerators")
def accelerator(entry: Entry) -> Accelerator:
    """The accelerator of that name."""
    return _read(entry, entry.text("name"), entry.text("title"))


def described_accelerator(entry: Entry, name: str) -> Accelerator:
    """The accelerator that a part of a user's file describes, with the keys of a file of the
    catalogue. Memory, its bandwidth, host_link and peak are needed; the rest may be left out.

    Raises :class:`~dse.errors.StudyError` for what is missing, unknown or beyond what exists.
    """
    found = _read(entry, name, entry.text("title", name))
    if entry.has("prices"):
        remedy = f"write it beside: prices: {{accelerators: {{{name}: {{purchase: 9 kUSD}}}}}}"
        raise entry.wrong("a price is no part of a description", remedy, "prices")
    if found.host_link not in names("fabrics"):
        problem = f"host_link '{found.host_link}' is no fabric of the catalogue"
        raise entry.wrong(problem, "write for example pcie5-x16", "host_link")
    if not {*found.peak_flops_per_s} or {*found.peak_flops_per_s} - {*_PRECISIONS}:
        remedy = f"write peak: {{bf16: 989 TFLOP/s}}, of {alternatives(_PRECISIONS)}"
        raise entry.wrong("peak is of no number format that is known", remedy, "peak")
    for fact in entry.facts:
        needed = fact.name in _NEEDED or fact.value is not None
        if needed and fact.unit and not (fact.value or 0.0) >= 1:
            problem = f"{fact.name} is {fact.text}"
            raise entry.wrong(problem, f"write how many {fact.unit} it has", *fact.name.split("."))
    return found


_PRECISIONS = ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")
_NEEDED = ("memory", "memory_bandwidth")
_STATED = (*_NEEDED, "intra_node_bandwidth", "tdp")  # of all in the catalogue


def _read(entry: Entry, name: str, title: str) -> Accelerator:
    def known(key: str, dimension: str) -> float | None:
        stated = entry.has(key) or key in (_STATED if entry.shipped else _NEEDED)
        return entry.number(key, dimension).value if stated else None

    memory = known("memory", "bytes")
    bandwidth = known("memory_bandwidth", "bytes_per_s")
    link = known("intra_node_bandwidth", "bytes_per_s")
    pair = known("pair_bandwidth", "bytes_per_s")
    host_link = entry.name("host_link")
    power = known("tdp", "watt")
    capability = known("compute_capability", "count")
    units = known("units", "count")
    peak = {
        precision: fact.value
        for precision, fact in entry.numbers("peak", "flops_per_s").items()
        if fact.value is not None
    }
    entry.section("prices").series("purchase", "usd")
    entry.numbers("measured")
    found = Accelerator(
        name=name,
        title=title,
        memory_bytes=memory,
        memory_bytes_per_s=bandwidth,
        intra_node_bytes_per_s=link,
        host_link=host_link,
        power_w=power,
        compute_capability=capability,
        peak_flops_per_s=peak,
        notes=entry.text("notes", ""),
        units=units,
        generation=entry.text("generation") if entry.has("generation") else None,
        pair_bytes_per_s=pair,
        scale_up_domain=entry.optional("scale_up_domain", "count"),
        facts=tuple(entry.facts),
    )
    entry.finish()
    return found
