"""The emulated cluster: fitted on few hosts and two link speeds, judged on more and on a third.

Reads what ``python -m benchmarks.lab measure`` left in benchmarks/lab/results, so it needs no root.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy.board import Line
from benchmarks.lab import compare, training
from dse.calibration.experiment import Experiment, Measurement, read_experiment
from dse.calibration.fitting.profile import fit_experiments
from dse.calibration.fitting.servers import ps_rows
from dse.calibration.prediction import predict
from dse.calibration.profile import Profile
from dse.model.aggregation.algorithms import ALGORITHMS

RESULTS = Path(__file__).parents[1] / "lab" / "results"
FEW_HOSTS = 4
JUDGED_BYTES = 64 * 1024
THIRD_BYTES_PER_S = 100e6 / 8
PS_WORKERS, PS_SERVERS = 3, 2


def lines() -> list[Line]:
    """More hosts, and another link speed."""
    samples, known, profile = forced()
    third = [s for s in samples if s.link_bytes_per_s == THIRD_BYTES_PER_S]
    both = [s for s in samples if s.link_bytes_per_s != THIRD_BYTES_PER_S]
    return [
        _judged("lab: 2-4 hosts -> 6-8 hosts, from 64 KiB, all algorithms", profile,
                [s for s in both if s.nodes > FEW_HOSTS], (0.07, 0.20)),
        _textbook(both),
        _judged("lab: links of 200 and 400 Mbps, 2-4 hosts -> 100 Mbps, 2-8 hosts", profile,
                third, (0.07, 0.20)),
        _two_a_host(known),
        *_gloo(),
        *_training(profile),
        _parameter_server(),
    ]  # fmt: skip


@cache
def forced() -> tuple[list[Measurement], list[Measurement], Profile]:
    """Allreduce of one rank a host: everything, what is fitted, and the profile fitted to it."""
    experiments = _experiments("mpi")
    samples = [s for s in _between(experiments) if s.ranks_per_node == 1]
    known = [s for s in samples
             if s.link_bytes_per_s != THIRD_BYTES_PER_S and s.nodes <= FEW_HOSTS]  # fmt: skip
    about = replace(experiments[0], samples=tuple(known))
    return samples, known, fit_experiments([about], "lab")


def _experiments(kind: str) -> list[Experiment]:
    return [read_experiment(path) for path in sorted(RESULTS.glob(f"{kind}-*.json"))]


def _between(experiments: list[Experiment]) -> list[Measurement]:
    """Forced algorithms between hosts."""
    return [s for e in experiments for s in e.samples if s.algorithm in ALGORITHMS and s.nodes > 1]


def _two_a_host(known: list[Measurement]) -> Line:
    """Ranks that share the link of their host."""
    experiments = _experiments("mpi")
    pairs = [s for s in _between(experiments) if s.ranks_per_node == 2]
    fewer = (*known, *(s for s in pairs if s.nodes < FEW_HOSTS))
    profile = fit_experiments([replace(experiments[0], samples=fewer)], "lab")
    return _judged("lab: 1 rank on 2-4 hosts, 2 on each of 2-3 -> 2 on each of 4", profile,
                   [s for s in pairs if s.nodes == FEW_HOSTS], None)  # fmt: skip


def _gloo() -> list[Line]:
    """The ring of torch; nothing where it was not measured on few and on more hosts."""
    experiments = _experiments("gloo")
    samples = _between(experiments)
    known = [s for s in samples if s.nodes <= FEW_HOSTS]
    asked = [s for s in samples if s.nodes > FEW_HOSTS]
    if not known or not asked:
        return []
    profile = fit_experiments([replace(experiments[0], samples=tuple(known))], "lab-gloo")
    data = "lab: gloo ring, 2-4 hosts -> 6-8 hosts"
    return [_judged(data, profile, asked, (0.07, 0.20))]


def calls() -> list[Measurement]:
    """Pushes and pulls of gRPC, every layout and both links."""
    return [s for e in _experiments("ps") for s in e.samples]


def _parameter_server() -> Line:
    """gRPC servers: 1-2 servers and 1-3 workers predict 3 servers or 4 workers."""
    experiments = _experiments("ps")

    def known(sample: Measurement) -> bool:
        return sample.ranks <= PS_WORKERS and sample.servers <= PS_SERVERS

    fitted = [replace(e, samples=tuple(filter(known, e.samples))) for e in experiments]
    profile = fit_experiments(fitted, "lab")
    rows = ps_rows([s for e in experiments for s in e.samples if not known(s)])
    found = predict(
        profile, "ps", rows.workers, rows.message_bytes, None, 1.0 / rows.wire_s_per_byte,
        rows.servers,
    )  # fmt: skip
    inside = (found.low <= rows.seconds) & (rows.seconds <= found.high)
    data = "lab: gRPC, 1-2 servers and 1-3 workers -> 3 servers or 4 workers, 400 and 1000 Mbps"
    return Line(data, "dse", found.seconds / rows.seconds, inside, (0.12, 0.30))


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
    speeds = sorted({row["link_bytes_per_s"] for row in rows})
    return [
        _steps(profile, [row for row in rows if row["link_bytes_per_s"] == speed], hidden)
        for speed in speeds for hidden in (True, False)
    ]  # fmt: skip


def _steps(profile: Profile, rows: list[dict[str, Any]], hidden: bool) -> Line:
    ratios, inside = [], []
    for row in rows:
        sizes = 4.0 * np.array(row["elements"])
        algorithm, n, speed = row["algorithm"], row["ranks"], row["link_bytes_per_s"]
        fit, gamma = profile.network[algorithm], profile.gamma_s_per_byte
        costs = fit.seconds(algorithm, n, sizes, speed, gamma, after_barrier=False)
        at = predict(profile, algorithm, n, sizes, 1, speed)
        step_s, low, high = (
            training.composed_s(row, [float(c) for c in costs * share], hidden)
            for share in (1.0, at.low / at.seconds, at.high / at.seconds)
        )
        measured = float(np.median(row["overlapped_s" if hidden else "plain_s"]))
        ratios.append(step_s / measured)
        inside.append(low <= measured <= high)
    mbps = 8e-6 * rows[0]["link_bytes_per_s"]
    what = "with overlap" if hidden else "no overlap"
    data = f"lab: training step, {what}, 3 networks x 3 buckets x 2, 4, 8 hosts, {mbps:g} Mbps"
    return Line(data, "dse", np.array(ratios), np.array(inside), (0.06, 0.15))


def _judged(
    data: str, profile: Profile, samples: list[Measurement], target: tuple[float, float] | None
) -> Line:
    """Medians over the runs of a layout, against the profile; as many ranks on every host."""
    ratios, inside = [], []
    for (algorithm, n, m, speed), seconds in medians(samples).items():
        if m < JUDGED_BYTES:
            continue
        at = predict(profile, algorithm, n, m, samples[0].ranks_per_node, speed)
        ratios.append(float(at.seconds) / seconds)
        inside.append(bool(at.low <= seconds <= at.high))
    return Line(data, "dse", np.array(ratios), np.array(inside), target)


def medians(samples: list[Measurement]) -> dict[tuple[str, int, int, float], float]:
    """Seconds by (algorithm, ranks, bytes, bytes/s of the link), over the runs."""
    times: dict[tuple[str, int, int, float], list[float]] = {}
    for s in samples:
        times.setdefault((s.algorithm, s.ranks, s.bytes, s.link_bytes_per_s or np.nan), []).append(
            s.median_s
        )
    return {key: float(np.median(seconds)) for key, seconds in times.items()}
