"""The emulated cluster: fitted on few hosts and two link speeds, judged on more and on a third.

Reads what ``python -m benchmarks.lab measure`` left in benchmarks/lab/results, so it needs no root.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.accuracy.board import Line
from dse.calibration.build import fit_experiments
from dse.calibration.experiment import Measurement, read_experiment
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.model.collectives import ALGORITHMS

RESULTS = Path(__file__).parents[1] / "lab" / "results"
FEW_HOSTS = 4
JUDGED_BYTES = 64 * 1024
THIRD_BYTES_PER_S = 100e6 / 8


def lines() -> list[Line]:
    """More hosts, and another link speed."""
    experiments = [read_experiment(path) for path in sorted(RESULTS.glob("mpi-*.json"))]
    samples = [
        s for e in experiments for s in e.samples
        if s.algorithm in ALGORITHMS and s.ranks_per_node == 1 and s.nodes > 1
    ]  # fmt: skip
    third = [s for s in samples if s.link_bytes_per_s == THIRD_BYTES_PER_S]
    both = [s for s in samples if s.link_bytes_per_s != THIRD_BYTES_PER_S]
    known = [s for s in both if s.nodes <= FEW_HOSTS]
    about = replace(experiments[0], samples=tuple(known))
    profile = fit_experiments([about], "lab")
    return [
        _judged("lab: 2-4 hosts -> 6-8 hosts, from 64 KiB, all algorithms", profile,
                [s for s in both if s.nodes > FEW_HOSTS], (0.07, 0.20)),
        _judged("lab: links of 200 and 400 Mbps -> 100 Mbps", profile, third, (0.07, 0.20)),
    ]  # fmt: skip


def _judged(
    data: str, profile: Profile, samples: list[Measurement], target: tuple[float, float]
) -> Line:
    """Medians over the runs of a layout, against the profile."""
    ratios, inside = [], []
    for (algorithm, n, m, speed), seconds in _medians(samples).items():
        if m < JUDGED_BYTES:
            continue
        at = predict(profile, algorithm, n, m, 1, speed)
        ratios.append(float(at.seconds) / seconds)
        inside.append(bool(at.low <= seconds <= at.high))
    return Line(data, "dse", np.array(ratios), np.array(inside), target)


def _medians(samples: list[Measurement]) -> dict[tuple[str, int, int, float], float]:
    times: dict[tuple[str, int, int, float], list[float]] = {}
    for s in samples:
        times.setdefault((s.algorithm, s.ranks, s.bytes, s.link_bytes_per_s or np.nan), []).append(
            s.median_s
        )
    return {key: float(np.median(seconds)) for key, seconds in times.items()}
