"""A profile's part for allreduce whose algorithm the library chose, and how sure it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dse.calibration.design import Rows, over_runs
from dse.calibration.experiment import STRICT, Count, Measurement, NonNegative
from dse.calibration.files import rounded
from dse.calibration.fit import relative_error
from dse.calibration.library_fit import Fitted, fit_library
from dse.errors import MeasurementError
from dse.model.arrays import Array, Mask
from dse.model.library import Anchor, Composition, LibraryCost

AUTO = "auto"
LEAST_SIZES = 4
NORMAL_90 = 1.645  # half of a normal's 90 % interval, in standard deviations
# Per doubling beyond the measured ranks where no rank count could be held out, and per doubling
# beyond the measured sizes: standard deviation of the logarithm. Assumed.
PER_OCTAVE = 0.15
# Devices whose NVSwitch adds (NVLink SHARP); four such GPUs without a switch do not reach it.
ADDING_SWITCHES = ("h100", "h200", "b200", "b300")
NO_SWITCH = ("gh200", "pcie", "nvl")

Name = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True)
class LibraryFit:
    """A fitted :class:`~dse.model.library.LibraryCost` and how far off it is.

    coefficients, low, high: value and 90 % interval of each, in the order of ``library.terms``.
    ranks_per_node: least and largest measured. error, error_p90: median and 90th percentile of the
    absolute relative error on the rank counts (or, where one only was measured, the sizes, says
    ``held_out``) that a fit had not seen; textbook_*: the same of one alpha and one beta.
    size_error_p90: on every other size. spread: standard deviation of the logarithm that the
    bootstrap gives a prediction; per_octave: what every doubling of ranks
    away from those measured adds.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    family: Literal["mpi", "nccl"]
    chunk_bytes: NonNegative
    ring_from_bytes: NonNegative
    sharing: NonNegative
    nvls: bool
    edges_bytes: tuple[NonNegative, ...]
    coefficients: tuple[NonNegative, ...]
    low: tuple[NonNegative, ...]
    high: tuple[NonNegative, ...]
    anchors: tuple[Anchor, ...]
    ranks_per_node: tuple[Count, Count]
    held_out: Literal["ranks", "sizes"]
    error: NonNegative
    error_p90: NonNegative
    size_error_p90: NonNegative
    textbook_error: NonNegative
    textbook_error_p90: NonNegative
    residual: NonNegative
    spread: NonNegative
    per_octave: NonNegative

    def cost(self) -> LibraryCost:
        """Seconds as a function of (ranks, ranks per node, bytes)."""
        composition = Composition(
            self.family, self.chunk_bytes, self.ring_from_bytes, self.sharing, self.nvls
        )
        return LibraryCost(composition, self.edges_bytes, self.coefficients, self.anchors)

    def shape_is_right(self) -> bool:
        """Whether the lists fit together and the edges ascend."""
        columns = 5 + 5 * len(self.edges_bytes)
        return (
            len(self.coefficients) == len(self.low) == len(self.high) == columns
            and list(self.edges_bytes) == sorted(set(self.edges_bytes))
            and all(
                len(a.message_bytes) == len(a.log_ratio) > 0
                and list(a.message_bytes) == sorted(set(a.message_bytes))
                for a in self.anchors
            )
        )

    def log_spread(self, ranks: Array, octaves_bytes: Array) -> Array:
        """Standard deviation of the logarithm of a prediction, so far beyond the measured sizes."""
        inside = np.hypot(self.spread, np.log1p(self.size_error_p90) / NORMAL_90)
        measured = np.unique([anchor.ranks for anchor in self.anchors])
        away = np.abs(np.log2(np.maximum(ranks, 1.0)[..., None] / measured)).min(axis=-1)
        outside = np.hypot(self.per_octave * away, PER_OCTAVE * octaves_bytes)
        return np.asarray(np.hypot(inside, outside))

    def covers(self, ranks_per_node: Array) -> Mask:
        """Whether so many ranks per node lie between the least and the largest measured."""
        low, high = self.ranks_per_node
        return np.asarray((ranks_per_node >= low) & (ranks_per_node <= high))


def adds_in_switch(devices: Sequence[str]) -> bool:
    """Whether all of the devices have a switch that adds, judged by their names."""
    names = [device.lower() for device in devices]
    return all(
        any(word in name for word in ADDING_SWITCHES) and not any(w in name for w in NO_SWITCH)
        for name in names
    )


