"""Decimal commas and decimal points, told apart or refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.catalog.decimal_mark import COMMA, POINT, mark_of, usual, with_point
from dse.units import UnitError


@pytest.mark.parametrize(
    ("text", "mark", "plain"),
    [
        ("8000,5", COMMA, "8000.5"),
        ("8000,500", COMMA, "8000.500"),
        ("8.000,50 EUR", COMMA, "8000.50 EUR"),
        ("1.234.567", COMMA, "1234567"),
        ("1.234.567,89", COMMA, "1234567.89"),
        ("0,125", COMMA, "0.125"),
        ("2,5 %", COMMA, "2.5 %"),
        ("-2,5 %", COMMA, "-2.5 %"),
        ("8000.5", POINT, "8000.5"),
        ("1,234,567.8", POINT, "1234567.8"),
        ("290,000,000 USD", POINT, "290000000 USD"),
        ("0.125", POINT, "0.125"),
        ("8000", "", "8000"),
        ("25 kUSD", "", "25 kUSD"),
        ("unknown", "", "unknown"),
        ("2026-11-20", "", "2026-11-20"),
        ("31.12.2026", "", "31.12.2026"),
        ("1,23,45", "", "1,23,45"),
        ("1.2,3.4", "", "1.2,3.4"),
        ("1.234,567.890", "", "1.234,567.890"),
        ("", "", ""),
    ],
)
def test_what_tells_is_read(text: str, mark: str, plain: str) -> None:
    assert mark_of(text) == mark
    for others in ("", POINT, COMMA):
        assert with_point(text, others) == plain


@pytest.mark.parametrize("text", ["8.000", "8,000"])
def test_the_table_decides_what_does_not_tell(text: str) -> None:
    with pytest.raises(UnitError) as caught:
        with_point(text, "")
    assert (
        str(caught.value) == f"'{text}' may be 8000 or 8.000; write 8000, or 8.0 if that is meant"
    )
    assert float(with_point(text, POINT)) == (8 if POINT in text else 8000)
    assert float(with_point(text, COMMA)) == (8 if COMMA in text else 8000)


def test_the_usual_mark_is_the_only_one() -> None:
    assert usual(["8.000", "12,5", "100"]) == COMMA
    assert usual(["8.000", "12.5"], COMMA) == POINT
    assert usual(["8.000", "100"], POINT) == POINT
    assert usual(["8.000", "100"]) == ""
    assert usual(["12,5", "12.5"], POINT) == ""


@given(st.integers(0, 10**12), st.integers(1, 6), st.sampled_from([POINT, COMMA]))
def test_a_number_is_read_as_it_was_written(number: int, digits: int, mark: str) -> None:
    """Written with and without thousands parted, in either way."""
    value = number / 10**digits
    american = f"{value:,.{digits}f}"
    swapped = str.maketrans({POINT: COMMA, COMMA: POINT})
    for written in (american, american.replace(COMMA, "")):
        text = written if mark == POINT else written.translate(swapped)
        assert mark_of(text) in (mark, "")
        assert float(with_point(text, mark)) == float(f"{value:.{digits}f}")


@pytest.mark.parametrize(
    ("text", "decimal"), [("8.000", "8.0"), ("8.125", "8.1250"), ("8.100", "8.1")]
)
def test_the_number_proposed_tells(text: str, decimal: str) -> None:
    with pytest.raises(UnitError, match=rf"or {decimal} if that is meant"):
        with_point(text, "")
    assert mark_of(decimal) == POINT
    assert float(decimal) == float(text)
