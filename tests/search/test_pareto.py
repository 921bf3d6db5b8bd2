"""dse.search.pareto: against brute force and against moocore."""

from __future__ import annotations

import moocore
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.search import pareto

small = st.integers(0, 6).map(float)  # few values: many ties
pairs = st.lists(st.tuples(small, small), min_size=1, max_size=60)


def brute(points: list[tuple[float, float]]) -> dict[tuple[float, float], list[int]]:
    front: dict[tuple[float, float], list[int]] = {}
    for i, (gain, cost) in enumerate(points):
        dominated = any(g >= gain and c <= cost and (g > gain or c < cost) for g, c in points)
        if not dominated:
            front.setdefault((gain, cost), []).append(i)
    return front


def as_dict(front: pareto.Front) -> dict[tuple[float, float], list[int]]:
    assert [len(i) for i in front.indices] == front.ties.tolist()
    return {
        (g, c): i.tolist() for g, c, i in zip(front.gain, front.cost, front.indices, strict=True)
    }


@given(pairs)
def test_front_is_the_brute_force_front_with_all_ties(points: list[tuple[float, float]]) -> None:
    gain, cost = np.array(points).T
    assert as_dict(pareto.front_of(gain, cost, np.arange(len(points)))) == brute(points)


@given(pairs, st.integers(1, 5))
def test_merging_parts_gives_the_front_of_the_whole(
    points: list[tuple[float, float]], parts: int
) -> None:
    gain, cost = np.array(points).T
    index = np.arange(len(points))
    split = [index[k::parts] for k in range(parts)]
    fronts = [pareto.front_of(gain[i], cost[i], i) for i in split if len(i)]
    assert as_dict(pareto.merge(fronts)) == brute(points)


@settings(max_examples=200)
@given(st.data())
def test_grid_front_with_a_rival_merges_to_the_front_of_everything(data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 4)))
    cost_shape = tuple(n if data.draw(st.booleans()) else 1 for n in shape)
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    gain = rng.integers(0, 5, shape).astype(float)
    cost = rng.integers(0, 5, cost_shape).astype(float)
    mask = rng.random(shape) < 0.8
    others = rng.integers(0, 5, (6, 2)).astype(float)
    rival = pareto.front_of(others[:, 0], others[:, 1], np.arange(1000, 1006))
    found = pareto.merge([rival, pareto.box_front(gain, cost, mask, lambda at: at + 100, rival)])
    flat_gain = gain.ravel()[mask.ravel()]
    flat_cost = np.broadcast_to(cost, shape).ravel()[mask.ravel()]
    where = np.flatnonzero(mask.ravel()) + 100
    whole = pareto.front_of(
        np.concatenate([flat_gain, others[:, 0]]),
        np.concatenate([flat_cost, others[:, 1]]),
        np.concatenate([where, np.arange(1000, 1006)]),
    )
    assert as_dict(found) == as_dict(whole)


def test_agrees_with_moocore_on_many_points() -> None:
    rng = np.random.default_rng(1)
    gain, cost = rng.random(20_000), rng.random(20_000)
    front = pareto.front_of(gain, cost, np.arange(20_000))
    kept = moocore.is_nondominated(np.column_stack([-gain, cost]))
    assert sorted(front.best.tolist()) == np.flatnonzero(kept).tolist()


def test_kept_ties_are_the_lowest_and_all_are_counted() -> None:
    front = pareto.front_of(np.ones(500), np.ones(500), np.arange(500)[::-1].copy())
    assert front.ties.tolist() == [500]
    assert front.indices[0].tolist() == list(range(pareto.KEPT_TIES))
