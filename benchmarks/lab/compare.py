"""How far simple predictors are from what was measured in the lab."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from statistics import median

import numpy as np
from scipy.optimize import nnls

from dse.calibration.experiment import Measurement

JUDGED_BYTES = 65536
CALIBRATED_HOSTS = (2, 3, 4)
HELD_OUT_HOSTS = (6, 8)


def textbook_terms(algorithm: str, ranks: int, message_bytes: float) -> tuple[float, float]:
    """Messages and bytes of the longest chain: ``T = messages alpha + bytes beta``.

    The formulas of Thakur, Rabenseifner & Gropp (IJHPCA 19, 2005) and, for rank counts that are no
    power of two, of the libraries: a fold of whole messages in and out for recursive doubling, of
    half messages for halving-doubling.
    """
    steps = math.floor(math.log2(ranks))
    folded = ranks != 2**steps
    share = (ranks - 1) / ranks
    if algorithm == "ring":
        return 2 * (ranks - 1), 2 * share * message_bytes
    if algorithm == "recursive-doubling":
        rounds = steps + 2 * folded
        return rounds, rounds * message_bytes
    power = 2**steps
    bytes_moved = 2 * (power - 1) / power + (1.5 if folded else 0.0)
    return 2 * steps + 3 * folded, bytes_moved * message_bytes


def wire_s(sample: Measurement) -> float:
    """Seconds of the textbook's bytes at the set rate, one flow a direction.

    Of parameter servers: a push and a pull through the busier of a worker's and a server's link.
    """
    if sample.servers:
        moved = 2 * max(1.0, sample.ranks / sample.servers) * sample.bytes
    else:
        moved = textbook_terms(sample.algorithm, sample.ranks, sample.bytes)[1]
    return moved / (sample.link_bytes_per_s or math.nan)


def pooled(samples: Iterable[Measurement]) -> list[Measurement]:
    """One sample per cell: the run whose median is the median of all runs' medians."""
    cells: dict[tuple[object, ...], list[Measurement]] = {}
    for s in samples:
        key = (s.collective, s.algorithm, s.ranks, s.ranks_per_node, s.bytes, s.link_bytes_per_s)
        cells.setdefault(key, []).append(s)
    middle = []
    for runs in cells.values():
        ordered = sorted(runs, key=lambda s: s.median_s)
        middle.append(ordered[(len(ordered) - 1) // 2])
    return middle


def textbook_errors(samples: Sequence[Measurement], algorithm: str, link: float) -> list[float]:
    """Predicted / measured - 1 at the held-out host counts, fitted at the others.

    Alpha and beta by relative non-negative least squares, one rank a host, judged sizes only.
    """
    mine = [
        s
        for s in pooled(samples)
        if s.algorithm == algorithm and s.link_bytes_per_s == link
        and s.ranks_per_node == 1 and s.bytes >= JUDGED_BYTES
    ]  # fmt: skip
    known = [s for s in mine if s.nodes in CALIBRATED_HOSTS]
    asked = [s for s in mine if s.nodes in HELD_OUT_HOSTS]
    if not known or not asked:
        return []
    matrix = np.array([textbook_terms(algorithm, s.ranks, s.bytes) for s in known])
    seconds = np.array([s.median_s for s in known])
    fitted, _ = nnls(matrix / seconds[:, None], np.ones(len(known)))
    terms = np.array([textbook_terms(algorithm, s.ranks, s.bytes) for s in asked])
    return [float(e) for e in terms @ fitted / np.array([s.median_s for s in asked]) - 1]


def summary(errors: Sequence[float]) -> str:
    """Number, median and 90th percentile of the absolute errors, and the bias."""
    if not errors:
        return "no points"
    size = np.abs(errors)
    bias = median(errors)
    return (f"{len(size)} points, median {np.median(size):.0%}, "
            f"p90 {np.quantile(size, 0.9):.0%}, bias {bias:+.0%}")  # fmt: skip
