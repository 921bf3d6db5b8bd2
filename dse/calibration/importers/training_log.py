"""Training speed out of what training scripts print: logs, tables, and profiler traces.

A line is read by the first of these that it has, with the number before or behind the unit. Where
numbers are on both sides, it is the one behind ``:`` or ``=``, else the one before, unless that
is of another word, such as the loss in ``loss 2.3 samples/s 10400.5``.

- samples per second: ``samples/s``, ``images/sec``, ``img/s``, ``examples/s``, ``sequences/s``,
  ``samples_per_second``, ``SamplesPerSec``; with ``/gpu`` or ``per GPU`` those of one accelerator
- tokens per second: ``tokens/s``, ``tok/s``, ``tokens_per_sec``, likewise
- seconds per step: ``1.2 s/it``, ``elapsed time per iteration (ms): 812.5``, ``step time: 0.8 s``
- steps per second: ``3.4 it/s``, ``steps/sec``, ``train_steps_per_second``

The last two are turned into samples by the global batch. Numbers may have a decimal comma: ``1,5
s/it``, ``1.234,5 samples/s``, and blanks between thousands: ``10 400 samples/s``. ``15.250`` may be
15.25 or 15250: the other rates decide, else the other numbers of the log, else the caller has to. A
comma that cannot be within a number is between two: ``loss=2.5,450.5 samples/s``. What is no
number, ``1.2.3 it/s``, is left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from dse.calibration.importers import kineto
from dse.calibration.importers.chrome_trace import looks_so, read_trace, trace_text
from dse.calibration.importers.text import Line, clean_lines
from dse.calibration.importers.throughput import (
    column_names,
    mark_of_rates,
    rates_in,
    table_lines,
)
from dse.calibration.throughput_part import Throughput
from dse.catalog import decimal_mark
from dse.delimiter import delimiter_of
from dse.errors import StudyError
from dse.spelling import meant
from dse.units import LARGEST, SMALLEST, UnitError

COLUMN = "samples_per_s"
CONFIGURED = ("workload", "accelerator")  # columns of a table that says of what each rate is
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

_NO_NUMBER = r"(?<![a-z])(?:nan|inf)(?![a-z])"
_NUMBER = rf"(?:\d(?:[\d.,]{{0,200}}\d)?\.?(?:e[+-]?\d{{1,2}})?|{_NO_NUMBER})"
_NARROW = "\u00a0\u2009\u202f'\u2019"  # between thousands, and never between two numbers
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


class Unit(NamedTuple):
    """A unit in which lines, in lower case, tell speed.

    words, pattern: regular expressions. What ``words`` finds, and finds soon, is in every line that
    has a match of ``pattern``, the unit without its number. samples_per_s: of a value, of the whole
    job; None where the terms do not tell. of_steps: whether it counts steps.
    """

    name: str
    words: str
    pattern: str
    samples_per_s: Callable[[float, Training], float | None]
    of_steps: bool = False


def _of_tokens(value: float, terms: Training) -> float | None:
    return value / terms.tokens_per_sample if terms.tokens_per_sample else None


# The surest first.
UNITS = (
    Unit("samples/s", _SAMPLE + _PER_SECOND, _OF_ONE + _SAMPLE + _PER_SECOND + _EACH + _SETS,
         lambda value, _: value),
    Unit("tokens/s", _TOKEN + _PER_SECOND, _OF_ONE + _TOKEN + _PER_SECOND + _EACH + _SETS,
         _of_tokens),
    Unit("s/step", rf"/\s?{_STEP}\b|time",
         rf"(?<![a-z_/])(?P<scale>ms|s|sec)\s?/\s?{_STEP}\b"
         rf"|(?P<time>(?:time\s+per\s+{_STEP}|{_STEP}[\s_-]time|time[\s_/]+{_STEP})(?![a-z]))"
         r"\s*(?:\(?(?P<unit>ms|s|sec|seconds)\)?)?",
         lambda value, terms: terms.global_batch / value, of_steps=True),
    Unit("steps/s", _STEP + _PER_SECOND, _STEP + _PER_SECOND + _SETS,
         lambda value, terms: terms.global_batch * value, of_steps=True),
)  # fmt: skip
# A number that ends before a unit, and one that begins behind it.
_BEFORE = re.compile(rf"(?<![\d.,])(?P<number>{_NUMBER})\s?(?P<prefix>[km]?)\s?$")
_NEAR = 240  # characters before a unit in which its number begins
_BEHIND = re.compile(
    rf"[\"']?(?P<by>\s*[=:]\s*[\"']?|\s+)(?P<sign>[-\u2212]?)(?P<number>{_NUMBER})"
)
_BEHIND_UNIT = re.compile(r"(?P<prefix>[km](?![a-z]))?(?:\s?(?P<scale>ms|sec|seconds|s)\b)?")
_SIGN = re.compile(r"(?:^|[\s=:(\[|,;])[-\u2212]$")
# What makes a number behind a unit that of another: 350 samples/s 0.4 s/it, 350 samples/s 12:00.
_OWN_UNIT = re.compile(
    rf"[a-z\d:/%-]|\s?(?:[km]?\s?(?:{_SAMPLE}|{_TOKEN}|{_STEP}|(?:{_ONE}|node|host)s?)"
    r"\b(?!\s*[=:#]?\s*\d)|(?:ms|s|sec|seconds|min|minutes|h|hours|[kmgt]i?b)\b|%)"
)
_WORD = re.compile(r"([a-z][\w./-]*)[\"']?\s*[=:]?\s*[\"']?$")  # right before a number
_OF_A_RATE = frozenset((
    "throughput", "speed", "rate", "perf", "performance", "at", "is", "of", "avg", "average",
    "mean", "median", "total", "overall", "train", "training", "current", "running",
))  # fmt: skip
# Thousands parted by blanks: 10 before the 400 of 10 400, and 400 behind its 10.
_PARTED = re.compile(r"(?<![\w.,/#-])(?<!\d:)([1-9]\d{0,2}(?: \d{3})* )$")
_LAST_GROUP = re.compile(r"\d{3}(?:[.,]\d+)?")
_GROUPS = re.compile(r"(?: \d{3})+(?:[.,]\d+)?(?![\d.,])")
_TRAINING = re.compile(r"(?<![a-z])train")
_NOT_TRAINING = re.compile(r"(?<![a-z])(?:(?:eval|valid|test|infer|predict)[a-z]*|val)(?![a-z])")
_CLOCK = re.compile(r"\d\d:$")  # before the 30 of 01:30,3.45it/s
_COUNTED = re.compile(rf"\s?(?:{_ONE}|node|host)s?\b(?!\s*[=:#]?\s*\d)")  # 1200,2 gpus
_THOUSANDS = r"[1-9]\d{0,2}(?:,\d{3})+"
_DECIMAL = r"(?<![\w.,:/-])(\d+[.,]\d+)(?![\d:/]|[.,-]\d)"  # no date, version or address
# What training scripts print beside rates, or in lines of its own.
_QUANTITIES = "loss|lr|ppl|perplexity|acc|accuracy|grad_norm|time|elapsed|mfu"
_BESIDE = re.compile(rf"(?<![a-z])(?:{_QUANTITIES})[\"']?\s*[=:]?\s*[\"']?{_DECIMAL}")
_OF_ANOTHER = frozenset((
    *_QUANTITIES.split("|"), "learning", "norm", "scale", "step", "steps", "epoch", "epochs",
    "iter", "iters", "iteration", "batch", "rank", "gpu", "worker", "node", "device", "mem",
    "memory", "eta", "seed",
))  # fmt: skip
_BATCH = re.compile(r"global[\s_-]?batch(?:[\s_-]?size)?[\"']?\s*[=:]\s*[\"']?(\d{1,9})\b")


@dataclass(frozen=True)
class Training:
    """The terms in which rates are turned into samples per second of the whole job.

    tokens_per_sample: None where samples have no fixed length. measured: whether a rate of a table
    is of the point that was measured; raises StudyError where that cannot be told. point: what it
    is called.
    """

    global_batch: float
    gpus: int
    tokens_per_sample: float | None = None
    measured: Callable[[Throughput], bool] = lambda _: True
    point: str = "the point"


@dataclass(frozen=True)
class MeasuredTraining:
    """Samples per second of the whole job, in the order in which they were written.

    unit: what they were read by. lines: of the file, from 1. left_out: lines of evaluation. unread:
    lines with the unit and what is no number. batches: global batches that the log tells.
    step_samples: that a step is taken to have, where the rates are of steps. times: accelerators by
    which rates of one were multiplied. other_rows: of a table, of other configurations. quote: the
    first rate that is used, as it is written.
    steps: of a trace, with what communicates. ranks: of a trace.
    """

    rates: tuple[float, ...]
    lines: tuple[int, ...]
    unit: str
    left_out: int = 0
    unread: int = 0
    batches: tuple[int, ...] = ()
    step_samples: float | None = None
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


class Said(NamedTuple):
    """A rate as it is written. number: digits, points and commas. times: of its power of ten, its
    prefix and unit, and of accelerators where it is that of one, ``each``. quote: with its unit.
    doubt: what else it may be."""

    number: str
    times: float
    quote: str
    each: bool = False
    negative: bool = False
    doubt: str = ""


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
    if {*CONFIGURED, COLUMN} <= {*column_names(_heading(text))}:
        return _of_configurations(text, file, terms)
    if Path(file).suffix.lower() == ".csv" or _is_table(text):
        return _of_table(text, file, terms, decimal)
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
    return MeasuredTraining(
        rates, (), "ProfilerStep", step_samples=terms.global_batch, steps=steps, ranks=ranks
    )


def _is_table(text: str) -> bool:
    return COLUMN in map(_column, _heading(text))


def _heading(text: str) -> list[str]:
    """The cells of the first line that is not blank."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    return [name.strip() for name in header.split(delimiter_of(header))]


