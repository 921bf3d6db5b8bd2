"""A point's prediction beside a run that was measured: within its interval or not, what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np

from dse import catalog
from dse.calibration.importers.measured_training import OF_PARTS, MeasuredTraining, Training
from dse.calibration.importers.throughput_row import COLUMNS, DEFAULTS, REQUIRED, summing_cells
from dse.calibration.importers.training_table import COLUMN
from dse.calibration.throughput_part import Throughput
from dse.errors import ArgumentError, StudyError
from dse.pricing.problem import Problem
from dse.report import origin, own_rates, words
from dse.report.design_point import Bounds, Point
from dse.report.document import RunDocument
from dse.report.front_row import point_at
from dse.study import Value

TWOFOLD = 2.0  # beyond, differences are told as factors
OWN_RATES = "dse calibrate import-throughput"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Seconds of a step, of the prediction and as measured."""

    name: str
    expected_s: float
    measured_s: float


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A prediction and what was measured, in samples/s of the whole job.

    interval: of 90 %, of the prediction; within: whether the median of ``rates`` rates lies in it.
    spread: their 5th and 95th percentiles. read_as: their unit, and how it became samples/s. lines:
    first and last that were used; None of a trace. quote: the first of them, as far as it was read.
    warm_up: rates left out before them; left_out: lines of evaluation; other_rows: of a table, of
    other configurations; unread: lines with what is no number; of_parts: lines of loading data or
    of a part of a step.
    parts: of a step, where a trace tells. notes: what makes the two differ in kind. own_rate: the
    lines of a table that teaches the model this rate.
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
    quote: str
    warm_up: int
    left_out: int
    other_rows: int
    unread: int
    of_parts: int = 0
    parts: tuple[Part, ...] = ()
    notes: tuple[str, ...] = ()
    own_rate: tuple[str, str] | None = None


def point_of(document: RunDocument, row: int | None) -> tuple[str, Point]:
    """Its name and the point: of a row of the front, or the recommended one.

    Raises :class:`ArgumentError` for a row that is not there, and for a point without an interval.
    """
    name = "the recommended point" if row is None else f"row {row} of the front"
    point = document.recommended if row is None else point_at(document, row)
    if point.throughput_samples_per_s is None or words.rate_interval(point) is None:
        problem = f"{name} of {document.study.name} has no interval of samples/s"
        raise ArgumentError("--expect", problem, "run the study again, or name another row")
    return name, point


def terms(document: RunDocument, named: tuple[str, Point], sequence: int | None = None) -> Training:
    """In what terms a log of the point is read. sequence: tokens of a sample, where the workload
    does not say; raises :class:`ArgumentError` where it says otherwise."""
    name, point = named
    tokens = document.study.tokens_per_sample
    if sequence is not None and tokens not in (None, sequence):
        workload = document.study.workload
        problem = f"{workload} has samples of {tokens:g} tokens, so {sequence} were not predicted"
        raise ArgumentError("--sequence", problem, f"leave it out, or run a study of {sequence}")
    told = f"{name}, {words.describe(point)}"
    own = _OfPoint(document, point)
    batch = float(point.global_batch)
    return Training(batch, point.gpus, sequence or tokens, own, told, point.nodes)


class _OfPoint:
    """Whether a training rate is of a point of a finished run."""

    def __init__(self, document: RunDocument, point: Point) -> None:
        self._document, self._point = document, point

    @cached_property
    def _asked(self) -> tuple[Problem, Mapping[str, Value | None]]:
        """The study of the run, and the values of the point. Raises :class:`StudyError` where the
        study has changed so that it has no such point."""
        problem = origin.problem_of(self._document)
        values = origin.values_of(problem, self._point.config)
        if values is None:
            path = self._document.study.path
            raise StudyError(path, 0, 0, "has no such point any more", "run the study again")
        return problem, values

    def __call__(self, rate: Throughput) -> bool:
        return own_rates.is_of(*self._asked, rate)


