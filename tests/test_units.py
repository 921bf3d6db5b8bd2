"""Text with a unit becomes an SI float, or one clear complaint."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse import units
from dse.units import UnitError, parse, rounded


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("100 Gbps", "bytes_per_s", 12.5e9),
        ("100Gbps", "bytes_per_s", 12.5e9),
        ("12.5 GB/s", "bytes_per_s", 12.5e9),
        ("1 GiB/s", "bytes_per_s", 2.0**30),
        ("25 MiB", "bytes", 25 * 2.0**20),
        ("25 MB", "bytes", 25e6),
        ("8 Mbit", "bytes", 1e6),
        ("1 PiB", "bytes", 2.0**50),
        ("5 us", "seconds", 5e-6),
        ("5 µs", "seconds", 5e-6),
        ("2 hours", "seconds", 7200),
        ("125 TFLOP/s", "flops_per_s", 125e12),
        ("125 tflop/s", "flops_per_s", 125e12),
        ("300 W", "watt", 300),
        ("2 kWh", "joule", 7.2e6),
        ("2 MUSD", "usd", 2e6),
        ("35,000.50 usd", "usd", 35000.5),
        ("1_000_000 USD", "usd", 1e6),
        ("3.06 USD/hour", "usd_per_hour", 3.06),
        ("24 USD/day", "usd_per_hour", 1),
        ("0.08 USD/kWh", "usd_per_kwh", 0.08),
        ("1e6 samples", "samples", 1e6),
        (115e6, "samples", 115e6),
        ("115 M samples", "samples", 115e6),
        ("100 B tokens", "tokens", 100e9),
        ("1.4 T", "tokens", 1.4e12),
        ("300e9 tokens", "tokens", 300e9),
        ("1000 samples/s", "samples_per_s", 1000),
        (8, "count", 8),
    ],
)
def test_quantities(text: str | float, dimension: str, value: float) -> None:
    assert parse(text, dimension) == value


@pytest.mark.parametrize(
    ("text", "dimension", "fragment"),
    [
        ("25 TFLOP/s", "bytes_per_s", "wrong unit; write for example 100 Gbps or 12.5 GB/s"),
        ("25 GB", "bytes_per_s", "wrong unit"),
        (25, "bytes_per_s", "25 has no unit"),
        ("25", "bytes_per_s", "25 has no unit"),
        (0.5, "usd", "0.5 has no unit"),
        ("5 barn", "bytes", "not known here"),
        ("100 GB", "tokens", "wrong unit; write for example 300e9 or 300 B"),
        ("5 s**2", "seconds", "not known here"),
        ("5 __import__", "seconds", "not known here"),
        ("25 gbps", "bytes_per_s", "ambiguous: 'gbps'; write Gbps or GBps"),
        ("3 mUSD", "usd", "ambiguous: 'mUSD'; write MUSD"),
        ("2,5 ms", "seconds", "'2,5 ms'"),
        ("$28000", "usd", "'$28000' is not a quantity; write for example 2 MUSD or 35000 USD"),
        ("28.000 €", "usd", "has a unit that is not known here; write for example 2 MUSD"),
        ("", "usd", "is not a quantity"),
        ("nan USD", "usd", "not a finite number"),
        ("1e999 USD", "usd", "not a finite number"),
        ("1e308 TB", "bytes", "1e308 TB is too large to be meant"),
        ("100 bps", "bytes_per_s", "100 bps is too small to be meant"),
        (float("nan"), "count", "not a finite number"),
        (True, "count", "is not a quantity"),
        (None, "usd", "is not a quantity"),
        ([1], "usd", "is not a quantity"),
        ("1" * 200, "count", "is not a quantity"),
    ],
)
def test_complaints(text: object, dimension: str, fragment: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(text, dimension)  # type: ignore[arg-type]
    assert fragment in str(caught.value)
    assert caught.value.remedy


def test_examples_in_the_remedies_are_right() -> None:
    for dimension, (_, example) in units.DIMENSIONS.items():
        for text in example.split(" or "):
            assert parse(text, dimension) > 0


@given(st.floats(1e-6, 1e9), st.sampled_from(sorted(units._vocabulary())))
def test_a_number_times_its_unit(number: float, unit: str) -> None:
    size, dimension = units.base(unit)
    for key, (target, _) in units.DIMENSIONS.items():
        if target and "kilowatt" not in target and units.base(target)[1] == dimension:
            if not dimension and key != "samples":
                continue
            if key == "bytes" and unit.endswith("b"):
                continue  # refused: see below
            wanted = number * size / units.base(target)[0]
            if wanted < units.LEAST.get(key, 0.0):
                with pytest.raises(UnitError, match="too small to be meant"):
                    parse(f"{number!r} {unit}", key)
                continue
            assert math.isclose(parse(f"{number!r} {unit}", key), wanted, rel_tol=1e-14)


@pytest.mark.parametrize(
    ("text", "right"), [("25 Mib", "25 MiB"), ("64kb", "64 kB"), ("8 b", "8 B")]
)
def test_a_size_with_a_letter_for_bits_is_refused(text: str, right: str) -> None:
    with pytest.raises(UnitError, match=f"'{text}' is in bits") as caught:
        parse(text, "bytes")
    assert caught.value.remedy == f"write {right}, or {right[:-1]}bit if bits are meant"
    assert parse(f"{right[:-1]}bit", "bytes") == parse(right, "bytes") / 8


@given(st.text(max_size=40), st.sampled_from(sorted(units.DIMENSIONS)))
def test_any_text_is_a_finite_number_or_a_complaint(text: str, dimension: str) -> None:
    try:
        assert math.isfinite(parse(text, dimension))
    except UnitError as error:
        assert error.problem  # noqa: PT017


def test_long_text_costs_no_time_and_no_memory() -> None:
    with pytest.raises(UnitError):
        parse("1" * 1_000_000 + "\n\n", "usd")
    for number in range(3000):
        assert parse(f"{number} GB", "bytes") == number * 1e9
    assert units._size.cache_info().currsize <= 1024


def test_the_common_units_are_what_pint_reads() -> None:
    for unit, (size, dimensions) in units._COMMON.items():
        assert units._by_pint(unit) == (pytest.approx(size, rel=1e-15), dimensions)


@pytest.mark.parametrize(
    ("number", "said"),
    [(1763.4, "1,760"), (0.012345, "0.0123"), (2.0, "2"), (245_300.0, "245,000")],
)
def test_numbers_in_messages_have_three_digits(number: float, said: str) -> None:
    assert rounded(number) == said
