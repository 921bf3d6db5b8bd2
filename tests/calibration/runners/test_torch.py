"""Real torch ranks: measured, verified, in step; and none left behind, whatever happens."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dse.calibration.runners import (
    processes,
    timing,
    torch_distributed,
)
from dse.calibration.runners.bench import OPERATIONS
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.processes import Host
from dse.calibration.runners.registry import Request
from dse.calibration.runners.torch_distributed import WORKER, Fleet, measure_torch
from dse.errors import MeasurementError
from tests.processes import children, disturbed, left, until

SIZES = (64, 1024, 16384)
PLAN = MeasurePlan(ranks=(2, 3), sizes_bytes=SIZES)
LIAR = """
from dse.calibration.runners import timing, torch_worker
honest = timing.pattern
def lying(rank):
    return honest(rank) + (rank == torch_worker.dist.get_rank() == 1)
timing.pattern = lying
torch_worker.main()
"""


# Plans and places: nothing is started.


def test_a_rank_count_gets_time_by_its_ranks_per_core() -> None:
    task = Fleet(4).task(MeasurePlan(ranks=(2, 8)), [2, 8], 1, 10.0, 2)
    assert [group["weight"] for group in task["groups"]] == [1.0, 2.0]
    assert task["ranks"] == 8
    assert task["local_ranks"] == 4


def test_samples_say_where_their_ranks_were() -> None:
    fleet = Fleet(1, "10gbe", 1.25e9)
    timed = timing.summary([1.0, 2.0, 3.0])
    sample = {"kind": "sample", "algorithm": "ring", "bytes": 4, "run": 1, **timed}
    start = {"kind": "start", "transport": "gloo", "version": "2.0", "device": "cpu"}
    three, one = fleet.samples([start, {**sample, "ranks": 3}, {**sample, "ranks": 1}])
    assert (three.nodes, three.ranks_per_node, three.link) == (3, 1, "10gbe")
    assert three.link_bytes_per_s == 1.25e9
    assert (three.library, three.version, three.transport) == ("torch", "2.0", "gloo")
    assert (one.nodes, one.link, one.link_bytes_per_s) == (1, "loopback", None)


def test_without_torch_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_distributed.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MeasurementError, match="pip install torch"):
        measure_torch(PLAN, Request(60.0))


def test_the_interface_that_leads_to_this_host_is_the_loopback() -> None:
    torch_worker = pytest.importorskip("dse.calibration.runners.torch_worker")
    assert torch_worker.interface_to("127.0.0.1") == "lo"
    assert torch_worker.interface_to("no.such.host.invalid") == ""


# The shared part of all workers that time allreduce.


def test_the_pattern_sums_exactly() -> None:
    total = np.sum([timing.pattern(rank).astype(np.float64) for rank in range(5)], axis=0)
    np.testing.assert_array_equal(timing.pattern_sum(5), total)
    assert len({tuple(timing.pattern(rank)) for rank in range(31)}) == 31


def test_a_batch_never_leaves_float32() -> None:
    for ranks in (2, 3, 8, 1000, 10**6):
        batch = timing.largest_batch(ranks)
        assert 1 <= batch <= timing.MAX_BATCH
        assert np.isfinite(np.float32(31.0 * ranks) * np.float32(ranks) ** np.float32(batch))


class FakeClock:
    """Every repetition takes its cell's cost."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_the_schedule_leaves_out_what_does_not_fit_and_stops_when_all_is_known() -> None:
    cells = [timing.Cell("ring", 0, size) for size in (4, 4000, 4_000_000)]
    clock = FakeClock()
    for index, repetitions in timing.schedule(cells, 1.0, 5, 20, clock):
        cost = 1e-6 * cells[index].size_bytes
        cells[index].add([cost] * repetitions)
        clock.now += cost * repetitions
    assert cells[0].known()
    assert cells[1].known()
    assert cells[2].times == []
    assert clock.now < 1.0


def test_ranks_that_follow_run_what_rank_0_decides() -> None:
    cells = [timing.Cell("ring", 0, 4)]
    orders = iter([(0, 3), (0, 2), (timing.STOP, 0)])

    def told(order: timing.Floats) -> None:
        order[:] = next(orders)

    timing.run_schedule(cells, iter(()), told, lambda _, count: [1.0] * count, 1, 2)
    assert len(cells[0].times) == 5
    with pytest.raises(timing.WrongSum, match="wrong sum: ring, 4 bytes, 2 ranks"):
        timing.run_schedule(cells, iter([(0, 1)]), lambda _: None, lambda *_: None, 0, 2)


# Real ranks.


@pytest.mark.slow
def test_real_ranks_are_measured_and_verified() -> None:
    pytest.importorskip("torch")
    told: list[tuple[int, int, str]] = []
    found = measure_torch(PLAN, Request(6.0, progress=lambda *step: told.append(step)))
    assert all(sample.verified and sample.repetitions >= 5 for sample in found.samples)
    assert {(s.transport, s.link, s.nodes) for s in found.samples} == {("gloo", "loopback", 1)}
    cells = {(s.collective, s.algorithm, s.ranks, s.bytes) for s in found.samples}
    assert cells == {("allreduce", "ring", n, m) for n in (2, 3) for m in SIZES}
    assert found.gamma_s_per_byte > 0
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])


