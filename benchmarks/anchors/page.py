"""What docs/compute.md shows of held-out rows: a figure, and how far off each group is."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.anchors.held_out import (
    Key,
    Predicted,
    accelerator_of,
    by_group,
    family_of,
    leaving_out,
    network_of,
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
    "both": (accelerator_of, network_of),
}
COLORS = (ACCENT, MARK, "#3a8f5c", "#8a63b8", "#c79a1e", INK, QUIET)
ENOUGH = 20  # rows of which a share says something
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
        figure(training, found).savefig(FIGURE, dpi=DPI, metadata={"Software": None})
    put(PAGE, "held out", table(training, found))


def figure(training: Training, found: dict[str, Predicted]) -> Figure:
    """Predicted against measured throughput, one plot for each way to leave groups out.

    In FLOP/s that the network needs, so that networks of all sizes fit on one axis.
    """
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    for axes, (name, one) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        _scatter(axes, training, one)
        axes.set_title(f"{name} left out" if name != "both" else "accelerator and network left out")
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


def table(training: Training, found: dict[str, Predicted]) -> str:
    """Errors and intervals by family and by accelerator, as Markdown."""
    heads = [f"{name} left out" for name in found]
    lines = [
        f"| median error / 90 % below / bias / in the 90 % interval | rows | {' | '.join(heads)} |",
        "|---" * (len(heads) + 2) + "|",
    ]
    for key in (lambda _: "all", family_of, accelerator_of):
        groups = [by_group(training, one, key) for one in found.values()]
        lines += [
            f"| {name} | {len(groups[0][name].ratio)} "
            f"| {' | '.join(_cell(one[name]) for one in groups)} |"
            for name in groups[0]
        ]
    return "\n".join(lines)


def _cell(found: Predicted) -> str:
    error = np.abs(found.ratio - 1)
    held = f"{np.mean(found.inside):.0%}" if len(error) >= ENOUGH else "-"
    median, most = np.median(error), np.quantile(error, 0.9)
    bias = round(float(np.median(found.ratio)) - 1, 2) + 0.0  # no minus before a zero
    return f"{median:.0%} / {most:.0%} / {bias:+.0%} / {held}"
