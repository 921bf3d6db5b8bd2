"""The page of a profile: measured and predicted times, and what the fit errs by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dse.calibration.files import write_text
from dse.calibration.number_text import size_text, time_text
from dse.calibration.plot import Curve, curves
from dse.calibration.profile import Profile
from dse.errors import StudyError
from dse.report import page
from dse.report.style import (
    ACCENT,
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
)
from dse.version import __version__

COLORS = (ACCENT, MARK, GREEN, PURPLE, ORANGE, SKY, VERMILION, QUIET)
HEIGHT = 760  # pixels
RANGE = "rgba(31,95,174,.08)"  # behind what was measured


def write_plot(profile: Profile, path: Path) -> Path:
    """Write an HTML page that needs no network. Raises StudyError for another file type."""
    if path.suffix.lower() not in (".html", ".htm"):
        kind = path.suffix or "a file without a suffix"
        problem = f"a plot can be written only as HTML, not as {kind}"
        remedy = f"give {path.stem or 'plot'}.html; a button in the page saves a picture"
        raise StudyError(str(path), 0, 0, problem, remedy)
    write_text(path, render_page(profile))
    return path


def render_page(profile: Profile) -> str:
    """The page of a profile's chart, self-contained."""
    figure = html_figure(profile)
    low, high = profile.ranks
    return page.environment().get_template("profile.html.j2").render(
        d={"versions": {"dse": __version__}},
        name=profile.name,
        ranks=f"{low:,} to {high:,}",
        algorithms=list(curves(profile)),
        height=HEIGHT,
        **page.shell(profile.name, {"profile": str(figure.to_json())}),
    )  # fmt: skip


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
            figure.add_vrect(x0=low, x1=high, row=row, col=column, fillcolor=RANGE,
                             line_width=0, layer="below")  # fmt: skip
    figure.update_xaxes(type="log", gridcolor=GRID, ticks="outside", **_size_ticks(profile))
    figure.update_xaxes(title="message size", row=2)
    figure.update_yaxes(gridcolor=GRID, ticks="outside", zeroline=False)
    figure.update_yaxes(type="log", exponentformat="SI", ticksuffix="s", row=1)
    figure.update_yaxes(title="time, log scale", row=1, col=1)
    figure.update_yaxes(tickformat="+.0%", zeroline=True, zerolinecolor=INK, row=2)
    figure.update_yaxes(title="relative error of the fit", row=2, col=1)
    figure.update_layout(**chart_layout(height=HEIGHT, hovermode="closest"))
    figure.update_layout(legend={"y": 1.07}, margin={"l": 70, "r": 14, "t": 84, "b": 56})
    figure.update_annotations(font={"size": 13, "color": INK})
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
