"""The charts of a fleet's page, as Plotly figures in JSON. Every text in them is escaped here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import TYPE_CHECKING

from dse.report.fleet_words import CLASSES, COMPONENTS, times
from dse.report.style import (
    ACCENT,
    AXIS,
    BLUE,
    GREEN,
    GRID,
    MARK,
    ORANGE,
    QUIET,
    SKY,
    chart_layout,
    of_a_step,
    part_of_bar,
)
from dse.report.words import percent

if TYPE_CHECKING:
    from dse.fleet.document import FleetDocument

COLORS = {"data": GREEN, "flops": SKY, "memory": BLUE, "weights": ORANGE}
PATTERNS = {"data": "x", "flops": "", "memory": "", "weights": "/"}
MARKS = {"mean_of_ratios": ("Mean of ratios", "circle-open", QUIET),
         "aggregate": ("Aggregate", "diamond-open", ACCENT),
         "gpu_hours": ("By GPU-hours", "circle", MARK)}  # fmt: skip


def height(document: FleetDocument, name: str) -> int:
    """Pixels of a figure."""
    return 130 + (30 * len(_bars(document)) if name == "bars" else 28 * len(document.upgrades))


def _bars(document: FleetDocument) -> list[tuple[str, Mapping[str, float]]]:
    """(label, mean shares) of every class, by jobs and by what these hold."""
    counted = document.population.counted_by
    return [
        (f"{CLASSES[row.architecture]} · by {how}", level.mean)
        for row in document.classes
        for how, level in (("jobs", row.levels.job), (counted, row.levels.cnode))
    ]


def bars_figure(document: FleetDocument) -> str:
    """Mean shares of a step, a bar for each class and way to count."""
    import plotly.graph_objects as go

    rows = _bars(document)[::-1]
    labels = [label for label, _ in rows]
    layout = chart_layout(height=height(document, "bars"), barmode="stack", bargap=0.25)
    figure = go.Figure(layout=layout)
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


def upgrades_figure(document: FleetDocument) -> str:
    """Speedup of all jobs by each upgrade, in the three ways to sum it up."""
    import plotly.graph_objects as go

    rows = list(reversed(document.upgrades))
    layout = chart_layout(height=height(document, "upgrades"), hovermode="closest")
    figure = go.Figure(layout=layout)
    names = [escape(row.name) for row in rows]
    values = {way: [getattr(row.speedup[document.whole], way) for row in rows] for way in MARKS}
    for name, *ends in zip(names, *values.values(), strict=True):
        figure.add_scatter(x=[min(*ends, 1.0), max(*ends, 1.0)], y=[name, name], mode="lines",
                           line={"color": AXIS, "width": 2}, hoverinfo="skip",
                           showlegend=False)  # fmt: skip
    for way, (title, symbol, color) in MARKS.items():
        figure.add_scatter(
            x=values[way], y=names, mode="markers", name=title,
            marker={"symbol": symbol, "color": color, "size": 11,
                    "line": {"width": 2, "color": color}},
            customdata=[f"<b>{name}</b><br>{title}: {times(value)}"
                        for name, value in zip(names, values[way], strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=1, line={"color": QUIET, "width": 1, "dash": "dot"})
    figure.update_xaxes(title="Speedup of all jobs", ticksuffix="x", gridcolor=GRID,
                        zeroline=False, fixedrange=True)  # fmt: skip
    if max(max(column) for column in values.values()) > 3:
        ticks = [0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 20, 50, 100]
        figure.update_xaxes(type="log", title="Speedup of all jobs, log scale", tickvals=ticks,
                            ticktext=[f"{tick:g}x" for tick in ticks], ticksuffix="")  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ", gridcolor=GRID)
    return str(figure.to_json())


FIGURES: Mapping[str, Callable[[FleetDocument], str]] = {
    "bars": bars_figure,
    "upgrades": upgrades_figure,
}
