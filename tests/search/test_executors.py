"""Ray gives what this process gives."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from dse.catalog.facts import Fact
from dse.errors import DseError
from dse.search import exhaustive
from dse.search.executors import LocalExecutor, RayExecutor, executor
from dse.search.load import load
from dse.search.problem import Problem
from dse.search.run import run
from dse.study.definition import Axis
from dse.study.space import Box, Space
from tests.ray_head import beside_a_head
from tests.search import studies


def test_auto_is_this_process_unless_a_cluster_is_named() -> None:
    assert isinstance(executor("auto", None), LocalExecutor)
    assert isinstance(executor("local", "ray://somewhere:1"), LocalExecutor)


@pytest.mark.slow
def test_ray_finds_the_same_front(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    expected = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    cluster = RayExecutor(None)
    try:
        found = run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)
    finally:
        cluster.close()
    assert found.executor == "ray"
    assert found.front == expected.front
    assert found.tally.rejected == expected.tally.rejected


@pytest.mark.slow
def test_a_running_cluster_is_joined_by_its_address(tmp_path: Path) -> None:
    study = studies.written(tmp_path)
    code = (
        "import sys; from dse.search.executors import RayExecutor; "
        "from dse.search.load import load; from dse.search.run import run; "
        "where = RayExecutor(sys.argv[1]); "
        "found = run(load(sys.argv[2]), 'exhaustive', where, None, lambda *_: None, 0, 0); "
        "where.close(); print(len(found.front), found.tally.feasible)"
    )
    printed = beside_a_head(code, str(study), cpus=1)
    expected = run(load(study), "exhaustive", None, None, lambda *_: None, 0, 0)
    assert printed.split() == [str(len(expected.front)), str(expected.tally.feasible)]


@pytest.mark.slow
def test_no_cluster_at_the_address_is_one_line() -> None:
    with pytest.raises(DseError, match=r"no Ray on 127\.0\.0\.1:1"):
        RayExecutor("127.0.0.1:1")


def twice(price: Fact) -> Fact:
    return replace(price, value=price.value * 2) if isinstance(price.value, float) else price


@pytest.mark.slow
def test_a_worker_keeps_no_problem_of_an_earlier_search(tmp_path: Path) -> None:
    """The same study with other prices, on workers that have searched it before."""
    problem = load(studies.written(tmp_path))
    prices = problem.prices
    dearer = {name: twice(price) for name, price in prices.accelerator_usd.items()}
    other = Problem(
        problem.study, problem.workload, replace(prices, accelerator_usd=dearer), problem.profiles
    )
    alone = [
        run(each, "exhaustive", None, None, lambda *_: None, 0, 0) for each in (problem, other)
    ]
    assert alone[0].front != alone[1].front
    cluster = RayExecutor(None)
    try:
        for each, expected in zip((problem, other), alone, strict=True):
            found = run(each, "exhaustive", cluster, None, lambda *_: None, 0, 0)
            assert found.front == expected.front
    finally:
        cluster.close()


def boxes_of(space: Space) -> list[Box]:
    units = range(exhaustive.units(space))
    return [box for unit in units for box in exhaustive.unit_boxes(space, unit)]


@pytest.mark.parametrize(
    ("box", "unit"), [(1, 1), (7, 7), (100, 200), (100, 950), (5000, 100), (10**9, 10**9)]
)
def test_units_cover_the_space_once(
    box: int, unit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = load(studies.written(tmp_path)).space
    monkeypatch.setattr(exhaustive, "BOX_POINTS", box)
    monkeypatch.setattr(exhaustive, "CHUNK_POINTS", unit)
    boxes = boxes_of(space)
    assert boxes == list(space.boxes(box))
    ends = [found.first + found.size for found in boxes]
    assert [found.first for found in boxes] == [0, *ends[:-1]]
    assert ends[-1] == space.size
    for found in boxes[:: max(1, len(boxes) // 50)]:  # its corners are where they are said to be
        number, position = space.locate(found.first)
        assert (number, position) == (found.slab, tuple(part.start for part in found.slices))
        number, position = space.locate(found.first + found.size - 1)
        assert (number, position) == (found.slab, tuple(part.stop - 1 for part in found.slices))


def axis(name: str, count: int) -> Axis:
    values = tuple(float(value) for value in range(count))
    return Axis(name, values, tuple(map(str, values)), True)


def test_a_trillion_points_are_cut_without_listing_them() -> None:
    tracemalloc.start()
    try:
        space = Space([axis("gpus", 10_000), axis("batch_per_gpu", 10_000), axis("bucket", 10),
                       axis("nics_per_node", 1_000)], [])  # fmt: skip
        units = exhaustive.units(space)
        cut = {
            unit: list(exhaustive.unit_boxes(space, unit)) for unit in (0, units // 2, units - 1)
        }
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert space.size == 10**12
    assert units == math.ceil(space.size / exhaustive.CHUNK_POINTS)
    assert peak < 20e6
    assert cut[0][0].first == 0
    assert cut[units - 1][-1].first + cut[units - 1][-1].size == space.size
    for unit, boxes in cut.items():
        ends = [box.first + box.size for box in boxes]
        assert [box.first for box in boxes[1:]] == ends[:-1]
        assert max(box.size for box in boxes) <= exhaustive.BOX_POINTS
        following = next(exhaustive.unit_boxes(space, unit + 1), None)
        assert ends[-1] == (following.first if following else space.size)
