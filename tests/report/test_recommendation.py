"""Which point of a front is recommended, and what is said of the rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.report import recommendation
from dse.search.run import FrontPoint


def front(*rows: tuple[float, float]) -> list[FrontPoint]:
    return [FrontPoint({}, {}, gain, cost, 0.0, 0, ()) for gain, cost in rows]


def test_the_fastest() -> None:
    points = front((1, 1), (8, 2), (9, 4), (16, 16))
    assert recommendation.recommended(points, "fastest") == 3


def test_cheapest_within_five_per_cent() -> None:
    points = front((1, 1), (94, 2), (95, 3), (99, 4), (100, 5))
    assert recommendation.recommended(points, "cheapest-within-5%") == 2
    assert recommendation.recommended(front((3, 7)), "cheapest-within-5%") == 0


def three(*rows: tuple[float, float, float]) -> list[FrontPoint]:
    return [FrontPoint({}, {}, gain, cost, other, 0, ()) for gain, cost, other in rows]


def test_with_two_costs_the_fastest_need_not_be_the_dearest() -> None:
    points = three((1, 1, 9), (97, 3, 4), (98, 3, 5), (100, 4, 8), (100, 5, 7), (50, 6, 1))
    assert recommendation.recommended(points, "fastest") == 3
    assert recommendation.recommended(points, "cheapest-within-5%") == 1


def test_the_cheapest_and_the_most_speed_for_a_dollar() -> None:
    points = front((1, 1), (8, 2), (9, 4), (16, 16))
    assert recommendation.recommended(points, "cheapest") == 0
    assert recommendation.recommended(points, "speed-per-dollar") == 1


_ROWS = st.lists(
    st.tuples(st.floats(0.1, 1e6), st.floats(1.0, 1e9)), min_size=1, max_size=12, unique=True
)


def _front_of(rows: list[tuple[float, float]]) -> list[FrontPoint]:
    """The rows that no other beats, by rising cost."""
    kept: list[tuple[float, float]] = []
    for gain, cost in sorted(rows, key=lambda row: (row[1], -row[0])):
        if not kept or gain > kept[-1][0]:
            kept.append((gain, cost))
    return front(*kept)


@given(_ROWS, st.data())
@pytest.mark.parametrize("rule", ["cheapest", "fastest", "speed-per-dollar"])
def test_what_is_recommended_does_not_hang_on_other_points(
    rule: str, rows: list[tuple[float, float]], data: st.DataObject
) -> None:
    """Leave out any of the others: dominated ones, ends of the front, what a limit cuts off."""
    points = _front_of(rows)
    best = points[recommendation.recommended(points, rule)]
    others = [row for row in rows if row != (best.gain, best.cost)]
    left = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
    fewer = _front_of([*left, (best.gain, best.cost)])
    assert fewer[recommendation.recommended(fewer, rule)] == best
