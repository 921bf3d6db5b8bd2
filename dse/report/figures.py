"""The charts of the front and of the step, as Plotly figures in JSON. Every text in them is escaped
here. Scales are logarithmic where the span asks for it, with round numbers on them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from math import ceil, floor, log10
from typing import Any

from dse.report import tables, terms, words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.style import (
    ACCENT,
    AXIS,
    BLUE,
    COLOURS,
    GREEN,
    GREY,
    GRID,
    INK,
    MARK,
    ORANGE,
    PAPER,
    PURPLE,
    QUIET,
    SKY,
    VERMILION,
    WHISKER,
    YELLOW,
    chart_layout,
    of_a_step,
    part_of_bar,
)
from dse.study.axes import spoken
from dse.study.quantities import Phrase

MOST_BARS = 4
MOST_GROUPS = 8
WIDEST_LABEL = 34

# The backdrop: muted, and told apart by shape as well as by colour.
_GROUPS = ((SKY, "circle"), (ORANGE, "square"), (GREEN, "diamond"), (PURPLE, "triangle-up"),
           (VERMILION, "cross"), (BLUE, "triangle-down"), (YELLOW, "pentagon"),
           (QUIET, "star-square"), (GREY, "hexagon"))  # fmt: skip
# What stands behind a point of the front: filled where it was measured.
_BEHIND = {"measured": "circle", "no communication": "square", "near measured": "circle-dot",
           "far from measured": "circle-open", "not measured": "diamond-open"}  # fmt: skip
LOG_SPAN = 10.0
# Little is green, much is dark; no shade is too pale for a thin marker on white.
SHADES = ((0.0, "#5ec962"), (0.33, "#21918c"), (0.67, "#3b528b"), (1.0, "#440154"))
PARTS = 4  # of a scale of colours that is not logarithmic


def front_figure(document: RunDocument) -> str:
    """Gain over cost: sampled feasible points, the front with its intervals, the named points.

    A second cost is the colour of the front's markers; such a front is no line.
    """
    import plotly.graph_objects as go

    front, aims = document.front, document.objectives
    figure = go.Figure(layout=chart_layout(height=560, hovermode="closest"))
    _backdrop(document, figure)
    shades = shades_of(document, front)
    scale = colors_of(document, front) if shades else {}
    if not shades:
        figure.add_scatter(
            x=[p.quantity(aims.minimize) for p in front],
            y=[p.quantity(aims.maximize) for p in front],
            mode="lines", line={"color": ACCENT, "width": 2, "shape": "hv"},
            hoverinfo="skip", name="Front", legendrank=1, showlegend=False,
        )  # fmt: skip
    numbers = {id(point): at for at, point in enumerate(front, 1)}
    for behind, symbol in _BEHIND.items():
        points = [p for p in front if words.says_who(p) == behind]
        if points:
            titles = [f"Front point {numbers[id(p)]}" for p in points]
            marker = {"symbol": symbol, "size": 9, "color": ACCENT,
                      "line": {"width": 2, "color": ACCENT}}  # fmt: skip
            if shades:
                edges = {"width": 2} if symbol.endswith("open") else {"width": 0.5, "color": INK}
                marker = {"symbol": symbol, "size": 10, "line": edges,
                          "color": [shades[id(p)] for p in points], **scale}  # fmt: skip
                scale["showscale"] = False  # one bar is enough
            at = [numbers[id(p)] for p in points]
            _points(document, figure, points, titles, f"Front, {behind}", marker, at=at)
    base, best, edge = document.baseline, document.recommended, {"color": PAPER, "width": 1}
    marker = {"symbol": "star", "size": 19, "color": MARK, "line": edge}
    at = [numbers[id(p)] for p in front if p.config == best.config]
    title = "Recommended" + "".join(f" (front point {number})" for number in at)
    side = _side(document, best)
    _points(document, figure, [best], [title], "Recommended", marker, side, at[:1])
    if None not in map(base.quantity, aims.names):  # as points of a front never are
        marker = {"symbol": "diamond", "size": 13, "color": INK, "line": edge}
        _points(document, figure, [base], ["Baseline"], "Baseline", marker, "bottom right")
    shown, sample = [*front, base], document.sample
    gains = [p.quantity(aims.maximize) for p in shown]
    gains += [end[1] for p in front if (end := words.gain_interval(document, p))]
    prices = [p.quantity(aims.minimize) for p in shown]
    layout, most, least = figure.layout, *(words.objective(document, n) for n in aims.names[:2])
    set_axis(layout.xaxis, least, prices, sample.cost, 0.0)
    set_axis(layout.yaxis, most, gains, sample.gain, 0.1)
    return str(figure.to_json())


def time_figure(document: RunDocument) -> str:
    """Shares of the step, a bar for the baseline and for the front points (thinned out)."""
    import plotly.graph_objects as go

    rows = [*reversed(bars(document))]
    figure = go.Figure(
        layout=chart_layout(height=130 + 27 * len(rows), barmode="stack", bargap=0.28)
    )
    labels = [label for label, _ in rows]
    for term in terms.terms(document):
        name, values = term.heading, [terms.seconds(point)[term] for _, point in rows]
        steps = [point.step_s or 0.0 for _, point in rows]
        shares = [terms.added(p)[term] / (p.step_s or 1.0) for _, p in rows]
        figure.add_bar(
            y=labels, x=shares, name=name, **part_of_bar(COLOURS[term.colour], term.pattern),
            text=[f"{share:.0%}" if share >= 0.08 else "" for share in shares],
            customdata=[f"<b>{escape(label)}</b><br>{name}: {words.duration(value)} of "
                        f"{words.duration(step)} ({value / (step or 1.0):.1%})"
                        for label, value, step in zip(labels, values, steps, strict=True)],
            hovertemplate="%{customdata}<extra></extra>",
        )  # fmt: skip
    of_a_step(figure)
    return str(figure.to_json())


def bars(document: RunDocument) -> list[tuple[str, Point]]:
    """(label, point) for the baseline and at most :data:`MOST_BARS` points of the front."""
    front = document.front
    keep = {at for at, point in enumerate(front) if tables.role(document, point)}
    free = MOST_BARS - len(keep)
    step = max(1.0, (len(front) - 1) / max(1, free - 1)) if len(front) > MOST_BARS else 1.0
    picked = [round(at * step) for at in range(len(front)) if round(at * step) < len(front)]
    keep.update(picked if step == 1.0 else [at for at in picked if at not in keep][:free])
    rows: list[tuple[str, Point]] = [("Baseline", document.baseline)]
    for at in sorted(keep):
        point = front[at]
        name = tables.role(document, point).split(",")[0]
        shown = [words.show(document, point, aim) for aim in document.objectives.names[:2]]
        label = " · ".join([str(at + 1), *shown])
        rows.append((f"{name} · {label}" if name in ("recommended", "fastest") else label, point))
    return rows


def hover(document: RunDocument, title: str, point: Point) -> str:
    """A point's whole configuration and its numbers, as an aligned block of text."""
    aim = document.objectives.maximize
    gain = words.objective(document, aim)
    best, bounds = words.with_interval(
        point.quantity(aim), words.gain_interval(document, point), gain.unit
    )
    rows = [
        (gain.title, best),
        *([(words.INTERVAL, bounds)] if bounds else []),
        *(
            (words.objective(document, name).title, words.show(document, point, name))
            for name in document.objectives.costs
        ),
        ("step time", words.duration(point.step_s)),
        (words.BEHIND, words.says_who(point)),
        ("", ""),
    ]
    rows += [(spoken(axis), label) for axis in tables.axis_names(document)
             if (label := words.label(point, axis))]  # fmt: skip
    lines = [f"<b>{escape(title)}</b>", *_aligned(rows)]
    if point.ties:
        count = "an equal" if point.ties == 1 else f"{point.ties:,} equals"
        ties = tables.equals(point)
        lines += ["", f"<b>and {count}{', differing in' if ties else ''}</b>", *_aligned(ties)]
    return "<br>".join(lines)


