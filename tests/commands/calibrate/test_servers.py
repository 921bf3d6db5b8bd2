"""`dse calibrate run --runner grpc|compute`: from real processes to a study."""

from __future__ import annotations

import importlib.util
import json
import signal
from pathlib import Path

import pytest

from dse.calibration import read_profile
from dse.calibration.experiment import read_experiment
from tests import processes
from tests.commands import command
from tests.pricing import studies

NEEDS_GRPC = pytest.mark.skipif(
    importlib.util.find_spec("grpc") is None, reason="grpcio is not installed"
)
ENDING_S = 20.0  # one that was just being started ends by itself, when its input does


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--runner", "compute", "--device", "tpu"], "'tpu' is no device; use cpu or cuda"),
        (["--runner", "grpc", "--ranks", "2", "--servers", "1"], "too little to fit"),
        (["--runner", "grpc", "--servers", "0"], "--servers"),
        (["--runner", "grpc", "--servers", "one"], "--servers"),
        (["--runner", "grpc", "--ranks", "0,1"], "--ranks"),
        (["--runner", "grpc", "--budget", "nan"], "must be positive"),
        (["--runner", "grpc", "--budget", "3"], "give --budget"),
        (["--runner", "compute", "--name", "a/b"], "is not a file name"),
    ],
)
def test_options_that_cannot_be_right(tmp_path: Path, options: list[str], line: str) -> None:
    done = command.dse("calibrate", "run", *options, "--out", "made", cwd=tmp_path)
    assert line in command.refused(done, done.returncode)
    assert done.returncode in (2, 4)
    assert not list(tmp_path.glob("made/*"))


