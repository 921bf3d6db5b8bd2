"""The charts of a fleet's page, as Plotly figures in JSON. Every text in them is escaped here."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from dse.report import fleet_words
from dse.report.fleet_ranges import times
from dse.report.fleet_words import CLASSES, COMPONENTS, FEW
from dse.report.style import (
    ACCENT,
    AXIS,
    BLUE,
    GREEN,
    GRID,
    INK,
    MARK,
    ORANGE,
    PURPLE,
    QUIET,
    SKY,
    VERMILION,
    chart_layout,
    of_a_step,
    part_of_bar,
)
from dse.report.words import many, percent

if TYPE_CHECKING:
    from dse.fleet.document import Bin, Breakdown, FleetDocument, Port

COLORS = {"data": GREEN, "flops": SKY, "memory": BLUE, "weights": ORANGE}
PATTERNS = {"data": "x", "flops": "", "memory": "", "weights": "/"}
LINES = {"1w1g": (BLUE, "dash"), "1wng": (GREEN, "dot"), "ps-worker": (VERMILION, "solid"),
         "allreduce-local": (PURPLE, "dashdot"), "allreduce-cluster": (ORANGE, "longdash"),
         "pearl": (SKY, "longdashdot"), "all": (INK, "solid")}  # fmt: skip
MARKS = {"mean_of_ratios": ("circle-open", QUIET), "aggregate": ("diamond-open", ACCENT),
         "gpu_hours": ("circle", MARK)}  # fmt: skip
BAR_HEIGHT, ROW_HEIGHT, CDF_HEIGHT = 30, 28, 560
NARROW = 4  # bins; bars of fewer are not made wider


def bar_rows(document: FleetDocument) -> list[tuple[str, Mapping[str, float]]]:
    """(label, mean shares): of every class by jobs and by cNodes; of a single job, once."""
    rows = []
    for row in document.classes:
        title, levels = CLASSES[row.architecture], row.levels
        if row.jobs == 1:
            rows.append((f"{title} · 1 job", levels.job.mean))
        else:
            rows += [
                (f"{title} · by jobs", levels.job.mean),
                (f"{title} · by {document.population.counted_by}", levels.cnode.mean),
            ]
    return rows


def bars_height(document: FleetDocument) -> int:
    """Pixels of :func:`bars_figure`."""
    return 130 + BAR_HEIGHT * len(bar_rows(document))


def bars_figure(document: FleetDocument) -> str:
    """Mean shares of a step, a bar for each class and level."""
    import plotly.graph_objects as go

    rows = bar_rows(document)[::-1]
    labels = [label for label, _ in rows]
    figure = go.Figure(
        layout=chart_layout(height=bars_height(document), barmode="stack", bargap=0.25)
    )
    for component, title in COMPONENTS.items():
        shares = [means[component] for _, means in rows]
        figure.add_bar(
            y=labels, x=shares, name=title.capitalize(),
            **part_of_bar(COLORS[component], PATTERNS[component]),
            text=[f"{share:.0%}" if share >= 0.05 else "" for share in shares],
            customdata=[f"<b>{escape(label)}</b><br>{title}: {percent(share)}"
                        for label, share in zip(labels, shares, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    of_a_step(figure)
    figure.update_xaxes(zeroline=False)
    return str(figure.to_json())


def spread(document: FleetDocument) -> list[Breakdown]:
    """The classes of more than one job: a single one has no distribution."""
    return [row for row in document.classes if row.jobs > 1]


def cdf_height(document: FleetDocument) -> int:
    """Pixels of :func:`cdf_figure`; 0 where there is one job, hence no distribution."""
    return CDF_HEIGHT if spread(document) else 0


def cdf_figure(document: FleetDocument) -> str:
    """Cumulative distributions of each component's share: a row a level, a column a component.

    Each begins at 0. Those of few jobs rise in steps; of many it is a line through the points.
    """
    from plotly.subplots import make_subplots

    titles = [title.capitalize() for title in COMPONENTS.values()]
    figure = make_subplots(rows=2, cols=len(titles), shared_xaxes=True, shared_yaxes=True,
                           horizontal_spacing=0.025, vertical_spacing=0.13,
                           subplot_titles=titles)  # fmt: skip
    for row, level in enumerate(("job", "cnode"), 1):
        for column, component in enumerate(COMPONENTS, 1):
            for entry in spread(document):
                name = entry.architecture
                shares = entry.levels.job if level == "job" else entry.levels.cnode
                cdf = shares.cdf[component]
                color, dash = LINES[name]
                figure.add_scatter(
                    x=[0, *(at / (len(cdf) - 1) for at in range(len(cdf)))], y=[0, *cdf],
                    mode="lines",
                    name=CLASSES[name], legendgroup=name, showlegend=row == column == 1,
                    line={"color": color, "dash": dash, "width": 3 if name == "all" else 2,
                          "shape": "hv" if entry.jobs < FEW else "linear"},
                    hovertemplate=f"{CLASSES[name]}: %{{y:.0%}} have at most "
                    "%{x:.0%}<extra></extra>", row=row, col=column,
                )  # fmt: skip
        counted = "jobs" if level == "job" else document.population.counted_by
        figure.update_yaxes(title=f"Part of the {counted}", row=row, col=1)
    figure.update_layout(**chart_layout(height=CDF_HEIGHT, hovermode="closest"))
    figure.update_layout(legend={"y": 1.09}, margin={"l": 70, "r": 14, "t": 84, "b": 56})
    figure.update_xaxes(tickformat=".0%", range=[-0.01, 1.01], tickvals=[0.25, 0.5, 0.75],
                        fixedrange=True, gridcolor=GRID, zeroline=False)  # fmt: skip
    figure.update_yaxes(tickformat=".0%", range=[-0.02, 1.02], tickvals=[0, 0.25, 0.5, 0.75, 1],
                        fixedrange=True, gridcolor=GRID, zeroline=False)  # fmt: skip
    figure.update_xaxes(title="Share of the step", row=2)
    figure.update_annotations(font={"size": 13, "color": INK})
    return str(figure.to_json())


def upgrades_height(document: FleetDocument) -> int:
    """Pixels of :func:`upgrades_figure`."""
    return 130 + ROW_HEIGHT * len(document.upgrades)


def upgrades_figure(document: FleetDocument) -> str:
    """Speedup of all jobs by each upgrade, in the three ways to sum it up."""
    import plotly.graph_objects as go

    rows = list(reversed(document.upgrades))
    figure = go.Figure(layout=chart_layout(height=upgrades_height(document), hovermode="closest"))
    names = [escape(row.name) for row in rows]
    ways = fleet_words.ways(document.all_jobs)
    values = {way: [fleet_words.speedup_by(row.speedup[document.whole], way) for row in rows]
              for way in ways}  # fmt: skip
    title = "Speedup of the job" if fleet_words.single(document) else "Speedup of all jobs"
    for at, name in enumerate(names):
        ends = [values[way][at] for way in ways]
        figure.add_scatter(x=[min(*ends, 1.0), max(*ends, 1.0)], y=[name, name], mode="lines",
                           line={"color": AXIS, "width": 2}, hoverinfo="skip",
                           showlegend=False)  # fmt: skip
    for way, summed in ways.items():
        symbol, color = MARKS[way]
        figure.add_scatter(
            x=values[way], y=names, mode="markers", name=summed[0].upper() + summed[1:],
            marker={"symbol": symbol, "color": color, "size": 11,
                    "line": {"width": 2, "color": color}},
            customdata=[f"<b>{name}</b><br>{summed}: {times(value)}"
                        for name, value in zip(names, values[way], strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=1, line={"color": QUIET, "width": 1, "dash": "dot"})
    top = max((max(column) for column in values.values() if column), default=1.0)
    figure.update_xaxes(title=title, ticksuffix="x", gridcolor=GRID, zeroline=False,
                        fixedrange=True)  # fmt: skip
    if top > 3:
        ticks = [0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
        figure.update_xaxes(type="log", title=f"{title}, log scale", tickvals=ticks,
                            ticktext=[f"{tick:g}x" for tick in ticks], ticksuffix="")  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ", gridcolor=GRID)
    return str(figure.to_json())


def ports_height(document: FleetDocument) -> int:
    """Pixels of :func:`ports_figure`; 0 where there are no bins to compare: no job gains by any
    port, or there is only one.
    """
    rows = len(gaining(document))
    return 110 + 210 * rows if rows else 0


def gaining(document: FleetDocument) -> list[Port]:
    """The ports by which some of several jobs gain."""
    return [row for row in document.ports
            if row.jobs > 1 and (row.gain_per_cnode or row.gain_throughput)]  # fmt: skip


def ports_figure(document: FleetDocument) -> str:
    """Which jobs gain by a port: by their size, and by their share of weights."""
    from plotly.subplots import make_subplots

    rows = gaining(document)
    titles = [
        text
        for row in rows
        for text in (
            f"{CLASSES[row.target]}, by cNodes of the job",
            f"{CLASSES[row.target]}, by its share of weights",
        )
    ]
    figure = make_subplots(rows=len(rows), cols=2, shared_yaxes=True,
                           horizontal_spacing=0.05, vertical_spacing=0.32 / max(2, len(rows)),
                           subplot_titles=titles)  # fmt: skip
    for at, row in enumerate(rows, 1):
        for column, (bins, label) in enumerate(((row.by_cnodes, size_bin),
                                                (row.by_weight_share, share_bin)), 1):  # fmt: skip
            for kind, title, color, shares in (
                ("gain_per_cnode", "Faster per cNode", SKY,
                 [part.gain_per_cnode for part in bins]),
                ("gain_throughput", "More samples per second", MARK,
                 [part.gain_throughput for part in bins]),
            ):  # fmt: skip
                figure.add_bar(
                    x=[label(part) for part in bins], y=shares, name=title,
                    marker={"color": color}, legendgroup=kind, showlegend=at == column == 1,
                    text=["" if share else "0%" for share in shares], textposition="outside",
                    customdata=[f"<b>{label(part)}</b>, {many(part.jobs, 'job')}<br>{title}: "
                                f"{percent(share)}"
                                for part, share in zip(bins, shares, strict=True)],
                    hovertemplate="%{customdata}<extra></extra>", row=at, col=column,
                )  # fmt: skip
    most = max(len(bins) for row in rows for bins in (row.by_cnodes, row.by_weight_share))
    gap = 1 - 0.7 * min(1.0, most / NARROW)
    figure.update_layout(**chart_layout(height=ports_height(document), barmode="group", bargap=gap))
    figure.update_layout(legend={"y": 1.0 + 46 / ports_height(document)}, margin={"t": 76})
    figure.update_yaxes(tickformat=".0%", range=[0, 1.05], tickvals=[0, 0.5, 1], fixedrange=True,
                        gridcolor=GRID, zeroline=False)  # fmt: skip
    figure.update_yaxes(title="Jobs that gain", col=1)
    figure.update_xaxes(type="category", fixedrange=True)
    figure.update_annotations(font={"size": 13, "color": INK})
    return str(figure.to_json())


def size_bin(part: Bin) -> str:
    """``9-16``, ``2``, ``> 128``."""
    if part.upto is None:
        return f"> {part.above:.0f}"
    low, high = part.above + 1, part.upto
    return f"{high:.0f}" if low >= high else f"{low:.0f}-{high:.0f}"


def share_bin(part: Bin) -> str:
    """``20-40 %``."""
    return f"{100 * part.above:.0f}-{100 * (part.upto or 1.0):.0f} %"