def _aligned(rows: Sequence[tuple[str, str]]) -> list[str]:
    width = max((len(words.cut(name, 18)) for name, _ in rows), default=0)
    return [escape(f"{words.cut(name, 18):<{width}}  {words.cut(text, WIDEST_LABEL)}".rstrip())
            for name, text in rows]  # fmt: skip


def _side(document: RunDocument, best: Point) -> str:
    """Where the word beside the star has room: above the front, unless that is off the chart."""
    costs = [p.quantity(document.objectives.minimize) or 0.0 for p in (best, *document.front)]
    return "bottom right" if costs[0] < 1.3 * min(costs) else "top left"


def _points(document: RunDocument, figure: Any, points: Sequence[Point], titles: Sequence[str],
            name: str, marker: dict[str, Any], label: str = "",
            at: Sequence[int] = ()) -> None:  # fmt: skip
    """Markers of design points. at: their numbers on the front, by which the page finds their
    rows."""
    aims = document.objectives
    gains = [p.quantity(aims.maximize) or 0.0 for p in points]
    bounds = [words.gain_interval(document, p) for p in points]
    above = [max(0.0, b[1] - g) if b else 0.0 for b, g in zip(bounds, gains, strict=True)]
    below = [max(0.0, g - b[0]) if b else 0.0 for b, g in zip(bounds, gains, strict=True)]
    figure.add_scatter(
        x=[p.quantity(aims.minimize) for p in points], y=gains, name=name, marker=marker,
        mode="markers+text" if label else "markers", text=[f"<b>{name}</b>"] if label else None,
        textposition=label or None,
        textfont={"color": marker["color"], "size": 14} if label else None,
        error_y={"type": "data", "array": above, "arrayminus": below, "symmetric": False,
                 "color": WHISKER, "thickness": 1.5, "width": 3,
                 "visible": not label and any(bounds)},
        customdata=[hover(document, t, p) for t, p in zip(titles, points, strict=True)],
        hovertemplate="%{customdata}<extra></extra>", cliponaxis=False, legendrank=2,
        ids=[f"point-{number}" for number in at] or None,
    )  # fmt: skip


