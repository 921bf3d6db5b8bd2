"""Several studies as one table: a line each, speeds of one workload over one common baseline."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.front_columns import Column, as_text
from dse.study.quantities import COSTS, QUANTITIES

_RUN = tuple(row for row in QUANTITIES.values() if row.needs_target)


@dataclass(frozen=True)
class Answered:
    """A study as it was given, and its run; or why there is none."""

    given: str
    document: RunDocument | None
    report: str = ""
    error: str = ""


def studies_csv(answers: Sequence[Answered]) -> str:
    """A line for each study: recommended point, its price, speed and time per sample.

    speedup is over the study's own baseline; speedup_common over that of the first study with the
    same workload, ``common_baseline``. Where a study is alone with its workload, note says so.
    """
    columns = list(_columns(answers))
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([column.name for column in columns])
    texts = [map(as_text, column.values) for column in columns]
    writer.writerows(zip(*texts, strict=True))
    return out.getvalue()


def _columns(answers: Sequence[Answered]) -> Iterator[Column]:
    found = [answer.document for answer in answers]
    best = [document.recommended if document else None for document in found]
    common = _common(found)
    yield _text("study", [a.document.study.name if a.document else a.given for a in answers])
    yield _text("workload", [d.study.workload if d else None for d in found])
    yield _text("recommended", [words.describe(p, identified=True) if p else None for p in best])
    yield Column("gpus", "", "", [p.gpus if p else None for p in best], int)
    yield Column("nodes", "", "", [p.nodes if p else None for p in best], int)
    yield Column("global_batch", "", "", [p.global_batch if p else None for p in best], int)
    for row in (*COSTS, *_RUN):
        values = [p.quantity(row.name) if p else None for p in best]
        if any(value is not None for value in values):
            yield Column(row.column, "", "", values)
            yield from _ends(row.column, [_bounds(p, row.name) for p in best])
    yield Column("throughput_samples_per_s", "", "", [_rate(p) for p in best])
    yield from _ends("throughput_samples_per_s",
                     [words.rate_interval(p) if p else None for p in best])  # fmt: skip
    yield Column("sample_s", "", "", [1 / rate if (rate := _rate(p)) else None for p in best])
    yield Column("speedup", "", "", [p.speedup if p else None for p in best])
    shared = [common.get(d.study.workload) if d else None for d in found]
    bases = [words.describe(d.baseline, identified=True) if d else None for d in shared]
    yield _text("common_baseline", bases)
    yield _text("common_baseline_of", [d.study.name if d else None for d in shared])
    yield Column("speedup_common", "", "", [*map(_over, best, shared)])
    yield _text("evidence", [p.evidence if p else None for p in best])
    yield _text("note", [*_notes(answers, found, shared)])
    yield _text("report", [answer.report or None for answer in answers])


def _text(name: str, values: Sequence[str | None]) -> Column:
    return Column(name, "", "", values, str)


def _common(found: Sequence[RunDocument | None]) -> Mapping[str, RunDocument]:
    """The first study of each workload: all others of it are measured from its baseline."""
    first: dict[str, RunDocument] = {}
    for document in found:
        if document is not None:
            first.setdefault(document.study.workload, document)
    return first


def _over(point: Point | None, document: RunDocument | None) -> float | None:
    rate = _rate(point)
    base = document.baseline.throughput_samples_per_s if document else None
    return rate / base if rate and base else None


def _notes(
    answers: Sequence[Answered],
    found: Sequence[RunDocument | None],
    shared: Sequence[RunDocument | None],
) -> Iterator[str | None]:
    workloads = [document.study.workload for document in found if document]
    for answer, document, common in zip(answers, found, shared, strict=True):
        if document is None or common is None:
            yield f"failed: {answer.error}"
        elif workloads.count(document.study.workload) == 1:
            yield (
                f"the only study of {document.study.workload}: its speed cannot be compared with "
                "the others'"
            )
        elif document.baseline.config != common.baseline.config:
            yield f"its own baseline differs from that of {common.study.name}"
        else:
            yield None


def _rate(point: Point | None) -> float | None:
    return point.throughput_samples_per_s if point else None


def _bounds(point: Point | None, name: str) -> tuple[float, float] | None:
    return point.interval.costs.get(name) if point and point.interval else None


def _ends(name: str, bounds: Sequence[tuple[float, float] | None]) -> Iterator[Column]:
    if any(bounds):
        yield Column(f"{name}_low", "", "", [ends[0] if ends else None for ends in bounds])
        yield Column(f"{name}_high", "", "", [ends[1] if ends else None for ends in bounds])
