"""A profile for the eye (rich) and for programs (--json)."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.profile import POOLED, Fit, Profile

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
    return record


def show_profile(profile: Profile, console: Console | None = None) -> None:
    """Print machine, parameters, range, errors, and measured beside predicted times."""
    from rich.console import Console as NewConsole

    out = console or NewConsole()
    out.print(f"[bold]{profile.name}[/]  {profile.library} {profile.version}, {profile.link}")
    out.print(f"{profile.source}, {profile.date}; fitted on {profile.measurements_sha256[:12]}")
    out.print(", ".join(f"{key} {value}" for key, value in profile.machine.items()), markup=False)
    out.print(
        f"reduction {1 / GIGA / max(profile.gamma_s_per_byte, 1e-30):.1f} GB/s, "
        f"copy {1 / GIGA / max(profile.copy_s_per_byte, 1e-30):.1f} GB/s of one rank"
    )
    n, m, s = profile.ranks, profile.message_bytes, profile.step_bytes
    out.print(
        f"holds for {n[0]}-{n[1]} ranks on {profile.max_nodes} node, messages of "
        f"{size_text(m[0])} to {size_text(m[1])}, steps of {size_text(s[0])} to {size_text(s[1])}"
    )
    out.print(f"host and wire: {profile.split} ({profile.split_reason})")
    if profile.background_cores > BUSY_CORES:
        out.print(
            f"[yellow]other processes kept {profile.background_cores:.1f} of {profile.cores} cores "
            "busy while measuring: times are too long; measure again on a quiet machine[/]"
        )
    out.print(_parameters(profile))
    out.print(_errors(profile))
    for algorithm in profile.measured_algorithms:
        out.print(_points(profile, algorithm))


def size_text(size: float) -> str:
    """1048576 -> '1 MiB'."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.3g} B"


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

    table = Table(title="absolute relative error on rank counts left out of the fit")
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
        label = "any (algorithm left out)" if name == POOLED else name
        table.add_row(label, *(f"{100 * error:.0f} %" for error in errors))
    return table


def _points(profile: Profile, algorithm: str) -> Table:
    """Measured and predicted microseconds; the prediction never saw that rank count."""
    from rich.table import Table

    mine = [point for point in profile.points if point.algorithm == algorithm]
    counts = sorted({point.ranks for point in mine})
    cells = {(point.bytes, point.ranks): point for point in mine}
    table = Table(title=f"{algorithm}: measured | predicted without that rank count, us")
    table.add_column("bytes", justify="right")
    for count in counts:
        table.add_column(f"{count} ranks", justify="right")
    for size in sorted({point.bytes for point in mine}):
        row = []
        for count in counts:
            point = cells.get((size, count))
            row.append(
                f"{point.measured_s * MICRO:.4g} | {point.held_out_s * MICRO:.4g}" if point else ""
            )
        table.add_row(size_text(size), *row)
    return table
