"""The scales of the charts: logarithmic where the span asks for it, with round numbers on them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

from dse.report import words
from dse.report.design_point import Point
from dse.report.document import ALSO, RunDocument
from dse.report.style import AXIS, GRID
from dse.study.quantities import Phrase

LOG_SPAN = 10.0
# Little is green, much is dark; no shade is too pale for a thin marker on white.
SHADES = ((0.0, "#5ec962"), (0.33, "#21918c"), (0.67, "#3b528b"), (1.0, "#440154"))
PARTS = 4  # of a scale of colours that is not logarithmic


def wide(low: float, high: float) -> bool:
    """Whether values from ``low`` to ``high`` need a logarithmic scale."""
    return low > 0 and high > LOG_SPAN * low


def axis(place: Any, how: Phrase, front: Sequence[Any], sample: Sequence[Any], cut: float) -> None:
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


def shades(document: RunDocument, points: Sequence[Point]) -> dict[int, float]:
    """Where points are on the scale of colours, by id: their second cost, or its logarithm.

    Empty where the study minimizes one objective only.
    """
    if document.objectives.minimize_also is None or not points:
        return {}
    prices = [words.cost(document, point, ALSO) or 0.0 for point in points]
    far = wide(min(prices), max(prices))
    return {id(point): log10(price) if far else price
            for point, price in zip(points, prices, strict=True)}  # fmt: skip


def colors(document: RunDocument, points: Sequence[Point]) -> dict[str, Any]:
    """The scale of colours for the second cost of points, with its bar; keys of a marker.

    Plotly's axis for colours would serve as well, but its legend does not know it.
    """
    how = words.aim(document, ALSO)
    prices = [words.cost(document, point, ALSO) or 0.0 for point in points]
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
    ends = shades(document, points).values()
    return {"colorscale": SHADES, "colorbar": bar, "cmin": min(ends), "cmax": max(ends),
            "showscale": True}  # fmt: skip
