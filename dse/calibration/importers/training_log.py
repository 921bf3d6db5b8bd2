"""Training speed out of what training scripts print: logs, tables, and profiler traces.

A line is read by the first of these that it has, with the number before or behind the unit:

- samples per second: ``samples/s``, ``images/sec``, ``img/s``, ``examples/s``, ``sequences/s``,
  ``samples_per_second``, ``SamplesPerSec``; with ``/gpu`` or ``per GPU`` those of one accelerator
- tokens per second: ``tokens/s``, ``tok/s``, ``tokens_per_sec``, likewise
- seconds per step: ``1.2 s/it``, ``elapsed time per iteration (ms): 812.5``, ``step time: 0.8 s``
- steps per second: ``3.4 it/s``, ``steps/sec``, ``train_steps_per_second``

The last two are turned into samples by the global batch. Numbers may have a decimal comma: ``1,5
s/it``, ``1.234,5 samples/s``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dse.calibration.importers import kineto
from dse.calibration.importers.chrome_trace import looks_so, read_trace, trace_text
from dse.calibration.importers.text import Line, clean_lines
from dse.calibration.importers.throughput import table_lines
from dse.catalog import decimal_mark
from dse.errors import StudyError
from dse.spelling import meant
from dse.units import LARGEST, SMALLEST

COLUMN = "samples_per_s"
KNOWN = (
    "a log with samples/s, images/sec, tokens/s, s/it or it/s in its lines, a table with the "
    f"column {COLUMN}, or a trace of PyTorch's profiler"
)
WARM_UP = 0.1  # of the rates, at the beginning, are left out
FEW = 10  # rates; fewer are all used
LONGEST_LINE = 4_000  # characters that are looked at
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6}

_NUMBER = r"(?<![\d.,])(?P<{0}>\d(?:[\d.,]{{0,26}}\d)?\.?(?:e[+-]?\d{{1,2}})?)"
_PER = r"(?:\s?/\s?|[_-]per[_-]|\s+per\s+)"
_PER_SECOND = rf"(?:{_PER}|per)(?:s|sec|secs|second)(?![a-z0-9])"
_ONE = r"(?:gpu|device|worker|rank|chip|accelerator|process)"
_EACH = rf"(?P<each>{_PER}{_ONE}(?![a-z0-9]))?"
_OF_ONE = rf"(?P<of>{_ONE}/)?"  # Composer: throughput/device/tokens_per_sec
_SETS = r"(?:\s+on\s+\d+\s+\w+(?:\(s\))?)?"  # Horovod: on 4 gpu(s)
_SAMPLE = r"(?:samples?|images?|imgs?|examples?|sentences?|sequences?|seqs?|records?)"
_TOKEN = r"(?:tokens?|toks?)"
_STEP = r"(?:it|iters?|iterations?|steps?|batch(?:es)?)"
_SCALE = {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3}


def _around(unit: str) -> str:
    """A pattern of a number before or behind a unit."""
    before = rf"{_NUMBER.format('before')}\s?(?P<prefix>[km]?)\s?{unit}(?!\s*[=:]\s*[\d.])"
    behind = unit.replace("?P<each>", "?P<each2>")
    after = rf"{_OF_ONE}{behind}{_SETS}[\"']?\s*[=:]\s*[\"']?{_NUMBER.format('after')}"
    return f"(?:{after}|{before})"


class Unit(NamedTuple):
    """A unit in which lines, in lower case, tell speed.

    words, pattern: regular expressions. What ``words`` finds, and finds soon, is in every line that
    has a match of ``pattern``. samples_per_s: of a value, of the whole job; None where the terms do
    not tell.
    """

    name: str
    words: str
    pattern: str
    samples_per_s: Callable[[float, Training], float | None]


def _of_tokens(value: float, terms: Training) -> float | None:
    return value / terms.tokens_per_sample if terms.tokens_per_sample else None


# The surest first.
UNITS = (
    Unit("samples/s", _SAMPLE + _PER_SECOND, _around(_SAMPLE + _PER_SECOND + _EACH),
         lambda value, _: value),
    Unit("tokens/s", _TOKEN + _PER_SECOND, _around(_TOKEN + _PER_SECOND + _EACH), _of_tokens),
    Unit("s/step", rf"/\s?{_STEP}\b|time",
        rf"{_NUMBER.format('before')}\s?(?P<scale>ms|s|sec)\s?/\s?{_STEP}\b"
        rf"|(?:time\s+per\s+{_STEP}|{_STEP}[\s_-]time|time[\s_/]+{_STEP})"
        rf"\s*(?:\(?(?P<unit>ms|s|sec|seconds)\)?)?[\"']?\s*[=:]\s*[\"']?"
        rf"{_NUMBER.format('after')}\s?(?P<behind>ms|s|sec|seconds)?\b",
        lambda value, terms: terms.global_batch / value),
    Unit("steps/s", _STEP + _PER_SECOND, _around(_STEP + _PER_SECOND),
         lambda value, terms: terms.global_batch * value),
)  # fmt: skip
_TRAINING = re.compile(r"(?<![a-z])train")
_NOT_TRAINING = re.compile(r"(?<![a-z])(?:(?:eval|valid|test|infer|predict)[a-z]*|val)(?![a-z])")
_BATCH = re.compile(r"global[\s_-]?batch(?:[\s_-]?size)?[\"']?\s*[=:]\s*[\"']?(\d{1,9})\b")


@dataclass(frozen=True)
class Training:
    """The terms in which rates are turned into samples per second of the whole job.

    tokens_per_sample: None where samples have no fixed length.
    """

    global_batch: float
    gpus: int
    tokens_per_sample: float | None = None


@dataclass(frozen=True)
class MeasuredTraining:
    """Samples per second of the whole job, in the order in which they were written.

    unit: what they were read by. lines: of the file, from 1. left_out: lines of evaluation.
    batches: global batches that the log tells. steps: of a trace, with what communicates. ranks:
    of a trace.
    """

    rates: tuple[float, ...]
    lines: tuple[int, ...]
    unit: str
    left_out: int = 0
    batches: tuple[int, ...] = ()
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


class Said(NamedTuple):
    """A rate as it is written. factor: of its prefix and unit, and of accelerators where it is that
    of one."""

    number: str
    factor: float


def read_training(path: str | Path, terms: Training) -> MeasuredTraining:
    """The rates of a log, a table or a trace.

    Raises StudyError with the place of a mistake, and where no line tells a rate.
    """
    file = str(path)
    text = trace_text(file)
    if looks_so(text):
        return _of_trace(text, file, terms)
    if Path(file).suffix.lower() == ".csv" or _is_table(text):
        return _of_table(text, file)
    return _of_log(clean_lines(text), file, terms)


def _of_trace(text: str, path: str, terms: Training) -> MeasuredTraining:
    trace = read_trace(text, path)
    if not kineto.is_kineto(trace):
        problem = "is a trace, but not of PyTorch's profiler, which alone marks steps"
        raise StudyError(path, 0, 0, problem, f"give {KNOWN}")
    steps = tuple(
        step
        for step in kineto.steps(trace)
        if SMALLEST <= terms.global_batch / step.step_s <= LARGEST
    )
    if not steps:
        remedy = "call profiler.step() at the end of every step"
        raise StudyError(path, 0, 0, "no step is marked in the trace", remedy)
    rates = tuple(terms.global_batch / step.step_s for step in steps)
    ranks, _ = kineto.world(trace)
    return MeasuredTraining(rates, (), "ProfilerStep", steps=steps, ranks=ranks)


def _is_table(text: str) -> bool:
    header = next((line for line in text.splitlines() if line.strip()), "")
    return COLUMN in (cell.strip() for cell in header.split(","))


def _of_table(text: str, path: str) -> MeasuredTraining:
    rows = table_lines(text.splitlines(), path)
    (first, header), *others = rows
    names = [name.strip() for name in header]
    if names.count(COLUMN) != 1:
        how = "is missing" if COLUMN not in names else "is there twice"
        near = [name for name in names if meant(name, [COLUMN])]
        remedy = f"rename the column '{near[0]}'" if near else "name the column of rates so"
        raise StudyError(path, first, 1, f"the column '{COLUMN}' {how}", remedy)
    at = names.index(COLUMN)
    rates, lines = [], []
    for line, cells in others:
        written = cells[at].strip() if at < len(cells) else ""
        try:
            rate = float(written)
        except ValueError:
            rate = 0.0
        if not SMALLEST <= rate <= LARGEST:
            problem = f"{COLUMN}: '{written}' is not a positive number"
            raise StudyError(path, line, 1, problem, "write for example 1250.5")
        rates.append(rate)
        lines.append(line)
    if not rates:
        raise StudyError(path, first, 1, "no row follows the header", "write one for each rate")
    return MeasuredTraining(tuple(rates), tuple(lines), COLUMN)


def _of_log(lines: Sequence[Line], path: str, terms: Training) -> MeasuredTraining:
    """By the unit that is surest of those that the log has."""
    found: dict[Unit, list[tuple[int, list[Said]]]] = {unit: [] for unit in UNITS}
    left_out, batches = 0, dict[int, None]()
    for number, line in lines:
        text = line[:LONGEST_LINE].lower()
        batches |= {int(size): None for size in _BATCH.findall(text)}
        read = _rates(text, terms.gpus)
        if read is None:
            continue
        if _NOT_TRAINING.search(text) and not _TRAINING.search(text):
            left_out += 1
            continue
        unit, said = read
        found[unit].append((number, said))
    values = {unit: _values(rows, path) for unit, rows in found.items()}
    surest = next((unit for unit, rows in values.items() if rows), None)
    if surest is None:
        many = "1 line is" if left_out == 1 else f"{left_out} lines are"
        why = f": {many} of evaluation" if left_out else ""
        raise StudyError(path, 0, 0, f"no line tells how fast training was{why}", f"give {KNOWN}")
    rates = []
    for number, value in values[surest]:
        rate = surest.samples_per_s(value, terms)
        if rate is None:
            problem = f"tells {surest.name}, and how many tokens a sample has is not known"
            raise StudyError(path, number, 1, problem, "say it, such as --sequence 1024")
        rates.append(rate)
    numbers = tuple(number for number, _ in values[surest])
    return MeasuredTraining(tuple(rates), numbers, surest.name, left_out, tuple(batches))


def _rates(text: str, gpus: int) -> tuple[Unit, list[Said]] | None:
    """The unit of a line in lower case, and its rates."""
    for unit in UNITS:
        if not re.search(unit.words, text):
            continue
        said = []
        for match in re.finditer(unit.pattern, text):
            groups = match.groupdict()
            scale = groups.get("scale") or groups.get("behind") or groups.get("unit") or "s"
            factor = _SCALE[scale] * _PREFIXES.get(groups.get("prefix") or "", 1.0)
            each = groups.get("each") or groups.get("each2") or groups.get("of")
            number = (groups["after"] or groups["before"]).rstrip(".")
            said.append(Said(number, factor * (gpus if each else 1)))
        if said:
            return unit, said
    return None


def _values(rows: Sequence[tuple[int, list[Said]]], path: str) -> list[tuple[int, float]]:
    """(line, rate): the last of each line that can be one. All numbers have the same decimal mark.

    Raises StudyError for a number that is none, and where some have a comma and some a point.
    """
    marks = [
        (number, one.number, mark)
        for number, said in rows
        for one in said
        if (mark := decimal_mark.mark_of(one.number))
    ]
    mark = marks[0][2] if marks else decimal_mark.POINT
    for number, written, other in marks:
        if other != mark:
            problem = f"'{written}' has another decimal mark than '{marks[0][1]}' before it"
            raise StudyError(path, number, 1, problem, "write all rates in the same way")
    found = []
    for number, said in rows:
        values = [_value(one, mark, path, number) for one in said]
        fit = [value for value in values if SMALLEST <= value <= LARGEST]
        found += [(number, fit[-1])] if fit else []
    return found


def _value(said: Said, mark: str, path: str, line: int) -> float:
    try:
        return float(decimal_mark.with_point(said.number, mark)) * said.factor
    except ValueError:
        problem = f"'{said.number}' is not a number"
        raise StudyError(path, line, 1, problem, "write for example 1250.5") from None
