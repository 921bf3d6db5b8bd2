"""What docs/compute.md shows of held-out rows: a figure, and how far off each group is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.accuracy.board import COVERAGE, ENOUGH, missed
from benchmarks.anchors.held_out import (
    Key,
    Predicted,
    accelerator_of,
    by_group,
    family_of,
    leaving_out,
    network_of,
    ratios_leaving_out,
    source_of,
)
from benchmarks.anchors.rows import Row
from benchmarks.anchors.training import Training
from benchmarks.page import put
from benchmarks.papers.figures import STYLE
from dse.catalog.rows_of_work import FAMILIES
from dse.report.style import ACCENT, INK, MARK, QUIET

ROOT = Path(__file__).parents[2]
PAGE, FIGURE = ROOT / "docs" / "compute.md", ROOT / "docs" / "figures" / "compute.png"
LEFT_OUT: dict[str, tuple[Key, ...]] = {
    "accelerator": (accelerator_of,),
    "network": (network_of,),
    "accelerator and network": (accelerator_of, network_of),
    "source": (source_of,),
    "source and network": (source_of, network_of),
}
SHOWN = ("accelerator", "network", "source", "source and network")  # in the figure
COLORS = (ACCENT, MARK, "#3a8f5c", "#8a63b8", "#c79a1e", INK, QUIET)
CELL = ("median error", "90 % below", "bias", "in the 90 % interval")
FACTOR = 1.25  # what the dashed lines are off by
MARGIN = 1.5
TERA = 1e12
DPI = 110


def write() -> None:
    """Both, anew. Raises :class:`.rows.NoReference` where the tables are not here."""
    training = Training.published()
    found = {name: leaving_out(training, *keys) for name, keys in LEFT_OUT.items()}
    found = {name: one.part(training.fitted[one.rows]) for name, one in found.items()}
    with mpl.rc_context(STYLE):
        figure(training, {name: found[name] for name in SHOWN}).savefig(
            FIGURE, dpi=DPI, metadata={"Software": None}
        )
    ratios = {
        "one of the two": ratios_leaving_out(training, accelerator_of),
        "network": ratios_leaving_out(training, network_of),
    }
    keys = (everything, family_of, accelerator_of, source_of)
    parts = (
        table(training, found, "rows", keys),
        table(training, ratios, "ratios", (everything, source_of)),
    )
    put(PAGE, "held out", "\n\n".join(parts))


def figure(training: Training, found: dict[str, Predicted]) -> Figure:
    """Predicted against measured throughput, one plot for each way to leave groups out.

    In FLOP/s that the network needs, so that networks of all sizes fit on one axis.
    """
    figure = Figure(figsize=(3.6 * len(found), 4.4), layout="constrained")
    for axes, (name, one) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        _scatter(axes, training, one)
        axes.set_title(f"{name} left out")
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return figure


def _scatter(axes: Axes, training: Training, found: Predicted) -> None:
    rows = [training.rows[at] for at in found.rows]
    rates = np.array([_flops(row) * row.samples_per_s / TERA for row in rows])
    ends = np.array([rates.min() / MARGIN, rates.max() * MARGIN])
    axes.plot(ends, ends, color=QUIET, linewidth=0.8)
    for off in (FACTOR, 1 / FACTOR):
        axes.plot(ends, ends * off, color=QUIET, linewidth=0.6, linestyle="--")
    for family, color in zip(FAMILIES, COLORS, strict=True):
        of = np.array([family_of(row) == family for row in rows])
        if of.any():
            axes.plot(rates[of], (found.ratio * rates)[of], "o", ms=2.5, color=color, label=family)
    axes.set(xscale="log", yscale="log", xlabel="measured TFLOP/s", ylabel="predicted TFLOP/s")
    axes.set(xlim=ends, ylim=ends, aspect="equal")


def _flops(row: Row) -> float:
    """Of a sample in training: the backward pass takes twice the forward pass."""
    return 3 * row.workload.forward_flops


def everything(_: Row) -> str:
    """The key of the group of all rows."""
    return "all"


def table(
    training: Training, found: dict[str, Predicted], counted: str, keys: Sequence[Key]
) -> str:
    """Errors and intervals by group, and in how many groups intervals miss, as Markdown.

    counted: what a point is; a group that is left out in several ways has the number of the last
    of them, in which nothing counts twice.
    """
    heads = [f"{name} left out" for name in found]
    lines = [
        f"| {counted}: {' / '.join(CELL)} | {counted} | {' | '.join(heads)} |",
        "|---" * (len(heads) + 2) + "|",
    ]
    cells: list[Predicted] = []
    for key in keys:
        groups = [by_group(training, one, key) for one in found.values()]
        for name, last in groups[-1].items():
            row = [one[name] for one in groups]
            cells += row
            lines.append(f"| {name} | {len(last.ratio)} | {' | '.join(map(_cell, row))} |")
    large = [one for one in cells if len(one.ratio) >= ENOUGH]
    off = sum(missed(float(np.mean(one.inside)), len(one.ratio)) for one in large)
    low, high = COVERAGE
    said = (
        f"Intervals hold fewer than {low:.0%} or more than {high:.0%} (missed) in {off} of the "
        f"{len(large)} groups of {ENOUGH} {counted} or more, left out in one way each."
    )
    return "\n".join((*lines, "", said))


def _cell(found: Predicted) -> str:
    error, count = np.abs(found.ratio - 1), len(found.ratio)
    share = float(np.mean(found.inside))
    held = f"{share:.0%}{' missed' * missed(share, count)}" if count >= ENOUGH else "-"
    median, most = np.median(error), np.quantile(error, 0.9)
    bias = round(float(np.median(found.ratio)) - 1, 2) + 0.0  # no minus before a zero
    return f"{median:.0%} / {most:.0%} / {bias:+.0%} / {held}"
