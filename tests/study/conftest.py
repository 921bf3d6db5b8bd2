"""A valid study, and a way to read variations of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from dse.study import Names, Study, read_study

NAMES = Names(
    workloads=("resnet50", "resnet101", "bert-large-s128", "vgg16"),
    accelerators=("p100-sxm2-16gb", "v100-sxm2-16gb", "a100-sxm4-80gb", "h100-sxm"),
    fabrics=("10gbe", "25gbe", "100gbe", "ib-hdr", "nvlink3", "pcie3-x16"),
    nodes=("dgx-a100-80gb", "dgx-h100"),
    transports=("mpi", "mpi-gdr", "nccl", "gloo", "grpc"),
    algorithms=(
        "ring",
        "recursive-doubling",
        "halving-doubling",
        "reduce-broadcast",
        "tree",
        "hierarchical",
        "auto",
        "auto-openmpi",
        "auto-mpich",
        "ps",
    ),
    approaches=(
        "baidu-mpi",
        "grpc",
        "grpc-gdr",
        "grpc-mpi",
        "grpc-verbs",
        "horovod-mpi",
        "horovod-mpi-opt",
        "horovod-nccl",
    ),
)

VALID = """\
study: ethernet-upgrade
workload: resnet50
space:
  accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]
  gpus: {from: 1, to: 64, scale: doubling}
  gpus_per_node: [1, 4, 8]
  inter_node: {bandwidth: [10 Gbps, 25 Gbps], latency: 5 us}
  batch_per_gpu: [32, 64]
  precision: [fp32, fp16]
  aggregation: [ps-grpc, ring-mpi]
  bucket: [1 MiB, 25 MiB]
when:
  - {axis: ps_servers, values: [1, 2, 4], if: {aggregation: ps-grpc}}
baseline: {accelerator: p100-sxm2-16gb, gpus: 8, inter_node: 25 Gbps}
constraints: [fits_memory, "capital <= 2 MUSD", global_batch <= 8192]
objectives: {maximize: speedup, minimize: capital}
target: {samples: 115e6}
search: {engine: auto, budget: 20000, seed: 0}
executor: {kind: auto}
"""

Reader: TypeAlias = Callable[..., Study]


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Reads a study given as text, by default the valid one, with one piece replaced."""
    monkeypatch.chdir(tmp_path)

    def reader(old: str = "", new: str = "", text: str = VALID) -> Study:
        assert old in text
        Path("study.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
        return read_study("study.yaml", NAMES)

    return reader
