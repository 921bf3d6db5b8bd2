"""Ray gives what this process gives."""

from __future__ import annotations

import math
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ray import cloudpickle

import dse
from dse.catalog.facts import Fact
from dse.errors import ClusterError
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import exhaustive
from dse.search.executors import LocalExecutor, RayExecutor, opened
from dse.search.executors.ray_executor import Begun, Lots, Nodes
from dse.search.executors.ray_worker import lot_task
from dse.search.fingerprint import fingerprint
from dse.search.run import Outcome, run
from dse.search.runlog import RunLog
from dse.study.definition import Axis
from dse.study.space import Box, Space
from tests.pricing import studies
from tests.pricing.studies import LARGE
from tests.processes import command, descendants
from tests.ray_head import a_head, beside_a_head


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return studies.written(tmp_path_factory.mktemp("large"), LARGE)


@pytest.fixture(scope="module")
def expected(large: Path) -> Outcome:
    """What a search of the large study in this process finds."""
    return run(load(large), "exhaustive", None, None, lambda *_: None, 0, 0)


@pytest.fixture(scope="module")
def beside() -> Iterator[Callable[..., str]]:
    """Runs code beside a Ray head of one CPU that nobody kills."""
    with a_head(1) as found:
        yield found


def test_auto_is_this_process_unless_a_cluster_is_named() -> None:
    assert isinstance(opened("auto", None), LocalExecutor)
    assert isinstance(opened("local", "ray://somewhere:1"), LocalExecutor)
    with pytest.raises(ClusterError, match=r"no Ray on 127\.0\.0\.1:1.* or leave address out"):
        opened("auto", "127.0.0.1:1")


@pytest.mark.evidence
@pytest.mark.slow
def test_a_lost_head_is_one_line_and_the_run_goes_on_elsewhere(
    large: Path, expected: Outcome, tmp_path: Path
) -> None:
    """The head's own server is killed; what is finished until then is in the log."""
    printed = beside_a_head(LOSING_THE_HEAD, str(large), str(tmp_path / "run.log"), cpus=2)
    assert "the head of the Ray cluster at " in printed
    assert "continue with --resume" in printed
    problem = load(large)
    log = RunLog(tmp_path / "run.log", fingerprint(problem, "exhaustive"), True)
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
from dse.search.fingerprint import fingerprint
from dse.pricing.load import load
from dse.search.run import run
from dse.search.runlog import RunLog
from tests.processes import command, descendants

problem = load(sys.argv[2])
log = RunLog(Path(sys.argv[3]), fingerprint(problem, "exhaustive"), False)
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
    print(error.on_command_line(), flush=True)
log.close()
where.close()
"""


def test_lots_hold_every_unit_once_and_last_as_long_as_wanted() -> None:
    lots = Lots(range(1000), 1000)
    first = lots.next(2)
    assert first == [Begun(0, 1)]  # nobody knows yet what a unit takes
    lots.took(0.01, 1)
    sizes, seen = [], [begun.unit for begun in first]
    while lot := lots.next(2):
        sizes.append(len(lot))
        seen += [begun.unit for begun in lot]
    assert seen == list(range(1000))
    assert sizes[0] == int(Lots.LOT_S / 0.01)
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 1  # so that all workers end about together


def test_lots_follow_what_units_take_and_how_many_share_the_driver() -> None:
    lots = Lots(range(10**6), 10**6)
    lots.took(10.0, 1)
    assert len(lots.next(2)) == 1
    for _ in range(20):
        lots.took(0.1, 100)
    assert 200 < len(lots.next(2)) <= 250
    assert 900 < len(lots.next(200)) <= 1000
    assert lots.longest_s == 10.0
    lots.took(0.0, 1)  # too short for the clock


def test_lost_units_are_dealt_out_first_one_by_one_and_counted() -> None:
    lots = Lots(range(100), 100)
    lots.took(0.01, 1)
    lot = lots.next(2)
    assert len(lot) > 3
    lots.lost(lot)
    again = [lots.next(2) for _ in lot]
    assert again == [[Begun(unit, 2)] for unit, _ in lot]
    lots.lost(again[0])
    assert lots.next(2) == [Begun(lot[0].unit, 3)]
    assert lots.next(2)[0] == Begun(len(lot), 1)


class Cluster:
    """Tells its nodes as Ray does."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def nodes(self) -> list[dict[str, Any]]:
        known = ("a", "b", "c")
        return [
            {"NodeID": name, "Alive": name in self.names, "Resources": {"CPU": 4.0}}
            for name in known
        ]


