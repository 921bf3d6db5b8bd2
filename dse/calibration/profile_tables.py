"""A profile as text for people (rich) and as data for programs (--json)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.compute_part import compute_text
from dse.calibration.library_part import LibraryFit
from dse.calibration.measured_range import local_ranks
from dse.calibration.network_part import NetworkFit
from dse.calibration.number_text import gbps, percent, short, size_text, span_text
from dse.calibration.profile import POOLED, Fit, Point, Profile
from dse.calibration.ps_part import ServerPoint, ServersFit
from dse.calibration.throughput_part import Throughput
from dse.calibration.verdict import verdict
from dse.console_table import Column, Columns, console_table, numbers
from dse.model.arrays import Array

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MICRO = 1e6
GIGA = 1e9
MIB = 2.0**20
BUSY_CORES = 0.1  # above, the reader is warned that the machine was not quiet
PER_BYTE = "per byte"
TEXTBOOK = "textbook: one latency and one bandwidth for all sizes; residual: on the fitted data"
TIERS = (
    "inside a node",
    "between nodes",
)  # as ``measured_library.terms``
COSTS = ("latency", *(f"{who}, {what}" for who in ("worker", "server", "cores")
                      for what in ("per call", "per byte", "extra per byte of large messages"))
)  # fmt: skip


def profile_data(profile: Profile) -> dict[str, Any]:
    """The profile as plain values for --json, with intervals instead of bootstrap draws."""
    record = asdict(profile)
    record["content_hash"] = profile.content_hash
    record["machine"] = dict(profile.machine)
    record["fits"] = {}
    for name, fit in profile.fits.items():
        plain = asdict(fit)
        plain.pop("draws")
        low, high = _interval(fit)
        plain["intervals_90"] = {
            label: [float(a), float(b)] for label, a, b in zip(_labels(fit), low, high, strict=True)
        }
        record["fits"][name] = plain
    if profile.auto is not None:
        record["auto"]["parameters"] = library_data(profile.auto)
        record["auto"]["composition"] = composition_text(profile.auto)
    for transport, part in profile.ps.items():
        record["ps"][transport].pop("draws")
        record["ps"][transport]["parameters"] = cost_rows(part)
    return record


def show_profile(profile: Profile, console: Console | None = None) -> None:
    """Print machine, parameters, valid range, errors, and measured beside predicted times."""
    from rich.console import Console as NewConsole
    from rich.markup import escape

    out = console or NewConsole()
    version = profile.version if profile.version != "unknown" else "(version unknown)"
    link, transport = (
        "" if profile.silent else f", {of}" for of in (profile.link, profile.transport)
    )
    out.print(f"[bold]{profile.name}[/]  {profile.library} {version}{link}")
    device = f" on {profile.device}" if profile.device != "cpu" else ""
    where = f"{profile.system or profile.name}{device}{transport}"
    out.print(f"{where}; {profile.source}, {profile.date}", markup=False, highlight=False)
    out.print(
        f"hash of the measurements {profile.measurements_sha256[:12] or 'unknown'}, of the profile "
        f"{profile.content_hash[:12]}", highlight=False
    )  # fmt: skip
    if profile.machine:
        about = ", ".join(f"{key} {value}" for key, value in profile.machine.items())
        out.print(about, markup=False)
    speeds = (("reduction", profile.gamma_s_per_byte), ("copy", profile.copy_s_per_byte))
    known = [f"{name} {1 / GIGA / value:.1f} GB/s" for name, value in speeds if value > 0]
    if known:
        out.print(f"one rank alone: {', '.join(known)}")
    if profile.link_bytes_per_s:
        speed = f"{profile.link_bytes_per_s / GIGA:.3g} GB/s in one direction"
        out.print(f"network speed of each node: {speed}")
    if profile.measured_algorithms:
        out.print(_range(profile))
        for line in verdict(profile):
            out.print(line, highlight=False, markup=False)
        out.print(f"split of host and network time: {profile.split} ({profile.split_reason})")
    for assumed in profile.assumed:
        out.print(f"[yellow]assumed:[/] {escape(assumed)}", highlight=False)
    if profile.background_cores > BUSY_CORES:
        out.print(
            f"[yellow]other processes used {profile.background_cores:.1f} of {profile.cores} cores "
            "while measuring, so the times are too long; measure again when nothing else runs[/]"
        )
    if profile.auto is not None:
        out.print(f"layouts measured: {library_range(profile.auto)}", highlight=False)
        out.print(f"composition: {composition_text(profile.auto)}", highlight=False)
        out.print(library_parameters(profile.auto))
    if profile.network:
        out.print(network_parameters(profile.network))
    if profile.fits:
        out.print(_parameters(profile))
    if profile.measured_algorithms:
        out.print(_errors(profile))
    for algorithm in profile.measured_algorithms:
        out.print(_points(profile, algorithm))
    for transport, part in profile.ps.items():
        out.print(servers_text(transport, part), highlight=False)
        out.print(errors_text(part), highlight=False)
        out.print(cost_table(transport, part))
        out.print(point_table(transport, part))
    for line in map(compute_text, profile.compute):
        out.print(line, markup=False, highlight=False)
    if profile.throughput:
        out.print(_throughput(profile.throughput))


def _throughput(rates: Sequence[Throughput]) -> Table:
    """Measured rates; what the model says of them depends on the study."""
    stated = any(rate.stated for rate in rates)
    rows = [
        (
            rate.what, rate.accelerator, rate.precision, rate.stack, f"{rate.gpus:,}",
            short(rate.batch_per_gpu), f"{rate.accumulation:,}", short(rate.samples_per_s),
            *((rate.over,) if stated else ()),
        )
        for rate in rates
    ]  # fmt: skip
    columns: Columns = (
        "workload", "accelerator", "precision", "stack",
        *numbers("gpus", "batch/gpu", "accumulation", "samples/s"),
        *(("gradients summed by",) if stated else ()),
    )  # fmt: skip
    caption = "studies that name the profile correct published rates by these"
    return console_table(columns, rows, "measured training", caption)


def _range(profile: Profile) -> str:
    n, m, s = profile.ranks, profile.message_bytes, profile.step_bytes
    nodes = f"up to {profile.max_nodes:,} nodes" if profile.max_nodes > 1 else "1 node"
    return (
        f"valid for {span_text(*n)} ranks on {nodes}, messages of "
        f"{size_text(m[0])} to {size_text(m[1])} (one hop carries up to {size_text(s[1])} of one)"
    )


def _labels(fit: Fit) -> list[str]:
    """Names of the parameters in the order of ``Fit.coefficients``."""
    bounds = ["0", *(size_text(edge) for edge in fit.edges_bytes)]
    slopes = [f"s_per_byte from {bound}" for bound in bounds]
    return ["latency_s", *slopes, *(f"jump_s at {bound}" for bound in bounds[1:]), "switch_s"]


def _interval(fit: Fit) -> tuple[Any, Any]:
    low, high = np.quantile(np.array(fit.draws), [0.05, 0.95], axis=0)
    return low, high


def _parameters(profile: Profile) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, fit in profile.fits.items():
        low, high = _interval(fit)
        shown = name
        for label, value, a, b in zip(_labels(fit), fit.coefficients, low, high, strict=True):
            if label.startswith("s_per_byte"):
                text = label.replace("s_per_byte", "bandwidth")
                rows.append((shown, text, _rate(value), _rate(b), _rate(a), "GB/s"))
            else:
                text = label.replace("_s", "")
                rows.append((shown, text, *(f"{x * MICRO:.2f}" for x in (value, a, b)), "us"))
            shown = ""
    columns: Columns = ("algorithm", "parameter", *numbers("value", "5 %", "95 %"), "unit")
    title = "cost of one step for a rank with its own core (90 % interval)"
    return console_table(columns, rows, title)


def _rate(seconds_per_byte: float) -> str:
    return "free" if seconds_per_byte <= 0 else f"{1 / seconds_per_byte / GIGA:.3g}"


def _errors(profile: Profile) -> Table:
    rows: list[tuple[str, ...]] = []
    for name, fit in profile.fits.items():
        errors = (
            fit.error,
            fit.error_p90,
            fit.textbook_error,
            fit.textbook_error_p90,
            fit.residual,
        )
        label = f"{name} ({'algorithm' if name == POOLED else 'rank count'} left out)"
        rows.append((label, *map(percent, errors)))
    for name, link in profile.network.items():
        errors = (link.error, link.error_p90, link.textbook_error, link.textbook_error_p90,
                  link.residual)  # fmt: skip
        unseen = "rank count" if link.held_out == "ranks" else "sizes"
        rows.append((f"{name} between nodes ({unseen} left out)", *map(percent, errors)))
    if profile.auto is not None:
        rows.append(library_errors(profile.auto))
    errors_of = numbers("median", "p90", "textbook median", "textbook p90", "residual")
    title = "absolute relative error on measurements left out of the fit"
    return console_table((Column("algorithm"), *errors_of), rows, title, TEXTBOOK)


def _points(profile: Profile, algorithm: str) -> Table:
    """Measured and predicted microseconds; each prediction is by a fit without that group."""
    mine = [point for point in profile.points if point.algorithm == algorithm]
    cells = {(point.bytes, point.ranks, local_ranks(profile, point)): point for point in mine}
    layouts = sorted({(ranks, local) for _, ranks, local in cells})
    unseen = "those sizes" if profile.held_out(algorithm) == "sizes" else "that rank count"
    headings = [
        f"{ranks:,} ranks{f', {local:,}/node' if local < ranks else ''}" for ranks, local in layouts
    ]
    rows = [
        (size_text(size), *(_cell(cells.get((size, *layout))) for layout in layouts))
        for size in sorted({point.bytes for point in mine})
    ]
    title = f"{algorithm}, in us: measured | predicted by a fit without {unseen}"
    return console_table(numbers("bytes", *headings), rows, title)


def _cell(point: Point | None) -> str:
    if point is None:
        return ""
    held_out = point.held_out_s
    return f"{point.measured_s * MICRO:.4g} | {f'{held_out * MICRO:.4g}' if held_out else '-'}"


def library_data(fit: LibraryFit) -> list[dict[str, Any]]:
    """The costs that are not zero, with names, 90 % intervals and units.

    The cost of a byte is given for each range of sizes: the sum of the coefficients that count
    there (see ``measured_library.terms``). Its ends are the sums of their ends, so its interval is
    at most as wide as printed.
    """
    edges = [size_text(edge) for edge in fit.edges_bytes]
    above = [f"from {edge}" for edge in edges]
    values = np.array([fit.coefficients, fit.low, fit.high])
    calls, rest = np.split(values, [1 + len(edges)], axis=1)
    rows = list(zip(["per call", *(f"extra per call {at}" for at in above)], calls.T, strict=True))
    for tier, part in zip(TIERS, np.split(rest, 2, axis=1), strict=True):
        hops, each = np.split(part, [1 + len(edges)], axis=1)
        names = [f"per hop {tier}", *(f"extra per hop {tier} {at}" for at in above)]
        rows += zip(names, hops.T, strict=True)
        rows += [(f"{PER_BYTE} {tier}{span}", price) for span, price in _per_range(edges, each)]
    return [
        {"name": name, "value": float(value), "low": float(low), "high": float(high),
         "unit": "s/byte" if name.startswith(PER_BYTE) else "s"}
        for name, (value, low, high) in rows
        if value > 0
    ]  # fmt: skip


def _per_range(edges: Sequence[str], each: Array) -> list[tuple[str, Array]]:
    """(' from 64 KiB to 1 MiB', cost of a byte there, its low and high) for each range of sizes.

    each: (3, ranges), coefficients that each count up to an edge, the last for all sizes.
    Neighbouring ranges with the same cost are joined.
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
    return _costs("cost of the library's own choice", library_data(fit))


