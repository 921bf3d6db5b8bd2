"""Runs as tables: CSV, Parquet and spreadsheets hold the same, of the front and of all points."""

from __future__ import annotations

import csv
import re
import sys
import tempfile
from collections.abc import Iterator
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
from dse.report import origin, table_files
from dse.report.bills import bills_csv
from dse.report.document import RunDocument
from dse.report.export_table import export_table
from dse.report.front_columns import Column, front_columns
from dse.study.quantities import QUANTITIES
from tests.pricing.studies import SMALL


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dse.Result:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(SMALL + "target: {samples: 1e6}\n", encoding="utf-8")
    return dse.load_study(path).search()


@pytest.fixture(scope="module")
def document(result: dse.Result) -> RunDocument:
    return result.document


def of_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of_sheet(path: Path, title: str) -> list[tuple[Any, ...]]:
    return list(openpyxl.load_workbook(path)[title].iter_rows(values_only=True))


def test_the_front_is_the_same_in_all_three(document: RunDocument, tmp_path: Path) -> None:
    for ending in (".csv", ".parquet", ".xlsx"):
        said = export_table(document, tmp_path / f"front{ending}")
        assert said.startswith(f"wrote {len(document.front)} points of the front to")
    columns = front_columns(document)
    rows = of_csv(tmp_path / "front.csv")
    table = parquet.read_table(tmp_path / "front.parquet")
    heads, *cells = of_sheet(tmp_path / "front.xlsx", "Points")
    assert list(heads) == [column.heading for column in columns]
    assert table.num_rows == len(rows) == len(cells) == len(document.front)
    for at, column in enumerate(columns):
        assert table[column.name].to_pylist() == list(column.values)
        for row, value in enumerate(column.values):
            text, cell = rows[row][column.name], cells[row][at]
            if isinstance(value, float):
                assert float(text) == value
                assert cell == pytest.approx(value, rel=1e-12)
            elif isinstance(value, bool) or value is None:
                assert text == {True: "true", False: "false", None: ""}[value]
                assert cell == value
            else:
                assert text == str(value)
                assert cell == value


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
@pytest.mark.parametrize("every", [False, True])
def test_every_quantity_is_the_points_own(
    result: dse.Result, document: RunDocument, tmp_path: Path, every: bool, ending: str
) -> None:
    """Each that the study knows, as a column under its name, or as the axis that it is."""
    table = read(document, tmp_path / f"table{ending}", every)
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
            value, cell = float(np.ravel(evaluation[row.name])[0]), table[row.column][at]
            assert row.whole <= value.is_integer()
            assert float(cell) == pytest.approx(value, rel=1e-12)
            assert not (row.whole and ending == ".parquet") or isinstance(cell, int)
    assert all(0 < float(share) < 1 for share in table["goodput"])
    if not every:
        lows, highs = table["run_carbon_kg_low"], table["run_carbon_kg_high"]
        known = zip(lows, table["run_carbon_kg"], highs, strict=True)
        assert all(float(low) <= float(own) <= float(high) for low, own, high in known)


def read(document: RunDocument, path: Path, every: bool) -> dict[str, list[Any]]:
    """A table as it is written, by the names of its columns."""
    export_table(document, path, every)
    if path.suffix == ".parquet":
        found: dict[str, list[Any]] = parquet.read_table(path).to_pydict()
        return found
    if path.suffix == ".csv":
        rows = of_csv(path)
        return {name: [row[name] for row in rows] for name in rows[0]}
    _, *cells = of_sheet(path, "Points")
    names = of_csv_names(document, path.with_suffix(".csv"), every)
    return {name: [row[at] for row in cells] for at, name in enumerate(names)}


def of_csv_names(document: RunDocument, path: Path, every: bool) -> list[str]:
    export_table(document, path, every)
    return [*of_csv(path)[0]]


