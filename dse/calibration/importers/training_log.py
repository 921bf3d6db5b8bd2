"""Training speed out of what training scripts print: logs, tables, and profiler traces.

A log is read by the surest of :data:`~dse.calibration.importers.rate_units.UNITS` that its lines
have. Lines of evaluation, of loading data or of a part of a step are left out, and so is what is
no number, ``1.2.3 it/s``; all are counted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dse.calibration.importers import kineto, rate_scope
from dse.calibration.importers.chrome_trace import looks_so, read_trace, trace_text
from dse.calibration.importers.measured_training import OF_PARTS, MeasuredTraining, Rival, Training
from dse.calibration.importers.rate_in_line import WrittenRate, decimals_beside, rates_of
from dse.calibration.importers.rate_numbers import (
    check_certain,
    mark_of_all,
    no_numbers,
    not_a_number,
    values_of,
)
from dse.calibration.importers.rate_units import UNITS, Unit
from dse.calibration.importers.text import Line, clean_lines
from dse.calibration.importers.training_table import (
    COLUMN,
    is_of_configurations,
    is_table,
    of_configurations,
    of_table,
)
from dse.errors import StudyError
from dse.units import LARGEST, SMALLEST

KNOWN = (
    "a log with samples/s, images/sec, tokens/s, s/it or it/s in its lines, a table with the "
    f"column {COLUMN}, or a trace of PyTorch's profiler"
)
AGREE = 0.05  # two rates of a line that differ by less are one
LONGEST_LINE = 4_000  # characters that are looked at
_NARROW = "\u00a0\u2009\u202f'\u2019"  # between thousands, and never between two numbers
_BATCH = re.compile(r"global[\s_-]?batch(?:[\s_-]?size)?[\"']?\s*[=:]\s*[\"']?(\d{1,9})\b")


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
    if is_of_configurations(text):
        return of_configurations(text, file, terms)
    if Path(file).suffix.lower() == ".csv" or is_table(text):
        return of_table(text, file, terms, decimal)
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
    _, ranks, _ = kineto.world(trace)
    return MeasuredTraining(
        rates, (), "ProfilerStep", step_samples=terms.global_batch, steps=steps, ranks=ranks
    )


def _of_log(lines: Sequence[Line], path: str, terms: Training, decimal: str) -> MeasuredTraining:
    """By the unit that is surest of those that the log has."""
    found: dict[Unit, list[tuple[int, list[WrittenRate]]]] = {unit: [] for unit in UNITS}
    left_out, of_parts, batches, others = 0, 0, dict[int, None](), set[str]()
    with_evaluation = set[int]()
    for number, line in lines:
        written = re.sub(rf"(?<=\d)[{_NARROW}](?=\d{{3}}(?!\d))", "", line[:LONGEST_LINE])
        text = written.lower()
        if len(text) != len(written):  # of the few letters that are one in upper case only
            written = text
        batches |= {int(size): None for size in _BATCH.findall(text)}
        read = rates_of(text, terms, written)
        others |= set(decimals_beside(text, told=read is not None))
        if read is None:
            continue
        unit, said = read
        kinds = {one.kind for one in said}
        if rate_scope.EVALUATION in kinds or rate_scope.of_evaluation(text):
            left_out += 1
            continue
        if rate_scope.PART in kinds:
            of_parts += 1
            continue
        found[unit].append((number, said))
        if unit.of_steps and rate_scope.counts_evaluation(text):
            with_evaluation.add(number)
    refused: StudyError | None = None
    for unit, rows in found.items():
        check_certain(rows, path)
        mark = decimal or mark_of_all(rows, others, path)
        values = dict(values_of(rows, mark))
        junk = [where for row in rows if row[0] not in values for where in no_numbers(row, mark)]
        if not values:
            refused = refused or (not_a_number(junk[0], path, decimal) if junk else None)
            continue
        rates, quotes, each, rivals = [], [], {"": 1}, list[Rival]()
        for number, fit in values.items():
            value, one = fit[0]
            quotes.append(one.quote)
            each |= {one.each: one.many}
            rivals += [Rival(number, one.quote, other.quote) for other_value, other in fit[1:]
                       if other.rank == one.rank and _disagree(value, other_value)][:1]  # fmt: skip
            rate = unit.samples_per_s(value, terms)
            if rate is None:
                problem = f"tells {unit.name}, and how many tokens a sample has is not known"
                raise StudyError(path, number, 1, problem, "say it, such as --sequence 1024")
            rates.append(rate)
        unread = len({line for line, _ in junk})
        found_rates = MeasuredTraining(
            tuple(rates), tuple(values), unit.name, left_out, unread, tuple(batches),
            of_parts=of_parts, rivals=tuple(rivals),
            with_evaluation=len(with_evaluation & {*values}),
            step_samples=terms.global_batch if unit.of_steps else None,
            each=next(reversed(each)), times=each[next(reversed(each))],
        )  # fmt: skip
        return replace(found_rates, quote=quotes[found_rates.warm_up])
    if refused is not None:
        raise refused
    only = [f"{many} line{' is' if many == 1 else 's are'} of {what}"
            for many, what in ((left_out, "evaluation"), (of_parts, OF_PARTS)) if many]  # fmt: skip
    why = f": {' and '.join(only)}" if only else ""
    raise StudyError(path, 0, 0, f"no line tells how fast training was{why}", f"give {KNOWN}")


def _disagree(one: float, other: float) -> bool:
    return max(one, other) > (1 + AGREE) * min(one, other)
