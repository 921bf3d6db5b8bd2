"""Published rows predicted by anchors that have not seen them: whole groups left out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.anchors.fit import fit
from benchmarks.anchors.modelled import step_s
from benchmarks.anchors.rows import Row
from benchmarks.anchors.training import Training
from dse import catalog
from dse.catalog import Anchors
from dse.pricing.anchors import chip, drawn_errors, log_factor
from dse.pricing.uncertainty import normal

DRAWS = 2000
INTERVAL = (5.0, 95.0)  # percentiles of the draws
VERSION = re.compile(r"-v\d+$")  # at the end of a source's name
BITS = {"tf32": "fp32", "fp16": "16", "bf16": "16"}  # formats that stand for one another

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Key = Callable[[Row], str]


def accelerator_of(row: Row) -> str:
    """Boards that differ by the size of their memory are one accelerator."""
    return chip(row.accelerator)


def network_of(row: Row) -> str:
    """All sizes and sequence lengths of a network are one."""
    return row.workload.network


def source_of(row: Row) -> str:
    """Who published it; two versions of one table are one source."""
    return VERSION.sub("", row.source)


def family_of(row: Row) -> str:
    """The family of its network."""
    return row.workload.family


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
    def inside(self) -> Mask:
        """Whether the measured value lies in the interval."""
        return np.asarray((self.low <= 1) & (self.high >= 1))

    @property
    def width(self) -> Floats:
        """The interval's upper end over its lower."""
        return np.asarray(self.high / self.low)

    def part(self, chosen: Mask) -> Predicted:
        """Some of them."""
        return Predicted(self.rows[chosen], self.ratio[chosen], self.low[chosen], self.high[chosen])


def leaving_out(training: Training, *keys: Key) -> Predicted:
    """Every row by anchors fitted on the rows that share none of the keys' values with it."""
    groups = _groups(training, keys)
    parts = []
    for group in sorted(set(groups)):
        rows = np.flatnonzero([other == group for other in groups])
        parts.append(_predicted(training, _fitted_without(training, keys, group), rows))
    return joined(parts)


def without(training: Training, left_out: Mask) -> Predicted:
    """The rows left out, by anchors fitted on all others."""
    return _predicted(training, fitted(training, ~left_out), np.flatnonzero(left_out))


def ratios_leaving_out(training: Training, key: Key) -> Predicted:
    """Ratios of two accelerators on one network, source and stack, the group of one left out.

    Where the groups are accelerators a pair counts twice: each of the two is left out once.
    """
    pairs = comparable(training.rows)
    pairs = [pair for pair in pairs if training.fitted[list(pair)].all()]
    parts = []
    for group in sorted({key(training.rows[at]) for pair in pairs for at in pair}):
        left_out = {
            (i, j) if key(training.rows[i]) == group else (j, i)
            for i, j in pairs
            if group in (key(training.rows[i]), key(training.rows[j]))
        }
        anchors = _fitted_without(training, (key,), (group,))
        parts.append(_predicted_ratios(training, anchors, sorted(left_out)))
    return joined(parts)


def comparable(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Positions of rows that differ in the accelerator, and in the batch that it holds."""
    alike: dict[object, list[int]] = {}
    for at, row in enumerate(rows):
        bits = BITS.get(row.precision, row.precision)
        key = (row.workload.name, source_of(row), row.stack, bits, row.recomputed)
        alike.setdefault(key, []).append(at)
    return [
        (i, j)
        for members in alike.values()
        for number, i in enumerate(members)
        for j in members[:number]
        if accelerator_of(rows[i]) != accelerator_of(rows[j])
    ]


def by_group(training: Training, predicted: Predicted, key: Key) -> dict[str, Predicted]:
    """The same apart by group, in alphabetical order."""
    groups = np.array([key(training.rows[at]) for at in predicted.rows])
    return {str(group): predicted.part(groups == group) for group in np.unique(groups)}


def _groups(training: Training, keys: Sequence[Key]) -> list[tuple[str, ...]]:
    return [tuple(key(row) for key in keys) for row in training.rows]


def _fitted_without(training: Training, keys: Sequence[Key], group: tuple[str, ...]) -> Anchors:
    shared = [any(value in group for value in values) for values in _groups(training, keys)]
    return fitted(training, ~np.array(shared))


def fitted(training: Training, used: Mask) -> Anchors:
    """Anchors of some of the rows."""
    rows = np.flatnonzero(used & training.telling)
    return fit([training.sourced_kinds[at] for at in rows], training.log_left[rows])


def _predicted(training: Training, anchors: Anchors, rows: NDArray[np.intp]) -> Predicted:
    left, errors = left_and_errors(training, anchors, rows)
    return spread(rows, left, errors)


def _predicted_ratios(
    training: Training, anchors: Anchors, pairs: Sequence[tuple[int, int]]
) -> Predicted:
    both, which = np.unique(np.array(pairs), return_inverse=True)
    left, errors = left_and_errors(training, anchors, both)
    i, j = which.reshape(-1, 2).T
    return spread(both[i], left[i] - left[j], errors[:, i] / errors[:, j])


def left_and_errors(
    training: Training, anchors: Anchors, rows: NDArray[np.intp]
) -> tuple[Floats, Floats]:
    """log(measured / predicted seconds), (rows,); drawn errors of the latter, (draws, rows)."""
    kinds = [training.kinds[at] for at in rows]
    errors = drawn_errors(anchors, kinds, [0.0] * len(kinds), DRAWS)
    launch = np.exp(catalog.computing().launch_log_spread * normal("launch", DRAWS))
    left, drawn = np.empty(len(rows)), np.empty_like(errors)
    for at, (row, kind) in enumerate(zip(map(training.rows.__getitem__, rows), kinds, strict=True)):
        factor = np.exp(log_factor(anchors, kind))
        expected_s = step_s(row, factor=factor)
        left[at] = np.log(row.step_s / expected_s)
        drawn[:, at] = step_s(row, factor=factor * errors[:, at], launch=launch) / expected_s
    return left, drawn


def spread(rows: NDArray[np.intp], left: Floats, errors: Floats) -> Predicted:
    """What is predicted of rates: seconds the other way round."""
    ratio = np.exp(left)
    low, high = np.percentile(1 / errors, INTERVAL, axis=0)
    return Predicted(rows, ratio, ratio * low, ratio * high)


def joined(parts: Sequence[Predicted]) -> Predicted:
    """Several predictions as one."""
    columns = zip(*((p.rows, p.ratio, p.low, p.high) for p in parts), strict=True)
    return Predicted(*(np.concatenate(column) for column in columns))
