"""dse.text_table: where the cells of a line begin."""

from __future__ import annotations

import csv

import pytest

from dse.text_table import cell_columns, cell_text


@pytest.mark.parametrize(
    ("line", "delimiter", "columns"),
    [
        ("a,bc,d", ",", [1, 3, 6]),
        ('"a,b",c', ",", [1, 7]),
        ('"a "",b",c', ",", [1, 10]),
        ('24" rack,1,2', ",", [1, 10, 12]),
        ('a, "b,c", d', ",", [1, 3, 10]),
        ('a;"1;2";3" bay;4', ";", [1, 3, 9, 16]),
        ("a,,", ",", [1, 3, 4]),
    ],
)
def test_cells_begin_where_csv_reads_them(line: str, delimiter: str, columns: list[int]) -> None:
    cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    assert cell_columns(line, delimiter, len(cells)) == columns


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("=1+2", "'=1+2"), ("+1", "'+1"), ("-x", "'-x"), ("@sum", "'@sum"), ("\tx", "'\tx"),
        ("a=b", "a=b"), (-1.5, -1.5), (True, "true"), (None, ""),
    ],
)  # fmt: skip
def test_no_cell_is_a_formula(value: object, cell: object) -> None:
    assert cell_text(value) == cell
