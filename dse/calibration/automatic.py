"""Fits a profile's part for allreduce whose algorithm the library chose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from dse.calibration.design import Rows, over_runs
from dse.calibration.experiment import Measurement
from dse.calibration.files import rounded
from dse.calibration.fit import relative_error
from dse.calibration.library_fit import Fitted, fit_library
from dse.calibration.library_part import LibraryFit
from dse.calibration.spread import NORMAL_90, PER_OCTAVE
from dse.errors import MeasurementError
from dse.model.arrays import Array

LEAST_SIZES = 4
NOTHING_S = 1e-18  # a solver's noise: less than a second per exabyte
# Devices whose NVSwitch adds (NVLink SHARP); four such GPUs without a switch do not reach it.
ADDING_SWITCHES = ("h100", "h200", "b200", "b300")
NO_SWITCH = ("gh200", "pcie", "nvl")


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
    speeds = np.unique([s.link_bytes_per_s for s in samples if s.nodes > 1 and s.link_bytes_per_s])
    if speeds.size > 1:
        listed = " and ".join(f"{8e-9 * speed:g}" for speed in speeds)
        raise MeasurementError(
            f"a library's own choice measured on links of {listed} Gbps; fit each alone"
        )
    family: Literal["mpi", "nccl"] = "nccl" if samples[0].transport == "nccl" else "mpi"
    nvls = family == "nccl" and adds_in_switch([sample.device for sample in samples])
    fitted = fit_library(typical, family, nvls)
    by_ranks = bool(np.any(np.isfinite(fitted.held_out_ranks)))
    held_out = fitted.held_out_ranks if by_ranks else fitted.held_out_sizes
    error, size_error = _errors(held_out, typical), _errors(fitted.held_out_sizes, typical)
    textbook = _errors(_textbook(typical, by_ranks), typical)
    composition = fitted.cost.composition
    per_octave, per_octave_local = _per_octave(fitted)
    local = typical.ranks_per_node
    return LibraryFit(
        family=family,
        chunk_bytes=composition.chunk_bytes,
        ring_from_bytes=composition.ring_from_bytes,
        sharing=composition.sharing,
        nvls=composition.nvls,
        rails=composition.rails,
        edges_bytes=fitted.cost.edges_bytes,
        coefficients=_rounded(fitted.cost.coefficients),
        low=_rounded(np.minimum(fitted.low, fitted.cost.coefficients)),
        high=_rounded(np.maximum(fitted.high, fitted.cost.coefficients)),
        anchors=fitted.cost.anchors,
        ranks_per_node=(int(local.min()), int(local.max())),
        held_out="ranks" if by_ranks else "sizes",
        error=error[0],
        error_p90=error[1],
        size_error_p90=size_error[1],
        textbook_error=textbook[0],
        textbook_error_p90=textbook[1],
        residual=_errors(fitted.fitted, typical)[0],
        per_octave=per_octave,
        per_octave_local=per_octave_local,
    ), fitted


def _rounded(values: Sequence[float] | Array) -> tuple[float, ...]:
    return tuple(rounded(float(v), 5) if v > NOTHING_S else 0.0 for v in values)


def _errors(predicted: Array, rows: Rows) -> tuple[float, float]:
    errors = relative_error(predicted, rows.seconds)
    known = errors[np.isfinite(errors)]
    if not known.size:
        return 0.0, 0.0
    return rounded(float(np.median(known)), 4), rounded(float(np.quantile(known, 0.9)), 4)


def _per_octave(fitted: Fitted) -> tuple[float, float]:
    """Spread per doubling of nodes, and of ranks per node, where the others foretell the ends.

    The layouts of the least and of the largest rank count, each against the nearest layout of
    another count, which decides which of the two it tells about. PER_OCTAVE where none does.
    """
    rows, predicted = fitted.rows, fitted.held_out_ranks
    layout = np.log2(np.stack([rows.nodes, np.minimum(rows.ranks, rows.ranks_per_node)]))
    found: tuple[list[float], list[float]] = ([], [])
    for end in (rows.ranks.min(), rows.ranks.max()):
        others = layout[:, rows.ranks != end]
        judged = (rows.ranks == end) & np.isfinite(predicted)
        for place in np.unique(layout[:, judged], axis=1).T if others.size else ():
            steps = np.abs(others - place[:, None])
            octaves = steps[:, np.argmin(steps.sum(axis=0))]
            mine = judged & np.all(layout == place[:, None], axis=0)
            off = np.abs(np.log(np.maximum(predicted[mine], 1e-12) / rows.seconds[mine]))
            spread = float(np.quantile(off, 0.9)) / NORMAL_90 / max(1.0, octaves.sum())
            found[int(octaves[1] > octaves[0])].append(spread)
    nodes, local = (max([*kind, PER_OCTAVE / 2]) if kind else PER_OCTAVE for kind in found)
    return rounded(nodes, 4), rounded(local, 4)


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