def _column(written: str) -> str:
    """A heading, the one of rates as it is named here."""
    name = written.strip()
    return COLUMN if name.lower() in SPELT else name


def _of_configurations(text: str, path: str, terms: Training) -> MeasuredTraining:
    """Of a table of rates of several configurations, as it becomes a profile, those of the point.

    Raises StudyError where none is.
    """
    rows = rates_in(text, path)
    own = [(line, row.samples_per_s) for line, row in rows if terms.measured(row)]
    if not own:
        raise _of_others(len(rows), path, terms.point)
    lines, rates = zip(*own, strict=True)
    return MeasuredTraining(
        rates, lines, COLUMN, other_rows=len(rows) - len(own), quote=f"{rates[0]:.10g}"
    )


def _of_others(rows: int, path: str, point: str) -> StudyError:
    """That no row of a table is of the point."""
    which = "its row is not" if rows == 1 else f"none of its {rows} rows is"
    remedy = "name the row of the front that was measured by --row, or add its own row"
    return StudyError(path, 0, 0, f"{which} of {point}", remedy)


def _of_table(text: str, path: str, terms: Training, decimal: str) -> MeasuredTraining:
    header_line = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = delimiter_of(header_line)
    rows = table_lines(text.splitlines(), path, delimiter)
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
    mark = decimal or mark_of_rates((cells[at] for _, cells in others if at < len(cells)),
                                    delimiter)  # fmt: skip
    gpus = names.index("gpus") if "gpus" in names else len(header)
    kept = [(line, cells) for line, cells in others
            if _number(cells, gpus) in (None, float(terms.gpus))]  # fmt: skip
    if others and not kept:
        raise _of_others(len(others), path, terms.point)
    rates, lines, quotes = [], [], []
    for line, cells in kept:
        written = cells[at].strip() if at < len(cells) else ""
        problem, remedy = f"'{written}' is not a positive number", "write for example 1250.5"
        try:
            rate = float(decimal_mark.with_point(written, mark))
        except UnitError as cause:
            rate, problem, remedy = 0.0, cause.problem, cause.remedy
        except ValueError:
            rate = 0.0
        if not SMALLEST <= rate <= LARGEST:
            raise StudyError(path, line, 1, f"{COLUMN}: {problem}", remedy)
        rates.append(rate)
        lines.append(line)
        quotes.append(written)
    if not rates:
        raise StudyError(path, first, 1, "no row follows the header", "write one for each rate")
    other_rows = len(others) - len(kept)
    found = MeasuredTraining(tuple(rates), tuple(lines), COLUMN, other_rows=other_rows)
    return replace(found, quote=quotes[found.warm_up])


