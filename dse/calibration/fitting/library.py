"""Fits the time of allreduce as a library itself runs it, with held-out errors.

See :mod:`dse.model.aggregation.measured_library`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from scipy.optimize import nnls

from dse.calibration.experiment import Measurement
from dse.calibration.files import rounded
from dse.calibration.fitting.step_cost import (
    HUBER,
    Rows,
    error_quantiles,
    over_runs,
    relative_error,
)
from dse.calibration.library_part import LibraryFit
from dse.calibration.spread import NORMAL_90, PER_OCTAVE
from dse.errors import MeasurementError
from dse.model.aggregation.measured_library import Anchor, Composition, LibraryCost, terms
from dse.model.arrays import Array, Mask

EDGE_RATIO = 4.0
FIRST_EDGE_BYTES = 1024.0
NOISE = 0.05  # relative, of one measurement; what is assumed weighs in proportion to it
JUMP_WEIGHT = 10.0  # a jump needs evidence: it costs as much as this many noises of its rows
ROUNDS = 15
DRAWS = 60
SEED = 20261
# What is assumed until measured: seconds per call, and per hop inside a node, with the spread of
# the logarithm. NCCL's src/graph/tuning.cc (2026) has 6.6 us for ring and tree with its low-latency
# protocol, and 0.6 us per hop on NVLink, 1.0 us on PCIe.
ASSUMED_CALL_S = (6e-6, 0.7)
ASSUMED_HOP_S = (0.8e-6, 1.0)
SHARINGS = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
CHUNKS = tuple(2.0**k for k in range(12, 21, 2))
RINGS = tuple(2.0**k for k in range(22, 28))
NEVER = 2.0**50  # no message is as large
FASTER_THAN_WIRE = 1.15  # that a fitted price of bytes may be off; faster by more, it is no wire
SPIKE = 1.5  # times off what stands beside it: no switch of protocol does that at one size alone
SIZE_FOLDS = 2  # every other size is held out
LEAST_SIZES = 4
NOTHING_S = 1e-18  # a solver's noise: less than a second per exabyte
# Devices whose NVSwitch adds (NVLink SHARP); four such GPUs without a switch do not reach it.
ADDING_SWITCHES = ("h100", "h200", "b200", "b300")
NO_SWITCH = ("gh200", "pcie", "nvl")


def edges_for(message_bytes: Array) -> tuple[float, ...]:
    """Where a price may change: powers of four from 1 KiB inside the measured sizes."""
    least, most = float(message_bytes.min()), float(message_bytes.max())
    count = max(0, int(np.ceil(np.log(most / FIRST_EDGE_BYTES) / np.log(EDGE_RATIO))))
    edges = [FIRST_EDGE_BYTES * EDGE_RATIO**k for k in range(count)]
    return tuple(edge for edge in edges if least < edge < most)


def candidates(rows: Rows, family: str, nvls: bool) -> list[Composition]:
    """The compositions that the rows can tell apart; one with assumed values where they cannot.

    family: mpi or nccl. nvls: whether a switch inside the node adds.
    """
    base = Composition(family, nvls=nvls)
    several_nodes, one_node = bool(np.any(rows.nodes > 1)), bool(np.all(rows.nodes <= 1))
    if family == "mpi":
        return [replace(base, chunk_bytes=chunk) for chunk in CHUNKS]
    if several_nodes:
        widths = np.unique(rows.ranks_per_node[rows.nodes > 1])
        cards = [float(width) for width in widths if width > 1] if widths.size > 1 else []
        # On two nodes a tree looks like a ring on wires twice as fast: only their speed tells.
        never = [NEVER] if np.any(np.isfinite(rows.link_bytes_per_s)) else []
        return [
            replace(base, ring_from_bytes=ring, rails=rails)
            for rails in (1.0, *cards)
            for ring in (*RINGS, *never)
        ]
    if one_node and np.unique(rows.ranks).size > 1:
        return [replace(base, sharing=sharing) for sharing in SHARINGS]
    return [base]


def design(rows: Rows, composition: Composition, edges: Sequence[float]) -> Array:
    """Seconds of every row per unit of every coefficient: (rows, columns)."""
    n, g, m = rows.ranks, rows.ranks_per_node, rows.message_bytes
    columns = [np.broadcast_to(term, n.shape) for term in terms(composition, edges, n, g, m)]
    matrix = np.stack(columns, axis=1)
    if not np.any(rows.nodes <= 1):
        # Jumps inside and between nodes look alike where no row is on one node: leave the latter.
        matrix[:, _coefficient_names(len(edges)) == "jump-in"] = 0.0
    return matrix


def _coefficient_names(edges: int) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    names = ["call", *["jump"] * edges]
    for tier in ("in", "out"):
        names += [f"hop-{tier}", *[f"jump-{tier}"] * edges, *[f"bytes-{tier}"] * (edges + 1)]
    return np.array(names)


def solve(matrix: Array, seconds: Array, edges: int) -> Array:
    """Coefficients >= 0 with the least Huber loss of relative residuals and of assumed values.

    Iteratively reweighted NNLS (Lawson & Hanson 1974, ch. 23). matrix: (rows, columns) of
    :func:`design`. seconds: (rows,). edges: their number. Coefficients without data are 0.
    """
    relative, names = matrix / seconds[:, None], _coefficient_names(edges)
    scale = np.max(relative, axis=0)
    scale[scale == 0] = np.inf
    relative = relative / scale
    priors, targets = [], []
    unit = np.eye(names.size)
    for kind, (value, spread) in (("call", ASSUMED_CALL_S), ("hop-in", ASSUMED_HOP_S)):
        at = int(np.flatnonzero(names == kind)[0])
        if np.isfinite(scale[at]):
            priors.append(unit[at] * NOISE / (spread * value * scale[at]))
            targets.append(NOISE / spread)
    for jump in np.flatnonzero(np.char.startswith(names, "jump") & np.isfinite(scale)):
        priors.append(unit[jump] * NOISE * JUMP_WEIGHT)
        targets.append(0.0)
    weights, best = np.ones(seconds.size), np.zeros(names.size)
    for _ in range(ROUNDS):
        stacked = np.vstack([relative * weights[:, None], *priors])
        previous, best = best, nnls(stacked, np.append(weights, targets), maxiter=20_000)[0]
        residual = np.abs(relative @ best - 1.0)
        spread_now = max(float(np.median(residual)) / 0.6745, 0.01)
        weights = np.sqrt(np.minimum(1.0, HUBER * spread_now / np.maximum(residual, 1e-12)))
        if np.abs(best - previous).max() <= 1e-4 * best.max():
            break
    return np.asarray(best / scale)


def best_cost(rows: Rows, family: str, nvls: bool) -> LibraryCost:
    """The composition and coefficients of least root mean square residual (each at most 1/2).

    A composition that moves bytes between nodes faster than a wire of known speed cannot be what
    the library did: it is taken only if all do (a switch may add), and a tree at every size only
    if every composition with a ring does.
    """
    edges = edges_for(rows.message_bytes)
    best: tuple[tuple[bool, bool, float], LibraryCost] | None = None
    for composition in candidates(rows, family, nvls):
        matrix: Array = design(rows, composition, edges)
        coefficients = solve(matrix, rows.seconds, len(edges))
        residual = np.minimum(relative_error(matrix @ coefficients, rows.seconds), 0.5)
        loss = float(np.sqrt(np.mean(residual**2)))
        beats = _beats_wire(rows, composition, float(coefficients[-1]))
        rank = (beats, composition.ring_from_bytes == NEVER, loss)
        if best is None or rank < best[0]:
            values = tuple(float(value) for value in coefficients)
            best = (rank, LibraryCost(composition, edges, values))
    assert best is not None
    return replace(best[1], anchors=anchors_of(best[1], rows))


def _beats_wire(rows: Rows, composition: Composition, s_per_byte: float) -> bool:
    """Whether a node's cards together pass a byte in less than it takes on their wires."""
    between = rows.link_bytes_per_s[(rows.nodes > 1) & np.isfinite(rows.link_bytes_per_s)]
    if not between.size:
        return False
    return bool(s_per_byte * between.max() * FASTER_THAN_WIRE < composition.rails)


