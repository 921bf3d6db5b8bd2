"""``python -m benchmarks.papers.figures``: the figures of docs/fleet.md and docs/tf-aggregation.md.

Everything is computed by the model or read from what was measured; nothing is drawn by hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from textwrap import fill

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.approaches import judge
from benchmarks.papers import tf_piz_daint
from benchmarks.papers.pai import FLEET, JOBS, PS_WORKERS, SEED
from benchmarks.papers.pai_assumptions import assumptions
from benchmarks.papers.tf_aggregation import ALLREDUCES, SERVERS
from benchmarks.papers.tf_machines import EDR_CLUSTER, samples_per_s
from benchmarks.papers.tf_table import RANKS, ablation_s
from dse import catalog, fleet
from dse.fleet.breakdown import STEPS
from dse.fleet.recipe import COMPONENTS
from dse.fleet.upgrades import speedups_by_upgrade
from dse.model.pai import Hardware
from dse.report.style import ACCENT, GRID, INK, MARK, QUIET

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "figures"
SEARCH_SPACES = ROOT / "search_spaces" / "papers"
NAMES = {"data": "input", "flops": "FLOPs", "memory": "memory", "weights": "weights"}
COLORS = (QUIET, ACCENT, "#9cc3ee", MARK)
PUBLISHED_GAIN = 0.6
LABEL_WIDTH = 42
COUNTS = 2.0 ** np.arange(8)
BATCH, WORKLOAD = 64.0, "resnet50"
SIZES_BYTES = 2.0 ** np.arange(6, 27)
LINES = ("-", "--", ":", "-.")
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "dse", "font.family": "sans-serif", "font.size": 9,
    "axes.edgecolor": QUIET, "axes.labelcolor": INK, "axes.spines.top": False,
    "axes.spines.right": False, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True,
    "axes.titlesize": 10, "axes.titlelocation": "left", "text.color": INK, "legend.frameon": False,
    "legend.fontsize": 8, "xtick.color": INK, "ytick.color": INK,
}  # fmt: skip


def main() -> None:
    """Write both figures."""
    FOLDER.mkdir(exist_ok=True)
    with mpl.rc_context(STYLE):
        for name, draw in (("pai", pai), ("tf-aggregation", tf_aggregation)):
            path = FOLDER / f"{name}.svg"
            draw().savefig(path, metadata={"Date": None})
            print(f"wrote {path.relative_to(ROOT)}")


def pai(jobs: int = JOBS) -> Figure:
    """Where time goes, how it is spread, what upgrades gain, and what the 60 % hang on."""
    return _four(
        lambda axes: time_by_class(axes, jobs),
        lambda axes: spread_of_weights(axes, jobs),
        lambda axes: upgrades(axes, jobs),
        lambda axes: gain_by_assumption(axes, jobs),
    )


def tf_aggregation() -> Figure:
    """Efficiency by approach, an allreduce without each of its terms, and measured rates."""
    return _four(efficiency, ablation, piz_daint, lab)


def time_by_class(axes: Axes, jobs: int) -> None:
    """Stacked bars: mean shares of cNode time by component."""
    rows = fleet.breakdown(_priced(FLEET, jobs))
    left = np.zeros(len(rows))
    for name, color in zip(COMPONENTS, COLORS, strict=True):
        part = np.array([row.levels.cnode.mean[name] for row in rows])
        axes.barh(
            [row.architecture for row in rows], part, left=left, color=color, label=NAMES[name]
        )
        left = left + part
    axes.invert_yaxis()
    axes.set(title="Where the time of cNodes goes, by class of jobs", xlim=(0, 1))
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.12))


def spread_of_weights(axes: Axes, jobs: int) -> None:
    """Cumulative distributions of the share of weights, by jobs and by cNodes."""
    found = {row.architecture: row.levels for row in fleet.breakdown(_priced(FLEET, jobs))}
    at = np.arange(STEPS + 1) / STEPS
    for name, of_jobs, of_cnodes in (("ps-worker", MARK, "#e9a98b"), ("all", ACCENT, "#9cc3ee")):
        levels = found[name]
        axes.plot(at, levels.job.cdf["weights"], color=of_jobs, label=f"{name}, by job")
        axes.plot(at, levels.cnode.cdf["weights"], color=of_cnodes, label=f"{name}, by cnode")
    axes.set(title="Jobs by their share of weights in a step", xlabel="at most this share",
             xlim=(0, 1), ylim=(0, 1))  # fmt: skip
    axes.xaxis.set_major_formatter("{x:.0%}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.legend(loc="upper left")


def upgrades(axes: Axes, jobs: int) -> None:
    """Mean speedups on the study's grid of hardware."""
    asked = fleet.read_fleet(SEARCH_SPACES / f"{FLEET}.yaml").upgrades
    rows = speedups_by_upgrade(_priced(FLEET, jobs), _base(FLEET), asked, False)
    for k, (group, color) in enumerate((("ps-worker", MARK), ("all", ACCENT))):
        places = np.arange(len(rows)) + 0.4 * k - 0.2
        gains = [row.speedup[group].mean_of_ratios for row in rows]
        axes.barh(places, gains, 0.4, color=color, label=group)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    axes.axvline(1.0, color=INK, linewidth=0.8)
    axes.invert_yaxis()
    axes.set(title="Speedup by upgrade, mean of the jobs' ratios")
    axes.legend(loc="upper right")


