"""The emulated cluster: shaped links, ranks across hosts, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.lab import compare, lockstep, others, stream, training
from benchmarks.lab.measure import (
    LINK,
    MBPS,
    Start,
    measure_start,
    merge,
    next_run,
    path_of,
)
from benchmarks.lab.network import (
    NAMESPACES,
    PREFIX,
    hosts_command_prefix,
    network,
    remove_stale,
    unavailable,
)
from dse.calibration.experiment import Measurement, read_experiment

RATE_BYTES_PER_S = 12.5e6  # 100 Mbps

REASON = unavailable()
needs_lab = pytest.mark.skipif(bool(REASON), reason=REASON)


def spaces(token: str) -> list[Path]:
    return list(NAMESPACES.glob(f"{token}-*"))


def output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@needs_lab
def test_a_host_has_its_own_name_and_address_and_all_is_removed() -> None:
    with network(2, RATE_BYTES_PER_S) as lab:
        assert output([*hosts_command_prefix(lab, 1), "hostname"]) == lab.name(1)
        assert lab.address(1) in output([*hosts_command_prefix(lab, 1), "ip", "-4", "address"])
        command = [*lab.prefix(0), "sh", "-c", "echo inside; exec sleep 1000"]
        left = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert left.stdout
        assert left.stdout.readline() == "inside\n"
        assert len(spaces(lab.token)) == 3
    assert left.wait(timeout=60) < 0
    left.stdout.close()
    assert not spaces(lab.token)


@needs_lab
def test_the_next_lab_removes_what_a_killed_one_left() -> None:
    program = (
        "import os, signal\n"
        "from benchmarks.lab.network import network\n"
        "with network(1, 1e7):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", program], cwd=Path(__file__).parents[2])
    killed.wait(timeout=60)
    token = f"{PREFIX}.{killed.pid}.0"
    assert spaces(token)
    remove_stale()
    assert not spaces(token)


@needs_lab
@pytest.mark.slow
def test_links_carry_their_rate_and_ranks_their_sums(tmp_path: Path) -> None:
    with network(2, RATE_BYTES_PER_S) as lab:
        tries = (stream.rates(lab, [0], 1, seconds=0.5)[0] for _ in range(5))
        reached = [rate / RATE_BYTES_PER_S for rate in tries]
        assert max(reached) == pytest.approx(1.0, abs=0.1)
        found = measure_start(lab, Start(100.0, 2, 1, 1.0), run=1)
    allreduce = [s for s in found.samples if s.collective == "allreduce"]
    assert {s.algorithm for s in allreduce} >= {"ring", "recursive-doubling", "halving-doubling"}
    for sample in found.samples:
        assert (sample.ranks, sample.nodes, sample.ranks_per_node) == (2, 2, 1)
        assert (sample.link, sample.link_bytes_per_s) == (LINK, RATE_BYTES_PER_S)
        assert sample.verified
    # Were the ranks to talk by shared memory, 64 KiB would be a hundred times faster.
    large = [s for s in allreduce if s.bytes == 65536]
    assert all(s.min_s and s.min_s > 0.5 * compare.wire_s(s) for s in large)
    path = tmp_path / "lab.json"
    merge(path, found)
    merge(path, found)
    assert len(read_experiment(path).samples) == 2 * len(found.samples)


@needs_lab
@pytest.mark.slow
def test_a_training_step_is_no_shorter_than_its_compute() -> None:
    small = training.Training("mobilenet-v1", 64.0, 0.05)
    case = training.case(small, 2**16, "ring")
    (row,) = training.measure(100.0, 2, [case], steps=2, limit_s=60.0)
    assert len(row["overlapped_s"]) == len(row["plain_s"]) == 2
    assert len(row["alone_s"]) == len(row["elements"]) == len(row["ready_s"])
    assert min(row["overlapped_s"] + row["plain_s"]) >= 0.05


@needs_lab
@pytest.mark.slow
def test_runs_of_gloo_are_numbered_on(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    start = Start(400.0, 2, 1, 5.0)
    path = path_of(start, tmp_path, others.GLOO)
    found = others.measure_gloo(start, tmp_path)
    if not path.exists():  # others used the cores
        merge(path, found)
    again = others.measure_gloo(start, tmp_path)
    assert {s.run for s in again.samples} == {s.run + 1 for s in found.samples} == {2}
    for sample in again.samples:
        assert (sample.transport, sample.nodes, sample.ranks_per_node) == ("gloo", 2, 1)
        assert (sample.link, sample.link_bytes_per_s) == (LINK, 400.0 * MBPS)
        assert sample.verified
    assert {s.algorithm for s in again.samples} == {"ring"}
    assert next_run(start, tmp_path, others.GLOO) in (2, 3)


def test_the_wire_of_parameter_servers() -> None:
    """A push and a pull; three workers on one server share its link."""
    sample = Measurement(
        "grpc", "grpcio", "1", 1, "ps", 3, 1, 3, LINK, 1000, 5, 1.0, servers=1, link_bytes_per_s=1e3
    )
    assert compare.wire_s(sample) == pytest.approx(6.0)
    assert compare.wire_s(replace(sample, servers=3)) == pytest.approx(2.0)


def test_buckets_hold_all_gradients_and_are_ready_in_order() -> None:
    for chosen in training.TRAININGS:
        case = training.case(chosen, 2**20, "ring")
        ready = case["ready_s"]
        assert ready == sorted(ready)
        assert ready[-1] == pytest.approx(case["backward_s"])
        assert case["forward_s"] + case["backward_s"] == pytest.approx(chosen.compute_s)


def test_composed_steps() -> None:
    row = {"forward_s": 1.0, "backward_s": 2.0, "ready_s": [1.0, 2.0]}
    # The first bucket is sent from 1 s to 4 s of the backward pass, the second until 5 s.
    assert training.composed_s(row, [3.0, 1.0]) == pytest.approx(6.0)
    assert training.composed_s(row, [3.0, 1.0], overlapped=False) == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("algorithm", "ranks", "messages", "moved"),
    [
        ("ring", 4, 6, 1.5),
        ("recursive-doubling", 8, 3, 3.0),
        ("recursive-doubling", 6, 4, 4.0),
        ("halving-doubling", 8, 6, 1.75),
        ("halving-doubling", 6, 7, 3.0),
    ],
)
def test_textbook_terms(algorithm: str, ranks: int, messages: int, moved: float) -> None:
    found = compare.textbook_terms(algorithm, ranks, 1000.0)
    assert found[0] == messages
    assert found[1] == pytest.approx(1000.0 * moved)


def in_a_row(times: list[float]) -> dict[str, object]:
    wire_s = 2**20 / (100 * MBPS)
    seconds = [wire_s * each for each in times]
    return {"mbps": 100.0, "bytes": 2**20, "seconds": seconds, "kind": lockstep.ROW}


def test_exchanges_are_counted_that_took_the_wire_twice_and_when_that_began() -> None:
    rows = [in_a_row([1.0, 1.1, 2.0, 2.1]), in_a_row([2.0, 1.0, 1.0])]
    assert lockstep.twice(rows) == (3, 7)
    assert lockstep.fell_out(rows) == (1, 1, 3)


def test_a_rank_that_is_late_inside_of_the_library_doubles_an_exchange() -> None:
    usual = [row for row in lockstep.load() if row["setting"] == lockstep.DEFAULT]
    late = [row for row in usual if lockstep.lateness(row) >= 0.1]
    shares = {}
    for kind in (lockstep.AWAY, lockstep.INSIDE):
        doubled, of = lockstep.twice(row for row in late if row["kind"] == kind)
        shares[kind] = doubled / of
    assert shares[lockstep.AWAY] < 0.05
    assert shares[lockstep.INSIDE] > 0.95


def test_the_readme_of_the_lab_has_what_decides_about_the_wire() -> None:
    readme = Path(lockstep.__file__).with_name("README.md").read_text(encoding="utf-8")
    assert lockstep.report(lockstep.load()) in readme


@needs_lab
@pytest.mark.slow
def test_late_ranks_exchange_the_right_data() -> None:
    cases = [{**case, "late_s": 0.005, "bytes": 2**17, "repetitions": 2}
             for case in (*lockstep.late_cases(400.0)[:1], *lockstep.row_cases()[:1])]  # fmt: skip
    found = lockstep.start(2, 400.0, lockstep.DEFAULT, cases)
    assert [len(row["seconds"]) for row in found] == [2, 2]
    assert min(times for row in found for times in lockstep.times_the_wire(row)) > 0.5