def fit_automatic(samples: Sequence[Measurement], rows: Rows) -> tuple[LibraryFit, Fitted]:
    """Fit the rows of ``samples``, all of one library on one system.

    Raises MeasurementError for fewer than LEAST_SIZES sizes.
    """
    typical = over_runs(rows)
    sizes = np.unique(typical.message_bytes).size
    if sizes < LEAST_SIZES:
        raise MeasurementError(
            f"{sizes} message size{'s' * (sizes != 1)}: what depends on the size cannot be told; "
            f"measure {LEAST_SIZES} or more, from a few bytes to the largest gradient"
        )
    family: Literal["mpi", "nccl"] = "nccl" if samples[0].transport == "nccl" else "mpi"
    nvls = family == "nccl" and adds_in_switch([sample.device for sample in samples])
    fitted = fit_library(typical, family, nvls)
    by_ranks = bool(np.any(np.isfinite(fitted.held_out_ranks)))
    held_out = fitted.held_out_ranks if by_ranks else fitted.held_out_sizes
    error, size_error = _errors(held_out, typical), _errors(fitted.held_out_sizes, typical)
    textbook = _errors(_textbook(typical, by_ranks), typical)
    composition = fitted.cost.composition
    local = typical.ranks_per_node
    return LibraryFit(
        family=family,
        chunk_bytes=composition.chunk_bytes,
        ring_from_bytes=composition.ring_from_bytes,
        sharing=composition.sharing,
        nvls=composition.nvls,
        edges_bytes=fitted.cost.edges_bytes,
        coefficients=_rounded(fitted.cost.coefficients),
        low=_rounded(fitted.low),
        high=_rounded(fitted.high),
        anchors=fitted.cost.anchors,
        ranks_per_node=(int(local.min()), int(local.max())),
        held_out="ranks" if by_ranks else "sizes",
        error=error[0],
        error_p90=error[1],
        size_error_p90=size_error[1],
        textbook_error=textbook[0],
        textbook_error_p90=textbook[1],
        residual=_errors(fitted.fitted, typical)[0],
        spread=rounded(fitted.spread, 4),
        per_octave=_per_octave(fitted),
    ), fitted


def _rounded(values: Sequence[float] | Array) -> tuple[float, ...]:
    return tuple(rounded(float(value), 5) for value in values)


def _errors(predicted: Array, rows: Rows) -> tuple[float, float]:
    errors = relative_error(predicted, rows.seconds)
    known = errors[np.isfinite(errors)]
    if not known.size:
        return 0.0, 0.0
    return rounded(float(np.median(known)), 4), rounded(float(np.quantile(known, 0.9)), 4)


def _per_octave(fitted: Fitted) -> float:
    """From the least and largest rank counts, each predicted by the others."""
    rows, predicted = fitted.rows, fitted.held_out_ranks
    if not np.any(np.isfinite(predicted)):
        return PER_OCTAVE
    counts = np.unique(rows.ranks)
    spreads = []
    for end, near in ((counts[0], counts[1]), (counts[-1], counts[-2])):
        mine = rows.ranks == end
        off = np.abs(np.log(np.maximum(predicted[mine], 1e-12) / rows.seconds[mine]))
        octaves = max(1.0, abs(float(np.log2(end / near))))
        spreads.append(float(np.quantile(off, 0.9)) / NORMAL_90 / octaves)
    return rounded(max(spreads[1], PER_OCTAVE / 2), 4)


def _textbook(rows: Rows, by_ranks: bool) -> Array:
    """Held-out predictions of a ring of one alpha and one beta at every size, (rows,)."""
    n, m = rows.ranks, rows.message_bytes
    matrix = np.stack([2 * (n - 1), 2 * (n - 1) / n * m], axis=1) / rows.seconds[:, None]
    order = np.unique(m, return_inverse=True)[1]
    groups = n if by_ranks else order % 2
    result = np.full(n.size, np.nan)
    for group in np.unique(groups):
        test = groups == group
        if np.any(~test):
            scale = matrix[~test].max(axis=0)
            line = np.linalg.lstsq(matrix[~test] / scale, np.ones((~test).sum()), rcond=None)[0]
            result[test] = matrix[test] * rows.seconds[test, None] @ (np.maximum(line, 0) / scale)
    return result
