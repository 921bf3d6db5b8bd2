"""Readers of what others measured: nccl-tests, OSU, IMB, gloo, plain tables, and traces of
training by PyTorch's profiler and Horovod."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dse.calibration.importers import (
    csv_table,
    gloo,
    horovod_timeline,
    kineto,
    mpi_tables,
    nccl_json,
    nccl_tests,
    rccl_files,
    traces,
)
from dse.calibration.importers.records import Log, Row, Table
from dse.calibration.importers.text import (
    Line,
    clean_lines,
    failure_in,
    printable,
    read_text,
    rows_later,
)
from dse.calibration.importers.traces import WAITS
from dse.errors import MeasurementError, StudyError

__all__ = ["Log", "Row", "Table", "read_log"]

KNOWN = (
    "output of nccl-tests (also -J) or rccl-tests (also -Z), of OSU, IMB or gloo, a trace "
    "of PyTorch's profiler or Horovod, or a table with the columns " + ", ".join(csv_table.REQUIRED)
)


def read_log(
    path: str, collective: str | None = None, select: Mapping[str, Sequence[str]] | None = None
) -> Log:
    """Read one file, whose format is recognised from its content.

    collective: for a log that does not name it. select: column -> wanted values, of a table.
    Raises StudyError if the format is not recognised, MeasurementError for a run that failed.
    """
    text = read_text(path)
    if traces.looks_so(text):
        log = _read_trace(text, path)
    elif csv_table.looks_so(text):
        log = csv_table.parse(text, path, select or {})
    elif nccl_json.looks_so(text):
        log = nccl_json.parse(text, path, collective)
    elif rccl_files.looks_so(text):
        log = rccl_files.parse(text)
    else:
        log = _read_output(text, path, collective)
    if not log.tables:
        lines = clean_lines(text)
        said, hidden = failure_in(lines), rows_later(lines)
        what = f"it reports: {said}" if said else "the run may have been stopped"
        if hidden and not said:
            row = printable(hidden[0].text)
            what = f"its lines begin with something else, such as '{row}'; take that off"
        broken = f", {_rows(log.dropped)} damaged" if log.dropped else ""
        problem = f"has no usable result (read as {log.format}{broken})"
        raise MeasurementError(f"{path}: {problem}; {what}")
    return log


def _read_trace(text: str, path: str) -> Log:
    trace = traces.read_trace(text, path)
    if horovod_timeline.is_horovod(trace):
        log = horovod_timeline.parse(trace)
    elif kineto.is_kineto(trace):
        log = kineto.parse(trace)
    else:
        problem = "is a trace, but of neither PyTorch's profiler nor Horovod"
        raise StudyError(path, 0, 0, problem, f"give {KNOWN}")
    if not log.tables:
        problem = f"has no collective whose size is known (read as {log.format})"
        remedy = "trace a job of several ranks; with gloo, profile with record_shapes=True"
        raise StudyError(path, 0, 0, problem, remedy)
    return replace(log, notes=(*log.notes, WAITS))


def _rows(count: int) -> str:
    return f"{count} row is" if count == 1 else f"{count} rows are"


def _with_lost_rows(log: Log, lines: Sequence[Line]) -> Log:
    """The log, which counts and names rows that were not read as they begin with something else."""
    read = {row.line for table in log.tables for row in table.rows}
    lost = [line for line in rows_later(lines) if line.number not in read]
    if not (log.tables and lost):
        return log
    note = f"{_rows(len(lost))} lost, which begin with something else, such as "
    note += f"'{printable(lost[0].text)}' in line {lost[0].number}; take that off"
    return replace(log, dropped=log.dropped + len(lost), notes=(*log.notes, note))


def _read_output(text: str, path: str, collective: str | None) -> Log:
    lines = clean_lines(text)
    for log in (
        nccl_tests.parse(lines, path, collective),
        mpi_tables.parse_osu(lines),
        mpi_tables.parse_imb(lines),
        gloo.parse(lines),
    ):
        if log is not None:
            return _with_lost_rows(log, lines)
    if "dse-measurements/" in text[:200]:
        raise StudyError(
            path, 0, 0, "is already a measurement file", "give it to 'dse calibrate fit'"
        )
    said = failure_in(lines, sure=True)
    if said:
        problem = f"contains no benchmark result; it reports: {said}"
        raise MeasurementError(f"{path}: {problem}; give {KNOWN}")
    raise StudyError(path, 0, 0, "is not a known benchmark output", f"give {KNOWN}")
