"""A profile for the eye (rich) and for programs (--json)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.asked import local_ranks
from dse.calibration.compute_part import compute_text
from dse.calibration.library_part import AUTO
from dse.calibration.profile import POOLED, Fit, Point, Profile
from dse.calibration.ps_command import (
    cost_rows,
    cost_table,
    errors_text,
    point_table,
    servers_text,
)
from dse.calibration.show_library import (
    composition_text,
    library_data,
    library_errors,
    library_parameters,
    library_range,
    network_parameters,
)
from dse.calibration.words import percent, size_text, span_text

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MICRO = 1e6
GIGA = 1e9
BUSY_CORES = 0.1  # above, the reader is warned that the machine was not quiet


def profile_data(profile: Profile) -> dict[str, Any]:
    """The profile as plain values for --json: intervals instead of the draws behind them."""
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
    """Print machine, parameters, range, errors, and measured beside predicted times."""
    from rich.console import Console as NewConsole
    from rich.markup import escape

    out = console or NewConsole()
    out.print(f"[bold]{profile.name}[/]  {profile.library} {profile.version}, {profile.link}")
    device = f" on {profile.device}" if profile.device != "cpu" else ""
    where = f"{profile.system or profile.name}{device}, {profile.transport}"
    out.print(f"{where}; {profile.source}, {profile.date}", markup=False, highlight=False)
    out.print(
        f"fitted on measurements {profile.measurements_sha256[:12] or 'unknown'}, profile "
        f"{profile.content_hash[:12]}", highlight=False
    )  # fmt: skip
    if profile.machine:
        about = ", ".join(f"{key} {value}" for key, value in profile.machine.items())
        out.print(about, markup=False)
    speeds = (("reduction", profile.gamma_s_per_byte), ("copy", profile.copy_s_per_byte))
    known = [f"{name} {1 / GIGA / value:.1f} GB/s" for name, value in speeds if value > 0]
    if known:
        out.print(f"{', '.join(known)} of one rank")
    if profile.link_bytes_per_s:
        out.print(f"link of a node: {profile.link_bytes_per_s / GIGA:.3g} GB/s in one direction")
    if profile.measured_algorithms:
        out.print(_range(profile))
        out.print(f"host and wire: {profile.split} ({profile.split_reason})")
    for assumed in profile.assumed:
        out.print(f"[yellow]assumed:[/] {escape(assumed)}", highlight=False)
    if profile.background_cores > BUSY_CORES:
        out.print(
            f"[yellow]other processes kept {profile.background_cores:.1f} of {profile.cores} cores "
            "busy while measuring: times are too long; measure again on a quiet machine[/]"
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


def _range(profile: Profile) -> str:
    n, m, s = profile.ranks, profile.message_bytes, profile.step_bytes
    nodes = f"{profile.max_nodes:,} node{'s' * (profile.max_nodes > 1)}"
    return (
        f"holds for {span_text(*n)} ranks on {nodes}, messages of "
        f"{size_text(m[0])} to {size_text(m[1])}, steps of {size_text(s[0])} to {size_text(s[1])}"
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
    from rich.table import Table

    table = Table(title="one step, per rank with its own core (90 % interval)")
    for column in ("algorithm", "parameter", "value", "5 %", "95 %", "unit"):
        left = column in ("algorithm", "parameter", "unit")
        table.add_column(column, justify="left" if left else "right")
    for name, fit in profile.fits.items():
        low, high = _interval(fit)
        shown = name
        rows = zip(_labels(fit), fit.coefficients, low, high, strict=True)
        for label, value, a, b in rows:
            if label.startswith("s_per_byte"):
                text = label.replace("s_per_byte", "bandwidth")
                table.add_row(shown, text, _rate(value), _rate(b), _rate(a), "GB/s")
            else:
                text = label.replace("_s", "")
                table.add_row(shown, text, *(f"{x * MICRO:.2f}" for x in (value, a, b)), "us")
            shown = ""
    return table


def _rate(seconds_per_byte: float) -> str:
    return "free" if seconds_per_byte <= 0 else f"{1 / seconds_per_byte / GIGA:.3g}"


def _errors(profile: Profile) -> Table:
    from rich.table import Table

    table = Table(title="absolute relative error on what was left out of the fit")
    table.add_column("algorithm")
    for column in ("median", "p90", "textbook median", "textbook p90", "fit itself"):
        table.add_column(column, justify="right")
    for name, fit in profile.fits.items():
        errors = (
            fit.error,
            fit.error_p90,
            fit.textbook_error,
            fit.textbook_error_p90,
            fit.residual,
        )
        label = f"{name} ({'algorithm' if name == POOLED else 'rank count'} left out)"
        table.add_row(label, *(percent(error) for error in errors))
    for name, link in profile.network.items():
        errors = (link.error, link.error_p90, link.textbook_error, link.textbook_error_p90,
                  link.residual)  # fmt: skip
        table.add_row(f"{name} between nodes (rank count left out)", *map(percent, errors))
    if profile.auto is not None:
        table.add_row(*library_errors(profile.auto))
    return table


def _points(profile: Profile, algorithm: str) -> Table:
    """Measured and predicted microseconds; the prediction never saw that group of measurements."""
    from rich.table import Table

    mine = [point for point in profile.points if point.algorithm == algorithm]
    cells = {(point.bytes, point.ranks, local_ranks(profile, point)): point for point in mine}
    layouts = sorted({(ranks, local) for _, ranks, local in cells})
    by_size = algorithm == AUTO and profile.auto is not None and profile.auto.held_out == "sizes"
    unseen = "those sizes" if by_size else "that rank count"
    table = Table(title=f"{algorithm}: measured | predicted without {unseen}, us")
    table.add_column("bytes", justify="right")
    for ranks, local in layouts:
        on = f" / {local:,}" if local < ranks else ""
        table.add_column(f"{ranks:,}{on} ranks", justify="right")
    for size in sorted({point.bytes for point in mine}):
        table.add_row(size_text(size), *(_cell(cells.get((size, *layout))) for layout in layouts))
    return table


def _cell(point: Point | None) -> str:
    if point is None:
        return ""
    held_out = point.held_out_s
    return f"{point.measured_s * MICRO:.4g} | {f'{held_out * MICRO:.4g}' if held_out else '-'}"