def _costs(what: str, costs: Iterable[Mapping[str, Any]]) -> Table:
    """Costs with a name, a value, the ends of its interval and a unit, in us and us/MiB."""
    rows = []
    for cost in costs:
        per_byte = cost["unit"] == "s/byte"
        scale, unit = (MICRO * MIB, "us/MiB") if per_byte else (MICRO, "us")
        values = (short(scale * cost[key]) for key in ("value", "low", "high"))
        rows.append((cost["name"], *values, unit))
    columns: Columns = ("parameter", *numbers("value", "5 %", "95 %"), "unit")
    return console_table(columns, rows, f"{what} (90 % interval)")


def network_parameters(network: Mapping[str, NetworkFit]) -> Table:
    """The cost of a message between nodes, on the hosts and on the network, per algorithm."""
    rows = []
    for name, fit in network.items():
        shown, latency = name, f"{short(MICRO * fit.latency_s)} us"
        regimes = zip((0.0, *fit.edges_bytes), fit.s_per_byte, (0.0, *fit.jump_s), fit.wire_factor,
                   (0.0, *fit.wire_jump_bytes), strict=True)  # fmt: skip
        for edge, slope, jump, wire, wait in regimes:
            host = f"{short(MICRO * MIB * slope)} us/MiB", f"{short(MICRO * jump)} us"
            rows.append(
                (shown, latency, size_text(edge), *host, f"{short(wire)} B", size_text(wait))
            )
            shown = latency = ""
    columns: Columns = (
        "algorithm",
        *numbers("latency", "from size", "host", "jump", "wire per byte", "wait"),
    )
    return console_table(columns, rows, "cost of one message between nodes")


