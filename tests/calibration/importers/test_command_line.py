"""What commands in logs tell about ranks, nodes, library and algorithm."""

from __future__ import annotations

import pytest

from dse.calibration.importers.mpi_tables import launch_of


@pytest.mark.parametrize(
    ("command", "ranks", "nodes"),
    [
        ("time jsrun -n 16 -a 1 -c 1 -r 1 /bench/osu_allreduce", 16, 16),
        ("jsrun -n 4 -a 2 -r 1 osu_allreduce", 8, 4),
        ("srun -n 8 -N 2 ./osu_allreduce -i 100", 8, 2),
        ("srun --ntasks=8 --ntasks-per-node=4 osu_bcast", 8, 2),
        ("$ mpirun -np 6 osu_allreduce -n 3", 6, None),
        ("mpirun -n 6 -N 3 ./IMB-MPI1 Allreduce", 6, 2),
        ("/usr/bin/mpirun --np 8 --map-by ppr:2:node osu_latency", 8, 4),
        ("mpirun_rsh -np 2 nodeA nodeA MV2_USE_CUDA=1 osu_allreduce -d cuda", 2, 1),
        ("mpirun_rsh -np 2 -hostfile hosts osu_allreduce", 2, None),
        ("osu_allreduce -m 1024", None, None),
    ],
)
def test_ranks_and_nodes(command: str, ranks: int | None, nodes: int | None) -> None:
    launch = launch_of(command)
    assert launch is not None
    assert (launch.ranks, launch.nodes) == (ranks, nodes)


def test_library_and_algorithm() -> None:
    launch = launch_of(
        "/opt/openmpi-5.0.6/bin/mpirun -n 4 --mca coll_tuned_allreduce_algorithm 4 osu_allreduce"
    )
    assert launch is not None
    assert (launch.library, launch.version, launch.algorithm) == ("openmpi", "5.0.6", "ring")


def test_other_lines_are_no_launch() -> None:
    assert launch_of("mpirun -n 4 ./hello") is None
    assert launch_of("1024      6.25") is None
