"""Runs as tables: CSV, Parquet and spreadsheets hold the same, of the front and of all points."""

from __future__ import annotations

import csv
import re
import sys
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from pyarrow import parquet

import dse
from dse.errors import DseError, OutputError
from dse.report import export_table as module
from dse.report import origin
from dse.report.document import RunDocument
from dse.report.export_table import export_table
from dse.report.front_columns import Column, front_columns
from dse.study.quantities import QUANTITIES
from tests.pricing.studies import SMALL

ENDINGS = (".csv", ".parquet", ".xlsx")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dse.Result:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(SMALL + "target: {samples: 1e6}\n", encoding="utf-8")
    return dse.load_study(path).search()


@pytest.fixture(scope="module")
def document(result: dse.Result) -> RunDocument:
    return result.document


def read(document: RunDocument, path: Path, every: bool) -> dict[str, list[Any]]:
    """A table as it is written, by the names of its columns; of a spreadsheet by its headings."""
    export_table(document, path, every)
    if path.suffix == ".parquet":
        found: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
        return found
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            heads, *rows = csv.reader(file)
    else:
        heads, *rows = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
    return {head: [row[at] for row in rows] for at, head in enumerate(heads)}


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_front_has_the_columns_of_front_csv(
    ending: str, document: RunDocument, tmp_path: Path
) -> None:
    columns = front_columns(document)
    table = read(document, tmp_path / f"front{ending}", every=False)
    assert len(table) == len(columns)
    if ending == ".xlsx":
        assert [*table] == [f"{c.title} ({c.unit})" if c.unit else c.title for c in columns]
    else:
        assert [*table] == [column.name for column in columns]
    for column, cells in zip(columns, table.values(), strict=True):
        for value, cell in zip(column.values, cells, strict=True):
            if isinstance(value, bool) or value is None:
                text = {True: "true", False: "false", None: ""}[value]
                assert cell == (text if ending == ".csv" else value)
            elif isinstance(value, float):
                assert float(cell) == pytest.approx(value, rel=1e-15)
            else:
                assert cell == (str(value) if ending == ".csv" else value)


