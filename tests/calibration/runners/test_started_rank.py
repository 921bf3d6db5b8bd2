"""Under mpirun, srun or torchrun a process is a rank: found out, and measured as one."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from dse.calibration.experiment import read_experiment
from dse.calibration.runners import mpi
from dse.calibration.runners.mpi_library import find_launcher
from dse.calibration.runners.registry import Request
from dse.calibration.runners.started_rank import Started, started
from dse.calibration.runners.torch_distributed import run_as_rank
from dse.errors import DseError, MeasurementError

OPENMPI = {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"}
HYDRA = {"PMI_RANK": "0", "PMI_SIZE": "4"}
BATCH = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "16"}
SRUN = {**BATCH, "SLURM_STEP_ID": "0", "SLURM_PROCID": "15", "SLURM_NTASKS_PER_NODE": "4"}
TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}
ON_NODE = {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        (OPENMPI, Started("mpirun", 3, 8, 3, 8)),
        (HYDRA, Started("mpirun", 0, 4, 0, 4)),
        (BATCH, None),
        (SRUN, Started("srun", 15, 16, 3, 4)),
        ({**SRUN, "SLURM_PROCID": "0", "SLURM_NTASKS": "1"}, None),
        ({**TORCHRUN, **ON_NODE}, Started("torchrun", 5, 8, 1, 4)),
        ({"RANK": "1", "WORLD_SIZE": "2"}, None),
        ({**SRUN, **HYDRA, **TORCHRUN}, Started("srun", 15, 16, 3, 4)),
        ({**BATCH, **OPENMPI, **TORCHRUN}, Started("mpirun", 3, 8, 3, 8)),
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
        ({**TORCHRUN, "RANK": "8"}, "RANK=8 is beyond WORLD_SIZE=8"),
    ],
)
def test_a_contradiction_is_said(environment: dict[str, str], said: str) -> None:
    with pytest.raises(MeasurementError, match=said):
        started(environment)


def test_a_rank_of_torch_that_does_not_know_where_rank_0_is_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with pytest.raises(MeasurementError, match="set MASTER_ADDR"):
        run_as_rank(Request(10.0), Started("srun", 1, 3, 1, 3))


@pytest.mark.parametrize(
    ("ranks", "asked", "said"),
    [
        (3, (2, 8), "ranks: names fewer than two counts up to the 3 ranks that mpirun started"),
        (2, None, "^mpirun started 2 ranks, .*; start 3 ranks or more$"),
    ],
)
def test_too_few_counts_are_said_before_measuring(
    ranks: int, asked: tuple[int, ...] | None, said: str
) -> None:
    with pytest.raises(DseError, match=said):
        mpi.run_as_rank(Request(6.0, ranks=asked), Started("mpirun", 0, ranks, 0, ranks))


def started_by(
    launcher: Sequence[str], *options: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    """`dse calibrate run OPTIONS` as each of the ranks of a launcher."""
    allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return subprocess.run(
        [*launcher, "-m", "dse", "calibrate", "run", *options],
        capture_output=True,
        text=True,
        timeout=160,
        env={**os.environ, **allowed, **variables},
        check=False,
    )


def mpirun(ranks: int) -> list[str]:
    return [find_launcher().path, "--oversubscribe", "-n", str(ranks), sys.executable]


@pytest.mark.evidence
@pytest.mark.slow
def test_under_mpirun_the_ranks_there_are_do_the_measuring(tmp_path: Path) -> None:
    done = started_by(mpirun(4), "--budget", "6", "--out", str(tmp_path), "--name", "here")
    found = read_experiment(tmp_path / "here.measurements.json")
    assert {s.ranks for s in found.samples} == {2, 3, 4}
    assert all(s.verified and s.run == 1 and s.nodes == 1 for s in found.samples)
    assert "one start of 4 ranks by mpirun" in found.notes[0]
    lines = done.stdout.splitlines()
    assert (
        lines.count("measuring allreduce over MPI on the 4 ranks that mpirun started for 6 s") == 1
    )
    assert lines.count("  0/1 2, 3, 4 ranks, run 1 of 1") == 1
    if done.returncode == 0:  # on a busy machine the budget may hold too little to fit
        assert f"wrote {tmp_path}/here.yaml" in lines
        assert done.stderr == ""
    else:
        assert done.stderr.count("measure with a larger --budget") == 1


@pytest.mark.evidence
@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize("launcher", ["mpirun", "torchrun"])
def test_the_runner_that_is_named_measures(tmp_path: Path, launcher: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node=3"]
    words = mpirun(3) if launcher == "mpirun" else [sys.executable, "-m", *torchrun]
    asked = ["--runner", "torch", "--budget", "10", "--out", str(tmp_path), "--name", "here"]
    done = started_by(words, *asked, MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    found = read_experiment(tmp_path / "here.measurements.json")
    assert {s.transport for s in found.samples} <= {"gloo", "nccl"}
    assert {s.ranks for s in found.samples} == {2, 3}
    begun = f"measuring allreduce over gloo or NCCL on the 3 ranks that {launcher} started for 10 s"
    assert done.stdout.splitlines().count(begun) == 1


@pytest.mark.slow
def test_a_runner_of_its_own_processes_is_refused_under_mpirun() -> None:
    done = started_by(mpirun(2), "--runner", "ray")
    said = "'ray' cannot measure with the ranks that mpirun started; start it without mpirun, or"
    assert done.stderr.count(said) == 1
    assert done.returncode != 0


@pytest.mark.evidence
@pytest.mark.slow
def test_an_error_under_mpirun_is_said_once_and_ends_all_ranks(tmp_path: Path) -> None:
    blocked = tmp_path / "out"
    blocked.write_text("in the way")
    done = started_by(mpirun(3), "--out", str(blocked))
    assert done.returncode != 0
    assert done.stderr.count("choose another --out") == 1
    assert "Traceback" not in done.stderr
    asked = started_by(mpirun(2), "--hostfile", str(blocked))
    assert asked.returncode != 0
    assert "Traceback" not in asked.stderr


def test_what_the_launcher_has_chosen_cannot_be_chosen_again() -> None:
    done = started_by([sys.executable], "--mpi", "openmpi", **{**TORCHRUN, "RANK": "0"})
    assert done.returncode == 2
    assert "--mpi: torchrun has chosen the hosts and the MPI already; leave it out" in done.stderr
    assert done.stderr.count("\n") == 1
