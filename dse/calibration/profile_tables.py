"""A profile as text for people (rich) and as data for programs (--json)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.compute_part import compute_text
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.number_text import gbps, percent, short, size_text, span_text
from dse.calibration.profile import POOLED, Fit, Point, Profile, exchange_text, local_ranks
from dse.calibration.ps_part import ServerPoint, ServersFit
from dse.calibration.throughput_part import LayoutRate, Throughput
from dse.calibration.verdict import LEFT_OUT, verdict
from dse.console_table import Column, Columns, console_table, numbers
from dse.model.arrays import Array

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MICRO = 1e6
GIGA = 1e9
UNITS = {"s": (MICRO, "us"), "s/byte": (MICRO * 2.0**20, "us/MiB"), "byte/s": (1 / GIGA, "GB/s")}
ENDS = ("value", "low", "high")
PER_BYTE, ON_NODE = "per byte", "on one node"
TEXTBOOK = "textbook: one latency and one bandwidth for all sizes; residual: on the fitted data"
TIERS = ("inside a node", "between nodes")  # as ``measured_library.terms``
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
    if profile.auto is not None:
        out.print(f"layouts measured: {_layouts(profile.auto)}", highlight=False)
        out.print(f"composition: {composition_text(profile.auto)}", highlight=False)
    for transport, part in profile.ps.items():
        out.print(servers_text(transport, part), highlight=False)
    if costs := _costs(profile):
        out.print(_parameters(costs))
    if errors := _errors(profile):
        out.print(errors)
    for algorithm in profile.measured_algorithms:
        out.print(_points(profile, algorithm))
    for transport, part in profile.ps.items():
        out.print(_server_points(transport, part))
    for operation, exchange in profile.exchanges.items():
        out.print(exchange_text(operation, exchange), markup=False, highlight=False)
    for line in map(compute_text, profile.compute):
        out.print(line, markup=False, highlight=False)
    if profile.throughput:
        out.print(_throughput(profile.throughput))
    if profile.layouts:
        out.print(_layout_rates(profile.layouts))


def _throughput(rates: Sequence[Throughput]) -> Table:
    """Measured rates; what the model says of them depends on the study."""
    rows = [
        (
            rate.what, rate.accelerator, rate.precision, rate.stack, f"{rate.gpus:,}",
            short(rate.batch_per_gpu), f"{rate.accumulation:,}", short(rate.samples_per_s),
            rate.over,
        )
        for rate in rates
    ]  # fmt: skip
    columns: Columns = (
        "workload", "accelerator", "precision", "stack",
        *numbers("gpus", "batch/gpu", "accumulation", "samples/s"), "gradients summed by",
    )  # fmt: skip
    caption = "studies that name the profile correct published rates by these"
    return console_table(columns, rows, "measured training", caption)


def _layout_rates(rates: Sequence[LayoutRate]) -> Table:
    """Likewise, of layouts."""
    rows = [
        (
            rate.workload, rate.node or str(rate.accelerator), rate.precision, rate.stack,
            f"{rate.gpus:,}", rate.layout, f"{rate.sequences:,.6g}", f"{rate.sequence:,}",
            f"{short(rate.rate)} {rate.rate_of}",
        )
        for rate in rates
    ]  # fmt: skip
    columns: Columns = (
        "workload", "on", "precision", "stack", *numbers("gpus"), "layout",
        *numbers("global batch", "sequence", "measured"),
    )  # fmt: skip
    caption = "studies that name the profile correct the stack by these"
    return console_table(columns, rows, "measured layouts", caption)


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


def _costs(profile: Profile) -> list[tuple[str, Mapping[str, Any]]]:
    """Every fitted cost with what it is of: algorithm, library or servers."""
    groups = [(f"{name} {ON_NODE}", _fit_costs(fit)) for name, fit in profile.fits.items()]
    groups += [(f"{name} between nodes", _network_costs(fit))
               for name, fit in profile.network.items()]  # fmt: skip
    if profile.auto is not None:
        groups.append((AUTO, library_data(profile.auto)))
    groups += [(f"ps-{transport}", cost_rows(part)) for transport, part in profile.ps.items()]
    return [(name, cost) for name, costs in groups for cost in costs]


def _fit_costs(fit: Fit) -> list[dict[str, Any]]:
    low, high = _interval(fit)
    return [
        {"name": label.replace("s_per_byte", "bandwidth"), "value": _rate(value),
         "low": _rate(b), "high": _rate(a), "unit": "byte/s"}
        if label.startswith("s_per_byte")
        else {"name": label.replace("_s", ""), "value": value, "low": a, "high": b, "unit": "s"}
        for label, value, a, b in zip(_labels(fit), fit.coefficients, low, high, strict=True)
    ]  # fmt: skip


def _rate(seconds_per_byte: float) -> float:
    """Bytes/s; infinite where bytes cost nothing."""
    return 1 / seconds_per_byte if seconds_per_byte > 0 else np.inf


def _network_costs(fit: NetworkFit) -> list[dict[str, Any]]:
    """Of a message, on the hosts and on the network; this fit has no intervals."""
    costs = [("latency", fit.latency_s, "s")]
    parts = (("host", fit.s_per_byte, "s/byte"), ("wire", fit.wire_factor, "bytes/byte"))
    jumps = (("host jump", fit.jump_s, "s"), ("wire jump", fit.wire_jump_bytes, "bytes"))
    for edges, kinds in (((0.0, *fit.edges_bytes), parts), (fit.edges_bytes, jumps)):
        for name, values, unit in kinds:
            costs += [(f"{name} from {size_text(edge)}", value, unit)
                      for edge, value in zip(edges, values, strict=True)]  # fmt: skip
    return [{"name": name, "value": value, "unit": unit} for name, value, unit in costs]


def _parameters(costs: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    """Costs with a name, a value, the ends of its interval and a unit."""
    rows, named = [], ""
    for name, cost in costs:
        scale, unit = UNITS.get(cost["unit"], (1.0, cost["unit"]))
        values = (_shown(scale * cost[key]) if key in cost else "" for key in ENDS)
        rows.append(("" if name == named else name, cost["name"], *values, unit))
        named = name
    columns: Columns = ("of", "parameter", *numbers("value", "5 %", "95 %"), "unit")
    own = f"{ON_NODE}: for a rank with its own core" * any(ON_NODE in name for name, _ in costs)
    return console_table(columns, rows, "cost of a message or call (90 % interval)", own)


def _shown(value: float) -> str:
    return short(value) if np.isfinite(value) else "free"


def _errors(profile: Profile) -> Table | None:
    """What every fit is off by; None where nothing was fitted."""
    judged: list[tuple[str, Fit | NetworkFit | LibraryFit | ServersFit]] = [
        (f"{name} ({'algorithm' if name == POOLED else 'rank count'} left out)", fit)
        for name, fit in profile.fits.items()
    ]
    judged += [(f"{name} between nodes ({LEFT_OUT[link.held_out]} left out)", link)
               for name, link in profile.network.items()]  # fmt: skip
    if profile.auto is not None:
        judged.append((f"{AUTO} ({LEFT_OUT[profile.auto.held_out]} left out)", profile.auto))
    judged += [(f"ps-{transport} (workers and servers left out)", part)
               for transport, part in profile.ps.items()]  # fmt: skip
    if not judged:
        return None
    rows = [
        (label, *map(percent, (fit.error, fit.error_p90, fit.textbook_error,
                               fit.textbook_error_p90, fit.residual)))
        for label, fit in judged
    ]  # fmt: skip
    errors_of = numbers("median", "p90", "textbook median", "textbook p90", "residual")
    title = "absolute relative error on measurements left out of the fit"
    return console_table((Column("algorithm"), *errors_of), rows, title, TEXTBOOK)


def _points(profile: Profile, algorithm: str) -> Table:
    """Measured and predicted microseconds; each prediction is by a fit without that group."""

    def layout(point: Point) -> tuple[float, float, str]:
        ranks, local = point.ranks, local_ranks(profile, point)
        return ranks, local, f"{ranks:,} ranks{f', {local:,}/node' if local < ranks else ''}"

    mine = [(layout(point), point) for point in profile.points if point.algorithm == algorithm]
    return _beside(algorithm, f"those {LEFT_OUT[profile.held_out(algorithm)]}", mine)


def _server_points(transport: str, part: ServersFit) -> Table:
    """Measured times beside those predicted by a fit without these points."""

    def layout(point: ServerPoint) -> tuple[float, float, str]:
        at = point.link_bytes_per_s
        speed = f", {gbps(at)} Gbps" if at else ""
        return point.workers, point.servers, f"{point.workers} x {point.servers}{speed}"

    points = [(layout(point), point) for point in part.points]
    return _beside(f"ps-{transport}, workers x servers", "these points", points)


def _beside(
    what: str,
    unseen: str,
    points: Sequence[tuple[tuple[float, float, str], Point | ServerPoint]],
) -> Table:
    """A row of measured and predicted times for each size, a column for each layout.

    points: with their layouts: two counts by which columns are in order, and the heading.
    """
    cells = {(point.bytes, layout): point for layout, point in points}
    layouts = sorted({layout for layout, _ in points})
    rows = [
        (size_text(size), *(_cell(cells.get((size, layout))) for layout in layouts))
        for size in sorted({point.bytes for _, point in points})
    ]
    title = f"{what}, in us: measured | predicted by a fit without {unseen}"
    return console_table(numbers("bytes", *(heading for *_, heading in layouts)), rows, title)


def _cell(point: Point | ServerPoint | None) -> str:
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


def _layouts(fit: LibraryFit) -> str:
    """Layouts measured, as '8 ranks (4 per node)'."""
    layouts = sorted({(int(a.ranks), int(min(a.ranks, a.ranks_per_node))) for a in fit.anchors})
    if not layouts:
        return f"{span_text(*fit.ranks_per_node)} ranks per node"
    return ", ".join(f"{n:,} ranks ({g:,} per node)" for n, g in layouts)


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
