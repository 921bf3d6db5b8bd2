"""Numbers read the same where the page writes them as where Python does."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.report import words
from dse.report.certainty import words as sure_words
from dse.report.page import own_file
from tests.report import browser

pytestmark = [pytest.mark.slow, browser.needs_chromium]

UNITS = ("x", "s", "USD", "USD/hour", "J", "W", "kg CO2e", "samples/s", "samples", "")
DIGITS = (2, 3, 4)
SHARES = (0.0, 1e-9, 0.004, 0.00499, 0.005, 0.125, 0.375, 0.895, 0.8949, 0.8996, 0.9, 0.9000001,
          0.94995, 0.99, 0.995, 0.9951, 0.999, 0.9996, 1 - 1e-9, 1.0)  # fmt: skip
ASKED = (None, 0.5, 0.9, 0.95, 0.99, 0.999, 0.123456)
SAID = """
const found = {};
for (const digits of DIGITS) {
  const { shown } = numbers(digits);
  found[digits] = UNITS.map((unit) => VALUES.map((value) => shown(value, unit)));
}
const { chance, exactly } = numbers(4);
found.chance = ASKED.map((asked) => SHARES.map((share) => chance(share, asked)));
found.exactly = ASKED.slice(1).map(exactly);
return found;
"""


def values() -> Iterator[float]:
    """Nothing, the tiny and the huge, borders of rounding and of units with what is next to them,
    exact halves, and thousands of others, of either sign."""
    borders = [9.995, 99.95, 99.995, 999.5, 999.95, 9.9949, 0.9995, 0.99995, 2.5, 0.125, 2.125,
               12.5, 1.005, 2.675, 1234.5, 12345.0, 12355.0, 999_500.0, 999_950.0, 999_949.0,
               59.95, 59.97, 59.995, 59.996, 3598.0, 3599.5, 86_350.0, 86_395.0, 86_400.0, 90_000.0,
               1e-12, 9.99e-13, 1e-10, 9.995e-10, 1e-6, 5e-4]  # fmt: skip
    borders += [size * factor for size in (1e-9, 1e-6, 1e-3, 1.0, 60.0, 1e3, 3600.0, 1e6, 3.6e6,
                3.6e9, 1e9, 3.6e12, 1e12, 1e15, 1e18)
                for factor in (0.99, 0.9949, 0.995, 0.9995, 0.99949, 0.99995, 1.0)]  # fmt: skip
    borders += [math.nextafter(value, to) for value in borders for to in (0.0, math.inf)]
    chance = random.Random(0)
    others = [chance.uniform(1, 10) * 10.0 ** chance.randint(-14, 20) for _ in range(1500)]
    halves = [chance.randint(1, 20_000) / 2 ** chance.randint(0, 6) for _ in range(1500)]
    yield from (0.0, -0.0, 1e-30, 5e-300, 1e21)
    for value in (*borders, *others, *halves):
        yield value
        yield -value


@pytest.mark.evidence
def test_the_page_writes_numbers_as_python_does(tmp_path: Path) -> None:
    every = list(values())
    assert len(every) > 6000
    given = {"DIGITS": DIGITS, "UNITS": UNITS, "VALUES": every, "SHARES": SHARES, "ASKED": ASKED}
    constants = "".join(f"const {name} = {json.dumps(what)};" for name, what in given.items())
    html = f"<!doctype html><title>numbers</title><script>{own_file('numbers.js')}</script>"
    with browser.opened(html, tmp_path, ready=None) as seen:
        found = seen.run(constants + SAID)
        assert seen.console == []
    wrong = [
        (digits, unit, value, here, there)
        for digits in DIGITS
        for unit, texts in zip(UNITS, found[str(digits)], strict=True)
        for value, there in zip(every, texts, strict=True)
        if (here := words.shown(value, unit, digits)) != there.replace("\u00a0", " ")
    ]
    assert wrong == []
    chances = [[sure_words.chance(share, asked) for share in SHARES] for asked in ASKED]
    assert [[text.replace("\u00a0", " ") for text in row] for row in found["chance"]] == chances
    asked = [sure_words.exactly(one) for one in ASKED if one is not None]
    assert [text.replace("\u00a0", " ") for text in found["exactly"]] == asked


@pytest.mark.evidence
def test_what_nobody_knows_is_unknown_in_the_page(tmp_path: Path) -> None:
    html = f"<!doctype html><title>numbers</title><script>{own_file('numbers.js')}</script>"
    script = "return [NaN, Infinity, null].map((one) => numbers(3).shown(one, 'x'))"
    with browser.opened(html, tmp_path, ready=None) as seen:
        assert seen.run(script) == [words.UNKNOWN] * 3