def test_hosts_must_be_enough_and_hold_one_process_each(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("a slots=2\nb slots=2\nc slots=2\n")
    run = ["calibrate", "run", "--runner", "grpc", "--hostfile", "hosts"]
    done = command.dse(*run, cwd=tmp_path)
    assert "a worker or server wants a host of its own" in command.refused(done)
    alone = [*run, "--ranks-per-node", "1", "--ranks", "1,3", "--servers", "1"]
    line = command.refused(command.dse(*alone, cwd=tmp_path))
    assert "3 workers and 1 servers want more than the 3 hosts" in line


@pytest.mark.evidence
@pytest.mark.slow
@NEEDS_GRPC
def test_real_servers_price_a_study(tmp_path: Path) -> None:
    asked = ["--ranks", "1,2", "--servers", "1,2", "--budget", "14", "--name", "servers"]
    done = command.dse_process("calibrate", "run", "--runner", "grpc", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "ps-grpc: median error" in done.stdout
    measured = read_experiment(tmp_path / "calibrations" / "servers.measurements.json")
    assert {(s.ranks, s.servers) for s in measured.samples} == {(1, 1), (1, 2), (2, 1), (2, 2)}
    assert all(s.verified and s.transport == "grpc" for s in measured.samples)
    assert measured.gamma_s_per_byte > 0
    part = read_profile(tmp_path / "calibrations" / "servers.yaml").ps["grpc"]
    assert (part.workers, part.servers) == ((1, 2), (1, 2))

    options = ["--ranks", "2,8", "--servers", "2", "--bytes", "64KiB", "--json"]
    told = command.dse(
        "calibrate", "predict", "servers", "--algorithm", "ps", *options, cwd=tmp_path
    )
    inside, outside = json.loads(told.stdout)
    assert 0 < inside["low"] < inside["seconds"] < inside["high"]
    assert (inside["in_range"], outside["in_range"]) == (True, False)
    assert outside["why_outside"] == "8 workers (measured: 1-2)"
    shown = command.dse("calibrate", "show", "servers", cwd=tmp_path)
    assert "parameter servers over grpc" in shown.stdout

    study = studies.SMALL + "calibration: [servers]\n"
    studies.written(tmp_path, study)
    point = json.loads(command.dse("explain", "study.yaml", "--json", cwd=tmp_path).stdout)
    assert point["config"]["aggregation"] == "ps-grpc"
    away = [*("--set", "gpus=8"), *("--set", "ps_servers=2")]
    far = json.loads(command.dse("explain", "study.yaml", *away, "--json", cwd=tmp_path).stdout)
    assert far["extrapolated"] is True
    assert any("all processes on one machine" in reason for reason in far["why_outside"])
    low, high = far["interval"]["step_s"]
    assert 0 < low < far["step_s"] < high


@pytest.mark.evidence
@pytest.mark.slow
def test_compute_speed_is_measured_and_kept(tmp_path: Path) -> None:
    options = ["--runner", "compute", "--budget", "4", "--name", "speed"]
    done = command.dse_process("calibrate", "run", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "cpu: large fp32 matrix products reach" in done.stdout
    measured = read_experiment(tmp_path / "calibrations" / "speed.measurements.json")
    kinds = {speed.kind for speed in measured.compute}
    assert kinds == {"matmul", "sustained"}
    assert {local.kind for local in measured.local} == {"reduce", "copy"}
    assert measured.gamma_s_per_byte > 0
    assert measured.copy_s_per_byte > 0
    (part,) = read_profile(tmp_path / "calibrations" / "speed.yaml").compute
    assert (part.device, part.precision) == ("cpu", "fp32")
    assert 0 < part.low <= part.flop_per_s <= part.high
    shown = command.dse("calibrate", "show", "speed", cwd=tmp_path)
    assert "cpu: large fp32 matrix products reach" in shown.stdout
    asked = ["--ranks", "2", "--bytes", "1MiB"]
    nothing = command.dse("calibrate", "predict", "speed", *asked, cwd=tmp_path)
    assert "has no allreduce measurements" in command.refused(nothing, nothing.returncode)


@pytest.mark.slow
@pytest.mark.parametrize("runner", [pytest.param("grpc", marks=NEEDS_GRPC), "compute"])
def test_an_interrupted_run_leaves_neither_process_nor_file(tmp_path: Path, runner: str) -> None:
    options = ["--runner", runner, "--budget", "90", "--out", "made"]
    started = command.start("calibrate", "run", *options, cwd=tmp_path)
    workers = {"grpc": "grpc_worker", "compute": "compute_worker"}

    def ours() -> list[int]:
        below = processes.descendants(started.pid)
        return below if any(workers[runner] in processes.command(pid) for pid in below) else []

    seen = processes.until(ours)
    started.send_signal(signal.SIGINT)
    assert started.wait(processes.DEADLINE_S) == 130
    assert "Traceback" not in started.communicate()[1]
    assert processes.left(seen, ENDING_S) == []
    assert not list(tmp_path.glob("made/*"))


@pytest.mark.evidence
@pytest.mark.slow
@NEEDS_GRPC
def test_servers_on_hosts_have_machines_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three addresses of this machine stand for hosts; the agent runs what ssh would."""
    agent = tmp_path / "agent"
    agent.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    agent.chmod(0o755)
    monkeypatch.setenv("PRTE_MCA_plm_ssh_agent", str(agent))
    (tmp_path / "hosts").write_text("127.0.0.2\n127.0.0.3\n127.0.0.4\n")
    network = ["--link", "here", "--link-bandwidth", "100 Gbps"]
    options = ["--runner", "grpc", "--hostfile", "hosts", *network, "--budget", "8"]
    done = command.dse_process("calibrate", "run", *options, "--name", "apart", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    measured = read_experiment(tmp_path / "calibrations" / "apart.measurements.json")
    assert {(s.ranks, s.servers, s.nodes) for s in measured.samples} == {(1, 1, 1), (2, 1, 2)}
    part = read_profile(tmp_path / "calibrations" / "apart.yaml").ps["grpc"]
    assert part.cores is None
    assert part.link_bytes_per_s == (12.5e9, 12.5e9)
    assert (part.link, part.max_nodes) == ("here", 2)