@pytest.mark.parametrize("every", [False, True])
def test_every_quantity_is_the_points_own(
    result: dse.Result, document: RunDocument, tmp_path: Path, every: bool
) -> None:
    """Each that the study knows, as a column under its name, or as the axis that it is."""
    table = read(document, tmp_path / "table.parquet", every)
    problem = result.study.problem
    rows = range(document.counts.feasible if every else len(document.front))
    if every:
        points = [origin.values_of(problem, {
            axis: str(values[at]) for axis, values in table.items()
            if axis in axes(document) and values[at] not in (None, "")
        }) for at in rows]  # fmt: skip
    else:
        points = [point.values for point in result.outcome.front]
    for at in sorted({0, 1, len(rows) // 2, len(rows) - 1}):
        evaluation = problem.point(points[at])
        for row in QUANTITIES.values():
            if row.name in axes(document):
                assert row.name in table
                continue
            if row not in problem.quantities:
                assert row.column not in table
                continue
            value, cell = float(np.ravel(evaluation[row.name])[0]), table[row.column][at]
            assert row.whole <= value.is_integer()
            assert cell == pytest.approx(value, rel=1e-12)
            assert not row.whole or isinstance(cell, int)
    if not every:
        ends = (table[f"run_carbon_kg{end}"] for end in ("_low", "", "_high"))
        assert all(low <= own <= high for low, own, high in zip(*ends, strict=True))


def test_all_is_every_feasible_point(
    result: dse.Result, document: RunDocument, tmp_path: Path
) -> None:
    """Against every point of the space, priced one by one."""
    table = read(document, tmp_path / "all.csv", every=True)
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    every = result.points
    feasible = [at for at in range(every.rows) if every["feasible"][at]]
    assert len(rows) == len(feasible) == document.counts.feasible
    known = {
        tuple("" if every[axis][at] != every[axis][at] else str(every[axis][at])
              .removesuffix(".0") for axis in axes(document)): at for at in feasible
    }  # fmt: skip
    for row in rows:
        at = known.pop(tuple(row[axis] for axis in axes(document)))
        for name in ("speedup", "capital_usd", "step_s", "memory_slack_bytes", "power_w"):
            assert float(row[name]) == pytest.approx(float(every[name][at]), rel=1e-12)
    assert not known
    assert sum(a != b for a, b in pairwise(table["precision"])) == 1  # the outermost axis


def axes(document: RunDocument) -> list[str]:
    return [axis.name for axis in document.axes]


def test_all_in_blocks_is_one_table(
    document: RunDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export_table(document, tmp_path / "whole.csv", every=True)
    monkeypatch.setattr("dse.search.cells.PRICED_POINTS", 7)
    export_table(document, tmp_path / "parts.csv", every=True)
    assert (tmp_path / "parts.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()
    export_table(document, tmp_path / "parts.parquet", every=True)
    assert parquet.read_table(tmp_path / "parts.parquet").num_rows == document.counts.feasible


def test_all_is_refused_of_a_guided_run_and_where_prices_have_changed(
    document: RunDocument, tmp_path: Path
) -> None:
    with pytest.raises(DseError, match=r"this one was guided; points\.csv"):
        export_table(replace(document, engine="guided"), tmp_path / "all.csv", every=True)
    hashes = replace(document.hashes, catalogue="another")
    with pytest.raises(DseError, match="since that run catalogue changed"):
        export_table(replace(document, hashes=hashes), tmp_path / "all.csv", every=True)
    elsewhere = replace(document, study_text=document.study_text + "calibration: [of-the-run]\n")
    told = (
        r"^--all: prices every point again, and the run's study cannot be read here: no "
        r"calibration profile 'of-the-run' in ./calibrations .*; do it in the folder where the run "
        r"was made, or run the study again$"
    )
    with pytest.raises(DseError) as caught:
        export_table(elsewhere, tmp_path / "all.csv", every=True)
    assert re.match(told, caught.value.on_command_line())
    assert not list(tmp_path.iterdir())


def test_a_spreadsheet_that_would_be_too_long_is_refused_before_it_is_begun(
    document: RunDocument, tmp_path: Path
) -> None:
    counts = replace(document.counts, feasible=module.SHEET_ROWS)
    with pytest.raises(DseError, match=r"more than the 1,048,575 rows.*\.parquet"):
        export_table(replace(document, counts=counts), tmp_path / "all.xlsx", every=True)
    assert not list(tmp_path.iterdir())


def test_text_is_no_formula(
    document: RunDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = ["=1+1", "https://example.org", "1e3", None]
    monkeypatch.setattr(module, "front_columns", lambda _: [Column("n", "Name", "", texts, str)])
    export_table(document, tmp_path / "x.xlsx")
    rows = [*openpyxl.load_workbook(tmp_path / "x.xlsx").active.iter_rows(min_row=2)]
    assert {cell.data_type for (cell,) in rows if cell.value} == {"s"}
    assert [cell.hyperlink for (cell,) in rows] == [None] * len(rows)
    assert [cell.value for (cell,) in rows] == texts[: len(rows)]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_block_that_fails_leaves_no_file_and_none_open(
    ending: str, document: RunDocument, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written so far is thrown away, temporary files of the sheets too."""
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    first = Column("n", "N", "", [1.5, None, -2.0])
    other = Column("n", "N", "", ["text"])  # of another kind than its column
    monkeypatch.setattr(module, "_every", lambda *_: iter([[first], [other]]))
    with pytest.raises(ValueError, match=r"text|float|double"):
        export_table(document, tmp_path / f"x{ending}", every=True)
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_cannot_be_written_leaves_nothing(
    ending: str, document: RunDocument, tmp_path: Path
) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        export_table(document, tmp_path / "no-such-folder" / f"front{ending}")
    (tmp_path / f"taken{ending}").mkdir()
    with pytest.raises(OutputError, match="cannot be written"):
        export_table(document, tmp_path / f"taken{ending}")
    assert [path.name for path in tmp_path.iterdir()] == [f"taken{ending}"]


@pytest.mark.parametrize(
    ("module", "ending", "extra"),
    [
        ("pyarrow", ".parquet", "parquet"),
        ("pyarrow", ".csv", "parquet"),
        ("xlsxwriter", ".xlsx", "xlsx"),
    ],
)
def test_a_missing_library_is_named(
    module: str, ending: str, extra: str, document: RunDocument, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DseError, match=rf"needs {module}; pip install 'cluster-dse\[{extra}\]'"):
        export_table(document, tmp_path / f"front{ending}")
    assert not list(tmp_path.iterdir())
