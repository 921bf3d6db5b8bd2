"""Total-order Sobol indices, against functions whose indices are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dse.search.certainty.sensitivity import Effect, total_order

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


@pytest.mark.parametrize(
    ("gain", "cost", "dead"),
    [((0.995, 1.009), (0.991, 1.005), True), ((0.98, 1.0), (1.0, 1.0), False),
     ((1.0, 1.0), (1.0, 1.02), False)],
)  # fmt: skip
def test_what_moves_nothing_by_more_than_one_percent_is_dead(
    gain: tuple[float, float], cost: tuple[float, float], dead: bool
) -> None:
    assert Effect("host", gain, cost, 0.1, 0.1).dead is dead
