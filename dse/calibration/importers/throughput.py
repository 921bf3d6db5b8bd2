"""Tables of measured samples per second, a row for each configuration, as they become a profile."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from dse import catalog
from dse.calibration.experiment import sha256_of
from dse.calibration.fitting.profile import silent_profile
from dse.calibration.importers.text import read_text
from dse.calibration.profile import Profile
from dse.calibration.throughput_part import NODE, Throughput, aggregation_names
from dse.delimiter import cell_columns, delimiter_of
from dse.errors import StudyError
from dse.mistakes import Mistakes, each
from dse.model.step import PARAMETER_SERVER
from dse.spelling import alternatives, meant, real_name, same
from dse.units import rounded
from dse.version import __version__

REQUIRED = ("workload", "accelerator", "samples_per_s", "precision", "batch_per_gpu")
SUMMING = ("aggregation", "node", "intra_node", "inter_node", "nics_per_node")
COLUMNS = (*REQUIRED, "gpus", "gpus_per_node", "stack", "accumulation", "optimizer", *SUMMING)
LIBRARY = "training rates of"  # of a profile that holds nothing else; its version is the table
_KINDS = {  # of columns that hold names -> of the catalogue
    "workload": "workloads", "accelerator": "accelerators", "stack": "stacks", "node": "nodes",
    "intra_node": "fabrics", "inter_node": "fabrics", "aggregation": "aggregations",
}  # fmt: skip
# Training may need fewer operations than the catalogue counts: a 3x3 convolution by Winograd's
# F(2x2, 3x3) 2.25 times fewer multiplications (Lavin and Gray, CVPR 2016; published rates of VGG-16
# on P100 in fp32 are 1.35 times the peak), and samples that are shorter than usual as much.
FEWER_OPERATIONS = 2.25


class Cell(NamedTuple):
    """A cell of a table, and its place."""

    text: str
    file: str = ""
    line: int = 0
    column: int = 0

    def wrong(self, problem: str, remedy: str) -> StudyError:
        """The error of what is wrong with it."""
        return StudyError(self.file, self.line, self.column, problem, remedy)


def throughput_profile(path: str | Path, name: str, table: str = "") -> Profile:
    """The profile of the rates of a table, see :func:`read_throughput`."""
    rates = read_throughput(path, table)
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
        throughput=tuple(rates.values()),
        system=name,
    )


def read_throughput(path: str | Path, table: str = "") -> Mapping[int, Throughput]:
    """The rates of a table by their lines. Raises StudyError with every mistake and its place.

    A workload may be the path of a workload file, relative to the table. table: a text that is read
    in place of that of the file.
    """
    header, *rows = table_rows(table or read_text(path), str(path))
    names = [real_name(cell.text, COLUMNS) for cell in header]
    _check_header(names, header)
    if not rows:
        raise header[0].wrong("no row follows the header", "write one for each rate")

    def rate(cells: Sequence[Cell]) -> tuple[int, Throughput]:
        return cells[0].line, _throughput(dict(zip(names, cells, strict=True)), Path(path).parent)

    return dict(each(rate, rows))


def table_rows(text: str, file: str) -> list[list[Cell]]:
    """The cells of every line that is not blank, of which there is one or more.

    Commas, semicolons or tabs stand between cells. Raises StudyError for a quote without its end,
    and for a line with another number of cells than the first.
    """
    delimiter = delimiter_of(first_line(text))
    found: list[list[Cell]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error as cause:
            problem = f"is not a valid table: {cause}"
            raise StudyError(file, number, 1, problem, "correct it") from None
        if not any(cell.strip() for cell in row):
            continue
        if found and len(row) != len(found[0]):
            problem = f"{len(row)} cells in place of {len(found[0])}"
            raise StudyError(file, number, 1, problem, "leave a cell empty that is not known")
        columns = cell_columns(line, delimiter, len(row))
        found.append([Cell(cell.strip(), file, number, column)
                      for cell, column in zip(row, columns, strict=True)])  # fmt: skip
    return found


def first_line(text: str) -> str:
    """The first line that is not blank."""
    return next((line for line in text.splitlines() if line.strip()), "")


def _check_header(names: Sequence[str], header: Sequence[Cell]) -> None:
    mistakes = Mistakes()
    free = [name for name in COLUMNS if name not in names]
    for at, (name, cell) in enumerate(zip(names, header, strict=True)):
        if name not in COLUMNS:
            remedy = meant(name, free, f"the columns are {', '.join(COLUMNS)}")
            mistakes.note(cell.wrong(f"unknown column '{name}'", remedy))
        elif name in names[:at]:
            mistakes.note(cell.wrong(f"the column '{name}' is there twice", "keep one"))
    missing = [name for name in REQUIRED if name in free]
    if missing and not mistakes.any:
        problem = f"the column '{missing[0]}' is missing"
        mistakes.note(header[0].wrong(problem, f"give {', '.join(REQUIRED)}"))
    mistakes.told()


def is_row(cells: Mapping[str, str]) -> bool:
    """Whether cells, by column, are a rate that a table can have."""
    try:
        _throughput({name: Cell(cell) for name, cell in cells.items()}, Path())
    except StudyError:
        return False
    return True


def _throughput(cells: Mapping[str, Cell], folder: Path) -> Throughput:
    """The rate of a row. Raises StudyError with every mistake.

    cells: by column. folder: from which the path of a workload file starts.
    """
    from pydantic import TypeAdapter, ValidationError

    mistakes, first = Mistakes(), next(iter(cells.values()))

    def note(name: str, problem: str, remedy: str) -> None:
        mistakes.note(cells.get(name, first).wrong(f"{name}: {problem}", remedy))

    given = {name: cell.text for name, cell in cells.items() if cell.text}
    columns = [name for name in _KINDS if name in given]
    named = mistakes.by_key(lambda name: _name(name, cells[name], folder), columns)
    given |= {name: part.otherwise(given[name]) for name, part in named.items()}
    if "gpus_per_node" not in given and given.get("node") in catalog.names("nodes"):
        given["gpus_per_node"] = str(catalog.node(given["node"]).accelerators)
    try:
        rate = TypeAdapter(Throughput).validate_strings({"stack": "vendor", **given})
    except ValidationError as cause:
        for one in cause.errors():
            name = str(one["loc"][0])
            problem = f"'{given.get(name, '')}': {one['msg'][:1].lower()}{one['msg'][1:]}"
            note(name, problem, "see the columns in docs/calibration.md")
    mistakes.told()
    for contradiction in _contradictions(rate, "gpus_per_node" in given):
        note(*contradiction)
    mistakes.told()
    return rate


def _name(column: str, cell: Cell, folder: Path) -> str:
    """The name that a word means, in any spelling or by an alias that is clear; of a workload also
    the absolute path of its file."""
    kind, word = _KINDS[column], cell.text
    if column == "workload" and catalog.is_path(word):
        path = folder / word
        try:
            catalog.named_workload(str(path))
        except StudyError as cause:
            if cause.line:  # a mistake in that file
                raise
            problem = f"{column}: {path}: {cause.problem}"
            raise cell.wrong(problem, "name a workload file") from None
        return str(path.resolve())
    known = {"stacks": catalog.computing().stacks, "aggregations": aggregation_names()}.get(kind)
    known = known or dict.fromkeys(catalog.names(kind))
    found = real_name(word, known, catalog.clear_aliases(kind))
    if found in known:
        return found
    if could := catalog.aliases().get(kind, {}).get(same(word)):  # a measurement is of one of them
        problem = f"{column}: '{word}' could mean several"
        raise cell.wrong(problem, f"write {alternatives(could)}")
    remedy = meant(word, known, "write it as studies do, see dse catalog")
    raise cell.wrong(f"{column}: '{word}' is not known", remedy)


def _contradictions(rate: Throughput, sized: bool) -> Iterator[tuple[str, str, str]]:
    """Column, problem and remedy of what cannot be, of values that each may be. sized: whether it
    is said how many accelerators share a node."""
    peaks = catalog.accelerator(rate.accelerator).peak_flops_per_s
    node = catalog.node(rate.node) if rate.node else None
    if rate.precision not in peaks:
        problem = f"no peak of {rate.accelerator} is known in {rate.precision}"
        yield "precision", problem, f"write {alternatives(peaks)}"
    elif rate.samples_per_s > (most := most_samples_per_s(rate)):
        problem = (
            f"{rate.samples_per_s:,.6g} samples/s are {rounded(rate.samples_per_s / most)} times "
            f"what {rate.gpus} {rate.accelerator} can compute at the peak of {rate.precision}"
        )
        remedy = "write samples (not tokens) per second, and in gpus the number of accelerators"
        yield "samples_per_s", problem, remedy
    if node and node.accelerator != rate.accelerator:
        problem = f"{node.name} holds {node.accelerator}, not {rate.accelerator}"
        yield "node", problem, f"write accelerator {node.accelerator}, or another node"
    if node and rate.gpus_per_node > node.accelerators:
        problem = f"{node.name} holds {node.accelerators} accelerators, not {rate.gpus_per_node}"
        yield "gpus_per_node", problem, f"write {node.accelerators}, or another node"
    if rate.gpus > NODE and not sized:
        problem = f"{rate.gpus} accelerators are more than one node's {NODE}"
        yield "gpus", problem, "give the column gpus_per_node"
    said = [name for name in SUMMING if getattr(rate, name) is not None]
    if rate.aggregation is None:
        if said and rate.gpus > 1:
            problem = f"is empty beside {said[0]}"
            yield "aggregation", problem, "write how gradients were summed, as ring-nccl"
    elif _by_servers(rate.aggregation):
        problem = f"{rate.aggregation} needs servers, of which a rate says nothing"
        yield "aggregation", problem, "leave it empty"
    elif rate.gpus > rate.gpus_per_node and not (rate.inter_node or (node and node.inter_node)):
        problem = f"is empty, but {rate.gpus} accelerators are on several nodes"
        yield "inter_node", problem, "write the network between them, as 100gbe or ib-hdr"


def _by_servers(aggregation: str) -> bool:
    name = aggregation_names()[aggregation]
    algorithm = catalog.approach(name.approach).algorithm if name.approach else name.algorithm
    return algorithm == PARAMETER_SERVER


def most_samples_per_s(rate: Throughput) -> float:
    """``gpus * peak / (3 * forward FLOPs)``, times :data:`FEWER_OPERATIONS` where fewer may do: of
    networks that may hold convolutions, and of samples that differ in length."""
    workload = catalog.named_workload(rate.workload)
    peak = catalog.accelerator(rate.accelerator).peak_flops_per_s[rate.precision]
    fewer = workload.varying_length or workload.family in ("convolutional", "other")
    computed = 3 * workload.forward_flops / (FEWER_OPERATIONS if fewer else 1.0)
    return rate.gpus * peak / computed if computed else math.inf
