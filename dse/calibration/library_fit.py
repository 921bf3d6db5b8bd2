"""Fits what a library's own choice costs, with held-out errors.

See :mod:`dse.model.aggregation.library_choice`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from dse.calibration.design import Rows
from dse.calibration.files import rounded
from dse.calibration.fit import HUBER, relative_error
from dse.model.aggregation.library_choice import Anchor, Composition, LibraryCost, terms
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


@dataclass(frozen=True)
class Fitted:
    """A fitted library cost, and the rows as it and as fits without their group predict them.

    low, high: 5 % and 95 % of every coefficient over the draws, (columns,). held_out_sizes: rows as
    predicted without every other size; held_out_ranks: without their rank count, NaN where there is
    one only. All (rows,).
    """

    rows: Rows
    cost: LibraryCost
    low: Array
    high: Array
    fitted: Array
    held_out_sizes: Array
    held_out_ranks: Array


def edges_for(message_bytes: Array) -> tuple[float, ...]:
    """Where a price may change: powers of four from 1 KiB inside the measured sizes."""
    least, most = float(message_bytes.min()), float(message_bytes.max())
    count = max(0, int(np.ceil(np.log(most / FIRST_EDGE_BYTES) / np.log(EDGE_RATIO))))
    edges = [FIRST_EDGE_BYTES * EDGE_RATIO**k for k in range(count)]
    return tuple(edge for edge in edges if least < edge < most)


def candidates(rows: Rows, family: str, nvls: bool) -> list[Composition]:
    """The compositions that the rows can tell apart; one with assumed values where they cannot."""
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
        matrix[:, _kinds(len(edges)) == "jump-in"] = 0.0
    return matrix


def _kinds(edges: int) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    names = ["call", *["jump"] * edges]
    for tier in ("in", "out"):
        names += [f"hop-{tier}", *[f"jump-{tier}"] * edges, *[f"bytes-{tier}"] * (edges + 1)]
    return np.array(names)


def solve(matrix: Array, seconds: Array, edges: int) -> Array:
    """Coefficients >= 0 of least Huber loss of the relative residuals, and of what is assumed.

    Iteratively reweighted NNLS (Lawson & Hanson 1974, ch. 23). Columns without data are 0.
    """
    relative, kinds = matrix / seconds[:, None], _kinds(edges)
    scale = np.max(relative, axis=0)
    scale[scale == 0] = np.inf
    relative = relative / scale
    beliefs, targets = [], []
    unit = np.eye(kinds.size)
    for kind, (value, spread) in (("call", ASSUMED_CALL_S), ("hop-in", ASSUMED_HOP_S)):
        at = int(np.flatnonzero(kinds == kind)[0])
        if np.isfinite(scale[at]):
            beliefs.append(unit[at] * NOISE / (spread * value * scale[at]))
            targets.append(NOISE / spread)
    for jump in np.flatnonzero(np.char.startswith(kinds, "jump") & np.isfinite(scale)):
        beliefs.append(unit[jump] * NOISE * JUMP_WEIGHT)
        targets.append(0.0)
    weights, best = np.ones(seconds.size), np.zeros(kinds.size)
    for _ in range(ROUNDS):
        stacked = np.vstack([relative * weights[:, None], *beliefs])
        previous, best = best, nnls(stacked, np.append(weights, targets), maxiter=20_000)[0]
        residual = np.abs(relative @ best - 1.0)
        spread_now = max(float(np.median(residual)) / 0.6745, 0.01)
        weights = np.sqrt(np.minimum(1.0, HUBER * spread_now / np.maximum(residual, 1e-12)))
        if np.abs(best - previous).max() <= 1e-4 * best.max():
            break
    return np.asarray(best / scale)


def best_cost(rows: Rows, family: str, nvls: bool) -> LibraryCost:
    """The composition and coefficients of least root mean square residual (each at most 1/2).

    A composition whose bytes would pass between nodes faster than their wire, where its speed is
    known, cannot be what the library did: it is taken only if all are such (a switch that adds),
    and a tree at every size only if all rings are.
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
    """What was measured at every layout of two sizes or more, disturbed runs mended."""
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
    """Seconds of a layout's rows by ascending size, without what only a disturbance explains.

    A time above or below both its neighbours', and SPIKE times off what they and the composition
    tell, is taken half way between these two (in logarithms). The smallest message, which comes
    first and cold, takes no longer than the next. Only where nothing is known of a time's scatter:
    what several runs agree on is no disturbance. Shape (rows,).
    """
    size, log_s = np.log(rows.message_bytes), np.log(rows.seconds)
    composed = np.log(np.maximum(composed_s, 1e-12))
    beside = log_s.copy()
    share = (size[1:-1] - size[:-2]) / (size[2:] - size[:-2])
    beside[1:-1] = (1 - share) * log_s[:-2] + share * log_s[2:]
    off = np.stack([log_s - beside, log_s - composed])
    peak = np.zeros(log_s.size, dtype=bool)
    peak[1:-1] = (log_s[1:-1] - log_s[:-2]) * (log_s[1:-1] - log_s[2:]) > 0
    spike = peak & (np.abs(off).min(axis=0) > np.log(SPIKE)) & (off[0] * off[1] > 0)
    mended = np.where(spike, (beside + composed) / 2, log_s)
    mended[0] = min(mended[0], mended[1])
    return np.asarray(np.where(rows.noise == 0, np.exp(mended), rows.seconds))


def predict_rows(cost: LibraryCost, rows: Rows) -> Array:
    """Seconds of every row: (rows,)."""
    return cost(rows.ranks, rows.ranks_per_node, rows.message_bytes)


def held_out(rows: Rows, masks: Iterable[Mask], family: str, nvls: bool) -> Array:
    """Every masked group predicted by a fit on all other rows: (rows,), NaN where in no group.

    NaN also where the other rows tell nothing of the tier that binds: no price, no prediction.
    """
    result = np.full(rows.ranks.size, np.nan)
    for mask in masks:
        if np.any(mask) and np.count_nonzero(~mask) > 2:
            cost, test = best_cost(rows.take(~mask), family, nvls), rows.take(mask)
            priced = cost.priced(test.ranks, test.ranks_per_node)
            result[mask] = np.where(priced, predict_rows(cost, test), np.nan)
    return result


def fit_library(rows: Rows, family: str, nvls: bool, seed: int = SEED) -> Fitted:
    """Fit rows of one library on one system; ``rows`` one per (ranks, ranks per node, bytes)."""
    cost = best_cost(rows, family, nvls)
    matrix = design(rows, cost.composition, cost.edges_bytes)
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(DRAWS):
        index = random.choice(rows.ranks.size, rows.ranks.size)
        noise = np.exp(NOISE * random.standard_normal(index.size))
        drawn.append(solve(matrix[index], rows.seconds[index] * noise, len(cost.edges_bytes)))
    draws = np.array(drawn)
    low, high = np.quantile(draws, [0.05, 0.95], axis=0)
    order = np.unique(rows.message_bytes, return_inverse=True)[1]
    inner = (order > 0) & (order < order.max())
    folds = [inner & (order % SIZE_FOLDS == fold) for fold in range(SIZE_FOLDS)]
    counts = np.unique(rows.ranks)
    groups = [rows.ranks == count for count in counts] if counts.size > 1 else []
    return Fitted(
        rows,
        cost,
        low,
        high,
        np.asarray(matrix @ np.array(cost.coefficients)),
        held_out(rows, folds, family, nvls),
        held_out(rows, groups, family, nvls),
    )