LACKING = """
from dse.calibration.runners import torch_worker
def lacks(*_, **__):
    raise RuntimeError("ProcessGroupGloo does not support this")
torch_worker.dist.reduce_scatter_tensor = lacks
torch_worker.main()
"""


@pytest.mark.slow
def test_other_operations_are_measured_in_whole_shares() -> None:
    pytest.importorskip("torch")
    plan = MeasurePlan(ranks=(3,), sizes_bytes=(64, 1024), operations=OPERATIONS, local=False)
    found = measure_torch(plan, Request(30.0, device="cpu"))
    assert found.notes == ()
    measured = {(s.collective, s.bytes) for s in found.samples if s.verified and s.ranks == 3}
    assert {("allreduce", 64), *((name, 60) for name in OPERATIONS)} <= measured


@pytest.mark.slow
def test_an_operation_that_torch_lacks_is_left_out_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    script = tmp_path / "lacking.py"
    script.write_text(LACKING)
    started = [sys.executable, str(script)]
    monkeypatch.setattr(torch_distributed, "worker_command", lambda *_: started)
    plan = MeasurePlan(ranks=(2,), sizes_bytes=SIZES, operations=OPERATIONS, local=False)
    found = measure_torch(plan, Request(20.0, device="cpu"))
    assert found.notes == ("reduce_scatter left out: ProcessGroupGloo does not support this",)
    assert {s.collective for s in found.samples} == {"allreduce", *OPERATIONS} - {"reduce_scatter"}


@pytest.mark.evidence
@pytest.mark.slow
def test_several_hosts_are_reached_through_their_prefixes() -> None:
    """The prefix is a real command: here one that says so in the environment."""
    pytest.importorskip("torch")
    hosts = [Host(("env", f"HOST_NUMBER={number}")) for number in range(3)]
    found = measure_torch(PLAN, Request(6.0, link="test-net", link_bytes_per_s=1e9), hosts)
    assert {(s.nodes, s.ranks_per_node, s.link) for s in found.samples} == {
        (2, 1, "test-net"),
        (3, 1, "test-net"),
    }


def long_task(ranks: int = 3) -> dict[str, object]:
    plan = MeasurePlan(ranks=(ranks,), sizes_bytes=(64, 2**20))
    task = Fleet(ranks, device="cpu").task(plan, [ranks], 1, 60.0, 2)
    return {**task, "min_repetitions": 10**6, "mine": list(range(ranks))}


def run_long(command: list[str] | None = None, limit_s: float = 90.0) -> None:
    command = command or processes.worker_command(WORKER)
    processes.run_processes([command], [long_task()], limit_s)


@pytest.mark.evidence
@pytest.mark.slow
def test_a_wrong_sum_is_an_error_and_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    liar = tmp_path / "liar.py"
    liar.write_text(LIAR)
    with pytest.raises(MeasurementError, match="wrong sum: ring, 64 bytes, 3 ranks"):
        run_long([*processes.worker_command("unused")[:-2], str(liar)])


def working(parent: int | None = None) -> list[int]:
    """Below a process (this one): a host's process and its forks, once all three have met."""
    for child in children(parent or os.getpid()):
        forks = children(child)
        if len(forks) == 3 and all(sockets(pid) >= 4 for pid in forks):
            return [child, *forks]
    return []


def sockets(pid: int) -> int:
    """How many are open; of a rank that has met the two others: listener, store and two pairs."""
    found = 0
    with contextlib.suppress(OSError):  # one was closed, or the process ended, meanwhile
        for link in Path(f"/proc/{pid}/fd").iterdir():
            found += os.readlink(link).startswith("socket:")
    return found


@pytest.mark.slow
def test_a_killed_rank_ends_the_measurement_and_leaves_no_process() -> None:
    pytest.importorskip("torch")
    hosts: list[int] = []

    def kill_rank_1(found: list[int]) -> None:
        hosts.append(found[0])
        os.kill(found[2], signal.SIGKILL)

    with (
        disturbed(working, kill_rank_1),
        pytest.raises(MeasurementError, match="rank 1 of 3 was killed by SIGKILL"),
    ):
        run_long()
    assert processes.session_members(hosts[0]) == []


@pytest.mark.slow
def test_ranks_end_with_the_process_that_started_them() -> None:
    """Even if that had no chance to end them: it is killed outright."""
    pytest.importorskip("torch")
    code = "from tests.calibration.runners.test_torch import run_long; run_long()"
    starter = subprocess.Popen([sys.executable, "-c", code])
    try:
        _, *ranks = until(lambda: working(starter.pid))
    finally:
        starter.kill()
        starter.wait(30)
    assert left(ranks, 30.0) == []


@pytest.mark.slow
def test_hung_ranks_are_ended() -> None:
    pytest.importorskip("torch")
    with (
        disturbed(working, lambda found: os.kill(found[2], signal.SIGSTOP)),
        pytest.raises(MeasurementError, match="did not finish within 6 s"),
    ):
        run_long(limit_s=6.0)


@pytest.mark.slow
def test_a_host_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    with pytest.raises(MeasurementError, match="cannot run"):
        measure_torch(PLAN, Request(6.0), [Host(), Host((str(tmp_path / "no-ssh"), "host"))])
    dead = Host(("sh", "-c", "echo 'ssh: no route to host' >&2; exit 255"))
    with pytest.raises(MeasurementError, match=r"ranks on host 2 failed: .*no route"):
        measure_torch(PLAN, Request(6.0), [Host(), dead])
