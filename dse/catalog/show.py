"""What ``dse catalog`` prints: plain data for --json, and the same as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dse.catalog.accelerators import accelerator
from dse.catalog.aliases import also_meant, resolve
from dse.catalog.approaches import approach
from dse.catalog.convergence import quality_target
from dse.catalog.fabrics import fabric
from dse.catalog.facts import UNVERIFIED, Fact, latest
from dse.catalog.nodes import node
from dse.catalog.populations import population
from dse.catalog.prices import default_prices, read_prices
from dse.catalog.regions import region
from dse.catalog.store import KINDS, find, names, sources
from dse.catalog.transports import transport
from dse.catalog.workloads import workload
from dse.console_table import Cell, Column, Columns, console_table
from dse.spelling import told

if TYPE_CHECKING:
    from rich.console import Console

# kind -> heading and name of the fact that fills the column; of a dated list the latest is shown
COLUMNS: dict[str, tuple[tuple[str, str], ...]] = {
    "accelerators": (
        ("memory", "memory"),
        ("bandwidth", "memory_bandwidth"),
        ("in node", "intra_node_bandwidth"),
        ("fp32", "peak.fp32"),
        ("fp16", "peak.fp16"),
        ("bf16", "peak.bf16"),
        ("power", "tdp"),
        ("purchase", "prices.purchase"),
        ("rental", "prices.hourly"),
    ),
    "fabrics": (
        ("bandwidth", "bandwidth"),
        ("latency rdma", "latency.rdma"),
        ("latency tcp", "latency.tcp"),
        ("NIC", "prices.nic"),
        ("switch port", "prices.switch_port"),
        ("cable", "prices.cable"),
    ),
    "nodes": (
        ("accelerator", "accelerator"),
        ("count", "accelerators"),
        ("fabric", "inter_node"),
        ("NICs", "nics"),
        ("cores", "cores"),
        ("power", "power"),
        ("rack units", "rack_units"),
        ("purchase", "prices.purchase"),
        ("rental", "prices.hourly"),
    ),
    "transports": (
        ("link efficiency within", "within.link_efficiency"),
        ("latency within", "within.latency"),
        ("copy within", "within.copy"),
        ("link efficiency across", "across.link_efficiency"),
        ("latency across", "across.latency"),
        ("copy across", "across.copy"),
        ("reduce", "reduce"),
    ),
    "approaches": (
        ("link efficiency", "link_efficiency"),
        ("latency", "message.latency"),
        ("copy", "message.copy"),
        ("streams", "message.streams"),
        ("fused up to", "fusion.buffer"),
        ("cycle", "fusion.cycle"),
        ("driver query", "queries.query"),
        ("sum", "sum.bandwidth"),
    ),
    "workloads": (
        ("params", "params"),
        ("forward FLOPs", "forward_flops"),
        ("activations", "activation_bytes"),
        ("input", "input_bytes"),
        ("gradients", "gradient_tensors"),
    ),
    "convergence": (
        ("workload", "workload"),
        ("least samples", "least_samples"),
        ("critical batch", "critical_batch"),
        ("batches", "batches"),
        ("from", "least_batch"),
        ("to", "largest_batch"),
    ),
    "populations": (
        ("GPU", "base.gpu"),
        ("memory", "base.memory"),
        ("PCIe", "base.pcie"),
        ("Ethernet", "base.ethernet"),
        ("NVLink", "base.nvlink"),
        ("step", "step.median"),
        ("PS/Worker jobs", "classes.ps-worker.job_share"),
        ("their weights", "classes.ps-worker.mean_shares.weights"),
    ),
    "prices": (
        ("host", "host"),
        ("electricity", "electricity"),
        ("PUE", "pue"),
        ("years", "amortisation_years"),
        ("host power", "host_power"),
        ("rack power", "rack_power"),
    ),
    "regions": (
        ("electricity", "electricity"),
        ("carbon", "carbon"),
    ),
}

# What an entry is, in a word each; printed below its title.
LABELS = ("family", "network", "generation", "quality", "started_from")

READERS: Mapping[str, Callable[[str], object]] = {
    "accelerators": accelerator,
    "fabrics": fabric,
    "nodes": node,
    "transports": transport,
    "approaches": approach,
    "workloads": workload,
    "convergence": quality_target,
    "populations": population,
    "prices": lambda name: read_prices(find("prices", name)),
    "regions": region,
}
_STYLES = {"unverified": "yellow", "unknown": "dim", "derived": "cyan", "sourced": ""}


def kind_data(kind: str) -> list[dict[str, Any]]:
    """One row for each entry of ``kind``: its name, title and the facts of :data:`COLUMNS`.

    A fact is its value in SI, or the text where it is a name, or None where it is unknown.
    Raises :class:`~dse.catalog.store.UnknownName`.
    """
    return [
        {"name": name, "title": title} | {key: _plain(fact) for key, fact in cells.items()}
        for name, title, cells in _rows(kind)
    ]


def entry_data(kind: str, name: str) -> dict[str, Any]:
    """All facts of one entry, and the documents they come from.

    Raises :class:`~dse.catalog.store.UnknownName`.
    """
    name = resolve(kind, name) if kind in KINDS else name
    title, labels, notes, facts = _entry(kind, name)
    cited = {fact.source for fact in facts}
    return {
        "kind": kind,
        "name": name,
        "title": title,
        **labels,
        "notes": notes,
        "facts": [asdict(fact) for fact in facts],
        "sources": [asdict(source) for key, source in sources().items() if key in cited],
    }


def render_kinds(console: Console, kinds: Sequence[Mapping[str, Any]]) -> None:
    """Print kinds of entries. kinds: of each its ``kind``, and ``entries``, how many it has."""
    rows = [(row["kind"], str(row["entries"])) for row in kinds]
    console.print(console_table(("kind", "entries"), rows, framed=False))
    console.print("dse catalog KIND lists one kind; dse catalog KIND NAME shows one entry")


def render_kind(console: Console, kind: str) -> None:
    """Print the entries of one kind; a star marks what is unverified, blank is unknown."""
    from rich.text import Text

    rows = _rows(kind)
    name_column = Column("name", whole=True, least_width=max(len(name) for name, *_ in rows))
    columns: Columns = (name_column, *(heading for heading, _ in COLUMNS[kind]))
    lines: list[tuple[Cell, ...]] = [
        (name, *(Text(*_cell(cells[key])) for _, key in COLUMNS[kind])) for name, _, cells in rows
    ]
    console.print(console_table(columns, lines, framed=False))
    if any(fact and fact.status == "unverified" for *_, row in rows for fact in row.values()):
        console.print(Text(f"* {UNVERIFIED}", "yellow"))


def render_entry(console: Console, kind: str, name: str) -> None:
    """Print one entry: each value with its unit, source, date and status."""
    from rich.text import Text

    word, name = name, resolve(kind, name) if kind in KINDS else name
    title, labels, notes, facts = _entry(kind, name)
    if also_meant(kind, word):
        console.print(f"{told(word, (name, *also_meant(kind, word)))}\n")
    console.print(Text(title, "bold"))
    if labels:
        console.print(
            Text(", ".join(f"{key.replace('_', ' ')} {word}" for key, word in labels.items()))
        )
    headings = ("", "value", "source", "date", "status", "detail")
    columns = [Column(heading, folded=True) for heading in headings]  # a name is never cut
    rows = []
    for fact in facts:
        when = fact.date or fact.accessed
        cells = (fact.name, _wording(fact), fact.source, when, fact.status, fact.detail)
        rows.append([Text(cell, _STYLES[fact.status]) for cell in cells])
    console.print(console_table(columns, rows, framed=False))
    if notes:
        console.print(Text(notes))
    cited = {fact.source for fact in facts}
    for key, source in sources().items():
        if key in cited:
            place = f" {source.url}" if source.url else ""
            console.print(Text(f"{key}: {source.title}{place} (accessed {source.accessed})"))


def _entry(kind: str, name: str) -> tuple[str, dict[str, str], str, tuple[Fact, ...]]:
    """Title, labels, notes and facts of one entry."""
    names(kind)
    found: Any = READERS[kind](name)
    labels = {key: word for key in LABELS if (word := getattr(found, key, None))}
    notes = getattr(found, "notes", "") or getattr(found, "method", "")
    paid = (fact for fact in _list_prices(kind, name).values() if fact not in found.facts)
    return found.title, labels, notes, (*found.facts, *filter(None, paid))


def _rows(kind: str) -> list[tuple[str, str, dict[str, Fact | None]]]:
    """Name, title and the fact of each column for all entries of a kind."""
    rows = []
    for name in names(kind):
        title, _, _, facts = _entry(kind, name)
        cells: dict[str, Fact | None] = {}
        for _, key in COLUMNS[kind]:
            same = [fact for fact in facts if fact.name == key]
            cells[key] = same[0] if len(same) == 1 else latest(same)
        rows.append((name, title, cells | _list_prices(kind, name)))
    return rows


def _list_prices(kind: str, name: str) -> dict[str, Fact | None]:
    """The prices the default list chose for an accelerator, so that both agree."""
    if kind != "accelerators":
        return {}
    prices = default_prices()
    return {
        "prices.purchase": prices.accelerator_usd.get(name),
        "prices.hourly": prices.accelerator_hourly_usd.get(name),
    }


def _plain(fact: Fact | None) -> float | str | None:
    if fact is None or not fact.known:
        return None
    return fact.text if fact.value is None else fact.value


def _cell(fact: Fact | None) -> tuple[str, str]:
    """Text and style of one cell; a star marks what is unverified."""
    if fact is None or not fact.known:
        return "", "dim"
    star = "*" if fact.status == "unverified" else ""
    return _wording(fact) + star, _STYLES[fact.status]


def _wording(fact: Fact) -> str:
    """The value as written; long bare counts and byte counts get a prefix."""
    if fact.value is None or fact.unit not in {"", "B"} or fact.value < 1e4:
        return fact.text
    for prefix, factor in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if fact.value >= factor:
            return f"{fact.value / factor:.4g} {prefix}{fact.unit}"
    return fact.text
