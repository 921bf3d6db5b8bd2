"""What a fleet's document says of the scheduler's log that its jobs come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MOST_SHOWN = 12  # types of GPU, and names that match nothing


@dataclass(frozen=True)
class Matched:
    """Jobs of one kind (a workload, a type of GPU), and what they hold of the fleet."""

    name: str
    jobs: int
    share: float


@dataclass(frozen=True)
class Seen:
    """A name that a log has, and of how many jobs."""

    name: str
    jobs: int


@dataclass(frozen=True)
class Failed:
    """Jobs that failed or were cancelled, of all that held GPUs.

    gpu_hours: that they held; None where the log has no times. share: of what all held. counted:
    whether they count like the others.
    """

    jobs: int
    gpu_hours: float | None
    share: float
    counted: bool


@dataclass(frozen=True)
class LogSummary:
    """What stands behind jobs that a scheduler logged.

    form: of the log. columns: what a column tells -> its name. left_out: reason -> jobs.
    matched: by workload of the catalogue. unmatched, unmatched_share: jobs that name none, and what
    they hold; stands_for: what they are priced as, each one at random. batch_per_gpu: of
    ``without_batch`` matched jobs; batch_of_study: whether the study gives it. without_hours: jobs
    that run as long as the median of the others. class_by_size: jobs of which the log tells no
    architecture. failed: those that failed or were cancelled, None where the log does not tell.
    gpu_types: as the log writes them. weights, weights_matched: the share of time
    that weights take, of all jobs and of the matched ones; None where there are none. gpu_hours: of
    all jobs that held GPUs, also of failed ones that do not count; None where the log has no times,
    and in documents of before they were told. durations: columns that were not read and look like
    how long jobs ran. no_jobs: what rows are that are no jobs -> how many. readings: how cells were
    read that could be read otherwise, in sentences.
    """

    form: str
    columns: Mapping[str, str]
    left_out: Mapping[str, int]
    matched: tuple[Matched, ...]
    unmatched: int
    unmatched_share: float
    unmatched_labels: tuple[Seen, ...]
    stands_for: str
    batch_per_gpu: float
    batch_of_study: bool
    without_batch: int
    without_hours: int
    class_by_size: int
    gpu_types: tuple[Matched, ...]
    failed: Failed | None = None
    weights: float | None = None
    weights_matched: float | None = None
    gpu_hours: float | None = None
    durations: tuple[str, ...] = ()
    no_jobs: Mapping[str, int] = field(default_factory=dict)
    readings: tuple[str, ...] = ()