def composition_text(fit: LibraryFit) -> str:
    """One line: how the library is assumed to compose an allreduce."""
    parts: list[str] = [fit.family]
    parts.append(f"pipelined from {size_text(fit.chunk_bytes)}")
    if fit.family == "nccl":
        parts.append(f"ring between nodes from {size_text(fit.ring_from_bytes)}")
        parts.append(
            f"flows in a node slow each other down as (n/2)^{fit.sharing:g}"
            if fit.sharing
            else "flows in a node do not slow each other down"
        )
        parts.append("sums in the switch (NVLS)" if fit.nvls else "no sums in the switch")
    if fit.rails > 1:
        parts.append(f"bytes split over {fit.rails:g} network cards per node")
    return ", ".join(parts)


def library_range(fit: LibraryFit) -> str:
    """Layouts measured, as '8 ranks (4 per node)'."""
    layouts = sorted({(int(a.ranks), int(min(a.ranks, a.ranks_per_node))) for a in fit.anchors})
    if not layouts:
        return f"{span_text(*fit.ranks_per_node)} ranks per node"
    return ", ".join(f"{n:,} ranks ({g:,} per node)" for n, g in layouts)


def library_errors(fit: LibraryFit) -> tuple[str, ...]:
    """A row of the table of errors: held-out median and p90, the textbook's, and the residual."""
    label = "auto (rank count left out)" if fit.held_out == "ranks" else "auto (sizes left out)"
    errors = (fit.error, fit.error_p90, fit.textbook_error, fit.textbook_error_p90, fit.residual)
    return label, *(percent(error) for error in errors)


