"""``dse calibrate run``: measure with real ranks, and fit a profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.commands.calibrate.profiles import print_other_parts
from dse.errors import DseError, StudyError

if TYPE_CHECKING:
    from dse.calibration.session import Where

# What a runner measures, where it is not allreduce.
MEASURED = {
    "grpc": "parameter servers over gRPC",
    "mpi-ps": "parameter servers over MPI",
    "compute": "compute speed",
}
INTERRUPTED = 130
BUSY_CORES = 0.1  # used by other processes while measuring: times come out too long


def run(
    out: Annotated[Path, typer.Option(help="Folder for the measurements and the profile.")] = Path(
        "calibrations"
    ),
    name: Annotated[str, typer.Option(help="Name of the profile.")] = "this-machine",
    budget: Annotated[float, typer.Option(help="Measuring time in seconds.")] = 60.0,
    ranks: Annotated[
        str | None,
        typer.Option(
            help="Rank counts to measure, such as 2,3,4,8 [default: what the hosts allow]."
        ),
    ] = None,
    mpi: Annotated[
        str | None, typer.Option(help="openmpi, mpich, or the path of an mpiexec.")
    ] = None,
    hostfile: Annotated[
        Path | None, typer.Option(help="File with one host a line, such as 'node1 slots=4'.")
    ] = None,
    ranks_per_node: Annotated[
        int | None, typer.Option(help="Ranks to start on each host of the file.")
    ] = None,
    interface: Annotated[
        str | None, typer.Option(help="Network interface to use on the hosts, such as eth1.")
    ] = None,
    link: Annotated[
        str | None, typer.Option(help="Name of the network between the hosts, such as 25gbe.")
    ] = None,
    link_bandwidth: Annotated[
        str | None,
        typer.Option(help="Speed of that network per host, in one direction, such as '25 Gbps'."),
    ] = None,
    runner: Annotated[
        str,
        typer.Option(
            help="How to measure: allreduce by mpi, torch (gloo or NCCL) or ray (torch on a Ray "
            "cluster); parameter servers by grpc or mpi-ps; compute speed by compute."
        ),
    ] = "mpi",
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster to join.")] = None,
    servers: Annotated[
        str | None,
        typer.Option(
            help="Numbers of parameter servers, such as 1,2; --ranks then gives the numbers of "
            "workers."
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device to measure: cpu or cuda.")] = None,
) -> None:
    """Measure allreduce, parameter servers or compute speed, and fit a profile.

    Measures on this machine, on the hosts of --hostfile or, when started by mpirun, srun or
    torchrun, with the ranks that these started.
    """
    from dse.calibration import arguments
    from dse.calibration.session import whereabouts

    where = whereabouts(
        mpi, hostfile, ranks_per_node, interface, link, link_bandwidth, runner, address,
        None if servers is None else arguments.counts(servers, "--servers"), device,
    )  # fmt: skip
    calibrate_machine(out, name, budget, ranks, where)


def calibrate_machine(
    out: Path, name: str, budget_s: float, ranks: str | None, where: Where
) -> None:
    """Measure, fit, and print how well the fit predicts measurements left out of it.

    Started by a launcher, this process is one of its ranks: only rank 0 writes and prints.
    """
    from dse.calibration.runners.started_rank import started
    from dse.calibration.session import calibrate_as_rank, calibrate_here

    me = started(os.environ)
    try:
        counts = _counts(ranks)
        if me is None or me.rank == 0:
            if (out / f"{name}.yaml").exists():
                print(f"{out / name}.yaml will be replaced; to keep it, choose another --name")
            at = f"{len(where.hosts.hosts)} hosts" if where.hosts else "this machine"
            at = f"the {me.ranks} ranks that {me.by} started" if me else at
            what = MEASURED.get(where.runner, "allreduce")
            print(f"measuring {what} on {at} for {budget_s:g} s", flush=True)
        progress = _run_progress
        written = (
            calibrate_as_rank(me, out, budget_s, counts, name, progress, where)
            if me
            else calibrate_here(out, budget_s, counts, name, None, progress, where)
        )
    except (DseError, KeyboardInterrupt) as error:
        if me and me.rank:  # rank 0 says it, once
            raise SystemExit(getattr(error, "exit_status", INTERRUPTED)) from None
        raise
    if written:
        _say_calibrated(*written)


def _counts(ranks: str | None) -> tuple[int, ...] | None:
    try:
        return None if ranks is None else tuple(int(text) for text in ranks.split(","))
    except ValueError:
        raise StudyError(
            "--ranks",
            0,
            0,
            f"'{ranks}' is not a list of rank counts",
            "write for example --ranks 2,3,4",
        ) from None


def _run_progress(done: int, total: int, text: str) -> None:
    print(f"  {done}/{total} {text}", flush=True)


def _say_calibrated(measured: Path, profile: Path) -> None:
    from dse.calibration import read_profile

    found = read_profile(profile)
    for algorithm in found.measured_algorithms:
        print(f"  {algorithm}: median error {found.error(algorithm):.0%} on rank counts "
              "left out of the fit")  # fmt: skip
    print_other_parts(found)
    if found.background_cores > BUSY_CORES:
        print(f"  this machine was busy: other processes used {found.background_cores:.1f} of its "
              f"{found.cores} cores; measure again when nothing else runs")  # fmt: skip
    print(f"wrote {measured}\nwrote {profile}")
