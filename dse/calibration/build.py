"""From measurement files to a profile: fits every algorithm and the pool, and states the range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.calibration.design import Rows, rows_of, step_bytes
from dse.calibration.experiment import Experiment, Machine, read_experiment, sha256_of
from dse.calibration.files import rounded
from dse.calibration.fit import StepFit, fit_step, relative_error, textbook_held_out_s
from dse.calibration.profile import POOLED, Fit, Point, Profile
from dse.errors import MeasurementError
from dse.model.arrays import Array

SPLIT_REASON = (
    "measured on one link (shared memory of one node), so all of it is taken as the host's part"
)


def fit_measurements(paths: Sequence[str | Path], name: str = "") -> Profile:
    """Fit one profile on one or more measurement files of the same transport and machine.

    Raises StudyError for a bad file, MeasurementError where the files do not belong together or
    hold too little: at least two rank counts and three sizes of an algorithm.
    """
    if not paths:
        raise MeasurementError("no measurement file was given")
    experiments = [read_experiment(path) for path in paths]
    first = experiments[0]
    machines = [e.machine for e in experiments if e.machine is not None]
    if len(machines) < len(experiments):
        raise MeasurementError(f"{paths[0]}: names no machine; logs of others are not fitted yet")
    machine = machines[0]
    # Runs are numbered on from file to file: run 1 of two files is two runs.
    samples = [
        replace(sample, run=1000 * number + sample.run)
        for number, experiment in enumerate(experiments)
        for sample in experiment.samples
    ]
    for what, kinds in (
        ("machines", {(m.cpu, m.cores) for m in machines}),
        ("transports", {(s.transport, s.library, s.link) for s in samples}),
    ):
        if len(kinds) > 1:
            listed = " and ".join(str(kind) for kind in sorted(kinds))
            raise MeasurementError(f"the files are of different {what}: {listed}; fit each alone")
    rows = rows_of(samples, machine.cores)
    if rows.ranks.size == 0:
        raise MeasurementError(f"{paths[0]}: holds no verified sample on one node")
    return _profile(experiments, machine, rows, name or first.name, sha256_of(*paths))


def _profile(
    experiments: Sequence[Experiment], machine: Machine, rows: Rows, name: str, digest: str
) -> Profile:
    first, sample = experiments[0], experiments[0].samples[0]
    gamma = float(np.median([e.gamma_s_per_byte for e in experiments]))
    copy = float(np.median([e.copy_s_per_byte for e in experiments]))
    fits: dict[str, Fit] = {}
    points: list[Point] = []
    for algorithm in (str(a) for a in np.unique(rows.algorithm)):
        mine = rows.take(rows.algorithm == algorithm)
        if np.unique(mine.ranks).size < 2 or np.unique(mine.message_bytes).size < 3:
            needs = "needs two rank counts and three sizes or more"
            raise MeasurementError(f"{algorithm}: {needs}; measure with a larger --budget")
        fitted = fit_step(mine, gamma)
        fits[algorithm] = _fit_record(fitted, gamma)
        points += _points(algorithm, fitted)
    several = np.unique(rows.algorithm).size > 1
    pooled = fit_step(rows, gamma, group="algorithm" if several else "ranks")
    fits[POOLED] = _fit_record(pooled, gamma)
    steps = step_bytes(rows)
    return Profile(
        name=name,
        transport=sample.transport,
        library=sample.library,
        version=sample.version,
        link=sample.link,
        machine={
            "cpu": machine.cpu,
            "cores": str(machine.cores),
            "memory": f"{machine.memory_bytes / 2**30:.0f} GiB",
            "kernel": machine.kernel,
            "nics": ", ".join(machine.nics) or "none",
            "python": machine.python,
        },
        cores=machine.cores,
        background_cores=max(e.background_cores for e in experiments),
        date=max(e.date for e in experiments),
        source=f"measured with dse {first.dse_version}",
        measurements_sha256=digest,
        gamma_s_per_byte=rounded(gamma),
        copy_s_per_byte=rounded(copy),
        ranks=(int(rows.ranks.min()), int(rows.ranks.max())),
        message_bytes=(float(rows.message_bytes.min()), float(rows.message_bytes.max())),
        step_bytes=(rounded(float(steps[0].min()), 12), rounded(float(steps[1].max()), 12)),
        max_nodes=1,
        split="assumed",
        split_reason=SPLIT_REASON,
        fits=fits,
        points=tuple(points),
    )


def _fit_record(fitted: StepFit, gamma: float) -> Fit:
    rows = fitted.rows
    held_out = relative_error(fitted.held_out, rows.seconds)
    textbook = relative_error(textbook_held_out_s(rows, gamma), rows.seconds)
    values = [rounded(float(value), 5) for value in fitted.coefficients]
    slopes = 2 + len(fitted.edges_bytes)
    return Fit(
        latency_s=values[0],
        s_per_byte=tuple(values[1:slopes]),
        edges_bytes=fitted.edges_bytes,
        jump_s=tuple(values[slopes:-1]),
        switch_s=values[-1],
        error=_quantile(held_out, 0.5),
        error_p90=_quantile(held_out, 0.9),
        textbook_error=_quantile(textbook, 0.5),
        textbook_error_p90=_quantile(textbook, 0.9),
        residual=_quantile(relative_error(fitted.fitted, rows.seconds), 0.5),
        draws=tuple(tuple(rounded(float(x), 4) for x in draw) for draw in fitted.draws),
    )


def _quantile(errors: Array, level: float) -> float:
    return rounded(float(np.quantile(errors, level)), 4)


def _points(algorithm: str, fitted: StepFit) -> list[Point]:
    rows = fitted.rows
    columns = zip(rows.ranks, rows.message_bytes, rows.seconds, fitted.held_out, strict=True)
    return [
        Point(algorithm, int(n), int(m), rounded(float(t)), rounded(float(p), 4))
        for n, m, t, p in columns
    ]
