"""The value of knowing something before deciding, where it is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from dse.search.certainty.information import values_of
from dse.search.certainty.usefulness import regret

DRAWS = 20_000


def test_knowing_what_decides_is_worth_what_is_lost_without() -> None:
    """One point is worth 1, another 0.9 or 1.1 by a coin: whoever knows the coin gains half of
    1 - 1 / 1.1 over whoever takes the first."""
    random = np.random.default_rng(3)
    coin, noise = random.choice([-1.0, 1.0], DRAWS), random.standard_normal(DRAWS)
    worths = np.stack([np.ones(DRAWS), 1 + 0.1 * coin], axis=1)
    lost = regret(worths).mean(axis=0)
    assert lost == pytest.approx([0.5 * (1 - 1 / 1.1), 0.05], abs=0.002)
    found = values_of({"coin": coin, "noise": noise}, worths)
    assert found["coin"] == pytest.approx(lost.min(), abs=1e-9), "it is all that there is to know"
    assert found["noise"] < 0.002


def test_knowing_a_part_is_worth_less_than_knowing_all() -> None:
    random = np.random.default_rng(4)
    a, b = random.standard_normal((2, DRAWS))
    worths = np.stack([np.ones(DRAWS), np.exp(0.2 * a + 0.1 * b)], axis=1)
    found = values_of({"a": a, "b": b}, worths)
    assert regret(worths).mean(axis=0).min() > found["a"] > found["b"] >= 0


def test_where_one_point_always_wins_nothing_is_worth_knowing() -> None:
    random = np.random.default_rng(5)
    a = random.standard_normal(DRAWS)
    worths = np.stack([np.exp(a), 0.5 * np.exp(a)], axis=1)
    assert values_of({"a": a}, worths) == {"a": 0.0}


def test_chance_is_worth_less_than_a_percent_in_a_thousand_draws() -> None:
    """Of numbers that decide nothing, beside one that does."""
    random = np.random.default_rng(6)
    a, *idle = random.standard_normal((41, 1000))
    worths = np.stack([np.ones(1000), np.exp(0.5 * a)], axis=1)
    found = values_of({str(at): drawn for at, drawn in enumerate(idle)}, worths)
    assert np.mean([*found.values()]) < 0.005
    assert np.quantile([*found.values()], 0.9) < 0.01 < 0.1 < values_of({"a": a}, worths)["a"]


def test_what_does_not_vary_is_left_out() -> None:
    assert values_of({"fixed": np.zeros(10)}, np.ones((10, 2))) == {}
