"""Runs of nccl-tests that NCCL_ALGO kept to one algorithm."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read


@pytest.mark.parametrize(
    ("before", "algorithm"),
    [
        ("$ NCCL_ALGO=Ring ./all_reduce_perf -b 1K", "ring"),
        ("+ env NCCL_ALGO='Tree' ./all_reduce_perf -b 1K", "tree"),
        ("$ mpirun -np 8 -x NCCL_ALGO=Tree -x NCCL_PROTO=Simple ./all_reduce_perf -b 1K", "tree"),
        ("$ mpirun -np 8 \\\n  -x NCCL_ALGO=Tree \\\n  -x OTHER=1 \\\n ./all_reduce_perf", "tree"),
        ("export NCCL_ALGO=NVLS\n$ srun ./all_reduce_perf -b 1K", "nvls"),
        ("host0:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring", "ring"),
        ("$ NCCL_ALGO=^Ring ./all_reduce_perf -b 1K", "auto"),
        ("$ NCCL_ALGO=Tree; ./all_reduce_perf -b 1K", "tree"),
        ("$ NCCL_ALGO=allreduce:tree ./all_reduce_perf -b 1K", "tree"),
        ("$ NCCL_ALGO=broadcast:ring;allreduce:tree ./all_reduce_perf -b 1K", "tree"),
        ("$ NCCL_ALGO='ring;allreduce:tree,nvls' ./all_reduce_perf -b 1K", "auto"),
        ("$ NCCL_ALGO=allgather:ring ./all_reduce_perf -b 1K", "auto"),
        ("$ srun --export=NCCL_ALGO=Ring,NCCL_DEBUG=INFO ./all_reduce_perf -b 1K", "ring"),
        ("$ mpiexec -genv NCCL_ALGO Ring ./all_reduce_perf -b 1K", "ring"),
        ("# NCCL_ALGO=Tree ./all_reduce_perf -b 1K was tried\n$ ./all_reduce_perf -b 1K", "auto"),
        ("$ ./all_reduce_perf -b 1K  # not NCCL_ALGO=Tree", "auto"),
        ("root@c:/# NCCL_ALGO=Ring ./all_reduce_perf -b 1K", "ring"),
        ("export NCCL_ALGO=Ring\n+ unset NCCL_ALGO\n$ ./all_reduce_perf -b 1K", "auto"),
        ("export NCCL_ALGO=Ring\n$ env -u NCCL_ALGO ./all_reduce_perf -b 1K", "auto"),
        ("export NCCL_ALGO=Ring\nNCCL_ALGO= ./all_reduce_perf -b 1K", "auto"),
        ("$ ./all_reduce_perf -b 1K", "auto"),
        ("$ NCCL_ALGO=Tree ./all_reduce_perf -b 1K\n$ ./all_reduce_perf -b 1K", "auto"),
    ],
)
def test_how_the_run_was_started(tmp_path: Path, before: str, algorithm: str) -> None:
    found = read(tmp_path, f"{before}\n{s.nccl()}")
    assert [x.algorithm for x in found.samples] == [algorithm] * len(s.SIZES)
    assert any("NCCL_ALGO asked" in note for note in found.notes) is (algorithm != "auto")


@pytest.mark.parametrize("how", [
    "NCCL_PROTO=LL", "NCCL_ALGO=Ring,Tree", '{"NCCL_ALGO": "Tree"}', "NCCL_ALGO: Tree",
    "NCCL_IB_DISABLE=1", "NCCL_SHM_DISABLE set by environment to 1",
])  # fmt: skip
def test_what_else_a_run_was_kept_to_is_told(tmp_path: Path, how: str) -> None:
    notes = read(tmp_path, f"#  {how}\n{s.nccl()}").notes
    assert any(" its text has NCCL_" in note and "(line 1)" in note for note in notes)


def test_runs_of_one_file_are_kept_apart(tmp_path: Path) -> None:
    started = ("NCCL_ALGO=RING ", "", "NCCL_ALGO=TREE ")
    text = "\n".join(f"$ {how}./all_reduce_perf -b 1K\n{s.nccl()}" for how in started)
    found = read(tmp_path, text)
    assert [x.algorithm for x in found.samples[::4]] == ["ring", "auto", "tree"]
    assert {x.run for x in found.samples} == {1}


def test_a_command_counts_for_all_runs_up_to_the_next(tmp_path: Path) -> None:
    text = f"$ NCCL_ALGO=Tree ./all_reduce_perf -b 1K\n{s.nccl()}{s.nccl()}"
    found = read(tmp_path, text)
    assert {(x.algorithm, x.run) for x in found.samples} == {("tree", 1), ("tree", 2)}
