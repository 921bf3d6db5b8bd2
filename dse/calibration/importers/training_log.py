"""Training speed out of what training scripts print: logs, tables, and profiler traces.

A line is read by the first of these that it has, with the number before or behind the unit:

- samples per second: ``samples/s``, ``images/sec``, ``img/s``, ``examples/s``, ``sequences/s``,
  ``samples_per_second``, ``SamplesPerSec``; with ``/gpu`` or ``per GPU`` those of one accelerator
- tokens per second: ``tokens/s``, ``tok/s``, ``tokens_per_sec``, likewise
- seconds per step: ``1.2 s/it``, ``elapsed time per iteration (ms): 812.5``, ``step time: 0.8 s``
- steps per second: ``3.4 it/s``, ``steps/sec``, ``train_steps_per_second``

The last two are turned into samples by the global batch. Numbers may have a decimal comma: ``1,5
s/it``, ``1.234,5 samples/s``. ``15.250`` may be 15.25 or 15250: the other rates decide, else the
other numbers of the log, else the caller has to. A comma that cannot be within a number is between
two: ``loss=2.5,450.5 samples/s``. What is no number, ``1.2.3 it/s``, is left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
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
SPELT = ("samples/s", "samples/sec", "samples per s")  # what training loops call that column
KNOWN = (
    "a log with samples/s, images/sec, tokens/s, s/it or it/s in its lines, a table with the "
    f"column {COLUMN}, or a trace of PyTorch's profiler"
)
WARM_UP = 0.1  # of the rates, at the beginning, are left out
FEW = 10  # rates; fewer are all used
LONGEST_LINE = 4_000  # characters that are looked at
_MARKS = (decimal_mark.POINT, decimal_mark.COMMA)
_PREFIXES = {"": 1.0, "k": 1e3, "m": 1e6}

_NUMBER = r"(?<![\d.,])(?P<{0}>\d(?:[\d.,]{{0,200}}\d)?\.?(?:e[+-]?\d{{1,2}})?)"
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
_CLOCK = re.compile(r"\d\d:$")  # before the 30 of 01:30,3.45it/s
_COUNTED = re.compile(rf"\s?(?:{_ONE}|node|host)s?\b(?!\s*[=:#]?\s*\d)")  # 1200,2 gpus
_THOUSANDS = r"[1-9]\d{0,2}(?:,\d{3})+"
_DECIMAL = r"(?<![\w.,:/-])(\d+[.,]\d+)(?![\d:/]|[.,-]\d)"  # no date, version or address
# What training scripts print beside rates, or in lines of its own.
_BESIDE = re.compile(
    r"(?<![a-z])(?:loss|lr|ppl|perplexity|acc|accuracy|grad_norm|time|elapsed|mfu)"
    rf"[\"']?\s*[=:]?\s*[\"']?{_DECIMAL}"
)
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
    unread: lines with the unit and what is no number. batches: global batches that the log tells.
    steps: of a trace, with what communicates. ranks: of a trace.
    """

    rates: tuple[float, ...]
    lines: tuple[int, ...]
    unit: str
    left_out: int = 0
    unread: int = 0
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
    """A rate as it is written. number: digits, points and commas. times: of its power of ten, its
    prefix and unit, and of accelerators where it is that of one."""

    number: str
    times: float


def read_training(
    path: str | Path, terms: Training, decimal: str = "", growing: bool = False
) -> MeasuredTraining:
    """The rates of a log, a table or a trace.

    decimal: the mark of the log's numbers, ``.`` or ``,``; empty where the log is to tell. growing:
    whether somebody still writes to it, so that a last line without its end is not read yet. Raises
    StudyError with the place of a mistake, and where no line tells a rate.
    """
    file = str(path)
    text = trace_text(file)
    if looks_so(text):
        return _of_trace(text, file, terms)
    if growing:
        text = text[: text.rfind("\n") + 1]
    if Path(file).suffix.lower() == ".csv" or _is_table(text):
        return _of_table(text, file)
    return _of_log(clean_lines(text), file, terms, decimal)


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
    return COLUMN in map(_column, header.split(","))


def _column(written: str) -> str:
    """A heading, the one of rates as it is named here."""
    name = written.strip()
    return COLUMN if name.lower() in SPELT else name


def _of_table(text: str, path: str) -> MeasuredTraining:
    rows = table_lines(text.splitlines(), path)
    if not rows:
        raise StudyError(path, 0, 0, "no line in it", f"name the column of rates {COLUMN}")
    (first, header), *others = rows
    names = [_column(name) for name in header]
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


