"""What points are worth by a rule, and what is lost by the wrong one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.report.recommendation import recommended
from dse.search import pareto
from dse.search.certainty.usefulness import (
    CHEAPEST,
    FASTEST,
    SPEED_PER_DOLLAR,
    WITHIN,
    Priced,
    best,
    regret,
    worth,
)
from dse.search.run import FrontPoint

RULES = (CHEAPEST, FASTEST, SPEED_PER_DOLLAR, WITHIN)
NUMBERS = st.floats(0.1, 1e6)


def one_row(gain: Any, cost: Any, met: Any = None) -> Priced:
    """A single draw."""
    gain, cost = np.atleast_2d(np.array(gain, dtype=float)), np.atleast_2d(np.array(cost, float))
    passed = np.ones(gain.shape, dtype=bool) if met is None else np.atleast_2d(met)
    return Priced(gain, [cost], np.asarray(passed))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12), st.sampled_from(RULES))
def test_the_best_of_a_draw_is_what_the_rule_recommends_of_its_front(
    points: list[tuple[float, float]], rule: str
) -> None:
    gain, cost = (np.array(column) for column in zip(*points, strict=True))
    front = pareto.front_of(gain, cost, np.arange(len(points)))
    members = [FrontPoint({}, {}, g, c, 0.0, 0, ())
               for g, c in zip(front.gain, front.cost, strict=True)]  # fmt: skip
    expected = members[recommended(members, rule)]
    first = [*front.best, *np.setdiff1d(np.arange(len(points)), front.best)]  # as near a front
    gain, cost = gain[first], cost[first]
    at = int(best(worth(rule, one_row(gain, cost)))[0])
    if rule == SPEED_PER_DOLLAR:  # equals to rounding are equals
        worths = worth(rule, one_row([expected.gain, *gain], [expected.cost, *cost]))[0]
        assert worths[0] == pytest.approx(worths.max(), rel=1e-9)
    else:
        assert (gain[at], cost[at]) == (expected.gain, expected.cost)


def test_what_misses_a_constraint_is_worth_nothing() -> None:
    priced = one_row([1.0, 2.0, 9.0], [1.0, 3.0, 1.0], [True, True, False])
    for rule in RULES:
        worths = worth(rule, priced)
        assert worths[0, 2] == 0
        assert best(worths)[0] in (0, 1)


def test_where_nothing_meets_the_constraints_nothing_is_lost() -> None:
    worths = worth(FASTEST, one_row([1.0, 2.0], [1.0, 1.0], [False, False]))
    assert best(worths).tolist() == [-1]
    assert regret(worths).tolist() == [[0.0, 0.0]]


def test_regret_is_the_share_of_the_aim_that_is_missed() -> None:
    priced = one_row([10.0, 8.0], [100.0, 50.0])
    assert regret(worth(FASTEST, priced))[0] == pytest.approx([0.0, 0.2])
    assert regret(worth(CHEAPEST, priced))[0] == pytest.approx([0.5, 0.0])
    assert regret(worth(SPEED_PER_DOLLAR, priced))[0] == pytest.approx([1 - 0.1 / 0.16, 0.0])


@given(
    st.integers(0, 2**32 - 1), st.sampled_from((CHEAPEST, FASTEST, SPEED_PER_DOLLAR)),
    st.integers(1, 5),
)  # fmt: skip
def test_points_dominated_in_every_draw_never_change_the_answer(
    seed: int, rule: str, more: int
) -> None:
    random = np.random.default_rng(seed)
    gain, cost = np.exp(random.normal(size=(2, 40, 6)))
    met = random.random((40, 6)) < 0.8
    lost = regret(worth(rule, Priced(gain, [cost], met)))
    of = random.integers(0, 6, more)  # worse versions of these points
    worse = Priced(
        np.hstack([gain, gain[:, of] * 0.9]), [np.hstack([cost, cost[:, of] * 1.1])],
        np.hstack([met, met[:, of]]),
    )  # fmt: skip
    assert regret(worth(rule, worse)).mean(axis=0).argmin() == lost.mean(axis=0).argmin()
