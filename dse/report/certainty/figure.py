"""The tornado: what each source of uncertainty does to the speed and the cost of the answer."""

from __future__ import annotations

from html import escape

from dse.report.document import RunDocument
from dse.report.style import ACCENT, GRID, INK, MARK, chart_layout

MOST = 10  # bars
_LEAST_RATIO = 1e-3


def certainty_figure(document: RunDocument) -> str:
    """Two bars a source, relative to the best estimate: speed, and cost per speed."""
    import plotly.graph_objects as go

    found = document.certainty
    sources = [*reversed(found.sources[:MOST])] if found else []
    figure = go.Figure(
        layout=chart_layout(
            height=height(document), barmode="group", bargap=0.3, hovermode="closest"
        )
    )
    labels = [escape(effect.title) for effect in sources]
    for name, color, ends in (
        ("Cost per speed", MARK, [effect.cost_per_gain for effect in sources]),
        ("Speed", ACCENT, [effect.gain for effect in sources]),
    ):
        low = [max(end[0], _LEAST_RATIO) for end in ends]
        figure.add_bar(
            y=labels, x=[high - least for (_, high), least in zip(ends, low, strict=True)],
            base=low, orientation="h", name=name, marker={"color": color},
            customdata=[f"<b>{label}</b><br>{name}: {100 * (least - 1):+.0f} % to "
                        f"{100 * (high - 1):+.0f} %"
                        for label, (_, high), least in zip(labels, ends, low, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.add_vline(x=1.0, line={"color": INK, "width": 1})
    figure.update_xaxes(
        title="Share of the best estimate",
        tickformat=".0%", fixedrange=True, gridcolor=GRID,
    )  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ")
    return str(figure.to_json())


def height(document: RunDocument) -> int:
    """Of the chart, in pixels."""
    found = document.certainty
    return 150 + 40 * min(MOST, len(found.sources) if found else 0)
