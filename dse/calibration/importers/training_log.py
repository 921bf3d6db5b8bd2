"""Training speed out of what known trainers print, a table of one run, or the user's own words."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from dse.calibration.importers.text import Line, clean_lines, read_text
from dse.calibration.importers.trainers import NUMBER, TRAINERS, Trainer, Unit, number, unit_called
from dse.errors import ArgumentError, StudyError
from dse.text_table import text_table
from dse.units import LARGEST, SMALLEST

WARM_UP = 0.1  # of the rates, at the beginning, are left out
FEW = 10  # rates; fewer are all used
LONGEST_LINE = 4_000  # characters that are looked at
_WRITTEN = re.compile(rf"\s*({NUMBER})\s*([A-Za-z]\S*)\s*")
_REMEDY = (
    'give --measured "9500 tokens/s/gpu" in place of the log, or samples/s, sequences/s, s/step; '
    "/gpu is of one accelerator"
)


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
