"""Tables of measured samples per second, with commas, semicolons or tabs between cells.

Columns: workload, accelerator, samples_per_s, precision, batch_per_gpu; also gpus, gpus_per_node,
stack, accumulation, optimizer; and of several accelerators how they summed their gradients, and
over what: aggregation, node, intra_node, inter_node, nics_per_node.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path

from dse.calibration.experiment import sha256_of
from dse.calibration.fitting.profile import silent_profile
from dse.calibration.importers.text import read_text
from dse.calibration.importers.throughput_row import COLUMNS, RATE, REQUIRED, Row
from dse.calibration.profile import Profile
from dse.calibration.throughput_part import Throughput
from dse.catalog import decimal_mark
from dse.delimiter import COMMA, SEMICOLON, cell_columns, delimiter_of
from dse.errors import StudyError
from dse.mistakes import Mistakes, each
from dse.spelling import alike, enumerated, meant, real_name, same
from dse.version import __version__

_CALLED = {  # what others call columns, in any spelling
    same(called): column
    for column, names in {
        "workload": ("model", "network"),
        "accelerator": ("gpu", "gpu_type", "device"),
        "samples_per_s": (
            "throughput", "samples/s", "samples/sec", "samples_per_sec", "samples_per_second",
            "images/s", "images_per_second",
        ),
        "precision": ("dtype",),
        "batch_per_gpu": (
            "batch", "batch_size", "batch_per_device", "per_device_batch_size", "local_batch_size",
        ),
        "gpus": ("num_gpus", "n_gpus", "world_size"),
    }.items()
    for called in names
}  # fmt: skip
LIBRARY = "training rates of"  # of a profile that holds nothing else; its version is the table


def throughput_profile(path: str | PathLike[str], name: str) -> Profile:
    """The profile of a table of rates. Raises StudyError with every mistake and its place."""
    rows = read_throughput(path)
    return silent_profile(
        name=name,
        library=LIBRARY,
        version=Path(path).name,
        machine={},
        cores=1,
        background_cores=0.0,
        date=datetime.now(UTC).strftime("%Y-%m-%d"),
        source=f"{Path(path).name}, read with dse {__version__}",
        measurements_sha256=sha256_of(Path(path)),
        gamma_s_per_byte=0.0,
        copy_s_per_byte=0.0,
        throughput=rows,
        system=name,
    )


def read_throughput(path: str | PathLike[str]) -> tuple[Throughput, ...]:
    """The rates of a table, in its order. Raises StudyError with every mistake and its place.

    A workload may be the path of a workload file, relative to the table.
    """
    return tuple(rate for _, rate in placed_throughput(path))


def placed_throughput(path: str | PathLike[str]) -> tuple[tuple[int, Throughput], ...]:
    """The rates of a table with their lines, see :func:`read_throughput`."""
    file = str(path)
    try:
        text = read_text(file)
    except StudyError as cause:
        raise StudyError(file, 0, 0, cause.problem, "give a table of rates") from None
    return rates_in(text, file)


def rates_in(text: str, file: str) -> tuple[tuple[int, Throughput], ...]:
    """The same of the text of a table that lies in ``file``."""
    lines = text.splitlines()
    header_line = next((line for line in lines if line.strip()), "")
    delimiter = delimiter_of(header_line)
    (first, header), *others = table_lines(lines, file, delimiter)
    names = _checked_header(header, file, first, cell_columns(header_line, delimiter, len(header)))
    if not others:
        raise StudyError(file, first, 1, "no row follows the header", "write one for each rate")
    at = names.index(RATE)
    decimal = mark_of_rates((cells[at] for _, cells in others if len(cells) > at), delimiter)

    def placed(row: tuple[int, list[str]]) -> tuple[int, Throughput]:
        number, cells = row
        columns = cell_columns(lines[number - 1], delimiter, len(cells))
        stripped = [cell.strip() for cell in cells]
        return number, Row(names, stripped, file, number, columns, decimal).rate()

    return each(placed, others)


def mark_of_rates(cells: Iterable[str], delimiter: str) -> str:
    """The decimal mark of the rates of a table, see :func:`dse.catalog.decimal_mark.usual`."""
    return decimal_mark.usual(cells, "" if delimiter == SEMICOLON else decimal_mark.POINT)


def table_lines(
    lines: Sequence[str], file: str, delimiter: str = COMMA
) -> list[tuple[int, list[str]]]:
    """Number and cells of every line that is not blank. A cell does not go on in the next line."""
    found = []
    for number, line in enumerate(lines, 1):
        try:
            cells = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error as cause:
            raise StudyError(
                file, number, 1, f"is not a valid table: {cause}", "correct it"
            ) from None
        if any(cell.strip() for cell in cells):
            found.append((number, cells))
    return found


def column_names(header: Iterable[str]) -> list[str]:
    """The cells of a header, columns as they are called here in whatever spelling."""
    return [real_name(name.strip(), COLUMNS) for name in header]


def _checked_header(
    header: Sequence[str], file: str, line: int, columns: Sequence[int]
) -> list[str]:
    names, mistakes = column_names(header), Mistakes()
    free, meant_here = [one for one in COLUMNS if one not in names], set[str]()
    for position, name in enumerate(names):
        column = columns[position]
        if name not in COLUMNS:
            called = _CALLED.get(same(name), "")
            could = (called,) if called in free else alike(name, free)
            remedy = meant(name, free, f"the columns are {', '.join(COLUMNS)}")
            if called in free:
                remedy = f"write {called}"
            if not could[1:]:
                meant_here.update(could)
            mistakes.note(StudyError(file, line, column, f"unknown column '{name}'", remedy))
        elif name in names[:position]:
            problem = f"the column '{name}' is there twice"
            mistakes.note(StudyError(file, line, column, problem, "keep one"))
    missing = [f"'{name}'" for name in REQUIRED if name in free and name not in meant_here]
    if missing:
        them = f"columns {enumerated(missing)} are" if missing[1:] else f"column {missing[0]} is"
        remedy = f"give {', '.join(REQUIRED)}"
        mistakes.note(StudyError(file, line, 1, f"the {them} missing", remedy))
    mistakes.told()
    return names