def gain_by_assumption(axes: Axes, jobs: int) -> None:
    """The share of jobs that gain, under each assumption, beside the published one."""
    recipe = fleet.read_recipe(fleet.population_path(PS_WORKERS))
    rows = [row for row in assumptions(recipe, jobs, SEED) if row.gain is not None]
    shown = [fill(row.assumption, LABEL_WIDTH) for row in rows]
    axes.barh(shown, [row.gain or 0.0 for row in rows], color=[ACCENT] + [QUIET] * (len(rows) - 1))
    axes.axvline(PUBLISHED_GAIN, color=MARK, linestyle="--")
    axes.invert_yaxis()
    axes.tick_params("y", labelsize=6.5)  # two lines a label
    axes.set(title=f"Gain from AllReduce-Local, published {PUBLISHED_GAIN:.0%}", xlim=(0, 1))
    axes.xaxis.set_major_formatter("{x:.0%}")


def efficiency(axes: Axes) -> None:
    """Scaling efficiency of every approach."""
    for k, name in enumerate((*SERVERS, *ALLREDUCES)):
        rates = samples_per_s(
            EDR_CLUSTER, catalog.approach(name), WORKLOAD, COUNTS, np.full(COUNTS.shape, BATCH)
        )
        color = MARK if name in SERVERS else ACCENT
        axes.plot(COUNTS, rates / rates[0] / COUNTS, LINES[k % 4], color=color, label=name)
    axes.set_xscale("log", base=2)
    axes.set(title=f"Scaling efficiency, {WORKLOAD}, {BATCH:g} images each, modelled",
             xlabel="P100, one a node", ylim=(0, 1.02))  # fmt: skip
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.legend(loc="lower left", ncols=2)


def ablation(axes: Axes) -> None:
    """One allreduce as proposed, without each of its terms, and NCCL's."""
    for (name, seconds), line in zip(ablation_s(SIZES_BYTES).items(), (*LINES, "-"), strict=True):
        axes.plot(SIZES_BYTES, 1e6 * seconds, line, label=name,
                  color=MARK if name.startswith("NCCL") else ACCENT)  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set(title=f"One allreduce of {RANKS} ranks, modelled", xlabel="bytes", ylabel="us")
    axes.legend(loc="upper left")


def piz_daint(axes: Axes) -> None:
    """Modelled and measured rates over the model's own line of perfect scaling."""
    both = (("Horovod-MPI, ResNet-50", tf_piz_daint.horovod(), ACCENT),
            ("gRPC, Inception v3", tf_piz_daint.grpc(), MARK))  # fmt: skip
    for name, found, color in both:
        perfect = found.nodes / found.nodes[0]
        for rates, mark, said in (
            (found.modelled, "-", "modelled"),
            (found.measured, "o", "measured"),
        ):
            axes.plot(found.nodes, rates / rates[0] / perfect, mark, color=color,
                      label=f"{name}, {said}")  # fmt: skip
    axes.set_xscale("log", base=2)
    axes.set(
        title="Piz Daint: rate per node over that of the fewest", xlabel="nodes", ylim=(0, 1.05)
    )
    axes.xaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_major_formatter("{x:.0%}")
    axes.legend(loc="lower left")


def lab(axes: Axes) -> None:
    """Modelled over measured seconds of a round, fitted and held out."""
    measured = judge.committed()
    by = judge.fitted(measured)
    for fitted, color, said in ((True, QUIET, "fitted to"), (False, MARK, "held out")):
        pairs = [(s, by.seconds(name, cell)) for (cell, name), s in measured.seconds.items()
                 if cell.fitted is fitted]  # fmt: skip
        axes.plot(*np.array(pairs).T, "o", markersize=4, color=color, label=said)
    ends = np.array(axes.get_xlim())
    ends[0] = min(measured.seconds.values())
    axes.plot(ends, ends, color=INK, linewidth=0.8)
    axes.set(title="Seven programs in the lab, a round of gradients", xscale="log", yscale="log",
             xlabel="measured, s", ylabel="modelled, s")  # fmt: skip
    axes.legend(loc="upper left")


def _four(*panels: Callable[[Axes], None]) -> Figure:
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(11, 7.5), layout="constrained")
        for axes, panel in zip(np.ravel(figure.subplots(2, 2)), panels, strict=True):
            panel(axes)
        return figure


def _base(name: str) -> Hardware:
    base = fleet.read_recipe(fleet.population_path(name)).base
    assert base is not None
    return base


def _priced(name: str, jobs: int) -> Sequence[fleet.Priced]:
    recipe = fleet.read_recipe(fleet.population_path(name))
    return fleet.priced(fleet.draw(recipe, jobs, SEED).groups, _base(name), False)


if __name__ == "__main__":
    main()
