"""The chart of the way from the baseline to the recommended point, as a Plotly figure in JSON."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from math import log10

from dse.report import waterfall, words
from dse.report.document import RunDocument
from dse.report.style import ACCENT, AXIS, GRID, INK, MARK, chart_layout, part_of_bar

WIDEST_LABEL = 40
_SOFTWARE, _HARDWARE, _WHOLE = (
    ("Software", "#86b58f", ""), ("Hardware", ACCENT, "/"), ("Whole", MARK, ""),
)  # fmt: skip


def waterfall_figure(document: RunDocument) -> str:
    """A bar a step, from the speedup before it to that after it, then the whole; of bars alone."""
    import plotly.graph_objects as go

    speeds = [1.0, *(step.speedup or 1.0 for step in document.waterfall)]
    bars = [
        (_SOFTWARE if row.software else _HARDWARE, f"{row.number} · {_short(row.change)}", ends,
         f"{row.change}: {row.factor}, {row.speedup} the baseline", row.factor)
        for row, ends in zip(waterfall.rows(document), pairwise(speeds), strict=True)
    ]  # fmt: skip
    total = words.shown(document.recommended.speedup, "x")
    bars.append((_WHOLE, "Recommended", (1.0, speeds[-1]), f"{total} the baseline", total))
    bars.reverse()  # the first on top
    figure = go.Figure(layout=chart_layout(height=150 + 30 * len(bars), barmode="overlay",
                                           bargap=0.28))  # fmt: skip
    labels = [label for _, label, *_ in bars]
    for kind in (_SOFTWARE, _HARDWARE, _WHOLE):
        mine = [bar for bar in bars if bar[0] == kind]
        name, color, pattern = kind
        figure.add_bar(
            y=[label for _, label, *_ in mine],
            base=[ends[0] for _, _, ends, *_ in mine],
            x=[ends[1] - ends[0] for _, _, ends, *_ in mine],
            name=name, **{**part_of_bar(color, pattern), "textposition": "outside"},
            text=[factor for *_, factor in mine],
            outsidetextfont={"color": INK, "size": 12}, cliponaxis=False,
            customdata=[escape(text) for *_, text, _ in mine],
            hovertemplate="%{customdata}<extra></extra>", showlegend=bool(mine),
        )  # fmt: skip
    low, high = log10(min(speeds)), log10(max(speeds))
    room = max(high - low, 0.1)  # for a factor beside a bar
    figure.update_xaxes(
        type="log", range=[low - 0.2 * room, high + 0.2 * room], fixedrange=True, nticks=6,
        title="Speedup, log scale", ticksuffix="x", gridcolor=GRID, linecolor=AXIS, zeroline=False,
    )  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ",
                        categoryorder="array", categoryarray=labels)  # fmt: skip
    return str(figure.to_json())


def _short(text: str) -> str:
    return escape(text if len(text) <= WIDEST_LABEL else f"{text[: WIDEST_LABEL - 1]}…")
