"""A point's prediction beside a run that was measured: within its interval or not, what to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from dse.calibration.importers.training_log import Measured, Training
from dse.errors import ArgumentError
from dse.report import words
from dse.report.design_point import Bounds
from dse.report.document import RunDocument
from dse.report.origin import point_at
from dse.report.templating import filled

_NEAR = 0.15  # of a count of accelerators or passes
_FEW = 3  # of them: runs are often truly so many times as slow


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A prediction and what was measured, in samples/s of the whole job.

    log: where the rates are from. interval: of 90 %, of the prediction; within: whether the median
    of ``rates`` rates lies in it. spread: their 5th and 95th percentiles. read_as: by whom they
    were told, and in which unit. lines: first and last that were used; None of what the user says.
    warm_up: rates left out before them. batches: samples of a step by the log and of the point;
    None where they do not differ. count: accelerators or passes by which a rate outside is too low
    or too high; empty where neither is. teaches: outside, and not by more than a few of them.
    """

    study: str
    point: str
    log: str
    expected: float
    interval: Bounds
    measured: float
    within: bool
    ratio: float
    rates: int
    spread: Bounds
    read_as: str
    lines: tuple[int, int] | None
    warm_up: int
    batches: tuple[float, float] | None
    count: str
    teaches: bool


def checked(
    document: RunDocument, row: int | None, log: str, read: Callable[[Training], Measured]
) -> Checked:
    """The point in a row of the front, or the recommended one, beside what was measured.

    log: where that is from. read: takes the terms in which a rate is told. Raises
    :class:`ArgumentError` for a row that is not there, and for a point without an interval.
    """
    name = "the recommended point" if row is None else f"row {row} of the front"
    point = point_at(document, row)
    bounds, expected = point.bounds("throughput"), point.throughput_samples_per_s
    if expected is None or bounds is None:
        problem = f"{name} of {document.study.name} has no interval of samples/s"
        raise ArgumentError("--expect", problem, "run the study again, or name another row")
    passes, own = int(point.config.get("accumulation") or 1), float(point.global_batch)
    found = read(Training(own, point.gpus, passes, document.study.tokens_per_sample))
    used = found.rates[found.warm_up :]
    rate = median(used)
    within, factor = bounds[0] <= rate <= bounds[1], max(rate / expected, expected / rate)
    counts = {passes: "passes", point.gpus: "accelerators"}
    near = [n for n in counts if not within and n > 1 and abs(factor / n - 1) < _NEAR]
    return Checked(
        study=document.study.name,
        point=f"{name}: {words.describe(point)}",
        log=log,
        expected=expected,
        interval=bounds,
        measured=rate,
        within=within,
        ratio=rate / expected,
        rates=len(used),
        spread=(float(np.percentile(used, 5)), float(np.percentile(used, 95))),
        read_as=f"{found.told_by}, {found.unit.name}",
        lines=(found.lines[found.warm_up], found.lines[-1]) if found.lines[-1] else None,
        warm_up=found.warm_up,
        batches=None if found.batch in (None, own) else (found.batch or 0.0, own),
        count=f"{near[0]} {counts[near[0]]}" if near else "",
        teaches=not within and max(near, default=0) <= _FEW,
    )


def lines(found: Checked) -> list[str]:
    """The verdict, with what it rests on."""
    four = partial(words.significant, digits=4)
    said = {"count": words.count, "many": words.many, "four": four,
            "span": lambda bounds: " to ".join(map(four, bounds))}  # fmt: skip
    text = filled("expectation.txt.j2", {**said, "found": found})
    return [line for line in text.splitlines() if line]
