"""dse.pricing.coordinates: no point is lost or moved when like points are brought together."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dse.pricing.coordinates import Coordinate, coded, listed, sorted_by

POINTS = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(1, 4), st.sampled_from([None, 8, 16])),
    min_size=1,
    max_size=60,
)
MANY = 400  # values on an axis: more combinations of two than are sorted in one pass


@given(POINTS)
def test_every_point_lies_in_one_slice_with_its_like(
    points: list[tuple[str, int, int | None]],
) -> None:
    outer, inner, last = (listed(column) for column in zip(*points, strict=True))
    order, groups = sorted_by([outer], [inner], [last])
    assert sorted(order) == [*range(len(points))]
    ordered = [points[at] for at in order]
    found = [[[point[:2] for point in ordered[run]] for run in runs] for runs in groups]
    for runs in found:
        assert len({point[0] for run in runs for point in run}) == 1
        assert all(len(set(run)) == 1 for run in runs)
    alike = [run[0] for runs in found for run in runs]
    assert len(alike) == len(set(alike)) == len({point[:2] for point in points})
    assert len(groups) == len({point[0] for point in points})


def test_as_many_combinations_as_need_wide_codes_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    one, other = (Coordinate(tuple(range(MANY)), rng.integers(0, MANY, 5_000)) for _ in "ab")
    code = coded([one, other])
    assert np.array_equal(code // MANY, one.at)
    assert np.array_equal(code % MANY, other.at)
    order, groups = sorted_by([one], [other])
    assert np.all(np.diff(code[order]) >= 0)
    assert sum(len(runs) for runs in groups) == len(np.unique(code))