def anchors_of(cost: LibraryCost, rows: Rows) -> tuple[Anchor, ...]:
    """The measured times of every layout with two sizes or more, disturbed ones mended."""
    found = []
    for n, g in sorted(set(zip(rows.ranks.tolist(), rows.ranks_per_node.tolist(), strict=True))):
        mine = rows.take((rows.ranks == n) & (rows.ranks_per_node == g))
        mine = mine.take(np.argsort(mine.message_bytes))
        if np.unique(mine.message_bytes).size == mine.message_bytes.size > 1:
            sizes = tuple(float(size) for size in mine.message_bytes)
            seconds = mended_s(mine, predict_rows(replace(cost, anchors=()), mine))
            found.append(Anchor(n, g, sizes, tuple(rounded(float(s), 5) for s in seconds)))
    return tuple(found)


def mended_s(rows: Rows, composed_s: Array) -> Array:
    """Seconds of a layout's rows by ascending size, disturbances taken out: (rows,).

    A time that is above or below both its neighbours, and off by SPIKE times from their
    interpolation and from ``composed_s``, is replaced by the mean of these two (in logarithms). The
    smallest message, which is measured first and cold, takes no longer than the next. Applies only
    to times without a known scatter: what several runs agree on is no disturbance.
    """
    size, log_s = np.log(rows.message_bytes), np.log(rows.seconds)
    composed = np.log(np.maximum(composed_s, 1e-12))
    between = log_s.copy()
    share = (size[1:-1] - size[:-2]) / (size[2:] - size[:-2])
    between[1:-1] = (1 - share) * log_s[:-2] + share * log_s[2:]
    off = np.stack([log_s - between, log_s - composed])
    peak = np.zeros(log_s.size, dtype=bool)
    peak[1:-1] = (log_s[1:-1] - log_s[:-2]) * (log_s[1:-1] - log_s[2:]) > 0
    spike = peak & (np.abs(off).min(axis=0) > np.log(SPIKE)) & (off[0] * off[1] > 0)
    mended = np.where(spike, (between + composed) / 2, log_s)
    mended[0] = min(mended[0], mended[1])
    return np.asarray(np.where(rows.noise == 0, np.exp(mended), rows.seconds))