def test_tasks_of_a_node_that_went_are_given_up_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 1000.0
    monkeypatch.setattr("dse.search.executors.ray_executor.time.monotonic", lambda: now)
    cluster = Cluster("a", "b")
    nodes = Nodes(cluster)
    assert (nodes.look(["t1", "t2"], 1.0), nodes.cpus) == ([], 8)
    now += 100.0
    assert nodes.look(["t1", "t2"], 1.0) == []
    cluster.names = ("a", "c")
    assert (nodes.look(["t1", "t2", "t3"], 1.0), nodes.cpus) == ([], 8)
    now += Nodes.PATIENCE_S + 1.9
    assert nodes.look(["t1", "t3", "t4"], 1.0) == []
    now += 0.2
    assert nodes.look(["t1", "t3", "t4"], 1.0) == ["t1", "t3"]  # t2 has ended, t4 began later
    assert nodes.look(["t4"], 1.0) == []
    cluster.names = ("a",)
    assert nodes.look(["t5"], 1.0) == []
    now += Nodes.PATIENCE_S
    cluster.names = ()
    assert nodes.look(["t5", "t6"], 1.0) == []
    now += 2.0
    assert nodes.look(["t5", "t6"], 1.0) == ["t5"]  # whatever has gone since
    assert nodes.cpus == 0


def test_the_task_says_so_where_there_is_no_dse_like_it(tmp_path: Path) -> None:
    """It needs nothing of ours to be read: here by a Python whose dse is an empty package."""
    code = cloudpickle.dumps(lot_task())
    (tmp_path / "dse").mkdir()
    (tmp_path / "dse" / "__init__.py").write_text("")
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from ray import cloudpickle; "
        "node, why = cloudpickle.load(sys.stdin.buffer)([], [0], b''); print(node, why)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], input=code, capture_output=True,
        timeout=60, check=True,
    )  # fmt: skip
    assert done.stdout.decode() == (
        f"{socket.gethostname()} lacks dse, or has a very different one "
        "(No module named 'dse.search')\n"
    )


@pytest.mark.slow
def test_a_node_with_another_dse_or_catalogue_is_refused(
    tmp_path: Path, beside: Callable[..., str]
) -> None:
    """The driver's catalogue and code are its own, not what the workers have installed."""
    root = Path(dse.__file__).parents[1]
    for name, copy in (("dse", "dse"), ("models", "changed")):
        shutil.copytree(root / name, tmp_path / copy, ignore=shutil.ignore_patterns("__pycache__"))
    changed = ("changed/fabrics/10gbe.yaml", "changed/prices/list-prices.yaml", "dse/search/run.py")
    for name in changed:
        with (tmp_path / name).open("a") as file:
            file.write("# looked at again\n")
    study = studies.written(tmp_path)
    printed = beside(ANOTHER_DSE, str(study), str(tmp_path))
    assert re.fullmatch(
        rf"node \S+ \({re.escape(socket.gethostname())}\) of the Ray cluster has dse "
        r"(\S+ \(code \w{12}\)), not (?!\1)\S+ \(code \w{12}\) as here; has another "
        r"catalogue: fabrics/10gbe\.yaml, prices/list-prices\.yaml: its prices might be others; "
        r"install the same dse and catalogue on every node and continue with --resume\n",
        printed,
    ), printed


ANOTHER_DSE = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[3])
sys.path.insert(0, str(folder))
os.environ["DSE_MODELS"] = str(folder / "changed")
from dse.errors import DseError
from dse.search import fingerprint
from dse.search.executors import RayExecutor
from dse.pricing.load import load
from dse.search.run import run

assert Path(fingerprint.__file__).is_relative_to(folder)
problem = load(sys.argv[2])
where = RayExecutor(sys.argv[1])
try:
    run(problem, "exhaustive", where, None, lambda *_: None, 0, 0)
except DseError as error:
    print(error.on_command_line(), flush=True)
