"""A scheduler's log as a table of jobs: what was matched, what was assumed, what was left out."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from dse import catalog
from dse.errors import StudyError
from dse.fleet.job_log import TABLE, JobLog, read_job_log
from dse.fleet.job_table import LEAST, MOST_NAMED, Columns, architecture_named, unknown_class
from dse.fleet.log_entry import LoggedJob
from dse.fleet.log_summary import MOST_SHOWN, Failed, LogSummary, Matched, Seen
from dse.fleet.workload_matching import Matcher, StepOfGpu, step_of_gpu
from dse.model.arrays import Array
from dse.model.pai import ALLREDUCE_CLUSTER, ALLREDUCE_LOCAL, ONE_WORKER_ONE_GPU

BATCH_PER_GPU = 32.0  # a judgement, where neither log nor study tells
FEW = 5  # matched jobs of a class; fewer do not stand for the others
LARGEST_PARAMS = 1e9  # of a network that an unknown job may be: one that any GPU can train
_LONGEST_NAME = 60  # characters of a name that are shown
_NUMBER = re.compile(r"([-_.#/ ]\d+)+$")  # of a run, after the name of what runs
FAILED = "failed or were cancelled"
NEVER_STARTED = "never started"
NO_GPU, NEVER_RAN = "held no GPU", "ran for less than 4 seconds of a GPU, or not at all"


@dataclass(frozen=True)
class LogTerms:
    """What a study says of its log. columns: what a column tells -> its name. workloads: name of
    jobs -> workload of the catalogue. batch_per_gpu: where the log has none. count_failed: whether
    jobs that failed or were cancelled count like the others."""

    columns: Mapping[str, str]
    workloads: Mapping[str, str]
    batch_per_gpu: float | None = None
    count_failed: bool = True


def read_logged(path: Path, terms: LogTerms, gpus_per_server: float) -> tuple[Columns, LogSummary]:
    """The jobs of a log as columns, and what stands behind them.

    Raises :class:`~dse.errors.StudyError` where no job of it can be used.
    """
    log = read_job_log(path, terms.columns)
    ran, left_out = _used(log)
    jobs = [job for job in ran if terms.count_failed or not job.failed]
    if not jobs:
        left_out += Counter({FAILED: len(ran)})
        reasons = [f"{count:,} {what}" for what, count in left_out.items()]
        reasons += [f"{count:,} row{'s' * (count != 1)} {what}"
                    for what, count in log.no_jobs.items()]  # fmt: skip
        why = " and ".join(reasons) or "it has no rows below its header" * (log.form == TABLE)
        problem = f"no job in it can be used{f': {why}' if why else ''}"
        raise StudyError(str(path), 0, 0, problem, "give a log of jobs that trained")
    matcher = Matcher(terms.workloads)
    found = [matcher.workload(job.labels) for job in jobs]
    classes = [_class(job, path, gpus_per_server) for job in jobs]
    usual = BATCH_PER_GPU if terms.batch_per_gpu is None else terms.batch_per_gpu
    steps, stands_for = _steps(jobs, found, classes, usual)
    numbers = {
        name: np.array([getattr(step, name) for step in steps])
        for name in ("flops", "memory_bytes", "input_bytes", "weight_bytes")
    }
    numbers["cnodes"] = np.array([math.ceil(job.gpus) for job in jobs], dtype=np.float64)
    hours, without = _hours(jobs)
    if hours is not None:
        numbers["gpu_hours"] = hours
    weights = numbers["cnodes"] if hours is None else hours
    named = [_title(job, name) for job, name in zip(jobs, found, strict=True)]

    def place(row: int, column: str) -> tuple[int, int, str]:
        text = f"{numbers[column][row]:g}" if column in numbers else classes[row]
        return jobs[row].line, 1, text

    held, _ = _hours(ran)
    matched = np.array([name is not None for name in found])
    columns = Columns(
        np.array(classes, dtype=object), numbers, tuple(named) if len(jobs) <= MOST_NAMED else (),
        place, assumed=~matched, per_server=np.array([_per_server(job) for job in jobs]),
    )  # fmt: skip
    without_batch = sum(
        job.batch is None for job, name in zip(jobs, found, strict=True) if name is not None
    )
    summary = LogSummary(
        form=log.form,
        columns=dict(log.columns),
        left_out=dict(left_out),
        no_jobs=dict(log.no_jobs),
        readings=(*log.readings, *_of_one_id(log, ran)),
        matched=_held(found, weights),
        unmatched=int(np.sum(~matched)),
        unmatched_share=float(weights[~matched].sum() / weights.sum()),
        unmatched_labels=_labels(job for job, name in zip(jobs, found, strict=True) if not name),
        stands_for=stands_for,
        batch_per_gpu=usual,
        batch_of_study=terms.batch_per_gpu is not None,
        without_batch=without_batch,
        without_hours=without,
        class_by_size=sum(not job.architecture for job in jobs),
        failed=_failed(ran, terms.count_failed) if log.tells_status else None,
        gpu_types=_types(jobs, weights)[:MOST_SHOWN],
        gpu_hours=None if held is None else float(held.sum()),
        durations=log.durations,
    )
    return columns, summary


def _title(job: LoggedJob, workload: str | None) -> str:
    """What a job is called: its ID, the first name that the log has for it, and the workload."""
    label = next(iter(job.labels), "")[:_LONGEST_NAME]
    called = f"{job.name} {label}" if label and label != job.name else job.name
    return f"{called} ({workload or 'not matched'})"


def _used(log: JobLog) -> tuple[list[LoggedJob], Counter[str]]:
    jobs, left_out = [], Counter[str]()
    for job in log.jobs:
        if job.waited:
            left_out[NEVER_STARTED] += 1
        elif job.gpus <= 0:
            left_out[NO_GPU] += 1
        elif job.gpu_hours is not None and job.gpu_hours < LEAST:
            left_out[NEVER_RAN] += 1
        else:
            jobs.append(job)
    return jobs, left_out


def _of_one_id(log: JobLog, jobs: Sequence[LoggedJob]) -> Iterator[str]:
    """That rows have one ID, in a sentence, where the log has IDs and they do."""
    counts = Counter(job.name for job in jobs)
    rows = sum(count for count in counts.values() if count > 1)
    if rows and "job" in log.columns:
        yield (
            f"{rows:,} rows share their '{log.columns['job']}' with another row: each counts as a "
            "job of its own, and their GPU-hours add up, as those of a requeued job should."
        )


def _failed(jobs: Sequence[LoggedJob], counted: bool) -> Failed:
    """Those of the jobs that failed or were cancelled."""
    own = np.array([job.failed for job in jobs])
    hours, _ = _hours(jobs)
    weights = np.array([math.ceil(job.gpus) for job in jobs]) if hours is None else hours
    return Failed(
        jobs=int(np.sum(own)),
        gpu_hours=None if hours is None else float(hours[own].sum()),
        share=float(weights[own].sum() / weights.sum()),
        counted=counted,
    )


def _class(job: LoggedJob, path: Path, gpus_per_server: float) -> str:
    """As the log has it; else by how many GPUs and servers a job holds."""
    if job.architecture:
        if name := architecture_named(job.architecture):
            return name
        raise unknown_class(path, job.line, 1, job.architecture)
    if math.ceil(job.gpus) == 1:
        return ONE_WORKER_ONE_GPU
    one_server = math.ceil(job.gpus) <= gpus_per_server and (job.nodes or 1) <= 1
    return ALLREDUCE_LOCAL if one_server else ALLREDUCE_CLUSTER


def _per_server(job: LoggedJob) -> float:
    """GPUs of a job in the fullest of its servers; infinite where the log does not give them."""
    return max(math.ceil(math.ceil(job.gpus) / job.nodes), 1.0) if job.nodes else math.inf


def _steps(
    jobs: Sequence[LoggedJob], found: Sequence[str | None], classes: Sequence[str], usual: float
) -> tuple[list[StepOfGpu], str]:
    """Of every job, and in words what stands for those that match no workload."""
    own = [
        None if name is None else step_of_gpu(name, job.batch or usual)
        for job, name in zip(jobs, found, strict=True)
    ]
    known: dict[str, list[StepOfGpu]] = {}
    for step, kind in zip(own, classes, strict=True):
        if step is not None:
            known.setdefault(kind, []).append(step)
    every = [step for steps in known.values() for step in steps]
    small = [
        step_of_gpu(name, usual)
        for name in (catalog.names("workloads") if len(every) < FEW else ())
        if catalog.workload(name).params <= LARGEST_PARAMS
    ]
    random = np.random.default_rng(0)
    out, sources = [], dict[str, None]()
    for step, kind in zip(own, classes, strict=True):
        if step is not None:
            out.append(step)
            continue
        if len(known.get(kind, ())) >= FEW:
            donors, source = known[kind], "matched jobs of their class"
        elif len(every) >= FEW:
            donors, source = every, "matched jobs of any class"
        else:
            donors, source = small, "the catalogue's workloads of up to a billion parameters"
        sources[source] = None
        out.append(donors[int(random.integers(len(donors)))])
    return out, " and ".join(sources)


def _hours(jobs: Sequence[LoggedJob]) -> tuple[Array | None, int]:
    """GPU-hours of every job, and how many jobs had none and run as long as the median of others;
    None where no job has any."""
    ran = [job.gpu_hours / job.gpus for job in jobs if job.gpu_hours is not None]
    if not ran:
        return None, 0
    usual = median(ran)
    told = [usual * job.gpus if job.gpu_hours is None else job.gpu_hours for job in jobs]
    return np.array(told), len(jobs) - len(ran)


def _held(names: Sequence[str | None], weights: Array) -> tuple[Matched, ...]:
    """How many jobs have each name, and what they hold of the fleet, the most first."""
    counts, held = Counter(names), defaultdict[str | None, float](float)
    for name, weight in zip(names, weights, strict=True):
        held[name] += float(weight)
    return _by_share(counts, held, float(weights.sum()))


def _types(jobs: Sequence[LoggedJob], weights: Array) -> tuple[Matched, ...]:
    """How many jobs held GPUs of each type, and what these hold of the fleet, the most first. A job
    with GPUs of several types counts for each, with what its GPUs of the type hold."""
    counts, held = Counter[str | None](), defaultdict[str | None, float](float)
    for job, weight in zip(jobs, weights, strict=True):
        whole = max(sum(job.gpu_types.values()), job.gpus)
        for kind, gpus in job.gpu_types.items():
            counts[kind[:_LONGEST_NAME]] += 1
            held[kind[:_LONGEST_NAME]] += float(weight) * gpus / whole
    return _by_share(counts, held, float(weights.sum()))


def _by_share(
    counts: Mapping[str | None, int], held: Mapping[str | None, float], total: float
) -> tuple[Matched, ...]:
    rows = [Matched(name, counts[name], held[name] / total) for name in counts if name]
    return tuple(sorted(rows, key=lambda row: -row.share))


def _labels(jobs: Iterable[LoggedJob]) -> tuple[Seen, ...]:
    """What these jobs are called and how many are, the most first; several that differ in a number
    at the end, as runs do, by what they share."""
    counts = Counter(label for job in jobs if (label := next(iter(job.labels), "")))
    series = defaultdict[str, list[str]](list)
    for label in counts:
        series[_NUMBER.sub("", label) or label].append(label)
    seen = [
        Seen(
            (shared if len(own) > 1 else own[0])[:_LONGEST_NAME],
            sum(counts[label] for label in own),
        )
        for shared, own in series.items()
    ]
    return tuple(sorted(seen, key=lambda one: -one.jobs)[:MOST_SHOWN])
