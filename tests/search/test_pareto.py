"""dse.search.pareto: against brute force and against moocore."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.search import pareto

small = st.integers(0, 6).map(float)  # few values: many ties
pairs = st.lists(st.tuples(small, small), min_size=1, max_size=60)
triples = st.lists(st.tuples(small, small, small), min_size=1, max_size=60)
points = st.one_of(pairs, triples)  # gain, cost and, in a triple, the other cost

Key = tuple[float, ...]


def brute(found: list[Key]) -> dict[Key, list[int]]:
    """Point -> indices of it and its ties, by the definition of dominance."""
    front: dict[Key, list[int]] = {}
    for i, mine in enumerate(found):
        losses = (-mine[0], *mine[1:])
        dominated = any(
            all(a <= b for a, b in zip((-its[0], *its[1:]), losses, strict=True)) and its != mine
            for its in found
        )
        if not dominated:
            front.setdefault(mine, []).append(i)
    return front


def as_dict(front: pareto.Front, objectives: int) -> dict[Key, list[int]]:
    assert [len(i) for i in front.indices] == front.ties.tolist()
    columns = [column.tolist() for column in (front.gain, front.cost, front.other)]
    assert objectives == 3 or not front.other.any()
    rows = list(zip(*columns[:objectives], strict=True))
    assert [row[1:] for row in rows] == sorted(row[1:] for row in rows)  # by cost, then other
    return {row: i.tolist() for row, i in zip(rows, front.indices, strict=True)}


def made(values: list[np.ndarray], index: np.ndarray) -> pareto.Front:
    return pareto.front_of(values[0], values[1], index, *values[2:])


@given(points)
def test_front_is_the_brute_force_front_with_all_ties(found: list[Key]) -> None:
    front = made(list(np.array(found).T), np.arange(len(found)))
    assert as_dict(front, len(found[0])) == brute(found)


@given(points, st.integers(1, 5), st.randoms())
def test_merging_parts_in_any_order_gives_the_front_of_the_whole(
    found: list[Key], parts: int, order: Random
) -> None:
    values, index = np.array(found).T, np.arange(len(found))
    fronts = [made(list(values[:, i]), i) for k in range(parts) if len(i := index[k::parts])]
    order.shuffle(fronts)
    assert as_dict(pareto.merge(fronts), len(found[0])) == brute(found)


@given(points, points.map(np.array), st.integers(1, 3))
def test_only_what_a_rival_dominates_may_not_enter(
    known: list[Key], asked: np.ndarray, lines: int
) -> None:
    width = min(len(known[0]), asked.shape[1])
    known = [row[:width] for row in known]
    rival = made(list(np.array(known).T), np.arange(len(known)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pareto, "LINES", lines)  # so coarse a table that most is looked at one by one
        found = pareto.may_enter(list(asked[:, :width].T), rival)
    for row, enters in zip(asked[:, :width].tolist(), found.tolist(), strict=True):
        assert enters == (tuple(row) in brute([*known, tuple(row)]))


def test_zeros_of_either_sign_are_equal() -> None:
    values = [np.ones(3), np.array([0.0, -0.0, 0.0]), np.array([-0.0, 0.0, 1.0])]
    front = made(values, np.arange(3))
    assert front.ties.tolist() == [2]
    assert pareto.may_enter(values, front).tolist() == [True, True, False]


@settings(max_examples=300)
@given(st.data(), st.integers(2, 3))
def test_grid_front_with_a_rival_merges_to_the_front_of_everything(
    data: st.DataObject, objectives: int
) -> None:
    shape = data.draw(st.tuples(st.integers(1, 4), st.integers(1, 3), st.integers(1, 4)))
    seed = data.draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    values = [rng.integers(0, 5, shape).astype(float)]
    for _ in range(objectives - 1):
        narrow = tuple(n if data.draw(st.booleans()) else 1 for n in shape)
        values.append(rng.integers(0, 5, narrow).astype(float))
    mask = rng.random(shape) < 0.8
    others = list(rng.integers(0, 5, (objectives, 6)).astype(float))
    rival = made(others, np.arange(1000, 1006))
    entered = pareto.box_front(values, mask, lambda at: at + 100, rival)
    flat = [np.broadcast_to(column, shape)[mask] for column in values]
    where = np.flatnonzero(mask.ravel()) + 100
    whole = made(
        [np.concatenate(pair) for pair in zip(flat, others, strict=True)],
        np.concatenate([where, np.arange(1000, 1006)]),
    )
    found = pareto.merge([rival, entered])
    assert as_dict(found, objectives) == as_dict(whole, objectives)


@pytest.mark.parametrize("count", [50, 3000])
@pytest.mark.parametrize("levels", [5, 40, 10**9])
def test_the_bar_is_exact_where_it_is_reached(count: int, levels: int) -> None:
    rng = np.random.default_rng(count)
    known, asked = (rng.integers(0, levels, (3, n)).astype(float) for n in (count, 400))
    asked[:, :50] = known[:, :50]
    below = (known[1] <= asked[1, :, None]) & (known[2] <= asked[2, :, None])
    exact = np.where(below, known[0], -np.inf).max(axis=1)
    found = pareto.AttainmentSurface(*known)(*asked)
    reached = asked[0] >= exact
    assert 0 < np.count_nonzero(reached) < 400
    assert found[reached].tolist() == exact[reached].tolist()
    assert np.all((found <= exact) & ((found > asked[0]) | reached))


def test_kept_ties_are_the_lowest_and_all_are_counted() -> None:
    front = pareto.front_of(np.ones(500), np.ones(500), np.arange(500)[::-1].copy())
    assert front.ties.tolist() == [500]
    assert front.indices[0].tolist() == list(range(pareto.KEPT_TIES))