where.close()
"""


@pytest.mark.slow
def test_a_running_cluster_is_joined_by_its_address(
    tmp_path: Path, beside: Callable[..., str]
) -> None:
    study = studies.written(tmp_path)
    code = (
        "import sys; from dse.search.executors import RayExecutor; "
        "from dse.pricing.load import load; from dse.search.run import run; "
        "where = RayExecutor(sys.argv[1]); "
        "found = run(load(sys.argv[2]), 'exhaustive', where, None, lambda *_: None, 0, 0); "
        "where.close(); print(len(found.front), found.tally.feasible)"
    )
    printed = beside(code, str(study))
    expected = run(load(study), "exhaustive", None, None, lambda *_: None, 0, 0)
    assert printed.split() == [str(len(expected.front)), str(expected.tally.feasible)]


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
    monkeypatch.setattr(exhaustive, "MOST_UNITS", space.size)
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


def test_units_come_scattered_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first hundredth of the units has some of every tenth of the space."""
    space = load(studies.written(tmp_path)).space
    for unit in (1, 3, 100, space.size):
        monkeypatch.setattr(exhaustive, "CHUNK_POINTS", unit)
        monkeypatch.setattr(exhaustive, "MOST_UNITS", space.size)
        whole, order = exhaustive.units(space), list(exhaustive.scattered(space))
        assert sorted(order) == list(range(whole))
        if whole >= 2000:
            assert {at * 10 // whole for at in order[: whole // 100]} == set(range(10))
    assert order == [0]


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
    assert exhaustive.MOST_UNITS / 2 < units <= exhaustive.MOST_UNITS
    assert units == math.ceil(space.size / exhaustive.unit_points(space))
    assert peak < 20e6
    assert cut[0][0].first == 0
    assert cut[last][-1].first + cut[last][-1].size == space.size
    for unit, boxes in cut.items():
        ends = [box.first + box.size for box in boxes]
        assert [box.first for box in boxes[1:]] == ends[:-1]
        assert max(box.size for box in boxes) <= exhaustive.unit_points(space)
        following = next(exhaustive.unit_boxes(space, unit + 1), None)
        assert ends[-1] == (following.first if following else space.size)


# The tests from here on share a Ray of this machine; those above start clusters of their own.


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayExecutor]:
    with closing(opened("ray", None)) as found:
        assert isinstance(found, RayExecutor)
        yield found


@pytest.mark.slow
def test_ray_finds_the_same_front(cluster: RayExecutor, tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    alone = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    found = run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)
    assert found.executor == "ray"
    assert found.front == alone.front
    assert found.tally.rejected == alone.tally.rejected


@pytest.mark.evidence
@pytest.mark.slow
def test_ray_finds_the_same_layouts(cluster: RayExecutor) -> None:
    problem = load("llama3-70b-layouts")
    alone = run(problem, "exhaustive", None, None, lambda *_: None, 0, 0)
    found = run(problem, "exhaustive", cluster, None, lambda *_: None, 0, 0)
    assert found.front == alone.front
    assert found.tally.rejected == alone.tally.rejected


def twice(price: Fact) -> Fact:
    return replace(price, value=price.value * 2) if isinstance(price.value, float) else price


@pytest.mark.evidence
@pytest.mark.slow
def test_a_worker_keeps_no_problem_of_an_earlier_search(
    cluster: RayExecutor, tmp_path: Path
) -> None:
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
    for each, expected in zip((problem, other), alone, strict=True):
        found = run(each, "exhaustive", cluster, None, lambda *_: None, 0, 0)
        assert found.front == expected.front


@pytest.mark.evidence
@pytest.mark.slow
def test_a_unit_whose_worker_is_killed_is_done_again_and_counted(
    cluster: RayExecutor, large: Path, expected: Outcome
) -> None:
    killed: list[int] = []

    def kill_a_busy_worker(done: int, whole: int) -> None:
        busy = [pid for pid in descendants(os.getpid()) if "search_units" in command(pid)]
        for pid in busy[: min(1, 6 - len(killed))] if 0 < done < whole else ():
            os.kill(pid, signal.SIGSTOP)
            if "search_units" in command(pid):  # still, so that it is killed at work
                killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    found = run(load(large), "exhaustive", cluster, None, kill_a_busy_worker, 0, 0)
    assert len(killed) == 6
    assert found.front == expected.front
    assert found.tally.feasible == expected.tally.feasible
    # A worker keeps its title for a moment after it has sent its result: such a one loses nothing.
    assert found.repeated_units >= 3
    assert expected.repeated_units == 0