def checked(
    document: RunDocument, named: tuple[str, Point], log: str, found: MeasuredTraining
) -> Checked:
    """The point beside what its log tells. Raises :class:`StudyError` where the log is of a job of
    another size."""
    name, point = named
    if found.ranks is not None and found.ranks != point.gpus:
        problem = (
            f"the trace is of {words.many(found.ranks, 'rank')}, but {name} has "
            f"{words.many(point.gpus, 'accelerator')}"
        )
        raise StudyError(log, 0, 0, problem, "name the row of that size, see front.csv")
    bounds, expected = words.rate_interval(point), point.throughput_samples_per_s
    assert bounds is not None  # point_of has looked
    assert expected is not None
    used = found.used
    rate = median(used)
    low, high = np.percentile(used, (5, 95))
    return Checked(
        study=document.study.name,
        point=f"{name}: {words.describe(point)}",
        log=log,
        expected=expected,
        interval=bounds,
        measured=rate,
        within=bounds[0] <= rate <= bounds[1],
        ratio=rate / expected,
        rates=len(used),
        spread=(float(low), float(high)),
        read_as=_unit(found),
        lines=(found.lines[found.warm_up], found.lines[-1]) if found.lines else None,
        quote=found.quote,
        warm_up=found.warm_up,
        left_out=found.left_out,
        other_rows=found.other_rows,
        unread=found.unread,
        of_parts=found.of_parts,
        parts=_parts(point, found),
        notes=tuple(_notes(point, found)),
        own_rate=_own_rate(document, point, rate),
    )


def _unit(found: MeasuredTraining) -> str:
    """As what the rates were read, and how they were turned into samples/s of the whole job."""
    unit = found.unit
    if found.times > 1:
        unit += f" of one {found.each}, times {words.count(found.times)}"
    if found.step_samples is not None:
        taken = words.count(found.step_samples)
        unit += f", taken as {taken} samples a step, the point's global batch"
    return unit


def _parts(point: Point, found: MeasuredTraining) -> tuple[Part, ...]:
    """The step, communication and the rest, as far as a trace tells."""
    if not found.steps or point.step_s is None:
        return ()
    steps = found.steps[found.warm_up :]
    step_s = median(step.step_s for step in steps)
    sent_s = median(step.communication_s for step in steps)
    out = [Part(name="step", expected_s=point.step_s, measured_s=step_s)]
    if point.comm_s is not None:
        out.append(
            Part(name="communication, hidden or not", expected_s=point.comm_s, measured_s=sent_s)
        )
    shown = [step.exposed_s for step in steps if step.exposed_s is not None]
    if shown and point.terms.exposed_s is not None:
        open_s, own = median(shown), point.terms.exposed_s
        rest = "computing and all else"
        out += [
            Part(name="communication that is not hidden", expected_s=own, measured_s=open_s),
            Part(name=rest, expected_s=point.step_s - own, measured_s=step_s - open_s),
        ]
    return tuple(out)


def _notes(point: Point, found: MeasuredTraining) -> list[str]:
    others = [size for size in found.batches if size != point.global_batch]
    out = []
    if others:
        out.append(
            f"the log has a global batch of {words.count(others[0])}, and the point one of "
            f"{words.count(point.global_batch)}, so they are not the same training"
        )
    if found.rivals:
        line, own, other = found.rivals[0]
        many = len(found.rivals)
        out.append(
            f"{words.many(many, 'line')} tell{'s' * (many == 1)} more than one rate, and the first "
            f'counts, in line {line} "{own}" rather than "{other}"'
        )
    if found.with_evaluation:
        epochs = words.many(found.with_evaluation, "line")
        out.append(f"the time of a step in {epochs} of whole epochs of Keras has validation in it")
    if found.steps and all(step.exposed_s is None for step in found.steps):
        out.append(
            "no kernel of a GPU computes in the trace, so it was not measured on "
            f"{words.machines(point.config)}"
        )
    if found.steps and found.ranks is None and point.gpus > 1:
        out.append(
            "the trace does not say how many ranks trained, and is compared with "
            f"{words.many(point.gpus, 'accelerator')}"
        )
    if found.steps and point.config.get("accumulation", "1") not in ("", "1"):
        out.append("a step of the trace is taken as one update of the weights, not as a part of it")
    return out


def _own_rate(document: RunDocument, point: Point, rate: float) -> tuple[str, str] | None:
    """The two lines of a table that teaches the model this rate; None where it cannot be one."""
    config = {name: value for name, value in point.config.items() if value}
    workload, per_node = document.study.workload, round(point.gpus / point.nodes)
    if "node" in config:
        config["accelerator"] = catalog.node(config["node"]).accelerator
    if "accelerator" not in config or workload not in catalog.names("workloads"):
        return None
    known = {
        "workload": workload, COLUMN: f"{rate:.6g}", "gpus": str(point.gpus),
        "gpus_per_node": str(per_node), "batch_per_gpu": config.get("batch_per_gpu", ""),
    }  # fmt: skip
    cells = {name: known.get(name) or config.get(name, "") for name in (*REQUIRED, *DEFAULTS)}
    if not all(cells[name] for name in REQUIRED):
        return None
    cells |= summing_cells(config, point.gpus, point.nodes)
    kept = [name for name in COLUMNS if cells.get(name)]
    return ",".join(kept), ",".join(cells[name] for name in kept)


