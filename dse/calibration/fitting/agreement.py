"""Checks that runs of one layout agree; where they do not, refuses them or notes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dse.calibration.experiment import Measurement
from dse.errors import MeasurementError

RUNS_OF_A_FILE = 1000  # runs of several files are numbered on by this
SAME_SYSTEM = 1.5  # of others' logs: a larger factor is another system or network
CONTRADICTION = 3.0  # times of one layout in two files; noise explains less


def check_agreement(samples: Sequence[Measurement], where: str, published: bool) -> tuple[str, ...]:
    """A note for each layout whose runs in one file differ beyond noise at most sizes.

    One file is one session on one machine: other work there slows some of the runs, and the median
    over them is fitted. where: the files, for errors. published: whether the samples are of others'
    logs. Raises MeasurementError where files contradict each other, or runs of others' logs, whose
    cause cannot be looked into.
    """
    if published:
        for what, ratio in _disagreements(samples, SAME_SYSTEM):
            raise MeasurementError(_refused(where, what, ratio))
        return ()
    files: dict[int, list[Measurement]] = {}
    for sample in samples:
        files.setdefault(sample.run // RUNS_OF_A_FILE, []).append(sample)
    typical = [one for mine in files.values() for one in _typical(mine)]
    for what, ratio in _disagreements(typical, CONTRADICTION):
        raise MeasurementError(_refused(where, what, ratio))
    return tuple(
        f"the median over runs of {what}, which differ by a factor of {ratio:.1f} at most sizes; "
        "measure again when nothing else runs"
        for mine in files.values()
        for what, ratio in _disagreements(mine, CONTRADICTION)
    )


def _refused(where: str, what: str, ratio: float) -> str:
    problem = f"{where}: at most sizes, runs of {what} differ by a factor of {ratio:.1f}"
    return f"{problem}; leave one file out, or measure again"


def _key(s: Measurement) -> tuple[object, ...]:
    return s.algorithm, s.ranks, s.ranks_per_node, s.link_bytes_per_s, s.transport, s.servers


def _typical(samples: Sequence[Measurement]) -> list[Measurement]:
    """One sample per layout and size: the median over the runs."""
    same: dict[tuple[object, ...], list[Measurement]] = {}
    for sample in samples:
        same.setdefault((_key(sample), sample.bytes), []).append(sample)
    return [
        replace(mine[0], median_s=float(np.median([s.median_s for s in mine])))
        for mine in same.values()
    ]


def _disagreements(samples: Sequence[Measurement], most: float) -> list[tuple[str, float]]:
    """Layouts whose runs differ by more than ``most`` at half of the sizes, and by how much."""
    times: dict[tuple[object, ...], dict[int, list[float]]] = {}
    for s in samples:
        times.setdefault(_key(s), {}).setdefault(s.bytes, []).append(s.median_s)
    found = []
    for (algorithm, ranks, *_), sizes in times.items():
        ratios = [max(seconds) / min(seconds) for seconds in sizes.values() if len(seconds) > 1]
        if ratios and float(np.median(ratios)) > most:
            found.append((f"{algorithm} on {ranks} ranks", float(np.median(ratios))))
    return found
