"""``dse calibrate run``: measure with real ranks, and fit a profile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dse.calibration.runners import registry
from dse.calibration.runners.started_rank import Started, started
from dse.commands.calibrate.fit import print_fit
from dse.errors import ArgumentError, DseError

if TYPE_CHECKING:
    from dse.calibration.runners.registry import Request, Runner

INTERRUPTED = 130


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
    runner: Annotated[str | None, typer.Option(help=registry.help_text())] = None,
    address: Annotated[str | None, typer.Option(help="Address of a Ray cluster to join.")] = None,
    servers: Annotated[
        str | None,
        typer.Option(
            help="Numbers of parameter servers, such as 1,2; --ranks then gives the numbers of "
            "workers."
        ),
    ] = None,
    device: Annotated[str | None, typer.Option(help="Device to measure: cpu or cuda.")] = None,
    workload: Annotated[
        str | None,
        typer.Option(
            help="Workload of which a block is timed, by its name or the path of its file."
        ),
    ] = None,
    operations: Annotated[
        str | None,
        typer.Option(
            help="Operations to measure besides allreduce, such as "
            "all_gather,reduce_scatter,alltoall,sendrecv."
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option("--for", help="Study of layouts: measures the operations that they use."),
    ] = None,
) -> None:
    """Measure allreduce, parameter servers or compute speed, and fit a profile.

    Measures on this machine, on the hosts of --hostfile or, when started by mpirun, srun or
    torchrun, with the ranks that these started.
    """
    from dse.calibration import arguments
    from dse.calibration.session import calibrate, check_folder, requested

    if study is not None:
        operations = ",".join(_operations(study, operations)) or None
    me = started(os.environ)
    launcher = me.by if me else None
    leads = me is None or me.rank == 0
    try:
        found = registry.find_runner(runner, launcher)
        asked = registry.Request(
            budget, name, None if ranks is None else arguments.counts(ranks, "--ranks"),
            _run_progress, mpi=mpi, link=link, address=address,
            servers=None if servers is None else arguments.counts(servers, "--servers"),
            device=device, workload=workload,
            operations=() if operations is None else tuple(operations.replace(" ", "").split(",")),
        )  # fmt: skip
        request = requested(
            found, asked, launcher, hostfile=hostfile, ranks_per_node=ranks_per_node,
            interface=interface, link_bandwidth=link_bandwidth,
        )  # fmt: skip
    except DseError:
        if leads:
            raise
        # Every rank refuses the same. One that failed would have mpirun end rank 0 before it has
        # said why.
        raise SystemExit(0) from None
    try:
        if leads:
            check_folder(out, name)
            _say_begun(found, request, out, me)
        written = calibrate(found, request, out, me)
    except (DseError, KeyboardInterrupt) as error:
        if leads:  # and says it, once
            raise
        alike = isinstance(error, ArgumentError)  # see above
        raise SystemExit(0 if alike else getattr(error, "exit_status", INTERRUPTED)) from None
    if written:
        _say_calibrated(*written, workload)


def _operations(study: str, given: str | None) -> list[str]:
    """What the layouts of a study exchange besides allreduce."""
    from dse.pricing.load import load

    if given is not None:
        raise ArgumentError("--for", "tells the operations, and so does --operations", "drop one")
    problem = load(study)
    if not problem.study.laid_out:
        what = f"{problem.study.name} lays no transformer out"
        raise ArgumentError("--for", what, "name a study with axes such as tensor_parallel")
    return list(problem.tables.operations)


def _say_begun(runner: Runner, request: Request, out: Path, me: Started | None) -> None:
    """What is replaced, what is measured, and where."""
    if os.path.exists(out / f"{request.name}.yaml"):
        print(f"{out / request.name}.yaml will be replaced; to keep it, choose another --name")
    at = "this machine"
    if me is not None:
        at = f"the {me.ranks} ranks that {me.by} started"
    elif request.hosts is not None:
        at = f"{len(request.hosts.hosts)} hosts"
    elif request.address is not None:
        at = f"the cluster at {request.address}"
    print(f"measuring {runner.what} on {at} for {request.budget_s:g} s", flush=True)


def _run_progress(done: int, total: int, text: str) -> None:
    print(f"  {done}/{total} {text}", flush=True)


def _say_calibrated(measured: Path, profile: Path, workload: str | None) -> None:
    from dse.calibration import read_profile

    found = read_profile(profile)
    print(f"wrote {measured}")
    print_fit(found, profile)
    if workload is not None and not found.throughput:
        print(f"  no block of {workload} was timed: install torch, or give a larger --budget")
