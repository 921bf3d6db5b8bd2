"""Training speed as it was measured, and the terms in which it is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dse.calibration.importers import kineto
from dse.calibration.throughput_part import Throughput

OF_PARTS = "loading data or a part of a step"  # what lines are of that do not count
WARM_UP = 0.1  # of the rates, at the beginning, are left out
FEW = 10  # rates; fewer are all used


@dataclass(frozen=True)
class Training:
    """The terms in which rates are turned into samples per second of the whole job.

    tokens_per_sample: None where samples have no fixed length. nodes: None where nobody knows.
    measured: whether a rate of a table
    is of the point that was measured; raises StudyError where that cannot be told. point: what it
    is called.
    """

    global_batch: float
    gpus: int
    tokens_per_sample: float | None = None
    measured: Callable[[Throughput], bool] = lambda _: True
    point: str = "the point"
    nodes: int | None = None


class Rival(NamedTuple):
    """A line that tells two rates which differ: the one that counts, and another."""

    line: int
    quote: str
    other: str


@dataclass(frozen=True)
class MeasuredTraining:
    """Samples per second of the whole job, in the order in which they were written.

    unit: what they were read by. lines: of the file, from 1. left_out: lines of evaluation. unread:
    lines with the unit and what is no number. batches: global batches that the log tells. of_parts:
    lines of loading data or of a part of a step. rivals: lines that tell two rates.
    with_evaluation: lines whose time of a step has evaluation in it. step_samples: that a step is
    taken to have, where the rates are of steps. each, times: of what rates were of one, accelerator
    or node, and by how many they were multiplied. other_rows: of a table, of other configurations.
    quote: the first rate that is used, as it is written.
    steps: of a trace, with what communicates. ranks: of a trace.
    """

    rates: tuple[float, ...]
    lines: tuple[int, ...]
    unit: str
    left_out: int = 0
    unread: int = 0
    batches: tuple[int, ...] = ()
    of_parts: int = 0
    rivals: tuple[Rival, ...] = ()
    with_evaluation: int = 0
    step_samples: float | None = None
    each: str = ""
    times: int = 1
    other_rows: int = 0
    quote: str = ""
    steps: tuple[kineto.TracedStep, ...] = ()
    ranks: int | None = None

    @property
    def warm_up(self) -> int:
        """How many of the first rates are not to be used."""
        return int(len(self.rates) * WARM_UP) if len(self.rates) >= FEW else 0

    @property
    def used(self) -> tuple[float, ...]:
        """The rates behind the warm-up."""
        return self.rates[self.warm_up :]
