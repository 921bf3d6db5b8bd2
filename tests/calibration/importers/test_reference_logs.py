"""Every public log: rows, ranks, nodes and times as read from it by eye, grep and awk."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from dse.calibration.experiment import Measurement
from dse.calibration.importers.logs import import_logs
from dse.errors import DseError, MeasurementError, StudyError
from tests.calibration.importers.reference import log, reference

A100, H100, GH200 = "NVIDIA A100-SXM4-40GB", "NVIDIA H100", "NVIDIA GH200 120GB"
H100_80 = "NVIDIA H100 80GB HBM3"
SB = "A100-SXM4-40GB"
GB200 = "NVIDIA Graphics Device"
PLACED = {"ranks": 144, "nodes": 4}

# file, options, rows, ranks, nodes (0: the log does not say), device, then (bytes, microseconds)
ALLREDUCE: list[tuple[str, dict[str, Any], int, int, int, str, list[tuple[int, float]]]] = [
    ("nccl221_polaris_n2_ofi.dat", {}, 29, 8, 2, A100, [(4, 23.19), (2**30, 52151)]),
    ("nccl221_polaris_n8_ofi.dat", {}, 29, 32, 8, A100, [(2**20, 1461.1)]),
    ("nccl_polaris_n2_ofi.dat", {}, 29, 8, 2, A100, [(2**20, 175.9)]),
    ("nccl_polaris_n2_tcp.dat", {}, 29, 8, 2, A100, [(2**20, 561.2)]),
    ("nccl_polaris_n8_ofi.dat", {}, 29, 32, 8, A100, [(2**20, 327.9)]),
    ("nccl_polaris_n8_tcp.dat", {}, 29, 32, 8, A100, [(2**20, 1208.6)]),
    ("nccl_alps_gh200_2n8g_cxi.log", {}, 25, 8, 2, GH200, [(8, 17.93), (2**27, 1916.4)]),
    ("nccl_alps_gh200_2n8g_sockets.log", {}, 25, 8, 2, GH200, [(2**20, 1502.2)]),
    ("nccl_snellius_h100_1n4g.log", {}, 26, 4, 1, H100, [(4, 17.05), (2**27, 621.4)]),
    ("nccl_p5_2n16g_v2.20.3-1.log", {}, 32, 16, 2, H100_80, [(8, 85.14), (2**34, 66108)]),
    ("nccl_optcast_v100_4g.log", {}, 1, 4, 2, "Tesla V100-PCIE-16GB", [(2**29, 80965)]),
    ("nccl_p4de_2n16g_efa.log", {}, 29, 16, 0, "unknown", [(8, 164.3), (2**31, 51406)]),
    ("nccl_p5_2n16g_efa.log", {"nodes": 2}, 32, 16, 2, "unknown", [(8, 69.12), (2**34, 66132)]),
    ("nccl_p5_1n8g_batch_mpiprefix.log", {}, 32, 8, 0, "unknown", [(2**34, 62239)]),
    ("nccl_deepops_dgx2h_slurm_perf.md", {}, 13, 32, 0, "unknown", [(2**32, 43557)]),
    ("nccl_coreweave_gb200_1rack.log", {"ranks": 72}, 5, 72, 0, GB200, [(2**33, 20299)]),
    ("nccl_coreweave_gb200_2rack.log", {"ranks": 144}, 6, 144, 0, GB200, [(2**34, 42067)]),
    ("nccl_coreweave_h100_64g_sharp.log", {"ranks": 96}, 5, 96, 0, "unknown", [(2**29, 2984.6)]),
    ("nccl_superbench_allreduce.log", {}, 32, 8, 1, SB, [(2**20, 74.78)]),
    ("imb_local_n2_alg0.txt", {}, 22, 2, 0, "cpu", [(8, 0.22), (2**24, 18595.72)]),
    (
        "imb_oci_openmpi_allreduce144.txt",
        {"nodes": 4},
        26,
        144,
        4,
        "cpu",
        [(8, 11.69), (2**28, 343593.42)],
    ),
    ("osu_oci_openmpi_allreduce144.txt", PLACED, 27, 144, 4, "cpu", [(2**28, 496306.98)]),
    ("osu_cuda_mvapich_a100_np2_noise.txt", {}, 19, 2, 1, "cuda", [(16, 1.6), (2**20, 630.67)]),
    ("gloo_issue248_40gbe.txt", {}, 1, 2, 0, "cpu", [(20_000_000, 17251)]),
]


def seconds(samples: tuple[Measurement, ...], size: int) -> list[float]:
    return [sample.median_s for sample in samples if sample.bytes == size]


@pytest.mark.parametrize("case", ALLREDUCE, ids=lambda case: case[0])
def test_an_allreduce_log(case: tuple[Any, ...]) -> None:
    name, options, rows, ranks, nodes, device, times = case
    found = import_logs([log(name)], **options)
    samples = found.samples
    assert len(samples) == rows
    assert found.dropped == 0
    assert {s.collective for s in samples} == {"allreduce"}
    assert {s.ranks for s in samples} == {ranks}
    assert {s.nodes for s in samples} == {nodes or 1}
    assert {s.ranks_per_node for s in samples} == {ranks // (nodes or 1)}
    assert any("does not state the number of nodes" in note for note in found.notes) == (not nodes)
    assert {s.verified for s in samples} == {True}
    assert {s.dtype for s in samples} == {"int32" if name.startswith("osu_oci") else "float32"}
    assert {s.device for s in samples} == {device}
    for size, microseconds in times:
        assert seconds(samples, size) == [pytest.approx(microseconds * 1e-6, rel=1e-12)]


@pytest.mark.parametrize(
    ("number", "time_us"), [(3, 234.24), (4, 520.23), (5, 427.19), (6, 139.56)]
)
def test_the_local_logs_of_forced_algorithms(number: int, time_us: float) -> None:
    found = import_logs([log(f"imb_local_n2_alg{number}.txt")], algorithm="ring")
    assert len(found.samples) == 22
    assert found.date == "2026-11-21"
    assert {s.algorithm for s in found.samples} == {"ring"}
    assert seconds(found.samples, 2**20) == [pytest.approx(time_us * 1e-6)]


OTHERS = [
    ("nccl221_polaris_n8_allgather.dat", "all_gather", 22, 32, 8, 781.4),
    ("nccl221_polaris_n8_alltoall.dat", "alltoall", 24, 32, 8, 216.3),
    ("nccl_superbench_allgather.log", "all_gather", 29, 8, 1, 72.95),
    ("nccl_superbench_alltoall.log", "alltoall", 29, 8, 1, 87.42),
    ("nccl_superbench_broadcast.log", "broadcast", 32, 8, 1, 76.02),
    ("nccl_superbench_reduce.log", "reduce", 32, 8, 1, 76.74),
    ("nccl_superbench_reducescatter.log", "reduce_scatter", 29, 8, 1, 72.37),
]


@pytest.mark.parametrize(("name", "collective", "rows", "ranks", "nodes", "time_us"), OTHERS)
def test_a_log_of_another_collective(
    name: str, collective: str, rows: int, ranks: int, nodes: int, time_us: float
) -> None:
    with pytest.raises(StudyError, match="does not name the collective, and its rows fit several"):
        import_logs([log(name)])
    found = import_logs([log(name)], collective=collective)
    assert {s.collective for s in found.samples} == {collective}
    assert (len(found.samples), found.dropped) == (rows, 0)
    assert {(s.ranks, s.nodes) for s in found.samples} == {(ranks, nodes)}
    assert seconds(found.samples, 2**20) == [pytest.approx(time_us * 1e-6)]


@pytest.mark.parametrize(
    ("name", "nodes", "per_node", "first_us"),
    [
        ("nccl_cluster01_n1_g8_multi.log", 1, 8, 182.87),
        ("nccl_cluster01_n10_g1_multi.log", 10, 1, None),
        ("nccl_cluster01_n10_g2_multi.log", 10, 2, None),
        ("nccl_cluster01_n10_g4_multi.log", 10, 4, 780.92),
    ],
)
def test_a_log_of_five_collectives(
    name: str, nodes: int, per_node: int, first_us: float | None
) -> None:
    found = import_logs([log(name)])
    names = ("allreduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv")
    assert Counter(s.collective for s in found.samples) == dict.fromkeys(names, 10)
    assert {(s.ranks, s.nodes, s.ranks_per_node) for s in found.samples} == {
        (nodes * per_node, nodes, per_node)
    }
    assert {(s.version, s.dtype, s.repetitions) for s in found.samples} == {
        ("2.29.2", "float64", 20)
    }
    if first_us:
        assert found.samples[0].median_s == pytest.approx(first_us * 1e-6)


@pytest.mark.parametrize(
    ("nodes", "in_run_7_us"), [(4, 573.32), (8, 676.26), (16, 257.15), (32, 323.43)]
)
def test_twenty_runs_in_one_log(nodes: int, in_run_7_us: float) -> None:
    found = import_logs([log(f"osu_lassen_{nodes}n.out")])
    allreduce = [s for s in found.samples if s.collective == "allreduce"]
    pairs = [s for s in found.samples if s.collective == "ping-pong"]
    assert (len(allreduce), len(pairs), found.dropped) == (380, 460, 0)
    assert {(s.ranks, s.nodes, s.ranks_per_node) for s in allreduce} == {(nodes, nodes, 1)}
    assert {(s.ranks, s.nodes) for s in pairs} == {(2, 2)}
    assert {s.run for s in allreduce} == set(range(1, 21))
    seventh = [s.median_s for s in allreduce if s.run == 7 and s.bytes == 2**20]
    assert seventh == [pytest.approx(in_run_7_us * 1e-6)]
    assert [s.median_s for s in pairs if s.run == 7 and s.bytes == 1024] == [pytest.approx(1.96e-6)]


def test_two_benchmarks_of_imb_in_one_log() -> None:
    found = import_logs([log("imb_local_tcp_n2.txt")])
    assert Counter(s.collective for s in found.samples) == {"ping-pong": 22, "allreduce": 22}
    first, last = found.samples[0], found.samples[-1]
    assert (first.bytes, first.median_s, first.repetitions) == (8, pytest.approx(5.66e-6), 200)
    assert (last.bytes, last.median_s, last.repetitions) == (2**24, pytest.approx(7326.47e-6), 2)


def test_a_ping_pong_of_imb() -> None:
    found = import_logs([log("imb_oci_openmpi_pingpong.txt")], nodes=2)
    assert len(found.samples) == 26
    assert {(s.ranks, s.nodes, s.library, s.version) for s in found.samples} == {
        (2, 2, "openmpi", "4.1.2a1")
    }
    assert found.samples[-1].median_s == pytest.approx(21941.25e-6)


def test_gloo_in_its_present_layout() -> None:
    found = import_logs([log("gloo_newformat_peel_excerpt.txt")])
    assert {(s.collective, s.algorithm, s.ranks) for s in found.samples} == {
        ("broadcast", "auto", 3)
    }
    assert [s.bytes for s in found.samples] == [400, 800, 2000, 4000, 8000, 20000, 40000, 80000]
    assert found.samples[-1].median_s == pytest.approx(1001e-6)


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("nccl_polaris_n128_FAILED.dat", MeasurementError, "CXI alloc failed on cxi0"),
        ("nccl_coreweave_gb200_1rack.log", StudyError, "at least 72"),
        ("nccl_coreweave_gb200_2rack.log", StudyError, "at least 144"),
        ("nccl_coreweave_h100_64g_sharp.log", StudyError, "give --ranks N"),
        ("osu_oci_openmpi_allreduce144.txt", StudyError, "give --ranks N"),
        ("nccom_trn_slurm.md", StudyError, "is not a known benchmark output"),
        ("torch_allreduce_bench_README.md", StudyError, "is not a known benchmark output"),
    ],
)
def test_a_log_that_cannot_be_imported(name: str, kind: type[DseError], said: str) -> None:
    with pytest.raises(kind, match=said) as caught:
        import_logs([log(name)])
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_table_of_measurements() -> None:
    path = reference("measurements", "allreduce.csv")
    found = import_logs([path])
    assert (len(found.samples), found.dropped) == (526, 0)
    assert {s.transport for s in found.samples} == {"nccl", "mpi"}
    chosen = import_logs([path], select="system=polaris,library=nccl-2.18,transport=ofi")
    assert Counter(s.ranks for s in chosen.samples) == {8: 29, 32: 29}
    assert {(s.library, s.version, s.link) for s in chosen.samples} == {("nccl", "2.18", "ofi")}
    assert seconds(chosen.samples, 2**20) == [
        pytest.approx(175.9e-6), pytest.approx(327.9e-6)
    ]  # fmt: skip
    assert "argonne-lcf/alcf-nccl-tests" in chosen.source
