"""The parts of a profile for a library's own choice and between nodes, for the eye and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.library_part import LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.words import percent, short, size_text, span_text
from dse.model.arrays import Array

if TYPE_CHECKING:
    from rich.table import Table

MICRO, MIB = 1e6, 2.0**20
PER_BYTE = "per byte"
TIERS = (
    "inside a node",
    "between nodes",
)  # as ``library_choice.terms``


def library_data(fit: LibraryFit) -> list[dict[str, Any]]:
    """What is not free, with names, 90 % intervals and units.

    What a byte costs is given for each range of sizes: the sum of the coefficients that count there
    (see ``library_choice.terms``), with the sums of their ends, which is at most the interval.
    """
    edges = [size_text(edge) for edge in fit.edges_bytes]
    more = [f"from {edge}" for edge in edges]
    values = np.array([fit.coefficients, fit.low, fit.high])
    calls, rest = np.split(values, [1 + len(edges)], axis=1)
    rows = list(zip(["per call", *(f"more per call {at}" for at in more)], calls.T, strict=True))
    for tier, part in zip(TIERS, np.split(rest, 2, axis=1), strict=True):
        hops, each = np.split(part, [1 + len(edges)], axis=1)
        names = [f"per hop {tier}", *(f"more per hop {tier} {at}" for at in more)]
        rows += zip(names, hops.T, strict=True)
        rows += [(f"{PER_BYTE} {tier}{span}", price) for span, price in _per_range(edges, each)]
    return [
        {"name": name, "value": float(value), "low": float(low), "high": float(high),
         "unit": "s/byte" if name.startswith(PER_BYTE) else "s"}
        for name, (value, low, high) in rows
        if value > 0
    ]  # fmt: skip


def _per_range(edges: Sequence[str], each: Array) -> list[tuple[str, Array]]:
    """(' from 64 KiB to 1 MiB', price, low and high of a byte there) for each range of sizes.

    each: (3, ranges), coefficients that count up to an edge each, the last without end. Neighbours
    of one price are one range.
    """
    prices = np.cumsum(each[:, ::-1], axis=1)[:, ::-1].T
    starts = [0, *(at for at in range(1, len(prices)) if np.any(prices[at] != prices[at - 1]))]
    found = []
    for start, end in zip(starts, [*starts[1:], len(prices)], strict=True):
        low = f" from {edges[start - 1]}" if start else ""
        high = f"{' to' if start else ' up to'} {edges[end - 1]}" if end < len(prices) else ""
        found.append((low + high, prices[start]))
    return found


def library_parameters(fit: LibraryFit) -> Table:
    """The same as a table, in us and us/MiB."""
    from rich.table import Table

    table = Table(title="what the library's own choice costs (90 % interval)")
    table.add_column("parameter")
    for column in ("value", "5 %", "95 %"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    for row in library_data(fit):
        per_byte = row["unit"] == "s/byte"
        scale, unit = (MICRO * MIB, "us/MiB") if per_byte else (MICRO, "us")
        values = (short(scale * row[key]) for key in ("value", "low", "high"))
        table.add_row(row["name"], *values, unit)
    return table


def network_parameters(network: Mapping[str, NetworkFit]) -> Table:
    """What a message between nodes costs host and wire, per algorithm."""
    from rich.table import Table

    table = Table(title="one message between nodes, fitted per algorithm")
    for column in ("algorithm", "latency", "from", "host", "jump", "wire per byte", "wait"):
        left = column == "algorithm"
        table.add_column(column, justify="left" if left else "right")
    for name, fit in network.items():
        shown, latency = name, f"{short(MICRO * fit.latency_s)} us"
        rows = zip((0.0, *fit.edges_bytes), fit.s_per_byte, (0.0, *fit.jump_s), fit.wire_factor,
                   (0.0, *fit.wire_jump_bytes), strict=True)  # fmt: skip
        for edge, slope, jump, wire, wait in rows:
            host = f"{short(MICRO * MIB * slope)} us/MiB", f"{short(MICRO * jump)} us"
            table.add_row(
                shown, latency, size_text(edge), *host, f"{short(wire)} B", size_text(wait)
            )
            shown = latency = ""
    return table


def composition_text(fit: LibraryFit) -> str:
    """How the library is taken to compose an allreduce, in a line."""
    parts: list[str] = [fit.family]
    parts.append(f"pipelined from {size_text(fit.chunk_bytes)}")
    if fit.family == "nccl":
        parts.append(f"ring between nodes from {size_text(fit.ring_from_bytes)}")
        parts.append(
            f"flows of a node slow one another as (n/2)^{fit.sharing:g}"
            if fit.sharing
            else "flows of a node do not slow one another"
        )
        parts.append("the switch adds (NVLS)" if fit.nvls else "no adding in the switch")
    if fit.rails > 1:
        parts.append(f"ranks share the bytes among {fit.rails:g} network cards of a node")
    return ", ".join(parts)


def library_range(fit: LibraryFit) -> str:
    """Layouts measured, as '8 ranks (4 per node)'."""
    layouts = sorted({(int(a.ranks), int(min(a.ranks, a.ranks_per_node))) for a in fit.anchors})
    if not layouts:
        return f"{span_text(*fit.ranks_per_node)} ranks per node"
    return ", ".join(f"{n:,} ranks ({g:,} per node)" for n, g in layouts)


def library_errors(fit: LibraryFit) -> tuple[str, ...]:
    """A row of the table of errors: median and p90 held out, the textbook's, and the fit's own."""
    label = "auto (rank count left out)" if fit.held_out == "ranks" else "auto (sizes left out)"
    errors = (fit.error, fit.error_p90, fit.textbook_error, fit.textbook_error_p90, fit.residual)
    return label, *(percent(error) for error in errors)
