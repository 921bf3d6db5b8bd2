"""Under mpirun, srun or torchrun a process is a rank: found out, and measured as one."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from dse.calibration.experiment import read_experiment
from dse.calibration.runners.mpi_library import find_launcher
from dse.calibration.runners.started_rank import Started, started
from dse.calibration.runners.world import about, stride
from dse.errors import MeasurementError

OPENMPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}
HYDRA = {"PMI_RANK": "0", "PMI_SIZE": "4"}
BATCH = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "16"}
SRUN = {**BATCH, "SLURM_STEP_ID": "0", "SLURM_PROCID": "15"}
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        (OPENMPI, Started("mpirun", 3, 8)),
        (HYDRA, Started("mpirun", 0, 4)),
        (BATCH, None),
        (SRUN, Started("srun", 15, 16)),
        ({**SRUN, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None),
        (TORCHRUN, Started("torchrun", 1, 2)),
        ({"RANK": "1", "WORLD_SIZE": "2"}, None),
        ({**SRUN, **HYDRA, **TORCHRUN}, Started("srun", 15, 16)),
        ({**BATCH, **OPENMPI, **TORCHRUN}, Started("mpirun", 3, 8)),
    ],
)
def test_the_launcher_is_told_by_the_environment(
    environment: dict[str, str], found: Started | None
) -> None:
    assert started(environment) == found


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({**OPENMPI, "OMPI_COMM_WORLD_SIZE": "1", "OMPI_COMM_WORLD_RANK": "0"}, "one rank"),
        ({**HYDRA, "PMI_RANK": "x"}, "PMI_RANK=x and PMI_SIZE=4 are not two numbers"),
        ({**TORCHRUN, "RANK": "2"}, "RANK=2 is beyond WORLD_SIZE=2"),
    ],
)
def test_a_contradiction_is_said(environment: dict[str, str], said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        started(environment)


def test_pairs_cross_the_nodes_however_the_ranks_were_dealt() -> None:
    assert stride(["a", "a", "b", "b"]) == 2
    assert stride(["a", "b", "a", "b"]) == 1
    assert stride(["a", "a"]) == 1
    assert about(["a", "a", "b"], "net", 1e9) == {
        "ranks_per_node": 2,
        "nodes": 2,
        "link": "net",
        "link_bytes_per_s": 1e9,
    }
    assert about(["a", "a"], "net", 1e9)["link"] == "shared-memory"


def under_mpirun(*options: str, ranks: int = 4) -> subprocess.CompletedProcess[str]:
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    mpirun = [find_launcher().path, "--oversubscribe", "-n", str(ranks)]
    return subprocess.run(
        [*mpirun, sys.executable, "-m", "dse", "calibrate", "run", *options],
        capture_output=True,
        text=True,
        timeout=160,
        env={**os.environ, **allowed},
        check=False,
    )


@pytest.mark.evidence
@pytest.mark.slow
def test_under_mpirun_the_ranks_there_are_do_the_measuring(tmp_path: Path) -> None:
    done = under_mpirun("--budget", "6", "--out", str(tmp_path), "--name", "here")
    found = read_experiment(tmp_path / "here.measurements.json")
    assert {s.ranks for s in found.samples if s.collective == "allreduce"} == {2, 3, 4}
    assert {s.ranks for s in found.samples if s.collective == "exchange"} == {2, 3, 4}
    assert all(s.verified and s.run == 1 and s.nodes == 1 for s in found.samples)
    assert "one start of 4 ranks by mpirun" in found.notes[0]
    lines = done.stdout.splitlines()
    assert (
        lines.count("measuring allreduce over MPI on the 4 ranks that mpirun started for 6 s") == 1
    )
    assert lines.count("  2/3 4 of 4 ranks") == 1
    if done.returncode == 0:  # on a busy machine the budget may hold too little to fit
        assert lines[-1] == f"wrote {tmp_path}/here.yaml"
        assert done.stderr == ""
    else:
        assert done.stderr.count("measure with a larger --budget") == 1


@pytest.mark.evidence
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_under_mpirun_the_runner_that_is_named_measures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setenv("MASTER_ADDR", "127.0.0.1")
    monkeypatch.setenv("MASTER_PORT", str(port))
    asked = ["--runner", "torch", "--budget", "10", "--out", str(tmp_path), "--name", "here"]
    done = under_mpirun(*asked, ranks=3)
    found = read_experiment(tmp_path / "here.measurements.json")
    assert {s.transport for s in found.samples} <= {"gloo", "nccl"}
    begun = "measuring allreduce over gloo or NCCL on the 3 ranks that mpirun started for 10 s"
    assert done.stdout.splitlines().count(begun) == 1


@pytest.mark.slow
def test_a_runner_of_its_own_processes_is_refused_under_mpirun() -> None:
    done = under_mpirun("--runner", "ray", ranks=2)
    said = "'ray' cannot measure with the ranks that mpirun started; start it without mpirun, or"
    assert done.stderr.count(said) == 1
    assert done.returncode != 0


@pytest.mark.evidence
@pytest.mark.slow
def test_an_error_under_mpirun_is_said_once_and_ends_all_ranks(tmp_path: Path) -> None:
    blocked = tmp_path / "out"
    blocked.write_text("in the way")
    done = under_mpirun("--out", str(blocked), ranks=3)
    assert done.returncode != 0
    assert done.stderr.count("choose another --out") == 1
    assert "Traceback" not in done.stderr
    asked = under_mpirun("--hostfile", str(blocked), ranks=2)
    assert asked.returncode != 0
    assert "Traceback" not in asked.stderr


def test_what_the_launcher_has_chosen_cannot_be_chosen_again(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dse", "calibrate", "run", "--mpi", "openmpi"],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **TORCHRUN, "RANK": "0"},
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert "--mpi: torchrun has chosen the hosts and the MPI already; leave it out" in done.stderr
    assert done.stderr.count("\n") == 1