def _number(cells: Sequence[str], at: int) -> float | None:
    """What a cell says; None where it is no number, or not there."""
    try:
        return float(cells[at])
    except (IndexError, ValueError):
        return None


def _of_log(lines: Sequence[Line], path: str, terms: Training, decimal: str) -> MeasuredTraining:
    """By the unit that is surest of those that the log has."""
    found: dict[Unit, list[tuple[int, list[Said]]]] = {unit: [] for unit in UNITS}
    left_out, batches, others = 0, dict[int, None](), set[str]()
    for number, line in lines:
        written = re.sub(rf"(?<=\d)[{_NARROW}](?=\d{{3}}(?!\d))", "", line[:LONGEST_LINE])
        text = written.lower()
        if len(text) != len(written):  # of the few letters that are one in upper case only
            written = text
        batches |= {int(size): None for size in _BATCH.findall(text)}
        read = _rates(text, terms.gpus, written)
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
        _check_certain(rows, path)
        mark = decimal or _mark(rows, others, path)
        values = dict(_values(rows, mark))
        junk = [where for row in rows if row[0] not in values for where in _no_numbers(row, mark)]
        if not values:
            refused = refused or (_refused(junk[0], path, decimal) if junk else None)
            continue
        rates, quotes, each = [], [], False
        for number, (value, one) in values.items():
            quotes.append(one.quote)
            each |= one.each
            rate = unit.samples_per_s(value, terms)
            if rate is None:
                problem = f"tells {unit.name}, and how many tokens a sample has is not known"
                raise StudyError(path, number, 1, problem, "say it, such as --sequence 1024")
            rates.append(rate)
        unread = len({line for line, _ in junk})
        found_rates = MeasuredTraining(
            tuple(rates), tuple(values), unit.name, left_out, unread, tuple(batches),
            step_samples=terms.global_batch if unit.of_steps else None,
            times=terms.gpus if each else 1,
        )  # fmt: skip
        return replace(found_rates, quote=quotes[found_rates.warm_up])
    if refused is not None:
        raise refused
    many = "1 line is" if left_out == 1 else f"{left_out} lines are"
    why = f": {many} of evaluation" if left_out else ""
    raise StudyError(path, 0, 0, f"no line tells how fast training was{why}", f"give {KNOWN}")


