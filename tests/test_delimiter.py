"""dse.delimiter: where the cells of a line begin."""

from __future__ import annotations

import csv

import pytest

from dse.delimiter import COMMA, SEMICOLON, cell_columns


@pytest.mark.parametrize(
    ("line", "delimiter", "columns"),
    [
        ("a,bc,d", COMMA, [1, 3, 6]),
        ('"a,b",c', COMMA, [1, 7]),
        ('"a "",b",c', COMMA, [1, 10]),
        ('24" rack,1,2', COMMA, [1, 10, 12]),
        ('a, "b,c", d', COMMA, [1, 3, 10]),
        ('a;"1;2";3" bay;4', SEMICOLON, [1, 3, 9, 16]),
        ("a,,", COMMA, [1, 3, 4]),
    ],
)
def test_cells_begin_where_csv_reads_them(line: str, delimiter: str, columns: list[int]) -> None:
    cells = next(csv.reader([line], delimiter=delimiter, skipinitialspace=True, strict=True))
    assert cell_columns(line, delimiter, len(cells)) == columns
