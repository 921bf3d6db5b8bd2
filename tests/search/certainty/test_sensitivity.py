"""Total-order Sobol indices, against functions whose indices are known, and of a study's limits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.load import load
from dse.search.certainty.sensitivity import effects, total_order
from dse.search.certainty.sources import sources
from tests.pricing import studies

DRAWS = 200_000
Floats = np.ndarray[Any, np.dtype[np.float64]]


def additive(x: Floats) -> Floats:
    """Of independent standard normal numbers: shares 9 : 4 : 1 of 14, and the last does nothing."""
    return 3 * x[0] + 2 * x[1] + x[2] + 0 * x[3]


def ishigami(x: Floats) -> Floats:
    """Ishigami and Homma 1990, a = 7, b = 0.1, numbers uniform in (-pi, pi)."""
    return np.sin(x[0]) + 7 * np.sin(x[1]) ** 2 + 0.1 * x[2] ** 4 * np.sin(x[0])


def estimated(
    function: Callable[[Floats], Floats], drawn: Callable[[], Floats], inputs: int
) -> list[float]:
    x, anew = (np.stack([drawn() for _ in range(inputs)]) for _ in range(2))
    found = []
    for source in range(inputs):
        moved = x.copy()
        moved[source] = anew[source]
        found.append(total_order(function(x), function(moved)))
    return found


def test_of_an_additive_function() -> None:
    random = np.random.default_rng(1)
    found = estimated(additive, lambda: random.standard_normal(DRAWS), 4)
    assert found == pytest.approx([9 / 14, 4 / 14, 1 / 14, 0.0], abs=0.01)


def test_of_ishigami() -> None:
    """S_T = 0.558, 0.442, 0.244: the third acts only together with the first."""
    random = np.random.default_rng(2)
    found = estimated(ishigami, lambda: random.uniform(-np.pi, np.pi, DRAWS), 3)
    assert found == pytest.approx([0.5576, 0.4424, 0.2437], abs=0.01)


def test_what_does_not_vary_has_no_share() -> None:
    assert total_order(np.ones(5), np.ones(5)) == 0


def test_the_shares_of_a_limited_quantity_are_those_of_its_sources_alone(tmp_path: Path) -> None:
    """Power is a product of independent numbers, so that the variances of their logarithms add up.
    None of them moves the speed or the price."""
    limits = '"power <= 3 kW", "power / gpus <= 1 kW", "speedup >= 1"'
    text = studies.SMALL.replace('"capital <= 350 kUSD"', limits)
    problem = load(studies.written(tmp_path, text))
    values = problem.study.baseline.values
    asked = set[str]()

    def watts(variation: Variation) -> float:
        drawn = drawn_quantities(problem, [values], ["power", "speedup"], variation, 4000)
        return float(np.var(np.log(drawn["power"])))

    whole = watts(Variation(asked=asked))
    by_source = sources(asked)
    found = {one.source: one for one in effects(problem, values, by_source)}
    for source in ("PUE", "watts"):
        share = watts(Variation(alone=by_source[source])) / whole
        assert share > 0.02, "else the test shows nothing"
        shares = found[source].limits
        assert shares["power <= 3 kW"] == pytest.approx(share, abs=0.08)
        assert shares["power / gpus <= 1 kW"] == pytest.approx(shares["power <= 3 kW"])
        assert (found[source].gain, found[source].cost, shares["speedup >= 1"]) == (0, 0, 0)
    prices = [one for name, one in found.items() if name.startswith("price")]
    assert prices
    assert not any(share for one in prices for share in one.limits.values())