def predict_rows(cost: LibraryCost, rows: Rows) -> Array:
    """Seconds of every row as ``cost`` predicts them: (rows,)."""
    return cost(rows.ranks, rows.ranks_per_node, rows.message_bytes)


def held_out(rows: Rows, masks: Iterable[Mask], family: str, nvls: bool) -> Array:
    """Seconds of every masked group as a fit on all other rows predicts them: (rows,).

    NaN for rows in no group, and where the other rows give no price for the layout.
    """
    result = np.full(rows.ranks.size, np.nan)
    for mask in masks:
        if np.any(mask) and np.count_nonzero(~mask) > 2:
            cost, test = best_cost(rows.take(~mask), family, nvls), rows.take(mask)
            priced = cost.priced(test.ranks, test.ranks_per_node)
            result[mask] = np.where(priced, predict_rows(cost, test), np.nan)
    return result


def _interval(rows: Rows, cost: LibraryCost) -> tuple[Array, Array]:
    """5 % and 95 % of every coefficient over refits of rows drawn anew, (columns,) each."""
    matrix, edges = design(rows, cost.composition, cost.edges_bytes), len(cost.edges_bytes)
    random = np.random.default_rng(SEED)
    drawn = []
    for _ in range(DRAWS):
        index = random.choice(rows.ranks.size, rows.ranks.size)
        noise = np.exp(NOISE * random.standard_normal(index.size))
        drawn.append(solve(matrix[index], rows.seconds[index] * noise, edges))
    low, high = np.quantile(drawn, [0.05, 0.95], axis=0)
    return np.minimum(low, cost.coefficients), np.maximum(high, cost.coefficients)


def adds_in_switch(devices: Sequence[str]) -> bool:
    """Whether all of the devices have a switch that adds, judged by their names."""
    names = [device.lower() for device in devices]
    return all(
        any(word in name for word in ADDING_SWITCHES) and not any(w in name for w in NO_SWITCH)
        for name in names
    )


