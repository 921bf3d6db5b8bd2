"""The emulated cluster: fitted on few hosts and two link speeds, judged on more and on a third.

Reads what ``python -m benchmarks.lab measure`` left in benchmarks/lab/results, so it needs no root.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.accuracy.board import Line
from benchmarks.lab import compare, training
from dse.calibration.build import fit_experiments
from dse.calibration.experiment import Measurement, read_experiment
from dse.calibration.fit_ps import fit_ps, predict_ps, ps_rows
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.model.collectives import ALGORITHMS

RESULTS = Path(__file__).parents[1] / "lab" / "results"
FEW_HOSTS = 4
JUDGED_BYTES = 64 * 1024
THIRD_BYTES_PER_S = 100e6 / 8
PS_WORKERS, PS_SERVERS = 3, 2


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
        _textbook(both),
        _judged("lab: links of 200 and 400 Mbps, 2-4 hosts -> 100 Mbps, 2-8 hosts", profile,
                third, (0.07, 0.20)),
        *_training(profile),
        _parameter_server(),
    ]  # fmt: skip


def _parameter_server() -> Line:
    """gRPC servers: 1-2 servers and 1-3 workers predict 3 servers or 4 workers."""
    experiments = [read_experiment(path) for path in sorted(RESULTS.glob("ps-*.json"))]
    samples = [s for e in experiments for s in e.samples]
    known = [s for s in samples if s.ranks <= PS_WORKERS and s.servers <= PS_SERVERS]
    cores = float(experiments[0].machine.cores) if experiments[0].machine else 1.0
    fit = fit_ps(known, cores)
    rows = ps_rows([s for s in samples if s not in known])
    seconds = predict_ps(rows, fit.edge_bytes, cores, fit.coefficients)
    data = "lab: gRPC, 1-2 servers and 1-3 workers -> 3 servers or 4 workers, 400 and 1000 Mbps"
    return Line(data, "dse", seconds / rows.seconds, None, (0.12, 0.30))


def _textbook(samples: list[Measurement]) -> Line:
    """One alpha and one beta per algorithm and link, on the same held-out hosts."""
    speeds = sorted({s.link_bytes_per_s or 0.0 for s in samples})
    errors = [e for speed in speeds for name in sorted({s.algorithm for s in samples})
              for e in compare.textbook_errors(samples, name, speed)]  # fmt: skip
    data = "lab: 2-4 hosts -> 6-8 hosts, from 64 KiB, all algorithms"
    return Line(data, "textbook alpha-beta", 1.0 + np.array(errors))


def _training(profile: Profile) -> list[Line]:
    """Steps with and without overlap, each bucket priced as training meets it."""
    path = RESULTS / "training.json"
    rows = training.load(path) if path.exists() else []
    ratios: dict[str, list[float]] = {"overlapped_s": [], "plain_s": []}
    for row in rows:
        sizes = 4.0 * np.array(row["elements"])
        fit = profile.network[row["algorithm"]]
        costs = fit.seconds(row["algorithm"], row["ranks"], sizes, row["link_bytes_per_s"],
                            profile.gamma_s_per_byte, after_barrier=False)  # fmt: skip
        for name, found in ratios.items():
            step_s = training.composed_s(row, [float(c) for c in costs], name == "overlapped_s")
            found.append(step_s / float(np.median(row[name])))
    names = {"overlapped_s": "training step with overlap", "plain_s": "training step, no overlap"}
    what = "3 networks x 3 buckets x 2, 4, 8 hosts, compute as timed"
    return [Line(f"lab: {names[name]}, {what}", "dse", np.array(found), None, (0.06, 0.15))
            for name, found in ratios.items() if found]  # fmt: skip


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
