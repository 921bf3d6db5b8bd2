"""Published rows predicted by anchors that have not seen them: whole groups left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.anchors.fit import fit
from benchmarks.anchors.rows import Row
from benchmarks.anchors.training import Training
from dse.catalog import Anchors
from dse.pricing.anchors import chip, drawn_errors, log_factor

DRAWS = 2000
INTERVAL = (5.0, 95.0)  # percentiles of the draws

Floats = NDArray[np.float64]
Key = Callable[[Row], str]


def accelerator_of(row: Row) -> str:
    """Boards that differ by the size of their memory are one accelerator."""
    return chip(row.accelerator)


def network_of(row: Row) -> str:
    """All sizes and sequence lengths of a network are one."""
    return row.workload.network


@dataclass(frozen=True, eq=False)
class Predicted:
    """What is predicted of a few numbers; (points,) each.

    rows: their positions, of ratios those of the numerators. ratio: predicted samples/s, or ratios
    of them, over the measured. low, high: ends of the 90 % interval over the measured.
    """

    rows: NDArray[np.intp]
    ratio: Floats
    low: Floats
    high: Floats

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Whether the measured value lies in the interval."""
        return (self.low <= 1) & (self.high >= 1)

    @property
    def width(self) -> Floats:
        """The interval's upper end over its lower."""
        return np.asarray(self.high / self.low)

    def part(self, chosen: NDArray[np.bool_]) -> Predicted:
        """Some of them."""
        return Predicted(self.rows[chosen], self.ratio[chosen], self.low[chosen], self.high[chosen])


def leaving_out(training: Training, *keys: Key) -> Predicted:
    """Every row by anchors fitted on the rows that share none of the keys' values with it."""
    groups = sorted({tuple(key(row) for key in keys) for row in training.rows})
    parts = []
    for group in groups:
        anchors = _fitted_without(training, keys, group)
        parts.append(_predicted(training, anchors, _members(training, keys, group)))
    return _joined(parts)


def ratios_leaving_out(training: Training, key: Key) -> Predicted:
    """Ratios of two accelerators on one network, source and stack, one row's group left out.

    Where the groups are accelerators a pair counts twice: each of the two is left out once.
    """
    pairs = [(i, j) for i, j in comparable(training.rows) if training.fitted[[i, j]].all()]
    parts = []
    for group in sorted({key(training.rows[at]) for pair in pairs for at in pair}):
        ordered = {
            ((i, j) if key(training.rows[i]) == group else (j, i))
            for i, j in pairs
            if group in (key(training.rows[i]), key(training.rows[j]))
        }
        anchors = _fitted_without(training, (key,), (group,))
        parts.append(_predicted_ratios(training, anchors, sorted(ordered)))
    return _joined(parts)


def comparable(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Positions of rows that differ in the accelerator, and in the batch that fits it."""
    alike: dict[object, list[int]] = {}
    for at, row in enumerate(rows):
        bits = {"tf32": "fp32", "fp16": "16", "bf16": "16"}.get(row.precision, row.precision)
        source = row.source.split("-v")[0]
        key = (row.workload.name, source, row.stack, bits, row.recomputed)
        alike.setdefault(key, []).append(at)
    return [
        (i, j)
        for members in alike.values()
        for number, i in enumerate(members)
        for j in members[:number]
        if accelerator_of(rows[i]) != accelerator_of(rows[j])
    ]


def _members(training: Training, keys: Sequence[Key], group: tuple[str, ...]) -> NDArray[np.intp]:
    return np.flatnonzero([tuple(key(row) for key in keys) == group for row in training.rows])


def _fitted_without(training: Training, keys: Sequence[Key], group: tuple[str, ...]) -> Anchors:
    apart = [
        all(key(row) != value for key, value in zip(keys, group, strict=True))
        for row in training.rows
    ]
    used = np.flatnonzero(np.array(apart) & training.fitted)
    return fit([training.sourced_kinds[at] for at in used], training.log_left[used])


def _predicted(training: Training, anchors: Anchors, rows: NDArray[np.intp]) -> Predicted:
    kinds = [training.kinds[at] for at in rows]
    left = training.log_left[rows] - [log_factor(anchors, kind) for kind in kinds]
    return _spread(rows, left, drawn_errors(anchors, kinds, [0.0] * len(kinds), DRAWS))


def _predicted_ratios(
    training: Training, anchors: Anchors, pairs: Sequence[tuple[int, int]]
) -> Predicted:
    first, second = np.array(pairs).T
    both, which = np.unique([first, second], return_inverse=True)
    kinds = [training.kinds[at] for at in both]
    left = training.log_left[both] - [log_factor(anchors, kind) for kind in kinds]
    errors = drawn_errors(anchors, kinds, [0.0] * len(kinds), DRAWS)
    i, j = which.reshape(2, -1)
    return _spread(first, left[i] - left[j], errors[:, i] / errors[:, j])


def _spread(rows: NDArray[np.intp], left: Floats, errors: Floats) -> Predicted:
    """left: log(measured / predicted seconds); errors: of predicted seconds, (draws, points)."""
    ratio = np.exp(left)  # of rates: seconds the other way round
    low, high = np.percentile(1 / errors, INTERVAL, axis=0)
    return Predicted(rows, ratio, ratio * low, ratio * high)


def _joined(parts: Sequence[Predicted]) -> Predicted:
    columns = zip(*((p.rows, p.ratio, p.low, p.high) for p in parts), strict=True)
    return Predicted(*(np.concatenate(column) for column in columns))
