"""Measurements of a machine whose parameters are known, because we made it up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from dse.calibration import Profile, fit_measurements, write_profile
from dse.calibration.experiment import Experiment, Machine, Measurement, write_experiment
from dse.calibration.node_cost import on_cores_s
from dse.model.links import StepCost

ALGORITHMS = ("halving-doubling", "recursive-doubling", "ring")
GAMMA = 1e-10
SWITCH_S = 1e-6
PLANTED = StepCost(3e-6, (1e-9, 2e-10), (65536.0,), (5e-6,))
SIZES = tuple(64 * 4**k for k in range(10))


def experiment(
    step: StepCost = PLANTED,
    ranks: Sequence[int] = (2, 3, 4, 8),
    cores: int = 4,
    noise: float = 0.0,
    runs: int = 1,
    outliers: int = 0,
    seed: int = 1,
) -> Experiment:
    """What such a machine would measure; ``outliers`` samples take ten times as long."""
    random = np.random.default_rng(seed)
    keys = [
        (run, algorithm, n, m)
        for run in range(1, runs + 1)
        for algorithm in ALGORITHMS
        for n in ranks
        for m in SIZES
    ]
    slow = set(random.choice(len(keys), outliers, replace=False).tolist())
    samples = []
    for at, (run, algorithm, n, m) in enumerate(keys):
        exact = float(on_cores_s(algorithm, n, m, max(1, n / cores), step, GAMMA, SWITCH_S))
        seconds = exact * float(np.exp(noise * random.standard_normal()))
        seconds *= 10.0 if at in slow else 1.0
        samples.append(sample(algorithm, n, m, seconds, run))
    machine = Machine("planted", cores, 2**34, "Linux 6", ("eth0 10000 Mbps",), "3.11")
    return Experiment(
        name="planted",
        date="2026-01-31",
        dse_version="0",
        machine=machine,
        budget_s=60.0,
        wall_s=59.0,
        background_cores=0.0,
        gamma_s_per_byte=GAMMA,
        copy_s_per_byte=5e-11,
        local=(),
        samples=tuple(samples),
    )


@cache
def profile() -> Profile:
    """Of an experiment with some noise, as fitted from its file; takes seconds to make."""
    with TemporaryDirectory() as folder:
        measured = Path(folder) / "measured.json"
        write_experiment(experiment(noise=0.02), measured)
        return fit_measurements([measured], "forced")


def sample(algorithm: str, ranks: int, size: int, seconds: float, run: int = 1) -> Measurement:
    return Measurement(
        transport="mpi",
        library="openmpi",
        version="5.0.11",
        run=run,
        algorithm=algorithm,
        ranks=ranks,
        ranks_per_node=ranks,
        nodes=1,
        link="shared-memory",
        bytes=size,
        repetitions=9,
        min_s=seconds * 0.9,
        median_s=seconds,
        p95_s=seconds * 1.2,
        median_error_s=0.01 * seconds,
        verified=True,
    )


def profile_text(folder: Path) -> str:
    """A profile file called this-machine; ``folder`` is for its measurements."""
    measured, fitted = folder / "measured.json", folder / "this-machine.yaml"
    write_experiment(experiment(noise=0.02), measured)
    write_profile(fit_measurements([measured], "this-machine"), fitted)
    return fitted.read_text(encoding="utf-8")
