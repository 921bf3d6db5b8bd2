"""Plots of a profile's measured and predicted times, in the terminal or in an HTML page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dse.calibration.files import write_text
from dse.calibration.library_part import AUTO
from dse.calibration.measured_range import local_ranks
from dse.calibration.number_text import percent, size_text, time_text
from dse.calibration.prediction import predict
from dse.calibration.profile import Point, Profile
from dse.errors import StudyError
from dse.model.aggregation.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from rich.console import Console

MOST_CURVES = 4  # in one plot of the terminal
WIDTH, HEIGHT = 100, 22
MARKS = "abcd"
CURVE_POINTS = 80
COLORS = ("#1f5fae", "#c2410c", "#2f7d4f", "#7a4fa3", "#8a6d1f", "#b0356b", "#2b7f8c", "#566273")
INK, GRID = "#1b2430", "#e6eaef"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True)
class Curve:
    """One layout of one algorithm: its measured points, by ascending size, and its prediction.

    sizes, seconds: the fit on a fine grid over the measured sizes, at_points at the points, without
    the anchors that would pull it onto them. low, high: 90 % interval of the prediction.
    """

    algorithm: str
    ranks: int
    ranks_per_node: int
    points: tuple[Point, ...]
    sizes: tuple[float, ...]
    seconds: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    at_points: tuple[float, ...]

    @property
    def label(self) -> str:
        """'8 ranks', or '8 ranks, 4 per node'."""
        local = f", {self.ranks_per_node:,} per node" if self.ranks_per_node < self.ranks else ""
        return f"{self.ranks:,} ranks{local}"


def curves(profile: Profile) -> dict[str, list[Curve]]:
    """Every measured layout, by algorithm, of the algorithms that the model can predict."""
    found: dict[str, list[Curve]] = {}
    fit = _unanchored(profile)
    groups: dict[tuple[str, int, int], list[Point]] = {}
    for point in profile.points:
        if point.algorithm == AUTO or point.algorithm in ALGORITHMS:
            key = (point.algorithm, point.ranks, local_ranks(profile, point))
            groups.setdefault(key, []).append(point)
    for (algorithm, n, g), points in sorted(groups.items()):
        points.sort(key=lambda point: point.bytes)
        measured = [float(point.bytes) for point in points]
        grid = np.unique([*np.geomspace(measured[0], measured[-1], CURVE_POINTS), *measured])
        _, low, high, _ = predict(profile, algorithm, n, grid, g)
        seconds = predict(fit, algorithm, n, grid, g)[0]
        at = predict(fit, algorithm, n, np.array(measured), g)[0]
        found.setdefault(algorithm, []).append(
            Curve(algorithm, n, g, tuple(points),
                  *(tuple(values.tolist()) for values in (grid, seconds, low, high, at)))
        )  # fmt: skip
    return found


def _unanchored(profile: Profile) -> Profile:
    """The profile without the anchors that pull predictions onto the measured points."""
    auto = profile.auto
    return profile if auto is None else replace(profile, auto=replace(auto, anchors=()))


def print_plot(profile: Profile, out: Console) -> None:
    """Print one plot per algorithm: letters are measurements, the line is the unanchored fit."""
    for algorithm, mine in curves(profile).items():
        shown = _spread_out(mine)
        text = terminal_plot(algorithm, shown, min(WIDTH, out.width))
        out.print(text, markup=False, highlight=False, no_wrap=True, crop=True)
        for mark, curve in zip(MARKS, shown, strict=False):
            errors = [abs(p / q.measured_s - 1) for p, q in zip(curve.at_points, curve.points,
                                                                strict=True)]  # fmt: skip
            out.print(f"  {mark}  {curve.label}: median residual "
                      f"{percent(float(np.median(errors)))}, largest {percent(max(errors))}",
                      highlight=False)  # fmt: skip
        if len(mine) > len(shown):
            out.print(f"  ({len(mine) - len(shown)} more layouts; --plot FILE.html shows them)")


def _spread_out(mine: Sequence[Curve]) -> list[Curve]:
    """At most MOST_CURVES of them, the first and the last among these."""
    at = np.linspace(0, len(mine) - 1, min(MOST_CURVES, len(mine)))
    return [mine[round(k)] for k in at.tolist()]


def terminal_plot(algorithm: str, shown: Sequence[Curve], width: int = WIDTH) -> str:
    """Seconds over bytes on logarithmic scales, as plain text of about HEIGHT lines."""
    import plotext

    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, HEIGHT)
    for curve in shown:
        line = figure.signal(_logs(curve.sizes), _logs(curve.seconds), marker="braille")
        figure.draw(line.lines(True))
    for mark, curve in zip(MARKS, shown, strict=False):
        x = _logs([point.bytes for point in curve.points])
        y = _logs([point.measured_s for point in curve.points])
        figure.draw(figure.signal(x, y, marker=mark).label(f"{curve.label}, measured"))
    sizes = [size for curve in shown for size in curve.sizes]
    seconds = [value for curve in shown for value in curve.seconds]
    powers = range(floor(np.log2(min(sizes))), ceil(np.log2(max(sizes))) + 1, 4)
    figure.ruler("x").ticks(_logs([2.0**k for k in powers]), [size_text(2.0**k) for k in powers])
    decades = [10.0**k for k in range(floor(log10(min(seconds))), ceil(log10(max(seconds))) + 1)]
    figure.ruler("y").ticks(_logs(decades), [time_text(value) for value in decades])
    figure.title(f"{algorithm}: allreduce time; letters: measured, lines: fitted")
    text = str(figure.build().string(colorless=True))
    figure.clear()
    return text


def _logs(values: Sequence[float]) -> list[float]:
    return [log10(max(value, 1e-12)) for value in values]


def write_plot(profile: Profile, path: Path) -> Path:
    """Write an HTML page that needs no network. Raises StudyError for another file type."""
    if path.suffix.lower() not in (".html", ".htm"):
        kind = path.suffix or "a file without a suffix"
        problem = f"a plot can be written only as HTML, not as {kind}"
        remedy = f"give {path.stem or 'plot'}.html; a button in the page saves a picture"
        raise StudyError(str(path), 0, 0, problem, remedy)
    figure = html_figure(profile)
    page = figure.to_html(include_plotlyjs=True, full_html=True, config={
        "displaylogo": False,
        "toImageButtonOptions": {"format": "svg", "filename": path.stem},
    })  # fmt: skip
    write_text(path, page)
    return path


def html_figure(profile: Profile) -> Any:
    """A column per algorithm: time over size, and below it the residual; the range is shaded."""
    from plotly.subplots import make_subplots

    found = curves(profile)
    if not found:
        raise StudyError(profile.name, 0, 0, "has no allreduce measurements to plot")
    columns = len(found)
    figure = make_subplots(
        rows=2, cols=columns, shared_xaxes=True, vertical_spacing=0.06,
        row_heights=[0.68, 0.32], column_titles=list(found),
    )  # fmt: skip
    layouts = sorted({(c.ranks, c.ranks_per_node) for mine in found.values() for c in mine})
    color = {layout: COLORS[k % len(COLORS)] for k, layout in enumerate(layouts)}
    named: set[tuple[int, int]] = set()
    for column, mine in enumerate(found.values(), 1):
        for curve in mine:
            layout = (curve.ranks, curve.ranks_per_node)
            _draw(figure, curve, column, color[layout], layout not in named)
            named.add(layout)
        for row in (1, 2):
            low, high = profile.message_bytes
            figure.add_vrect(x0=low, x1=high, row=row, col=column, fillcolor="#eef3fa",
                             line_width=0, layer="below")  # fmt: skip
    figure.update_xaxes(type="log", gridcolor=GRID, ticks="outside", **_size_ticks(profile))
    figure.update_xaxes(title="message size", row=2)
    figure.update_yaxes(gridcolor=GRID, ticks="outside", zeroline=False)
    figure.update_yaxes(type="log", exponentformat="SI", ticksuffix="s", row=1)
    figure.update_yaxes(title="time, log scale", row=1, col=1)
    figure.update_yaxes(tickformat="+.0%", zeroline=True, zerolinecolor=INK, row=2)
    figure.update_yaxes(title="relative error of the fit", row=2, col=1)
    n = profile.ranks
    figure.update_layout(
        template="none", paper_bgcolor="white", plot_bgcolor="white", height=760,
        font={"family": FONT, "size": 13, "color": INK}, hovermode="closest",
        legend={"orientation": "h", "y": -0.12},
        title=f"{profile.name}: measured (dots) and fitted (lines), {n[0]:,} to {n[1]:,} ranks; "
        "crosses: predicted by a fit without that rank count or size",
    )  # fmt: skip
    return figure


def _draw(figure: Any, curve: Curve, column: int, color: str, legend: bool) -> None:
    group = {"legendgroup": curve.label, "name": curve.label}
    hover = [f"{curve.label}<br>{size_text(m)}: {time_text(t)}<br>90 %: {time_text(a)} to "
             f"{time_text(b)}" for m, t, a, b in zip(curve.sizes, curve.seconds, curve.low,
                                                     curve.high, strict=True)]  # fmt: skip
    figure.add_scatter(x=curve.sizes, y=curve.seconds, mode="lines", text=hover, hoverinfo="text",
                       line={"color": color, "width": 1.5}, showlegend=legend, row=1, col=column,
                       **group)  # fmt: skip
    sizes = [point.bytes for point in curve.points]
    measured = np.array([point.measured_s for point in curve.points])
    unseen = np.array([point.held_out_s or np.nan for point in curve.points])
    times = [f"{curve.label}<br>{size_text(p.bytes)}: measured {time_text(p.measured_s)}"
             for p in curve.points]  # fmt: skip
    residual = np.array(curve.at_points) / measured - 1
    dot = {"color": color, "size": 7}
    cross = {"color": color, "size": 6, "symbol": "x-thin", "line": {"width": 1.5, "color": color}}
    for row, dots, crosses in ((1, measured, unseen), (2, residual, unseen / measured - 1)):
        figure.add_scatter(x=sizes, y=dots.tolist(), mode="markers", marker=dot, text=times,
                           hoverinfo="text", showlegend=False, row=row, col=column,
                           **group)  # fmt: skip
        figure.add_scatter(x=sizes, y=[None if np.isnan(v) else float(v) for v in crosses],
                           mode="markers", marker=cross, hoverinfo="skip", showlegend=False,
                           row=row, col=column, **group)  # fmt: skip


def _size_ticks(profile: Profile) -> dict[str, Any]:
    low, high = profile.message_bytes
    powers = [2.0**k for k in range(0, 61, 4) if low / 16 <= 2.0**k <= 16 * high]
    return {"tickvals": powers, "ticktext": [size_text(value) for value in powers]}