def fit_automatic(samples: Sequence[Measurement], rows: Rows) -> tuple[LibraryFit, Rows, Array]:
    """Fit the rows of ``samples``, all of one library on one system.

    Also returns what was fitted, one row per (ranks, ranks per node, bytes), and these as predicted
    by fits without their rank count; without every other size, where there is one rank count.
    Raises MeasurementError for fewer than LEAST_SIZES sizes, and for links of several speeds.
    """
    typical = over_runs(rows)
    sizes = np.unique(typical.message_bytes).size
    if sizes < LEAST_SIZES:
        raise MeasurementError(
            f"{sizes} message size{'s' * (sizes != 1)}: too few to fit how the time depends on the "
            f"size; measure {LEAST_SIZES} or more, from a few bytes to the largest gradient"
        )
    speeds = np.unique([s.link_bytes_per_s for s in samples if s.nodes > 1 and s.link_bytes_per_s])
    if speeds.size > 1:
        listed = " and ".join(f"{8e-9 * speed:g}" for speed in speeds)
        raise MeasurementError(
            f"the library's own choice was measured on links of different speeds, {listed} Gbps; "
            "fit each separately"
        )
    family: Literal["mpi", "nccl"] = "nccl" if samples[0].transport == "nccl" else "mpi"
    nvls = family == "nccl" and adds_in_switch([sample.device for sample in samples])
    cost = best_cost(typical, family, nvls)
    low, high = _interval(typical, cost)
    order = np.unique(typical.message_bytes, return_inverse=True)[1]
    inner = (order > 0) & (order < order.max())
    folds = [inner & (order % SIZE_FOLDS == fold) for fold in range(SIZE_FOLDS)]
    without_size = held_out(typical, folds, family, nvls)
    counts = np.unique(typical.ranks)
    groups = [typical.ranks == count for count in counts] if counts.size > 1 else []
    without_count = held_out(typical, groups, family, nvls)
    by_ranks = bool(np.any(np.isfinite(without_count)))
    left_out = without_count if by_ranks else without_size
    seconds = typical.seconds
    # Which of runs that differ by more than noise is priced is open: two standard errors of theirs.
    apart = np.where(typical.noise > NOISE, 2 * typical.noise, 0.0)
    error, of_sizes = (
        error_quantiles(seconds * (1 + np.hypot(relative_error(one, seconds), apart)), seconds)
        for one in (left_out, without_size)
    )
    textbook = error_quantiles(_textbook(typical, by_ranks), seconds)
    per_octave, per_octave_local = _per_octave(typical, without_count)
    composition, local = cost.composition, typical.ranks_per_node
    fitted = design(typical, composition, cost.edges_bytes) @ np.array(cost.coefficients)
    fit = LibraryFit(
        family=family,
        chunk_bytes=composition.chunk_bytes,
        ring_from_bytes=composition.ring_from_bytes,
        sharing=composition.sharing,
        nvls=composition.nvls,
        rails=composition.rails,
        edges_bytes=cost.edges_bytes,
        coefficients=_rounded(cost.coefficients),
        low=_rounded(low),
        high=_rounded(high),
        anchors=cost.anchors,
        ranks_per_node=(int(local.min()), int(local.max())),
        held_out="ranks" if by_ranks else "sizes",
        error=error[0],
        error_p90=error[1],
        size_error_p90=of_sizes[1],
        textbook_error=textbook[0],
        textbook_error_p90=textbook[1],
        residual=error_quantiles(fitted, seconds)[0],
        per_octave=per_octave,
        per_octave_local=per_octave_local,
    )
    return fit, typical, left_out


def _rounded(values: Sequence[float] | Array) -> tuple[float, ...]:
    return tuple(rounded(float(v), 5) if v > NOTHING_S else 0.0 for v in values)


def _per_octave(rows: Rows, predicted: Array) -> tuple[float, float]:
    """Spread per doubling of nodes, and of ranks per node, where the others foretell the ends.

    The layouts of the least and of the largest rank count, each against the nearest layout of
    another count, which decides which of the two it tells about. PER_OCTAVE where none does.
    predicted: seconds without the row's rank count, NaN where there is none, (rows,).
    """
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
