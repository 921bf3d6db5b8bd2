"""Real parameter servers: measured, verified, within the plan; and none left behind."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
from pathlib import Path

import pytest

from dse.calibration.runners import parameter_servers as servers
from dse.calibration.runners.parameter_servers import TENSORS, PsPlan, messages
from dse.calibration.runners.processes import PACKAGES, Host
from dse.calibration.runners.registry import Request
from dse.errors import MeasurementError
from dse.model.aggregation.parameter_server import shard_imbalance
from tests.processes import command, descendants, disturbed, text

ROOT = str(PACKAGES)
NEEDS_GRPC = pytest.mark.skipif(
    importlib.util.find_spec("grpc") is None, reason="grpcio is not installed"
)
SIZES = (64, 4096, 65536)
LONG = PsPlan((2,), (1,), tuple(2**20 + 4 * extra for extra in range(500)))
BUSY_S = 0.7  # of processor time: more than a process needs to start


@pytest.mark.parametrize("servers", [1, 2, 5, 13])
def test_tensors_go_where_the_model_assumes(servers: int) -> None:
    for size in (4, 40, 1012, 65536):
        shards = [bytes_ for _, bytes_ in messages(size, servers)]
        floats = [size // 4 // TENSORS + (i < size // 4 % TENSORS) for i in range(TENSORS)]
        tensors = [4 * count for count in floats if count]
        assert sum(shards) == size
        assert max(shards) * servers / size == pytest.approx(shard_imbalance(tensors, servers))


@NEEDS_GRPC
@pytest.mark.parametrize("budget_s", [0.5, 0.0, -1.0, float("nan")])
def test_a_hopeless_budget_is_refused_before_anything_starts(budget_s: float) -> None:
    with pytest.raises(MeasurementError, match="budget_s"):
        servers.measure(PsPlan(), Request(budget_s))


@pytest.mark.slow
@NEEDS_GRPC
def test_real_servers_end_to_end() -> None:
    plan = PsPlan(workers=(1, 2), servers=(2,), sizes_bytes=SIZES)
    told: list[tuple[int, int, str]] = []
    found = servers.measure(plan, Request(15.0, progress=lambda *step: told.append(step)))
    cells = {(s.ranks, s.servers, s.bytes, s.run) for s in found}
    assert len(cells) == len(found)
    assert {(m, p) for m, p, _, _ in cells} == {(1, 2), (2, 2)}
    assert {size for _, _, size, _ in cells} >= {64, 4096}
    assert all(s.transport == "grpc" and s.algorithm == "ps" for s in found)
    assert all(s.largest_shard_bytes >= s.bytes / 2 for s in found)
    assert {s.largest_shard_bytes for s in found if s.bytes == 64} == {32}
    assert all(s.verified and s.repetitions >= 5 for s in found)
    assert all(0 < s.min_s <= s.median_s <= s.p95_s for s in found)
    assert all((s.ranks_per_node, s.nodes) == (s.ranks, 1) for s in found)
    assert (told[0][0], told[-1][0]) == (0, told[-1][1])


LIAR = """
import sys
sys.path.append({root!r})
{lie}
"""
LYING_GRPC = """
import numpy
from dse.calibration.runners import grpc_worker
honest = grpc_worker.Server.pull
async def pull(self, request, context):
    values = numpy.frombuffer(await honest(self, request, context), dtype=numpy.float32).copy()
    values[-1] += 1
    return values.tobytes()
grpc_worker.Server.pull = pull
grpc_worker.main()
"""


def liar(folder: Path, lie: str) -> Path:
    script = folder / "liar.py"
    script.write_text(LIAR.format(root=ROOT, lie=lie))
    return script


@pytest.mark.slow
@NEEDS_GRPC
def test_a_wrong_sum_over_grpc_is_an_error_and_is_named(tmp_path: Path) -> None:
    hosts = [Host((sys.executable, str(liar(tmp_path, LYING_GRPC))))]
    with pytest.raises(MeasurementError, match="wrong sum: ps, 1048576 bytes, 2 workers"):
        servers.measure(LONG, Request(20.0), server_hosts=hosts)


@pytest.mark.slow
@NEEDS_GRPC
def test_an_address_that_is_not_of_this_host_is_named() -> None:
    with pytest.raises(MeasurementError, match=r"cannot listen on 192\.0\.2\.1"):
        servers.measure(LONG, Request(20.0), server_hosts=[Host(address="192.0.2.1")])


def is_ours(pid: int) -> bool:
    """A worker or a server, and not env, which names them too."""
    words = command(pid).split("\0")
    named = any(word.endswith("grpc_worker") for word in words)
    return named and "python" in words[0]


def busy_s(pid: int) -> float:
    """The processor time that the process has used."""
    fields = text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK") if fields else 0.0


def up() -> list[int]:
    """The two workers and the server below this process, once all three have started."""
    found = sorted(filter(is_ours, descendants(os.getpid())))
    return found if len(found) == 3 else []


def at_work() -> list[int]:
    """The same, once all were busy for longer than their start takes."""
    found = up()
    return found if all(busy_s(pid) >= BUSY_S for pid in found) else []


@pytest.mark.evidence
@pytest.mark.slow
@NEEDS_GRPC
@pytest.mark.parametrize("who", [0, 2])
def test_a_killed_process_ends_the_measurement_and_leaves_none(who: int) -> None:
    with (
        disturbed(at_work, lambda found: os.kill(found[who], signal.SIGKILL)),
        pytest.raises(MeasurementError),
    ):
        servers.measure(LONG, Request(60.0))
