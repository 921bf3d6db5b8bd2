"""Readers of other people's benchmark output: nccl-tests, OSU, IMB, gloo, and plain tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dse.calibration.importers import csv_table, gloo, imb, nccl_json, nccl_tests, osu
from dse.calibration.importers.records import Log, Row, Table
from dse.calibration.importers.text import clean_lines, failure_in, read_text
from dse.errors import MeasurementError, StudyError

__all__ = ["COLLECTIVES", "Log", "Row", "Table", "read_log"]

COLLECTIVES = tuple(sorted({
    *nccl_tests.COLLECTIVES.values(), *imb.COLLECTIVES.values(), *osu.COLLECTIVES.values(),
    *gloo.COLLECTIVES.values(),
}))  # fmt: skip
KNOWN = "nccl-tests (also -J), OSU, IMB, gloo benchmark, tables with the columns " + ", ".join(
    csv_table.REQUIRED
)


def read_log(
    path: str, collective: str | None = None, select: Mapping[str, Sequence[str]] | None = None
) -> Log:
    """One file, its format recognised from what is in it.

    collective: for a log that does not name it. select: column -> wanted values, of a table.
    Raises StudyError for what is none of the formats, MeasurementError for a run that failed.
    """
    text = read_text(path)
    if csv_table.looks_so(text):
        log = csv_table.parse(text, path, select or {})
    elif nccl_json.looks_so(text):
        log = nccl_json.parse(text, path, collective)
    else:
        log = _read_output(text, path, collective)
    if not log.tables:
        said = failure_in(clean_lines(text))
        what = f"the log says: {said}" if said else "it may have been stopped"
        broken = f", {log.dropped} broken" if log.dropped else ""
        raise MeasurementError(f"{path}: {log.format} without any result{broken}; {what}")
    return log


def _read_output(text: str, path: str, collective: str | None) -> Log:
    lines = clean_lines(text)
    for log in (
        nccl_tests.parse(lines, path, collective),
        osu.parse(lines),
        imb.parse(lines),
        gloo.parse(lines),
    ):
        if log is not None:
            return log
    if "dse-measurements/" in text[:200]:
        raise StudyError(
            path, 0, 0, "is a measurement file already", "give it to 'dse calibrate fit'"
        )
    said = failure_in(lines)
    if said:
        raise MeasurementError(f"{path}: no result of a benchmark in it; it says: {said}")
    raise StudyError(path, 0, 0, "is no benchmark output that is known", f"give {KNOWN}")