def _backdrop(document: RunDocument, figure: Any) -> None:
    sample = document.sample
    rows = [(name, price, gain)
            for name, price, gain in zip(sample.aggregation, sample.cost, sample.gain, strict=True)
            if price is not None and gain is not None]  # fmt: skip
    most = [name for name, _ in Counter(row[0] for row in rows).most_common()]
    kept = most if len(most) <= MOST_GROUPS + 1 else most[:MOST_GROUPS]
    groups: dict[str, list[tuple[float, float]]] = {name: [] for name in sorted(kept)}
    for name, price, gain in rows:
        groups.setdefault(name if name in kept else "others", []).append((price, gain))
    for (name, points), (color, symbol) in zip(groups.items(), _GROUPS, strict=False):
        figure.add_scatter(
            x=[p[0] for p in points], y=[p[1] for p in points], mode="markers",
            name=escape(words.cut(name or "none", 28)), hoverinfo="skip", legendrank=1000,
            marker={"color": color, "symbol": symbol, "size": 5, "opacity": 0.45},
        )  # fmt: skip


def wide(low: float, high: float) -> bool:
    """Whether values from ``low`` to ``high`` need a logarithmic scale."""
    return low > 0 and high > LOG_SPAN * low


def set_axis(
    place: Any, how: Phrase, front: Sequence[Any], sample: Sequence[Any], cut: float
) -> None:
    """Set up an axis of a chart: log where the span asks for it.

    ``cut``: the share of the sample that may fall below.
    """
    place.update(gridcolor=GRID, zeroline=False, linecolor=AXIS, ticks="outside",
                tickcolor=AXIS, automargin=True)  # fmt: skip
    seen = sorted(value for value in sample if value is not None)
    known = [*(value for value in front if value is not None), *seen[int(cut * len(seen)) :]]
    title = words.capital(how.title) + ("" if how.unit in "xsWJ" else f" ({how.unit})")
    place.title = title
    if not known:
        return
    low, high = min(known), max(known)
    if wide(low, high):
        place.update(type="log", title=f"{title}, log scale", tickvals=ticks(low, high),
                    ticktext=[_tick(value, how.unit) for value in ticks(low, high)],
                    range=[log10(low / 1.35), log10(high * 1.5)])  # fmt: skip
    else:
        place.update(rangemode="tozero", exponentformat="SI", minexponent=3,
                    ticksuffix=how.unit if how.unit in "xsWJ" else "")  # fmt: skip


def ticks(low: float, high: float) -> list[float]:
    """Round numbers from ``low`` to ``high``: 1, 2, 5, 10, or decades where they are many."""
    first, last = floor(log10(low)), ceil(log10(high))
    steps = (1.0, 2.0, 5.0) if last - first <= 4 else (1.0,)
    return [step * 10.0**power for power in range(first, last + 1) for step in steps]


def _tick(value: float, unit: str) -> str:
    text = words.shown(value, unit).removeprefix("USD ")
    return text.removesuffix("/h").removesuffix(unit if unit not in "xsWJ" else "").strip()


def shades_of(document: RunDocument, points: Sequence[Point]) -> dict[int, float]:
    """Where points are on the scale of colours, by id: their second cost, or its logarithm.

    Empty where the study minimizes one objective only.
    """
    also = document.objectives.minimize_also
    if also is None or not points:
        return {}
    prices = [point.quantity(also) or 0.0 for point in points]
    far = wide(min(prices), max(prices))
    return {id(point): log10(price) if far else price
            for point, price in zip(points, prices, strict=True)}  # fmt: skip


def colors_of(document: RunDocument, points: Sequence[Point]) -> dict[str, Any]:
    """The scale of colours for the second cost of points, with its bar; keys of a marker.

    Plotly's axis for colours would serve as well, but its legend does not know it.
    """
    also = document.objectives.names[-1]
    how, prices = words.objective(document, also), [p.quantity(also) or 0.0 for p in points]
    low, high, far = min(prices), max(prices), wide(min(prices), max(prices))
    values = [low + (high - low) * part / PARTS for part in range(PARTS + 1)]
    if far:
        values = [value for value in ticks(low, high) if low <= value <= high]
    bar = {
        "title": {"text": words.capital(how.title), "side": "right"},
        "thickness": 14,
        "outlinewidth": 0,
        "tickvals": [log10(value) if far else value for value in values],
        "ticktext": [words.shown(value, how.unit) for value in values],
    }
    ends = shades_of(document, points).values()
    return {"colorscale": SHADES, "colorbar": bar, "cmin": min(ends), "cmax": max(ends),
            "showscale": True}  # fmt: skip
