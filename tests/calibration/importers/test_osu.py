"""OSU micro-benchmarks."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.errors import MeasurementError, StudyError
from tests.calibration.importers import samples as s
from tests.calibration.importers.reading import read


def test_two_benchmarks_with_a_warning_in_the_table(tmp_path: Path) -> None:
    found = read(tmp_path, s.OSU)
    assert [(x.collective, x.bytes, x.ranks) for x in found.samples] == [
        ("allreduce", 4, 4), ("allreduce", 1024, 4), ("allreduce", 1048576, 4),
        ("ping-pong", 8, 2), ("ping-pong", 1048576, 2),
    ]  # fmt: skip
    assert found.samples[1].median_s == pytest.approx(6.25e-6)
    first = found.samples[0]
    assert (first.nodes, first.ranks_per_node) == (2, 2)
    assert (first.transport, first.library, first.version) == ("mpi", "openmpi", "4.1.4")


def test_the_full_layout_on_gpus(tmp_path: Path) -> None:
    found = read(tmp_path, s.OSU_FULL, ranks=16, nodes=4)
    assert [(x.collective, x.repetitions, x.device, x.dtype) for x in found.samples] == [
        ("broadcast", 1000, "cuda", "int32"), ("broadcast", 100, "cuda", "int32"),
    ]  # fmt: skip
    assert found.samples[1].median_s == pytest.approx(170.2e-6)


def test_the_pure_communication_of_non_blocking_benchmarks(tmp_path: Path) -> None:
    (only,) = read(tmp_path, s.OSU_NONBLOCKING, ranks=4).samples
    assert (only.collective, only.median_s) == ("iallreduce", pytest.approx(15.5e-6))


def test_ranks_are_asked_for(tmp_path: Path) -> None:
    with pytest.raises(
        StudyError, match=r"broadcast: the log does not state the number of ranks.*give --ranks N"
    ):
        read(tmp_path, s.OSU_FULL)
    with pytest.raises(
        StudyError, match="--ranks 8 contradicts the log: 4 ranks according to the command"
    ):
        read(tmp_path, s.OSU, ranks=8)


def test_broken_rows(tmp_path: Path) -> None:
    cut = s.OSU.replace("420.00", "420.0").replace("1024                    6.25", "1024")
    found = read(tmp_path, cut)
    assert ([x.bytes for x in found.samples], found.dropped) == ([4, 8, 1048576], 2)


def test_what_gives_no_latency_is_left_out(tmp_path: Path) -> None:
    text = "# OSU MPI Bi-Directional Bandwidth Test v5.9\n# Size  Bandwidth (MB/s)\n8  5.00\n"
    found = read(tmp_path, text + s.OSU)
    assert any("'Bi-Directional Bandwidth' has no latency" in note for note in found.notes)
    with pytest.raises(MeasurementError, match=r"no usable result \(read as OSU"):
        read(tmp_path, text)


def test_a_failed_validation(tmp_path: Path) -> None:
    text = s.OSU_FULL.replace("Iterations", "Iterations  Validation")
    text = text.replace("1000\n", "1000  Pass\n").replace(" 100\n", " 100  Fail\n")
    assert [x.verified for x in read(tmp_path, text, ranks=4).samples] == [True, False]


OTHERS = """\
$ mpirun -np 4 --map-by ppr:2:node ./osu_allgather
# OSU MPI Allgather Latency Test v7.1
# Size       Avg Latency(us)
1024                   10.00
$ mpirun -np 4 --map-by ppr:2:node ./osu_alltoall
# OSU MPI All-to-All Personalized Exchange Latency Test v7.1
# Size       Avg Latency(us)
2048                   20.00
$ mpirun -np 4 --map-by ppr:2:node ./osu_reduce_scatter
# OSU MPI Reduce_scatter Latency Test v7.1
# Size       Avg Latency(us)
4096                   30.00
$ mpirun -np 2 --map-by ppr:1:node ./osu_bw
# OSU MPI Bandwidth Test v7.1
# Size      Bandwidth (MB/s)
8192                  100.00
"""


def test_sizes_of_other_operations_are_those_of_the_whole(tmp_path: Path) -> None:
    """OSU prints one rank's share of allgather and alltoall, and all of reduce_scatter."""
    found = read(tmp_path, OTHERS).samples
    assert [(x.collective, x.bytes, x.ranks, x.nodes) for x in found] == [
        ("all_gather", 4096, 4, 2), ("alltoall", 8192, 4, 2), ("reduce_scatter", 4096, 4, 2),
        ("stream", 8192, 2, 2),
    ]  # fmt: skip
    assert found[3].median_s == pytest.approx(81.92e-6)


OVER_NCCL = """\
$ /opt/openmpi-4.1.4/bin/mpirun -n 4 -N 2 -x NCCL_ALGO=Tree osu_xccl_allreduce -d cuda D D
#Using {0}
#Using {0}

# OSU {1}-CUDA Allreduce Latency Test v7.5
# Size       Avg Latency(us)
1024                   20.00
"""


@pytest.mark.parametrize(
    ("using", "title", "library"),
    [("NCCL", "NCCL", "nccl"), ("RCCL", "RCCL", "rccl"), ("NCCL", "XCCL", "nccl")],
)
def test_benchmarks_of_nccl(tmp_path: Path, using: str, title: str, library: str) -> None:
    """The MPI of the command only starts it."""
    (only,) = read(tmp_path, OVER_NCCL.format(using, title)).samples
    assert (only.transport, only.library, only.version) == ("nccl", library, "unknown")
    assert (only.algorithm, only.ranks, only.nodes) == ("tree", 4, 2)


def test_each_benchmark_has_the_library_of_its_own_heading(tmp_path: Path) -> None:
    found = read(tmp_path, OVER_NCCL.format("NCCL", "NCCL") + s.OSU)
    assert [x.transport for x in found.samples] == ["nccl"] + ["mpi"] * 5


@pytest.mark.parametrize(
    ("library", "transport"), [("nccl", "nccl"), ("rccl-2.20", "nccl"), ("mpich-4.2", "mpi")]
)
def test_a_library_that_the_user_names_tells_the_transport(
    tmp_path: Path, library: str, transport: str
) -> None:
    found = read(tmp_path, s.OSU_FULL, ranks=4, library=library)
    assert {x.transport for x in found.samples} == {transport}
    nccl = read(tmp_path, s.nccl(), library=library)
    assert {x.transport for x in nccl.samples} == {"nccl"}
