"""The chart of the way from the baseline to the recommended point, as a Plotly figure in JSON."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import ceil, floor, log10

from dse.report import scales, waterfall, words
from dse.report.document import RunDocument
from dse.report.style import ACCENT, INK, MARK, chart_layout, part_of_bar

WIDEST_LABEL = 40
MOST_TICKS = 6  # of a narrow scale
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
         f"{row.change}: {row.factor}, {row.speedup} the baseline", row.factor)
        for row, ends in zip(rows, pairwise(speeds), strict=True)
    ]  # fmt: skip
    total = words.shown(document.recommended.speedup, "x")
    bars.append((_WHOLE, "Recommended", (1.0, speeds[-1]), f"{total} the baseline", total))
    bars.reverse()  # the first on top
    figure = go.Figure(layout=chart_layout(height=150 + 30 * len(bars), barmode="overlay",
                                           bargap=0.28))  # fmt: skip
    labels = [label for _, label, *_ in bars]
    for kind in (_SOFTWARE, _HARDWARE, _WHOLE):
        name, color, pattern = kind
        mine = [ends if own == kind else None for own, _, ends, *_ in bars]
        if not any(mine):
            continue
        figure.add_bar(
            y=labels,
            base=[ends[0] if ends else None for ends in mine],
            x=[ends[1] - ends[0] if ends else None for ends in mine],
            name=name, **{**part_of_bar(color, pattern), "textposition": "outside"},
            text=[factor if own == kind else "" for own, _, _, _, factor in bars],
            outsidetextfont={"color": INK, "size": 12}, cliponaxis=False,
            customdata=[escape(text) for _, _, _, text, _ in bars],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    scales.axis(figure.layout.xaxis, words.objective(document, "speedup"), speeds, (), 0.0)
    marks = _ticks(min(speeds), max(speeds))
    figure.update_xaxes(
        type="log", range=_range(speeds), fixedrange=True, title="Speedup, log scale",
        tickvals=marks, ticktext=[words.shown(mark, "x") for mark in marks],
    )  # fmt: skip
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ",
                        categoryorder="array", categoryarray=labels)  # fmt: skip
    return str(figure.to_json())


def _range(speeds: Sequence[float]) -> list[float]:
    """The ends of the logarithmic scale, with room for a factor beside the longest bar, and on the
    left where a step down ends there."""
    low, high = log10(min(speeds)), log10(max(speeds))
    room = max(high - low, 0.1)
    falls = any(after == min(speeds) < before for before, after in pairwise(speeds))
    return [low - (0.25 if falls else 0.03) * room, high + 0.18 * room]


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers around the speeds: multiples of one step where these are close together."""
    if scales.wide(low, high):
        return scales.ticks(low, high)
    steps = (size * 10.0**power for power in range(-4, 9) for size in (1, 2, 5))
    step = next(step for step in steps if (high - low) / step <= MOST_TICKS)
    first, last = floor(low / step), ceil(high / step)
    return [mark * step for mark in range(max(first, 1), last + 1)]


def _short(text: str) -> str:
    return escape(text if len(text) <= WIDEST_LABEL else f"{text[: WIDEST_LABEL - 1]}…")
