"""A profile's measured and predicted times as curves, and their plot in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import numpy as np

from dse.calibration.library_part import AUTO
from dse.calibration.measured_range import local_ranks
from dse.calibration.number_text import percent, size_text, time_text
from dse.calibration.prediction import predict
from dse.calibration.profile import Point, Profile
from dse.model.aggregation.algorithms import ALGORITHMS

if TYPE_CHECKING:
    from rich.console import Console

MOST_CURVES = 4  # in one plot of the terminal
WIDTH, HEIGHT = 100, 22
MARKS = "abcd"
CURVE_POINTS = 80


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
