"""A scheduler's log as a population: jobs whose workload the study names, and what was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.errors import StudyError
from dse.fleet.document import Held, LogSummary
from dse.fleet.job_log import JobLog, read_job_log
from dse.fleet.job_table import LEAST, Work, groups_of
from dse.fleet.population import Population
from dse.model.arrays import Array, Mask
from dse.model.pai import (
    ALLREDUCE_CLUSTER,
    ALLREDUCE_LOCAL,
    FLOPS_OF_PASSES,
    ONE_WORKER_ONE_GPU,
    TRAFFIC_OF_PASSES,
)
from dse.model.precision import PRECISIONS
from dse.pricing.network import model_layers

BATCH_PER_GPU = 32.0  # a judgement, where neither log nor study tells
PRECISION = "fp32"  # no scheduler logs another
MOST_SHOWN = 12  # names that no pattern matches
_COLUMNS = {"cnodes": "gpus"}  # of a table of jobs, by what tells them in a log
_LONGEST_NAME = 60  # characters of a name that are shown


@dataclass(frozen=True)
class LogTerms:
    """A study's words on its log. columns: what a column tells -> its name. workloads: pattern of
    names of jobs -> workload of the catalogue, the first that matches counts. batch_per_gpu: where
    the log has none."""

    columns: Mapping[str, str]
    workloads: Mapping[str, str]
    batch_per_gpu: float = BATCH_PER_GPU

    def workload(self, name: str) -> str:
        """The workload of a job of this name, capitals aside; empty where no pattern matches it."""
        return next((workload for pattern, workload in self.workloads.items()
                     if fnmatchcase(name.lower(), pattern.lower())), "")  # fmt: skip


def read_logged(path: Path, terms: LogTerms, gpus_per_server: float) -> Population:
    """The jobs of a log whose workload is known, in the classes that it tells, else by how many
    GPUs and servers they hold. Raises :class:`~dse.errors.StudyError` where none held a GPU."""
    log = read_job_log(path, terms.columns)
    held, left_out = _that_held(log)
    meant = {name: terms.workload(name) for name in {log.names[at] for at in held}}
    found = [meant[log.names[at]] for at in held]
    named = held[np.array([bool(name) for name in found], dtype=bool)]
    batches = np.where(log.batch > 0, log.batch, terms.batch_per_gpu)
    steps = [step_of_gpu(meant[log.names[at]], float(batches[at])) for at in named]
    numbers = {key: np.array([step[key] for step in steps]) for key in (steps[0] if steps else {})}
    numbers["cnodes"], timed = log.cnodes[named], bool(np.isfinite(log.gpu_hours[held]).any())
    if timed:
        numbers["gpu_hours"] = log.gpu_hours[named]
    spread = np.where(log.nodes > 0, np.ceil(log.cnodes / np.maximum(log.nodes, 1.0)), np.inf)

    def wrong(at: int, column: str, problem: str, remedy: str) -> StudyError:
        row = int(log.rows[named[at]])
        return log.table.wrong(
            row, log.columns.get(_COLUMNS.get(column, column), ""), problem, remedy
        )

    work = Work(
        classes=[log.classes[at] or _by_size(log, at, gpus_per_server) for at in named],
        numbers=numbers,
        wrong=wrong,
        per_server=np.maximum(spread, 1.0)[named],
    )
    return Population(
        name=path.stem,
        title=path.name,
        path=str(path),
        groups=groups_of(work, gpus_per_server) if steps else (),
        base=None,
        hours_given=timed,
        state_given=False,
        log=_summary(log, held, found, left_out, terms),
    )


def _that_held(log: JobLog) -> tuple[NDArray[np.intp], Mapping[str, int]]:
    """The jobs that held GPUs and count, and why others do not, with how many."""
    untimed = np.isnan(log.gpu_hours)
    reasons = {
        "that never started": log.waited,
        "that held no GPU": log.gpus <= 0,
        "that ran for less than 4 seconds of a GPU, or not at all": log.gpu_hours < LEAST,
        "without a time, where others have one": untimed & bool((log.gpu_hours >= LEAST).any()),
    }
    left, counts = np.ones(len(log.names), dtype=bool), dict[str, int]()
    for reason, mask in reasons.items():
        counts[reason] = int((left & mask).sum())
        left &= ~mask
    counts = {reason: count for reason, count in counts.items() if count}
    if not left.any():
        said = [f"{count:,} job{'s' * (count != 1)} {why}" for why, count in counts.items()]
        problem = f"no job in it can be used: {' and '.join(said) or 'it has no rows'}"
        raise StudyError(log.table.path, 0, 0, problem, "give a log of jobs that trained")
    return np.flatnonzero(left), counts


def _by_size(log: JobLog, at: int, gpus_per_server: float) -> str:
    """The class of a job by how many GPUs and servers it held."""
    if log.cnodes[at] == 1:
        return ONE_WORKER_ONE_GPU
    several = log.cnodes[at] > gpus_per_server or log.nodes[at] > 1
    return ALLREDUCE_CLUSTER if several else ALLREDUCE_LOCAL


def _summary(
    log: JobLog,
    jobs: NDArray[np.intp],
    found: Sequence[str],
    left_out: Mapping[str, int],
    terms: LogTerms,
) -> LogSummary:
    """A summary of the jobs that held GPUs and count. found: their workloads."""
    hours = log.gpu_hours[jobs]
    timed = bool(np.isfinite(hours).any())
    weights: Array = hours if timed else log.cnodes[jobs]

    def held(name: str, which: Mask) -> Held:
        return Held(name, int(which.sum()), float(weights[which].sum() / weights.sum()))

    workloads = np.array(found)
    unknown = workloads == ""
    rows = [held(name, workloads == name) for name in dict.fromkeys(found) if name]
    names = Counter(log.names[at][:_LONGEST_NAME] for at in jobs[unknown])
    return LogSummary(
        form=log.title,
        columns=dict(log.columns),
        left_out=dict(left_out),
        steps=log.steps,
        jobs=len(jobs),
        gpus=float(log.gpus[jobs].sum()),
        gpu_hours=float(hours.sum()) if timed else None,
        workloads=tuple(sorted(rows, key=lambda row: -row.share)),
        unmatched=held("", unknown),
        unmatched_names=dict(names.most_common(MOST_SHOWN)),
        batch_per_gpu=terms.batch_per_gpu,
        without_batch=int((~(log.batch[jobs] > 0) & ~unknown).sum()),
    )


@cache
def step_of_gpu(workload: str, batch: float) -> Mapping[str, float]:
    """The work of one GPU with b = ``batch`` samples, as :func:`dse.model.pai.jobs_of` counts it in
    fp32, by column of a table of jobs: ``3 F b`` FLOPs, ``3 (2 O b + W)`` bytes of memory, ``I b``
    of input, and ``2 G`` of gradients, out and back; O, W, I and G in bytes."""
    layers, precision = model_layers(catalog.workload(workload)), PRECISIONS[PRECISION]
    outputs = 2 * float(np.sum(layers.traffic_elems)) * precision.activation_bytes
    moved = outputs * batch + layers.total_params * precision.weight_bytes
    return {
        "flops": FLOPS_OF_PASSES * float(np.sum(layers.forward_flops)) * batch,
        "memory_bytes": TRAFFIC_OF_PASSES * moved,
        "input_bytes": layers.input_bytes * batch,
        "weight_bytes": 2 * layers.total_params * precision.gradient_bytes,
    }
