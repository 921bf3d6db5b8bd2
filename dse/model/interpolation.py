"""Between measured points: a curve that neither overshoots nor has kinks."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike


def monotone_cubic(x: Array, y: Array, at: ArrayLike) -> Array:
    """The cubic Hermite interpolant of ``y`` over ascending ``x``, both (points,), held beyond.

    Slopes at the points: weighted harmonic mean of those of the two pieces, zero where these differ
    in sign (Fritsch & Butland, SIAM J. Sci. Stat. Comput. 5, 1984), so it rises and falls only
    where the points do. The ends take the parabola through three points, limited likewise.
    ``at`` has any shape, which is that of the result. One point is a constant, two are a line.
    """
    place = np.clip(np.asarray(at, dtype=np.float64), x[0], x[-1])
    if x.size < 3:
        return np.asarray(np.interp(place, x, y))
    width = np.diff(x)
    slope = _slopes(width, np.diff(y) / width)
    left = np.clip(np.searchsorted(x, place, side="right") - 1, 0, x.size - 2)
    h = width[left]
    t = (place - x[left]) / h
    rise = t * t * (3 - 2 * t)
    start, end = t * (1 - t) ** 2, t * t * (t - 1)
    bend = h * (start * slope[left] + end * slope[left + 1])
    return np.asarray(y[left] + (y[left + 1] - y[left]) * rise + bend)


def _slopes(width: Array, rise: Array) -> Array:
    """At every point, of pieces so wide that rise so much per unit."""
    before, after = rise[:-1], rise[1:]
    first, second = 2 * width[1:] + width[:-1], width[1:] + 2 * width[:-1]
    turning = before * after <= 0
    with np.errstate(all="ignore"):  # flat pieces are turning ones
        mean = (first + second) / (first / before + second / after)
    inner = np.where(turning, 0.0, mean)
    return np.array([_end(width[:2], rise[:2]), *inner, _end(width[:-3:-1], rise[:-3:-1])])


def _end(width: Array, rise: Array) -> float:
    """The slope at an end, whose piece comes first."""
    slope = float(((2 * width[0] + width[1]) * rise[0] - width[0] * rise[1]) / np.sum(width))
    if slope * rise[0] <= 0:
        return 0.0
    if rise[0] * rise[1] < 0 and abs(slope) > 3 * abs(rise[0]):
        return 3 * float(rise[0])
    return slope