def _of_log(lines: Sequence[Line], path: str, terms: Training, decimal: str) -> MeasuredTraining:
    """By the unit that is surest of those that the log has."""
    found: dict[Unit, list[tuple[int, list[Said]]]] = {unit: [] for unit in UNITS}
    left_out, batches, others = 0, dict[int, None](), set[str]()
    for number, line in lines:
        text = line[:LONGEST_LINE].lower()
        batches |= {int(size): None for size in _BATCH.findall(text)}
        read = _rates(text, terms.gpus)
        others |= set(re.findall(_DECIMAL, text) if read else _BESIDE.findall(text))
        if read is None:
            continue
        if _NOT_TRAINING.search(text) and not _TRAINING.search(text):
            left_out += 1
            continue
        unit, said = read
        found[unit].append((number, said))
    refused: StudyError | None = None
    for unit, rows in found.items():
        mark = decimal or _mark(rows, others, path)
        values = dict(_values(rows, mark))
        junk = [where for row in rows if row[0] not in values for where in _no_numbers(row, mark)]
        if not values:
            refused = refused or (_refused(junk[0], path, decimal) if junk else None)
            continue
        rates = []
        for number, value in values.items():
            rate = unit.samples_per_s(value, terms)
            if rate is None:
                problem = f"tells {unit.name}, and how many tokens a sample has is not known"
                raise StudyError(path, number, 1, problem, "say it, such as --sequence 1024")
            rates.append(rate)
        unread = len({line for line, _ in junk})
        return MeasuredTraining(
            tuple(rates), tuple(values), unit.name, left_out, unread, tuple(batches)
        )
    if refused is not None:
        raise refused
    many = "1 line is" if left_out == 1 else f"{left_out} lines are"
    why = f": {many} of evaluation" if left_out else ""
    raise StudyError(path, 0, 0, f"no line tells how fast training was{why}", f"give {KNOWN}")


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
            side = "after" if groups["after"] else "before"
            digits, _, power = groups[side].partition("e")
            number = _nearest(digits.rstrip("."), side, text[: match.start(side)],
                              text[match.end(side) :])  # fmt: skip
            if power and len(re.findall("[.,]", number)) == 1:
                number += "0"  # before a power of ten stands no mark of thousands
            said.append(Said(number, factor * float(f"1e{power or 0}") * (gpus if each else 1)))
        if said:
            return unit, said
    return None


def _nearest(digits: str, side: str, left: str, right: str) -> str:
    """Of digits, points and commas ``before`` or ``after`` a unit, the number beside the unit.

    All of them unless a comma must be between two numbers, or where that is not certain. left,
    right: what is around them.
    """
    first, comma, rest = digits.partition(",")
    if comma and side == "before" and re.fullmatch(r"[0-5]\d", first) and _CLOCK.search(left):
        return _nearest(rest, side, "", right)
    if comma and side == "after" and _COUNTED.match(right):
        return _nearest(digits.rpartition(",")[0], side, left, "")
    if not comma or any(map(partial(decimal_mark.well_formed, digits), _MARKS)):
        return digits
    one, several = (first, rf"{_THOUSANDS}(?:\.\d+)?,.*") if side == "after" else (
        digits.rpartition(",")[2], rf".*,{_THOUSANDS}(?:\.\d+)?")  # fmt: skip
    certain = not re.fullmatch(several, digits)
    return one if certain and decimal_mark.well_formed(one, decimal_mark.POINT) else digits


def _mark(rows: Sequence[tuple[int, list[Said]]], others: Iterable[str], path: str) -> str:
    """The decimal mark of all numbers of a unit, as they tell, or other numbers of the log.

    Raises StudyError where some have a comma and some a point, and where nothing tells.
    """
    numbers = [(line, one.number) for line, said in rows for one in said]
    sure = [(line, written, mark) for line, written in numbers
            if (mark := decimal_mark.mark_of(written))]  # fmt: skip
    for line, written, mark in sure:
        if mark != sure[0][2]:
            problem = f"'{written}' has another decimal mark than '{sure[0][1]}' before it"
            remedy = "write all rates in the same way, or give --decimal . or --decimal ,"
            raise StudyError(path, line, 1, problem, remedy)
    if sure:
        return sure[0][2]
    told = decimal_mark.usual(others)
    for line, written in numbers:
        if not told and not written.isdigit() and all(
            decimal_mark.well_formed(written, mark) for mark in _MARKS
        ):  # fmt: skip
            one, other = (f"{decimal_mark.value(written, mark):.10g}" for mark in _MARKS)
            problem = f"'{written}' may be {one} or {other}, and no other number of the log tells"
            remedy = "give --decimal . for the first, --decimal , for the second"
            raise StudyError(path, line, 1, problem, remedy)
    return told or decimal_mark.POINT


def _values(rows: Sequence[tuple[int, list[Said]]], mark: str) -> list[tuple[int, float]]:
    """(line, rate): the last of each line that can be one."""
    found = []
    for line, said in rows:
        values = [decimal_mark.value(one.number, mark) * one.times for one in said
                  if decimal_mark.well_formed(one.number, mark)]  # fmt: skip
        fit = [value for value in values if SMALLEST <= value <= LARGEST]
        found += [(line, fit[-1])] if fit else []
    return found


def _no_numbers(row: tuple[int, list[Said]], mark: str) -> list[tuple[int, str]]:
    """The line, and what is no number in it."""
    line, said = row
    return [(line, one.number) for one in said if not decimal_mark.well_formed(one.number, mark)]


def _refused(junk: tuple[int, str], path: str, decimal: str) -> StudyError:
    """That a log has a unit, but no number before or behind it."""
    line, written = junk
    how = f" with the decimal mark {decimal}" if decimal else ""
    remedy = "leave --decimal out" if decimal else "write for example 1250.5"
    return StudyError(path, line, 1, f"'{written}' is not a number{how}", remedy)
