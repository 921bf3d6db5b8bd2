"""Parameter servers on the command line: what was asked, predicted records, tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.link_speed import gbps, other_speed, speed_at, title_of
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.calibration.ps_part import PS, ServerPoint, ServersFit
from dse.calibration.words import percent, short, size_text, span_text, time_text
from dse.errors import OutsideCalibration, StudyError

if TYPE_CHECKING:
    from rich.table import Table

Record = dict[str, Any]
MICRO, MIB = 1e6, 2.0**20
COSTS = ("latency", *(f"{who}, {what}" for who in ("worker", "server", "cores")
                      for what in ("per call", "per byte", "per byte beyond")))  # fmt: skip


def asked_of_servers(
    profile: Profile, algorithm: str | None, servers: Sequence[int] | None
) -> str | None:
    """'ps' or 'ps-TRANSPORT' where that is what is asked; None where allreduce is.

    Raises StudyError for servers of another algorithm, OutsideCalibration where none was measured.
    """
    only = bool(profile.ps) and not profile.measured_algorithms
    name = PS if algorithm is None and (only or servers is not None) else algorithm
    if name is None or not (name == PS or name.startswith(f"{PS}-")):
        if servers is not None:
            raise StudyError(
                "--servers", 0, 0, f"'{name}' has no servers", f"give --algorithm {PS}"
            )
        return None
    if profile.servers(name) is None:
        known = ", ".join([*profile.measured_algorithms, *(f"{PS}-{t}" for t in profile.ps)])
        problem = f"profile {profile.name} did not measure {name}"
        raise OutsideCalibration(f"{problem}; it knows {known or 'no communication'}")
    return name


def server_records(
    profile: Profile,
    algorithm: str,
    workers: Sequence[int],
    servers: Sequence[int],
    message_bytes: Sequence[int],
    link_bytes_per_s: float | None = None,
) -> list[Record]:
    """One record per number of workers, of servers, and size; ``ranks`` are the workers.

    Keys: bytes, ranks, servers, seconds, low, high (90 % interval), in_range, algorithm,
    why_outside (empty inside), link_bytes_per_s (at which it holds; None where not known).
    ``link_bytes_per_s`` None: the fastest measured. Raises OutsideCalibration for one where the
    profile does not know its own.
    """
    speed = speed_at(profile, algorithm, link_bytes_per_s)
    other = other_speed(profile, algorithm, speed)
    part = profile.servers(algorithm)
    assert part is not None
    sizes = np.array(message_bytes, dtype=np.float64)
    records = []
    for m in workers:
        for p in servers:
            found = predict(
                profile, algorithm, m, sizes, link_bytes_per_s=link_bytes_per_s, servers=p
            )
            for at, size in enumerate(message_bytes):
                inside = bool(found.in_range[at])
                records.append({
                    "bytes": size,
                    "ranks": m,
                    "servers": p,
                    "seconds": float(found.seconds[at]),
                    "low": float(found.low[at]),
                    "high": float(found.high[at]),
                    "in_range": inside,
                    "algorithm": algorithm,
                    "why_outside": "" if inside else _why_outside(part, m, p, size, other),
                    "link_bytes_per_s": speed,
                })  # fmt: skip
    return records


def _why_outside(part: ServersFit, workers: int, servers: int, size: float, other: str) -> str:
    reasons = [
        f"{count:,} {what}{'s' * (count != 1)}; measured {span_text(*limits)}"
        for what, count, limits in (
            ("worker", workers, part.workers),
            ("server", servers, part.servers),
        )
        if not limits[0] <= count <= limits[1]
    ]
    low, high = part.message_bytes
    if not low <= size <= high:
        reasons.append(f"{size_text(size)}; measured {size_text(low)} to {size_text(high)}")
    return ", and ".join([*reasons, other] if other else reasons)


def server_table(profile: Profile, records: Sequence[Record]) -> Table:
    """The records with human units, one row each."""
    from rich.table import Table

    title = f"push and pull by {profile.name}, 90 % interval{title_of(records)}"
    table = Table(title=f"{title}, {records[0]['algorithm']}")
    for column in ("workers", "servers", "bytes", "time", "low", "high"):
        table.add_column(column, justify="right", no_wrap=True)
    outside = any(not record["in_range"] for record in records)
    table.add_column("outside of what was measured" if outside else "", style="yellow")
    for record in records:
        times = (time_text(record[key]) for key in ("seconds", "low", "high"))
        table.add_row(
            f"{record['ranks']:,}", f"{record['servers']:,}", size_text(record["bytes"]), *times,
            record["why_outside"],
        )  # fmt: skip
    return table


def servers_text(transport: str, part: ServersFit) -> str:
    """In a line: what was measured, over what, on which cores."""
    where = (
        "a machine for each process"
        if part.cores is None
        else f"all processes on {part.cores:g} cores"
    )
    slow, fast = part.link_bytes_per_s
    speeds = " and ".join(dict.fromkeys(gbps(speed) for speed in (slow, fast)))
    link = f"{part.link} at {speeds} Gbps" if fast > 0 else part.link
    return (
        f"parameter servers over {transport} ({part.library} {part.version}, {link}, {where}): "
        f"{span_text(*part.workers)} workers, {span_text(*part.servers)} servers, "
        f"{size_text(part.message_bytes[0])} to {size_text(part.message_bytes[1])}"
    )


def cost_rows(part: ServersFit) -> list[dict[str, Any]]:
    """The costs that are not zero in every draw, with names, 90 % intervals and units."""
    low, high = np.quantile(np.array(part.draws), [0.05, 0.95], axis=0)
    return [
        {"name": name, "value": value, "low": float(a), "high": float(b),
         "unit": "s/byte" if "byte" in name else "s"}
        for name, value, a, b in zip(COSTS, part.costs, low, high, strict=True)
        if value > 0 or b > 0
    ]  # fmt: skip


def cost_table(transport: str, part: ServersFit) -> Table:
    """The same as a table, in us and us/MiB."""
    from rich.table import Table

    table = Table(title=f"what a push and a pull over {transport} cost (90 % interval)")
    table.add_column("parameter")
    for column in ("value", "5 %", "95 %"):
        table.add_column(column, justify="right")
    table.add_column("unit")
    for row in cost_rows(part):
        per_byte = row["unit"] == "s/byte"
        scale, unit = (MICRO * MIB, "us/MiB") if per_byte else (MICRO, "us")
        values = (short(scale * row[key]) for key in ("value", "low", "high"))
        table.add_row(row["name"], *values, unit)
    return table


def errors_text(part: ServersFit) -> str:
    """In a line: how far off on what was left out, beside the textbook, and the fit itself."""
    errors = (part.error, part.error_p90, part.textbook_error, part.textbook_error_p90)
    median, p90, plain, plain_p90 = map(percent, errors)
    return (
        f"workers and servers left out: off by {median} in the median, {p90} at the 90th "
        f"percentile; textbook {plain} and {plain_p90}; the fit itself {percent(part.residual)}"
    )


def point_table(transport: str, part: ServersFit) -> Table:
    """Measured beside predicted times of the points that a fit had not seen."""
    from rich.table import Table

    table = Table(title=f"ps-{transport}: measured | predicted without them, us")
    layouts = sorted({(p.workers, p.servers, p.link_bytes_per_s or 0.0) for p in part.points})
    several = len({speed for *_, speed in layouts}) > 1
    table.add_column("bytes", justify="right")
    for m, p, speed in layouts:
        link = f" {gbps(speed)} Gbps" if several else ""
        table.add_column(f"{m} x {p}{link}", justify="right")
    cells: dict[tuple[int, tuple[int, int, float]], ServerPoint] = {
        (p.bytes, (p.workers, p.servers, p.link_bytes_per_s or 0.0)): p for p in part.points
    }
    for size in sorted({point.bytes for point in part.points}):
        found = (cells.get((size, layout)) for layout in layouts)
        table.add_row(size_text(size), *(
            f"{p.measured_s * MICRO:.4g} | {p.held_out_s * MICRO:.4g}" if p else "" for p in found
        ))  # fmt: skip
    table.caption = "columns are workers x servers"
    return table