def servers_text(transport: str, part: ServersFit) -> str:
    """One line: what was measured, over which link, on which cores."""
    where = (
        "one machine per process"
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
    """The costs that are not zero in all draws, with names, 90 % intervals and units."""
    low, high = np.quantile(np.array(part.draws), [0.05, 0.95], axis=0)
    return [
        {"name": name, "value": value, "low": float(a), "high": float(b),
         "unit": "s/byte" if "byte" in name else "s"}
        for name, value, a, b in zip(COSTS, part.costs, low, high, strict=True)
        if value > 0 or b > 0
    ]  # fmt: skip


def cost_table(transport: str, part: ServersFit) -> Table:
    """The same as a table, in us and us/MiB."""
    return _costs(f"cost of a push and a pull over {transport}", cost_rows(part))


def errors_text(part: ServersFit) -> str:
    """One line: the error on numbers left out of the fit, the textbook's, and the residual."""
    errors = (part.error, part.error_p90, part.textbook_error, part.textbook_error_p90)
    median, p90, plain, plain_p90 = map(percent, errors)
    return (
        f"error on numbers of workers and servers left out of the fit: median {median}, 90th "
        f"percentile {p90}; textbook model {plain} and {plain_p90}; residual of the fit "
        f"{percent(part.residual)}"
    )


def point_table(transport: str, part: ServersFit) -> Table:
    """Measured times beside those predicted by a fit without these points."""
    layouts = sorted({(p.workers, p.servers, p.link_bytes_per_s or 0.0) for p in part.points})
    several = len({speed for *_, speed in layouts}) > 1
    headings = [f"{m} x {p}{f' {gbps(at)} Gbps' if several else ''}" for m, p, at in layouts]
    cells: dict[tuple[int, tuple[int, int, float]], ServerPoint] = {
        (p.bytes, (p.workers, p.servers, p.link_bytes_per_s or 0.0)): p for p in part.points
    }
    rows = []
    for size in sorted({point.bytes for point in part.points}):
        found = (cells.get((size, layout)) for layout in layouts)
        times = (
            f"{p.measured_s * MICRO:.4g} | {p.held_out_s * MICRO:.4g}" if p else "" for p in found
        )
        rows.append((size_text(size), *times))
    title = f"ps-{transport}, in us: measured | predicted by a fit without these points"
    caption = "columns: workers x servers"
    return console_table(numbers("bytes", *headings), rows, title, caption)
