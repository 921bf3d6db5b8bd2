"""Limits that lie inside of an interval."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.pricing.load import load
from dse.report.design_point import Interval
from dse.report.limits import crossed
from tests.pricing import priced, studies


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("speedup >= 1", "speedup >= 1 is met by the best estimate, but not for sure: the speedup "
         "is 0.8x to 2.6x with 90 % confidence."),
        ("speedup >= 0.5", None),
        ("capital <= 100 kUSD", "capital <= 100 kUSD is met by the best estimate, but not for "
         "sure: the purchase price is USD 60 k to USD 150 k with 90 % confidence."),
        ("capital <= 1 MUSD", None),
        ("gpus <= 64", None),
    ],
)  # fmt: skip
def test_a_limit_inside_of_the_interval_is_told(
    tmp_path: Path, limit: str, said: str | None
) -> None:
    text = studies.SMALL.replace('"capital <= 200 kUSD"', f'"{limit}"')
    problem = load(studies.written(tmp_path, text))
    ends = Interval(speedup=(0.8, 2.6), step_s=(0.1, 0.2), costs={"capital": (6e4, 1.5e5)})
    point = replace(priced.at(problem), interval=ends)
    assert [*crossed(problem.study, point)] == ([said] if said else [])
