"""Training speed out of a table with a column of rates: the steps of one run, or a line for each
configuration, as it becomes a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dse.calibration.importers.measured_training import MeasuredTraining, Training
from dse.calibration.importers.throughput import (
    column_names,
    mark_of_rates,
    rates_in,
    table_lines,
)
from dse.catalog import decimal_mark
from dse.delimiter import delimiter_of
from dse.errors import StudyError
from dse.spelling import meant
from dse.units import LARGEST, SMALLEST, UnitError

COLUMN = "samples_per_s"
CONFIGURED = ("workload", "accelerator")  # columns of a table that says of what each rate is
SPELT = ("samples/s", "samples/sec", "samples per s")  # what training loops call that column


def is_table(text: str) -> bool:
    """Whether the first line names a column of rates."""
    return COLUMN in map(_column, _heading(text))


def is_of_configurations(text: str) -> bool:
    """Whether the first line also names the columns that say of what each rate is."""
    return {*CONFIGURED, COLUMN} <= {*column_names(_heading(text))}


def _heading(text: str) -> list[str]:
    """The cells of the first line that is not blank."""
    header = next((line for line in text.splitlines() if line.strip()), "")
    return [name.strip() for name in header.split(delimiter_of(header))]


def _column(written: str) -> str:
    """A heading, the one of rates as it is named here."""
    name = written.strip()
    return COLUMN if name.lower() in SPELT else name


def of_configurations(text: str, path: str, terms: Training) -> MeasuredTraining:
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
    """The error of a table of which no row is of the point."""
    which = "its row is not" if rows == 1 else f"none of its {rows} rows is"
    remedy = "name the row of the front that was measured by --row, or add its own row"
    return StudyError(path, 0, 0, f"{which} of {point}", remedy)


def of_table(text: str, path: str, terms: Training, decimal: str) -> MeasuredTraining:
    """Of a table of rates of one run, in which a column ``gpus`` may tell others from it.

    Raises StudyError with the place of a mistake, and where no rate is of the run.
    """
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
