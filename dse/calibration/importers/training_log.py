"""Training speed out of what known trainers print, a table of one run, or the user's own words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from dse.calibration.importers.text import Line, clean_lines, read_text
from dse.errors import ArgumentError, StudyError
from dse.text_table import text_table
from dse.units import LARGEST, SMALLEST

NUMBER = r"\d[\d,]{0,20}(?:\.\d{0,20})?(?:[eE][+-]?\d{1,3})?[KMBT]?"
_SCALES = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
COUNTED = {"sequences": "samples", "images": "samples"}  # what is called a sample besides
WARM_UP = 0.1  # of the rates, at the beginning, are left out
FEW = 10  # rates; fewer are all used
LONGEST_LINE = 4_000  # characters that are looked at
_WRITTEN = re.compile(rf"\s*({NUMBER})\s*([A-Za-z]\S*)\s*")
_REMEDY = (
    'give --measured "9500 tokens/s/gpu" in place of the log, or samples/s, sequences/s, s/step; '
    "/gpu is of one accelerator"
)


class Unit(NamedTuple):
    """A unit of speed.

    of: what is counted; a pass is a batch of every accelerator, of which a step of the optimizer
    has one or several. seconds: of a number, where it is the time of one of these; 0 where it is so
    many a second. of_one: of one accelerator, not of all together.
    """

    name: str
    of: Literal["samples", "tokens", "steps", "passes"]
    seconds: float = 0.0
    of_one: bool = False


UNITS = (
    Unit("samples/s", "samples"),
    Unit("samples/s/gpu", "samples", of_one=True),
    Unit("tokens/s", "tokens"),
    Unit("tokens/s/gpu", "tokens", of_one=True),
    Unit("s/step", "steps", seconds=1.0),
    Unit("ms/step", "steps", seconds=1e-3),
    Unit("steps/s", "steps"),
    Unit("s/pass", "passes", seconds=1.0),
    Unit("ms/pass", "passes", seconds=1e-3),
    Unit("us/pass", "passes", seconds=1e-6),
    Unit("passes/s", "passes"),
)


class Trainer(NamedTuple):
    """A trainer whose lines are known.

    pattern: of a line. A named group is a rate, with the name of its unit, such as tokens_per_s; or
    ``batch``, samples of a step of the log; ``batch_tokens``, its tokens; ``steps``, how many the
    log announces; ``of``, how many a progress bar counts to, which is one of training where it
    counts to those.
    """

    name: str
    pattern: re.Pattern[str]


def _trainer(name: str, pattern: str) -> Trainer:
    """A trainer by a pattern in which ``<s/step>`` is a number, and the group of that name."""

    def group(found: re.Match[str]) -> str:
        return f"(?P<{found[1].replace('/', '_per_')}>{NUMBER})"

    return Trainer(name, re.compile(re.sub(r"<([a-z/_]+)>", group, pattern)))


# The first that tells a rate is the one: those that build on another come before it.
TRAINERS = (
    _trainer(
        "Megatron-LM",
        r"elapsed time per iteration \((?:ms\): *<ms/step>|s\): *<s/step>)"
        r".*?(?:global batch size: *<batch>|$)",
    ),
    # A step has all micro-batches. Old versions print it in Lightning's bar, without the batch.
    _trainer(
        "NeMo",
        r"(?:global_batch_size: <batch>.*?)?train_step_timing in s[\"']? *[:=] *<s/step>",
    ),
    # The bar counts steps of the optimizer; bars of evaluation count to another number.
    _trainer(
        "Hugging Face Trainer",
        r"Total train batch size \(w\. parallel, distributed & accumulation\) = <batch>"
        r"|Total optimization steps = <steps>"
        r"|\| *\d+/<of> \[[^\]]*?(?:<steps/s>it/s|<s/step>s/it)"
        r"|train_samples_per_second[\"']? *[:=]? *<samples/s>",
    ),
    # tps, before 2025 wps: tokens a second over the accelerators that share a batch.
    _trainer("torchtitan", r"(?<!validate )\bstep: *\d+ .*?\b(?:tps|wps): *<tokens/s/gpu>"),
    _trainer("nanotron", r"\| tokens_per_sec: <tokens/s>"),
    # Of all accelerators, and of one step; the last by the engine of pipelines.
    _trainer(
        "DeepSpeed",
        r"(?:CurrSamplesPerSec=|\bSamplesPerSec=|iter time \(s\): [\d.]+ samples/sec: )<samples/s>",
    ),
    # The bar counts batches, of which a step of the optimizer may have several.
    _trainer(
        "Lightning",
        r"Epoch \d+\b.*?(?:<passes/s>it/s|<s/pass>s/it)[, ]+(?:\w{1,40}=[^,]{1,20}, )*v_num[:=]",
    ),
    # The average over the last batches, which timm prints in brackets, is not read.
    _trainer("timm", r"\bTrain: \d+ \[.*?Time: +[\d.]+s, +<samples/s>/s"),
    # In lines with val_ the time of validation is in that of a step.
    _trainer(
        "Keras",
        r"^(?!.*\bval_).{0,200}?\b\d+/\d+\b.* (?:<us/pass>us|<ms/pass>ms|<s/pass>s)/step",
    ),
    # img/s is of one process, and does not count loading; time is of a pass, with loading.
    _trainer(
        "torchvision's reference", r"Epoch: \[[\d/]+\] +\[ *\d+/\d+\].*?\btime: <s/pass> +data:"
    ),
    _trainer("PyTorch's ImageNet example", r"Epoch: \[\d+\]\[ *\d+/\d+\]\s+Time +<s/pass>"),
    _trainer(
        "nanoGPT",
        r"tokens per iteration will be: <batch_tokens>|\biter \d+: loss [^,]+, time <ms/step>ms",
    ),
    # total_ips counts loading, compute_ips does not; both are of all accelerators.
    _trainer(
        "DLLogger",
        r"\bDLLL? .*?\b(?:train\.total_ips|training_sequences_per_second)[\"']? *: *<samples/s>",
    ),
    # images/sec of a line is of one process.
    _trainer("tf_cnn_benchmarks", r"\btotal images/sec: <samples/s>"),
)


def number(text: str) -> float:
    """A number as trainers write it: ``140,783``, ``1.2e3``, ``5.12K``."""
    digits = text.replace(",", "")
    scale = _SCALES.get(digits[-1], 0.0)
    return float(digits[:-1]) * scale if scale else float(digits)


def unit_called(text: str) -> Unit | None:
    """The unit of that name, with ``/`` or ``_per_``; None where there is none."""
    counted, _, rest = text.strip().lower().replace("_per_", "/").partition("/")
    name = f"{COUNTED.get(counted, counted)}/{rest}"
    return next((unit for unit in UNITS if unit.name == name), None)


@dataclass(frozen=True)
class Training:
    """A point in the terms in which rates become samples per second of the whole job.

    batch: samples of a step. passes: in a step. tokens: of a sample; None where samples have no
    fixed length.
    """

    batch: float
    gpus: int
    passes: int = 1
    tokens: float | None = None


class Told(NamedTuple):
    """A number as it was told. line: of the file, from 1. batch: samples of a step, and
    batch_tokens: its tokens, where the log says so."""

    line: int
    value: float
    unit: Unit
    batch: float | None = None
    batch_tokens: float | None = None


@dataclass(frozen=True)
class Measured:
    """Samples per second of the whole job, in the order in which they were written.

    told_by: the trainer, or the column of a table. unit: of the last. lines: of the file, from 1.
    batch: samples of a step, where the log says so.
    """

    rates: tuple[float, ...]
    lines: tuple[int, ...]
    told_by: str
    unit: Unit
    batch: float | None

    @property
    def warm_up(self) -> int:
        """How many of the first rates are not to be used."""
        return int(len(self.rates) * WARM_UP) if len(self.rates) >= FEW else 0


def read_training(path: str | Path, terms: Training) -> Measured:
    """The rates of a log or a table of one run. Raises :class:`StudyError` where none is told."""
    file, text = str(path), read_text(path)
    told_by, told = "a table", _of_table(text, file)
    lines = clean_lines(text)
    for trainer in TRAINERS:
        if not told:
            told_by, told = trainer.name, _of_log(trainer, lines)
    if told:
        return _measured(told, told_by, file, terms)
    names = ", ".join(trainer.name for trainer in TRAINERS)
    problem = f"tells no rate as {names} do, and is no table with a column such as samples_per_s"
    raise StudyError(file, 0, 0, problem, _REMEDY)


def measured(text: str, terms: Training) -> Measured:
    """What the user says, such as ``9500 tokens/s/gpu``. Raises :class:`StudyError`."""
    found = _WRITTEN.fullmatch(text)
    unit = unit_called(found[2]) if found else None
    if found is None or unit is None:
        raise ArgumentError("--measured", f"'{text}' is no rate with its unit", _REMEDY)
    return _measured([Told(0, number(found[1]), unit)], "what you say", "--measured", terms)


def _of_log(trainer: Trainer, lines: Sequence[Line]) -> list[Told]:
    """What a trainer tells of its speed."""
    out: list[Told] = []
    batch = batch_tokens = announced = None
    for line, text in lines:
        match = trainer.pattern.search(text[:LONGEST_LINE])
        groups = match.groupdict() if match else {}
        told = {name: number(value) for name, value in groups.items() if value is not None}
        batch, batch_tokens = told.pop("batch", batch), told.pop("batch_tokens", batch_tokens)
        announced = told.pop("steps", announced)
        if told.pop("of", announced) == announced:
            units = {name: unit_called(name) for name in told}
            out += [Told(line, told[name], unit, batch, batch_tokens)
                    for name, unit in units.items() if unit]  # fmt: skip
    return out


def _of_table(text: str, file: str) -> list[Told]:
    """The first column of rates of a table of one run; empty where it has none."""
    first = next(line for line in text.splitlines() if line.strip())
    if not any(map(unit_called, re.split("[,;\t]", first))):
        return []
    table = text_table(file, text, marks=",;\t")
    at, unit = next((at, unit) for at, name in enumerate(table.header)
                    if (unit := unit_called(name)))  # fmt: skip
    if "accelerator" in table.header:
        problem = "is a table of configurations, not of one run"
        raise table.wrong(-1, 0, problem, "give it to dse calibrate import-throughput")
    for row, cells in enumerate(table.rows):
        if not re.fullmatch(NUMBER, cells[at]):
            problem = f"{unit.name}: {{}} is not a positive number"
            raise table.wrong(row, at, problem, "write for example 1250.5")
    return [Told(line, number(cells[at]), unit)
            for line, cells in zip(table.lines[1:], table.rows, strict=True)]  # fmt: skip


def _measured(told: Sequence[Told], told_by: str, file: str, terms: Training) -> Measured:
    """The rates of what is told. Raises :class:`StudyError` where none is one."""
    rates = [(one, rate) for one in told if SMALLEST <= (rate := _rate(one, terms)) <= LARGEST]
    if not rates:
        unit = told[0].unit
        why = "is of tokens, and samples of the workload have no fixed length"
        if unit.of != "tokens" or terms.tokens:
            why = "is not positive"
        problem = f"'{told[0].value:g} {unit.name}' {why}"
        raise StudyError(file, told[0].line, 1, problem, _REMEDY)
    last = rates[-1][0]
    lines = tuple(one.line for one, _ in rates)
    batch = _batch(last, terms)
    return Measured(tuple(rate for _, rate in rates), lines, told_by, last.unit, batch)


def _rate(told: Told, terms: Training) -> float:
    """Samples per second of the whole job; NaN where that is not known."""
    value, unit = told.value, told.unit
    many = value if not unit.seconds else 1 / (unit.seconds * value) if value else math.nan
    size = {
        "samples": 1.0,
        "tokens": 1 / (terms.tokens or math.nan),
        "steps": _batch(told, terms) or terms.batch,
        "passes": terms.batch / terms.passes,
    }
    return many * size[unit.of] * (terms.gpus if unit.of_one else 1)


def _batch(told: Told, terms: Training) -> float | None:
    """Samples of a step as the log tells; None where it does not."""
    if told.batch_tokens and terms.tokens:
        return told.batch_tokens / terms.tokens
    return told.batch