def _rates(text: str, gpus: int, written: str) -> tuple[Unit, list[Said]] | None:
    """The unit of a line in lower case, and its rates. written: the same line as it is."""
    for unit in UNITS:
        if not re.search(unit.words, text):
            continue
        found = (_said(match, gpus, written) for match in re.finditer(unit.pattern, text))
        said = [one for one in found if one is not None]
        if said:
            return unit, said
    return None


def _said(unit: re.Match[str], gpus: int, written: str) -> Said | None:
    """The rate that has this unit; None where no number is beside it."""
    groups = unit.groupdict()
    behind = _behind(unit)
    assigned = behind is not None and behind.assigned
    before = None if assigned or groups.get("time") else _before(unit)
    if groups.get("time") and not assigned:
        return None
    number, doubt = behind or before, ""
    if before is not None and behind is not None:
        words = set(re.split(r"[_./-]", before.word)) - {""}
        timed = "time" in words and bool(groups.get("scale"))  # step_time 0.4 s/it
        if not words or timed or (words & _OF_A_RATE and not words & _OF_ANOTHER):
            number = before
        elif not words & _OF_ANOTHER:
            doubt = f"may be {before.digits} or {behind.digits}"
    elif behind is None:
        number = before
    if number is None:
        return None
    start, end = min(unit.start(), number.start), max(unit.end(), number.end)
    scale = groups.get("scale") or number.scale or groups.get("unit") or "s"
    digits, _, power = number.digits.partition("e")
    if power and len(re.findall("[.,]", digits)) == 1:
        digits += "0"  # before a power of ten stands no mark of thousands
    times = _SCALE[scale] * _PREFIXES[number.prefix] * float(f"1e{power or 0}")
    each = bool(groups.get("each") or groups.get("of"))
    return Said(
        digits, times * (gpus if each else 1), _quoted(written[start:end]), each,
        number.negative, doubt or number.doubt,
    )  # fmt: skip


def _quoted(text: str) -> str:
    """A rate and its unit without quotation marks of their own."""
    return text.replace('"', "").strip()


