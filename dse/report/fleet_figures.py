"""The chart of a fleet's page, as a Plotly figure in JSON. Every text in it is escaped here."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

from dse.report.fleet_words import CLASSES, COMPONENTS
from dse.report.style import (
    BLUE,
    GREEN,
    ORANGE,
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


def height(document: FleetDocument) -> int:
    """Pixels of the chart."""
    return 130 + 30 * len(_bars(document))


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
    layout = chart_layout(height=height(document), barmode="stack", bargap=0.25)
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
