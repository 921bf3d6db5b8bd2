"""A finished run as a table: its front with every quantity, or every feasible point."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dse.errors import ArgumentError, StudyError
from dse.pricing.bill_of_rent import RENTED
from dse.report import every_point, origin
from dse.report.bills import COLUMNS, total
from dse.report.document import RunDocument
from dse.report.front_columns import front_columns
from dse.report.table_files import WRITERS, Block, Sheet, check_rows, first_of

SPREADSHEET = ".xlsx"
_POINTS = {
    "baseline": "Baseline",
    "recommended": "Recommended",
    "cheapest_within_5_percent": "Within 5 % of the fastest",
    "fastest": "Fastest",
}
_POINTS |= {f"{name}{RENTED}": f"{title}, rented" for name, title in _POINTS.items()}


def export_table(document: RunDocument, path: Path, every: bool = False) -> str:
    """Write the front, or every feasible point, as its name says; returns a line about it."""
    blocks: Iterable[Block] = [front_columns(document)]
    if every:
        if path.suffix == SPREADSHEET:
            check_rows(document.counts.feasible, path)
        blocks = _every(document)
    count = WRITERS[path.suffix](first_of(blocks), path, _sheets(document))
    if every:
        return f"wrote {count:,} feasible points to {path}, by their best estimates (no intervals)"
    return f"wrote {count:,} points of the front to {path}"


def _every(document: RunDocument) -> Iterable[Block]:
    """Raises :class:`ArgumentError` where they are not known, or not as they were."""
    if document.engine != "exhaustive":
        raise ArgumentError(
            "--all",
            "needs a run that looked at every point, and this one was guided",
            "points.csv beside its report has all that it priced",
        )
    try:
        problem = origin.problem_of(document)
    except StudyError as cause:
        raise ArgumentError(
            "--all",
            f"prices every point again, and the run's study cannot be read here: {cause.problem}",
            "do it in the folder where the run was made, or run the study again",
        ) from cause
    if changed := origin.changed(document, problem):
        problem_text = (
            f"prices every point again, and since that run {' and '.join(changed)} changed"
        )
        raise ArgumentError("--all", problem_text, "run the study again")
    return every_point.blocks(problem)


def _sheets(document: RunDocument) -> Sequence[Sheet]:
    """What a spreadsheet has beside its points."""
    return (
        Sheet("Bill of materials", [*_bills(document)]),
        Sheet("Prices and facts", [*_facts(document)]),
        Sheet("Assumptions", [["Assumption"], *([text] for text in document.assumptions)]),
        Sheet("Run", [["What", "Value"], *_run(document)]),
    )


def _bills(document: RunDocument) -> Iterable[Sequence[object]]:
    yield ("Point", *(column.title for column in COLUMNS))
    for name, items in document.bills.items():
        for item in items:
            yield (_POINTS.get(name, name), *(column.cell(item) for column in COLUMNS))
        yield (_POINTS.get(name, name), "Sum", None, None, total(items))


def _facts(document: RunDocument) -> Iterable[Sequence[object]]:
    yield ("Item", "Fact", "Value", "Date", "Status", "Read on", "Source", "Address", "Detail")
    for row in document.sources:
        yield (row.item, row.fact, row.value, row.date, row.status, row.accessed, row.source,
               row.url, row.detail)  # fmt: skip


def _run(document: RunDocument) -> Iterable[Sequence[object]]:
    yield "Study", document.study.name
    yield "Workload", document.study.workload_title or document.study.workload
    yield "Created", document.created
    yield "Command", document.command
    yield "dse", document.versions.get("dse", "")
    for constraint in document.constraints:
        yield "Constraint", constraint
    for name, label in document.baseline.config.items():
        yield f"Baseline: {name}", label
