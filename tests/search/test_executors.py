"""Ray gives what this process gives."""

from __future__ import annotations

import math
import os
import signal
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from dse.catalog.facts import Fact
from dse.errors import DseError
from dse.search import exhaustive
from dse.search.executors import Executors, LocalExecutor, RayExecutor
from dse.search.identity import identity
from dse.search.load import load
from dse.search.problem import Problem
from dse.search.run import run
from dse.search.runlog import RunLog
from dse.study.definition import Axis
from dse.study.space import Box, Space
from tests.processes import command, descendants
from tests.ray_head import beside_a_head
from tests.search import studies
from tests.search.studies import LARGE


def test_auto_is_this_process_unless_a_cluster_is_named() -> None:
    executors = Executors()
    first = executors.get("auto", None)
    assert isinstance(first, LocalExecutor)
    assert executors.get("local", "ray://somewhere:1") is first
    with pytest.raises(DseError, match=r"no Ray on 127\.0\.0\.1:1"):
        executors.get("auto", "127.0.0.1:1")


@pytest.mark.slow
def test_studies_that_ask_alike_share_one_ray() -> None:
    executors = Executors()
    try:
        first = executors.get("ray", None)
        assert isinstance(first, RayExecutor)
        assert executors.get("ray", None) is first
    finally:
        executors.close()


@pytest.mark.slow
def test_a_unit_whose_worker_is_killed_is_done_again_and_counted(
    tmp_path: Path,
) -> None:
    problem = load(studies.written(tmp_path, LARGE))
    expected = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    cluster = RayExecutor(None)
    killed: list[int] = []

    def kill_a_busy_worker(done: int, whole: int) -> None:
        busy = [pid for pid in descendants(os.getpid()) if "_search_unit" in command(pid)]
        for pid in busy[: 3 - len(killed)] if 0 < done < whole else ():
            os.kill(pid, signal.SIGSTOP)
            if "_search_unit" in command(pid):  # still, so that it is killed at work
                killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    try:
        found = run(problem, "exhaustive", cluster, None, kill_a_busy_worker, 0, 0)
    finally:
        cluster.close()
    assert len(killed) == 3
    assert found.front == expected.front
    assert found.tally.feasible == expected.tally.feasible
    assert found.repeated_units >= 3
    assert expected.repeated_units == 0


@pytest.mark.slow
def test_a_lost_head_is_one_line_and_the_run_goes_on_elsewhere(
    tmp_path: Path,
) -> None:
    """The head's own server is killed; what is finished until then is in the log."""
    study = studies.written(tmp_path, LARGE)
    expected = run(load(study), "exhaustive", None, None, lambda *_: None, 0, 0)
    printed = beside_a_head(LOSING_THE_HEAD, str(study), str(tmp_path / "run.log"), cpus=2)
    assert "the head of the Ray cluster at " in printed
    assert "go on with --resume" in printed
    problem = load(study)
    log = RunLog(tmp_path / "run.log", identity(problem, "exhaustive"), True)
    assert 3 <= len(log.done) < expected.units
    found = run(problem, "exhaustive", None, log, lambda *_: None, 0, 0)
    log.close()
    assert found.resumed_units >= 3
    assert found.front == expected.front


LOSING_THE_HEAD = f"""
import os, signal, subprocess, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from dse.errors import DseError
from dse.search.executors import RayExecutor
from dse.search.identity import identity
from dse.search.load import load
from dse.search.run import run
from dse.search.runlog import RunLog
from tests.processes import command, descendants

problem = load(sys.argv[2])
log = RunLog(Path(sys.argv[3]), identity(problem, "exhaustive"), False)
RayExecutor.HEAD_S = 3.0
where = RayExecutor(sys.argv[1])
heads = [pid for pid in descendants(os.getppid()) if "gcs_server" in command(pid).split(chr(0))[0]]
assert len(heads) == 1, heads

def losing(done, whole):
    if log.path.read_bytes().count(b"\\n") == 4:
        os.kill(heads[0], signal.SIGKILL)

try:
    run(problem, "exhaustive", where, log, losing, 0, 0)
except DseError as error:
    print(error, flush=True)
log.close()
where.close()
"""


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
        # A box may reach beyond its unit, and then the very last unit has none of its own.
        last = max(u for u in (units - 2, units - 1) if any(exhaustive.unit_boxes(space, u)))
        cut = {unit: list(exhaustive.unit_boxes(space, unit)) for unit in (0, units // 2, last)}
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert space.size == 10**12
    assert units == math.ceil(space.size / exhaustive.CHUNK_POINTS)
    assert peak < 20e6
    assert cut[0][0].first == 0
    assert cut[last][-1].first + cut[last][-1].size == space.size
    for unit, boxes in cut.items():
        ends = [box.first + box.size for box in boxes]
        assert [box.first for box in boxes[1:]] == ends[:-1]
        assert max(box.size for box in boxes) <= exhaustive.BOX_POINTS
        following = next(exhaustive.unit_boxes(space, unit + 1), None)
        assert ends[-1] == (following.first if following else space.size)