class _Beside(NamedTuple):
    """A number beside a unit. start, end: in the line. word: right before it. scale: of seconds.
    assigned: by = or :. doubt: what else it may be."""

    digits: str
    start: int
    end: int
    prefix: str = ""
    negative: bool = False
    word: str = ""
    scale: str = ""
    assigned: bool = False
    doubt: str = ""


def _before(unit: re.Match[str]) -> _Beside | None:
    near = max(0, unit.start() - _NEAR)
    left = unit.string[near : unit.start()]
    found = _BEFORE.search(left)
    if found is None:
        return None
    at, whole = found.start("number"), found["number"].rstrip(".")
    digits = _nearest(whole, "before", left[:at], left[found.end("number") :])
    if digits != whole:  # a comma is right before it
        return _Beside(digits, near + at + len(whole) - len(digits), unit.start(), found["prefix"])
    head, doubt = _PARTED.search(left[:at]) if _LAST_GROUP.fullmatch(digits) else None, ""
    if head is not None:
        parted = _is_parted(left[: head.start()])
        joined = head[1].replace(" ", "") + digits
        if parted:
            at, digits = head.start(), joined
        elif parted is None:
            doubt = f"may be {digits} or {joined}"
    negative = _SIGN.search(left[:at]) is not None
    word = _WORD.search(left[:at])
    return _Beside(
        digits, near + at - negative, unit.start(), found["prefix"], negative,
        word[1] if word else "", doubt=doubt,
    )  # fmt: skip


def _is_parted(left: str) -> bool | None:
    """Whether a number that a blank parts is one number with thousands, by what is left of it; None
    where that is not certain."""
    if number := re.search(rf"(?<![\d.,]){_NUMBER}\s*$", left):
        return True if _WORD.search(left[: number.start()]) else None
    word = _WORD.search(left)
    words = set(re.split(r"[_./-]", word[1])) if word else set()
    if words & _OF_ANOTHER:
        return False
    return True if not words or words & _OF_A_RATE else None


def _behind(unit: re.Match[str]) -> _Beside | None:
    text = unit.string
    found = _BEHIND.match(text, unit.end())
    if found is None:
        return None
    assigned = bool(set(found["by"]) & set("=:"))
    end, doubt = found.end("number"), ""
    digits = _nearest(found["number"].rstrip("."), "after", "", text[end:])
    parted = _GROUPS.match(text, end) if re.fullmatch(r"[1-9]\d{0,2}", digits) else None
    if parted and not _OWN_UNIT.match(text, parted.end()):
        joined = digits + parted[0].replace(" ", "")
        if re.match(r"\s*[\d.,]", text[parted.end() :]):
            doubt = f"may be {digits} or {joined}"
        else:
            digits, end = joined, parted.end()
    own = _BEHIND_UNIT.match(text, end)
    prefix, scale = (own["prefix"] or "", own["scale"] or "") if own else ("", "")
    end = own.end() if own else end
    if not assigned and (scale or _OWN_UNIT.match(text, end)):
        return None
    return _Beside(
        digits, found.start(), end, prefix, bool(found["sign"]), "", scale, assigned, doubt
    )


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


def _check_certain(rows: Sequence[tuple[int, list[Said]]], path: str) -> None:
    """Refuse rates below zero, and numbers of which it is not certain that they are the rate."""
    for line, said in rows:
        for one in said:
            if one.negative:
                problem = f"'{one.quote}' is negative"
                raise StudyError(path, line, 1, problem, "write for example 1250.5")
            if one.doubt:
                remedy = "write a colon before the rate, as in samples/s: 1250.5"
                raise StudyError(path, line, 1, f"'{one.quote}' {one.doubt}", remedy)


def _values(
    rows: Sequence[tuple[int, list[Said]]], mark: str
) -> list[tuple[int, tuple[float, Said]]]:
    """(line, (rate, as it is written)): the last of each line that can be one."""
    found = []
    for line, said in rows:
        values = [(decimal_mark.value(one.number, mark) * one.times, one) for one in said
                  if decimal_mark.well_formed(one.number, mark)]  # fmt: skip
        fit = [value for value in values if SMALLEST <= value[0] <= LARGEST]
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
