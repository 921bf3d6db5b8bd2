"""The chart of the way from the baseline to the recommended point, as a Plotly figure in JSON."""

from __future__ import annotations

from html import escape
from itertools import pairwise

from dse.report import waterfall, words
from dse.report.document import RunDocument
from dse.report.style import ACCENT, GRID, MARK, chart_layout, part_of_bar

WIDEST_LABEL = 40
_SOFTWARE, _HARDWARE, _WHOLE = (
    ("Software", "#86b58f", ""), ("Hardware", ACCENT, "/"), ("Whole", MARK, ""),
)  # fmt: skip


def waterfall_figure(document: RunDocument) -> str:
    """A bar a step, from the speedup before it to that after it, then the whole; of bars alone."""
    import plotly.graph_objects as go

    rows = waterfall.rows(document)
    speeds = [1.0, *(step.speedup or 1.0 for step in document.waterfall)]
    bars = [
        (_SOFTWARE if row.software else _HARDWARE, f"{row.number} · {_short(row.change)}", ends,
         f"{row.change}: {row.factor}, {row.speedup} the baseline")
        for row, ends in zip(rows, pairwise(speeds), strict=True)
    ]  # fmt: skip
    total = words.shown(document.recommended.speedup, "x")
    bars.append((_WHOLE, "Recommended", (1.0, speeds[-1]), f"{total} the baseline"))
    bars.reverse()  # the first on top
    figure = go.Figure(layout=chart_layout(height=150 + 30 * len(bars), barmode="overlay",
                                           bargap=0.28))  # fmt: skip
    labels = [label for _, label, _, _ in bars]
    for kind in (_SOFTWARE, _HARDWARE, _WHOLE):
        name, color, pattern = kind
        mine = [ends if own == kind else None for own, _, ends, _ in bars]
        if not any(mine):
            continue
        figure.add_bar(
            y=labels,
            base=[ends[0] if ends else None for ends in mine],
            x=[ends[1] - ends[0] if ends else None for ends in mine],
            name=name, **{**part_of_bar(color, pattern), "textposition": "none"},
            customdata=[escape(text) for _, _, _, text in bars],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(type="log", fixedrange=True, gridcolor=GRID,
                        title="Speedup over the baseline", ticksuffix="x")  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ",
                        categoryorder="array", categoryarray=labels)  # fmt: skip
    return str(figure.to_json())


def _short(text: str) -> str:
    return escape(text if len(text) <= WIDEST_LABEL else f"{text[: WIDEST_LABEL - 1]}…")
