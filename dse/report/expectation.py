"""A point's prediction beside a run that was measured: within its interval or not, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

import numpy as np

from dse import catalog
from dse.calibration.importers.throughput import COLUMNS, SUMMING, is_row
from dse.calibration.importers.training_log import Measured, Training
from dse.errors import ArgumentError
from dse.report import words
from dse.report.design_point import Bounds, Point
from dse.report.document import RunDocument
from dse.report.front_row import point_at

TWOFOLD = 2.0  # beyond, differences are told as factors


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A prediction and what was measured, in samples/s of the whole job.

    log: where the rates are from. interval: of 90 %, of the prediction; within: whether the median
    of ``rates`` rates lies in it. spread: their 5th and 95th percentiles. read_as: by whom they
    were told, and how they became samples/s. lines: first and last that were used; None of what the
    user says. warm_up: rates left out before them. notes: what the rate may be instead, where that
    explains it, and what makes the two differ in kind. own_rate: the row of a table that teaches
    the model this rate, by column; None where it cannot be one, or is of another batch.
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
    notes: tuple[str, ...] = ()
    own_rate: dict[str, str] | None = None


@dataclass(frozen=True)
class Expected:
    """A point of a finished run that is compared with what was measured. name: in words."""

    document: RunDocument
    point: Point
    name: str

    @property
    def terms(self) -> Training:
        """In which a rate is told."""
        passes = int(self.point.config.get("accumulation") or 1)
        tokens = self.document.study.tokens_per_sample
        return Training(self.point.global_batch, self.point.gpus, passes, tokens)

    def row(self, samples_per_s: float) -> dict[str, str] | None:
        """The row of a table that teaches the model a rate measured at the point, by column.

        How gradients were summed is left out where a table cannot say it. None where the catalogue
        has no such workload or accelerator.
        """
        config = self.point.config
        node = config.get("node")
        known = {
            "workload": self.document.study.workload,
            "accelerator": catalog.node(node).accelerator if node else config.get("accelerator"),
            "samples_per_s": f"{samples_per_s:.6g}",
            "gpus": str(self.point.gpus),
            "gpus_per_node": str(round(self.point.gpus / self.point.nodes)),
        }
        cells = {name: cell for name in COLUMNS if (cell := {**config, **known}.get(name))}
        without = {name: cell for name, cell in cells.items() if name not in SUMMING}
        return next((row for row in (cells, without) if is_row(row)), None)


def expected_of(document: RunDocument, row: int | None) -> Expected:
    """The point in a row of the front, or the recommended one.

    Raises :class:`ArgumentError` for a row that is not there, and for a point without an interval.
    """
    name = "the recommended point" if row is None else f"row {row} of the front"
    point = document.recommended if row is None else point_at(document, row)
    if point.throughput_samples_per_s is None or words.rate_interval(point) is None:
        problem = f"{name} of {document.study.name} has no interval of samples/s"
        raise ArgumentError("--expect", problem, "run the study again, or name another row")
    return Expected(document, point, name)


def checked(asked: Expected, log: str, found: Measured) -> Checked:
    """The point beside what was measured. log: where that is from."""
    bounds, expected = words.rate_interval(asked.point), asked.point.throughput_samples_per_s
    assert bounds is not None  # expected_of has looked
    assert expected is not None
    used = found.rates[found.warm_up :]
    rate = median(used)
    low, high = np.percentile(used, (5, 95))
    return Checked(
        study=asked.document.study.name,
        point=f"{asked.name}: {words.describe(asked.point)}",
        log=log,
        expected=expected,
        interval=bounds,
        measured=rate,
        within=bounds[0] <= rate <= bounds[1],
        ratio=rate / expected,
        rates=len(used),
        spread=(float(low), float(high)),
        read_as=_read_as(found, asked.terms),
        lines=(found.lines[found.warm_up], found.lines[-1]) if found.lines[-1] else None,
        warm_up=found.warm_up,
        notes=tuple(_notes(asked, found, rate, bounds)),
        own_rate=asked.row(rate) if found.batch in (None, asked.point.global_batch) else None,
    )


def _read_as(found: Measured, terms: Training) -> str:
    """By whom the rates were told, in which unit, and how these became samples/s of the job."""
    unit = found.unit
    samples = {"steps": found.batch or terms.batch, "passes": terms.batch / terms.passes}
    if unit.of in samples:
        whose = "the log's batch" if unit.of == "steps" and found.batch else "the point's batch"
        return f"{found.told_by}, {unit.name}, each of {samples[unit.of]:,.6g} samples, {whose}"
    return f"{found.told_by}, {unit.name}{f', times {terms.gpus:,}' if unit.of_one else ''}"


def _notes(asked: Expected, found: Measured, rate: float, bounds: Bounds) -> list[str]:
    """What the rate may be instead, where that explains it, and another batch."""
    point, unit, passes = asked.point, found.unit, asked.terms.passes
    instead = [(1 / passes, "passes were counted as steps"), (passes, "steps as passes")]
    if unit.of in ("samples", "tokens") and not unit.of_one:
        instead = [(point.gpus, "it is of one accelerator"), (point.nodes, "it is of one node"),
                   *instead]  # fmt: skip
    low, high = bounds
    explained = [
        f"{words.significant(factor)} times the measured rate lies within the interval: check "
        f"whether {what}"
        for factor, what in instead
        if low <= rate * factor <= high and not low <= rate <= high
    ]
    out = explained[:1]
    if found.batch not in (None, point.global_batch):
        out.append(
            f"the log has a global batch of {words.count(found.batch or 0)}, and the point one of "
            f"{words.count(point.global_batch)}, so they are not the same training"
        )
    return out


def lines(found: Checked) -> list[str]:
    """The verdict, with what it rests on."""
    rates = "one rate"
    if found.rates > 1:
        rates = f"median of {words.count(found.rates)} rates, nine of ten {_span(found.spread)}"
    where = f", lines {found.lines[0]} to {found.lines[1]}" if found.lines else ""
    left_out = f"; {words.many(found.warm_up, 'rate')} of the warm-up left out"
    out = [
        f"{found.study}, {found.point}",
        f"expected  {_rate(found.expected)} samples/s (90 % confidence: {_span(found.interval)})",
        f"measured  {_rate(found.measured)} samples/s, {rates}",
        f"          {found.log}{where}, read as {found.read_as}{left_out if found.warm_up else ''}",
        *(f"Note: {note}." for note in found.notes),
        verdict(found),
    ]
    if not found.within and found.own_rate is not None:
        out += [
            "If batch, precision and software are those of the point, these lines teach the model "
            "the rate, by dse calibrate import-throughput:",
            f"    {','.join(found.own_rate)}",
            f"    {','.join(found.own_rate.values())}",
        ]
    return out


def verdict(found: Checked) -> str:
    """Whether the measured rate lies within the interval, in a sentence."""
    where = "Within" if found.within else "Below" if found.ratio < 1 else "Above"
    slow, times = found.ratio < 1, words.significant(max(found.ratio, 1 / found.ratio))
    if times == "1":
        return f"{where} the interval: as fast as expected."
    if float(times.replace(",", "")) >= TWOFOLD:
        return f"{where} the interval: {times} times as {'slow' if slow else 'fast'} as expected."
    off = words.percent(abs(found.ratio - 1))
    return f"{where} the interval: {off} {'slower' if slow else 'faster'} than expected."


def _rate(value: float) -> str:
    return words.significant(value, 4)


def _span(bounds: Bounds) -> str:
    return f"{_rate(bounds[0])} to {_rate(bounds[1])}"