def lines(found: Checked) -> list[str]:
    """The verdict, with what it rests on."""
    expected = f"{_rate(found.expected)} samples/s (90 % confidence: {_span(found.interval)})"
    out = [
        f"{found.study}, {found.point}",
        "",
        f"expected   {expected}",
        f"measured   {_rate(found.measured)} samples/s, {_of_rates(found)}",
        f"           {_read(found)}",
        *([f'           line {found.lines[0]}: "{found.quote}"'] if found.lines else []),
        "",
        verdict(found),
    ]
    out += [f"Note: {note}." for note in found.notes]
    out += _differs(found.parts)
    if not found.within:
        out += _advice(found)
    return out


def verdict(found: Checked) -> str:
    """Whether the measured rate lies within the interval, in a sentence."""
    low, high = found.interval
    off = _off(found.ratio)
    if found.within:
        return f"Within the interval: {off}."
    end, side = (low, "lower") if found.measured < low else (high, "upper")
    beyond = found.measured / end
    if 1 / TWOFOLD <= beyond <= TWOFOLD:
        where = "below" if beyond < 1 else "above"
        return (
            f"Outside the interval: {off}, {words.percent(abs(beyond - 1))} {where} its {side} end."
        )
    return f"Outside the interval: {off}, {_times(beyond)} as its {side} end."


def _off(ratio: float) -> str:
    if abs(ratio - 1) < 0.0005:
        return "as fast as expected"
    if ratio >= TWOFOLD or ratio < 1 / TWOFOLD:
        return f"{_times(ratio)} as expected"
    return f"{words.percent(abs(ratio - 1))} {'faster' if ratio > 1 else 'slower'} than expected"


def _times(ratio: float) -> str:
    return f"{words.significant(max(ratio, 1 / ratio))} times as {'fast' if ratio > 1 else 'slow'}"


def _differs(parts: Sequence[Part]) -> list[str]:
    if not parts:
        return []
    wide = max(len(part.name) for part in parts)
    out = ["", f"{'seconds of a step':<{wide}}  {'expected':>10}  {'measured':>10}"]
    for part in parts:
        own, seen = words.duration(part.expected_s), words.duration(part.measured_s)
        times = ""
        if part.expected_s > 0 and part.measured_s > 0:
            times = f"  x {words.significant(part.measured_s / part.expected_s)}"
        out.append(f"{part.name:<{wide}}  {own:>10}  {seen:>10}{times}")
    return out


def _advice(found: Checked) -> list[str]:
    out = [""]
    if not found.parts:
        out.append(
            "A trace of PyTorch's profiler would show whether computing or communication differs: "
            "give one in place of the log."
        )
    if found.own_rate is not None:
        out += [
            "If batch, precision and software are those of the point, teach the model this rate: "
            "a table with the lines",
            *(f"    {line}" for line in found.own_rate),
            f"becomes a profile by {OWN_RATES} TABLE, which the study names under calibration.",
        ]
    return out


def _of_rates(found: Checked) -> str:
    if found.rates == 1:
        return "one rate"
    return f"median of {words.count(found.rates)} rates (nine of ten: {_span(found.spread)})"


def _read(found: Checked) -> str:
    where = ""
    if found.lines:
        first, last = found.lines
        where = f", line {first}" if first == last else f", lines {first} to {last}"
    out = f"{found.log}{where}, read as {found.read_as}"
    if found.other_rows:
        out += f"; {words.many(found.other_rows, 'row')} of other configurations left out"
    if found.warm_up:
        out += f"; the first {words.many(found.warm_up, 'rate')} left out as warm-up"
    if found.left_out:
        out += f"; {words.many(found.left_out, 'line')} of evaluation left out"
    if found.of_parts:
        out += f"; {words.many(found.of_parts, 'line')} of {OF_PARTS} left out"
    if found.unread:
        out += f"; {words.many(found.unread, 'line')} without a readable number left out"
    return out


def _rate(value: float) -> str:
    return words.significant(value, 4)


def _span(bounds: Bounds) -> str:
    return f"{_rate(bounds[0])} to {_rate(bounds[1])}"
