"""The value of knowing something before deciding, where it is known in closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dse.search.certainty.information import value_apart, value_of_all, values_of
from dse.search.certainty.usefulness import regret

DRAWS = 20_000
Floats = np.ndarray[Any, np.dtype[np.float64]]


def test_knowing_what_decides_is_worth_what_is_lost_without() -> None:
    """One point is worth 1, another 0.9 or 1.1 by a coin: whoever knows the coin gains half of
    1 - 1 / 1.1 over whoever takes the first."""
    random = np.random.default_rng(3)
    coin, noise = random.choice([-1.0, 1.0], DRAWS), random.standard_normal(DRAWS)
    worths = np.stack([np.ones(DRAWS), 1 + 0.1 * coin], axis=1)
    lost = regret(worths).mean(axis=0)
    assert lost == pytest.approx([0.5 * (1 - 1 / 1.1), 0.05], abs=0.002)
    found = values_of({"coin": coin, "noise": noise}, worths)
    assert found["coin"] == pytest.approx(value_of_all(worths), abs=1e-9)
    assert found["noise"] < 0.002


def test_knowing_a_part_is_worth_less_than_knowing_all() -> None:
    random = np.random.default_rng(4)
    a, b = random.standard_normal((2, DRAWS))
    worths = np.stack([np.ones(DRAWS), np.exp(0.2 * a + 0.1 * b)], axis=1)
    found = values_of({"a": a, "b": b}, worths)
    assert value_of_all(worths) > found["a"] > found["b"] >= 0


def test_where_one_point_always_wins_nothing_is_worth_knowing() -> None:
    random = np.random.default_rng(5)
    a = random.standard_normal(DRAWS)
    worths = np.stack([np.exp(a), 0.5 * np.exp(a)], axis=1)
    assert values_of({"a": a}, worths) == {"a": 0.0}
    assert value_of_all(worths) == 0


def four_numbers(draws: int, seed: int) -> dict[str, tuple[float, float]]:
    """Of three that decide and one that does nothing: the value at a first look, and apart."""
    random = np.random.default_rng(seed)
    x, anew = random.standard_normal((2, 4, draws))

    def worths(y: Floats) -> Floats:
        return np.stack([np.exp(0.5 * y[0]), np.exp(0.6 * y[1] - 0.1), np.exp(0.1 * y[2])], axis=1)

    first = values_of({str(at): row for at, row in enumerate(x)}, worths(x))
    found = {}
    for at in range(4):
        changed = x.copy()
        changed[at] = anew[at]
        apart = value_apart(x[at], worths(x), anew[at], worths(changed))
        found[str(at)] = first[str(at)], apart
    return found


def test_drawn_anew_a_number_has_the_value_of_many_draws_without_what_chance_adds() -> None:
    exact = {name: first for name, (first, _) in four_numbers(200_000, 1).items()}
    found = [four_numbers(1000, seed) for seed in range(2, 62)]
    for name, value in exact.items():
        first, apart = np.array([one[name] for one in found]).T
        assert np.mean(apart) == pytest.approx(value, abs=0.004)
        if value < 0.05:  # where chance is not small beside it
            assert np.std(apart) < 0.8 * np.std(first)
    assert max(first) > 0.001
    assert list(apart) == [0.0] * len(found)


def test_what_moves_all_points_alike_is_worth_nothing() -> None:
    """As the rate of the baseline does, even where it is a copy of the number that decides."""
    random = np.random.default_rng(6)
    a, again = random.standard_normal((2, 1000))
    worths = np.stack([np.ones(1000), np.exp(0.2 * a)], axis=1)
    alike, anew = np.exp(a)[:, np.newaxis], np.exp(again)[:, np.newaxis]
    assert values_of({"a": a}, worths * alike)["a"] > 0.05
    assert value_apart(a, worths * alike, again, worths * anew) == pytest.approx(0, abs=1e-12)
    assert value_apart(np.zeros(10), np.ones((10, 2)), np.zeros(10), np.ones((10, 2))) == 0


def test_what_does_not_vary_is_left_out() -> None:
    assert values_of({"fixed": np.zeros(10)}, np.ones((10, 2))) == {}