def test_a_spreadsheet_has_the_bill_and_the_prices_with_their_dates(
    document: RunDocument, tmp_path: Path
) -> None:
    export_table(document, tmp_path / "front.xlsx")
    head, *bill = of_sheet(tmp_path / "front.xlsx", "Bill of materials")
    assert {"Item", "Quantity", "Unit price (USD)", "Date of price"} <= set(head)
    named = bills_csv(document).splitlines()[0].split(",")
    assert len(head) == len(named)
    assert head[-3:] == ("Owned", "To buy", "Ordered on")
    columns = slice(named.index("owned"), named.index("to_buy") + 1)
    bought = [row for row in bill if row[1] != "Sum" and row[5] != "of the site"]
    assert all(row[columns] == (0, row[2]) for row in bought)
    sums = {row[0]: row[4] for row in bill if row[1] == "Sum"}
    assert sums["Recommended"] == pytest.approx(document.recommended.costs["capital"])
    facts = of_sheet(tmp_path / "front.xlsx", "Prices and facts")
    assert len(facts) == len(document.sources) + 1
    assert any(row[3] for row in facts[1:])  # a date
    texts = [row[0] for row in of_sheet(tmp_path / "front.xlsx", "Assumptions")]
    assert texts[1:] == list(document.assumptions)


def test_all_is_every_feasible_point(
    result: dse.Result, document: RunDocument, tmp_path: Path
) -> None:
    """Against every point of the space, priced one by one."""
    said = export_table(document, tmp_path / "all.csv", every=True)
    assert f"{document.counts.feasible:,} feasible points" in said
    assert "no intervals" in said
    rows = of_csv(tmp_path / "all.csv")
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
    counts = replace(document.counts, feasible=table_files.SHEET_ROWS)
    with pytest.raises(DseError, match=r"more than the 1,048,575 rows.*\.parquet"):
        export_table(replace(document, counts=counts), tmp_path / "all.xlsx", every=True)
    assert not list(tmp_path.iterdir())


def test_text_is_no_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "https://example.org", "a\x07b", "1e3", "", "x" * 40_000]
    column = Column("name", "Name", "", texts, str)
    assert table_files.write_workbook([[column]], tmp_path / "x.xlsx") == len(texts)
    rows = [*openpyxl.load_workbook(tmp_path / "x.xlsx")["Points"].iter_rows(min_row=2)]
    assert {cell.data_type for (cell,) in rows if cell.value} == {"s"}
    assert [cell.hyperlink for (cell,) in rows] == [None] * len(rows)
    found = [cell.value for (cell,) in rows]
    assert found[:2] == texts[:2]
    assert found[2] == "a?b"
    assert found[3:] == ["1e3", "", "x" * table_files.CELL_CHARACTERS]


def test_a_block_that_fails_leaves_no_file_and_none_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was written so far is thrown away, temporary files of the sheets too."""
    elsewhere = tmp_path / "temporary"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))

    def blocks() -> Iterator[list[Column]]:
        yield [Column("n", "N", "", [1.5, None, -2.0], float)]
        raise DseError("no more")

    with pytest.raises(DseError, match="no more"):
        table_files.write_workbook(blocks(), tmp_path / "x.xlsx")
    assert [path.name for path in tmp_path.iterdir()] == ["temporary"]
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".xlsx"])
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
    [("pyarrow", ".parquet", "parquet"), ("xlsxwriter", ".xlsx", "xlsx")],
)
def test_a_missing_library_is_named(
    module: str, ending: str, extra: str, document: RunDocument, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(DseError, match=rf"needs {module}; pip install 'cluster-dse\[{extra}\]'"):
        export_table(document, tmp_path / f"front{ending}")
    assert not list(tmp_path.iterdir())


def test_all_comes_in_the_order_of_the_space(document: RunDocument, tmp_path: Path) -> None:
    export_table(document, tmp_path / "all.csv", every=True)
    precisions = [row["precision"] for row in of_csv(tmp_path / "all.csv")]
    assert sum(a != b for a, b in pairwise(precisions)) == 1  # the outermost axis
