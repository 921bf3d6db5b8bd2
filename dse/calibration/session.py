"""One call from nothing to a profile: measure, fit, write both files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.calibration import arguments
from dse.calibration.experiment import Experiment, write_experiment
from dse.calibration.runners.budget import Progress
from dse.calibration.runners.compute_speed import measure_speed
from dse.calibration.runners.hosts import Hosts, read_hosts
from dse.calibration.runners.mpi import measure
from dse.calibration.runners.parameter_servers import (
    GRPC,
    MPI_PS,
    SERVER_RUNNERS,
    measure_servers,
    server_plan,
)
from dse.calibration.runners.plan import DEFAULT_RANKS, DEFAULT_SIZES, MeasurePlan, counts_up_to
from dse.calibration.runners.started_rank import TORCHRUN, Started
from dse.errors import MeasurementError, OutputError, StudyError

COMPUTE = "compute"

RUNNERS = ("mpi", "torch", "ray", GRPC, MPI_PS, COMPUTE)


@dataclass(frozen=True)
class Where:
    """With what to measure, and where.

    mpi: see find_launcher; None: whichever is there. hosts: None is this machine alone. link,
    link_bytes_per_s: the network between the hosts, by name and in one direction per host. runner:
    a name of RUNNERS. address: of a Ray cluster; None starts Ray here. servers: numbers of
    parameter servers; None leaves them to the runner. device: what is to compute, cpu or cuda.
    """

    mpi: str | None = None
    hosts: Hosts | None = None
    link: str | None = None
    link_bytes_per_s: float | None = None
    runner: str = "mpi"
    address: str | None = None
    servers: tuple[int, ...] | None = None
    device: str = "cpu"


def whereabouts(
    mpi: str | None = None,
    hostfile: Path | None = None,
    ranks_per_node: int | None = None,
    interface: str | None = None,
    link: str | None = None,
    link_bandwidth: str | None = None,
    runner: str = "mpi",
    address: str | None = None,
    servers: tuple[int, ...] | None = None,
    device: str | None = None,
) -> Where:
    """What the user says of it, read and checked; StudyError where that cannot be right."""
    if runner not in RUNNERS:
        raise StudyError("--runner", 0, 0, f"'{runner}' is not known", f"use {', '.join(RUNNERS)}")
    if runner != "ray" and address is not None:
        raise StudyError("--address", 0, 0, "is of a Ray cluster", "give --runner ray")
    for option, given, mine in (
        ("--mpi", mpi, ("mpi", MPI_PS)),
        ("--hostfile", hostfile, ("mpi", MPI_PS, GRPC)),
        ("--interface", interface, ("mpi", MPI_PS)),
        ("--servers", servers, SERVER_RUNNERS),
        ("--device", device, (COMPUTE,)),
        ("--link", link, tuple(r for r in RUNNERS if r != COMPUTE)),
        ("--link-bandwidth", link_bandwidth, tuple(r for r in RUNNERS if r != COMPUTE)),
    ):
        if given is not None and runner not in mine:
            whose = "the MPI runner" if mine[0] == "mpi" else f"--runner {' or '.join(mine)}"
            raise StudyError(option, 0, 0, f"is of {whose}, not of {runner}", "leave it out")
    if device not in (None, "cpu", "cuda"):
        raise StudyError("--device", 0, 0, f"'{device}' is no device", "use cpu or cuda")
    if hostfile is None and (ranks_per_node is not None or interface is not None):
        option = "--interface" if ranks_per_node is None else "--ranks-per-node"
        raise StudyError(option, 0, 0, "applies to the hosts of a host file", "give --hostfile")
    hosts = read_hosts(hostfile, ranks_per_node, interface) if hostfile else None
    name, speed = arguments.link_name(link), arguments.link_speed(link_bandwidth)
    return Where(mpi, hosts, name, speed, runner, address, servers, device or "cpu")


def calibrate_here(
    out_dir: str | Path = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] | None = None,
    name: str = "this-machine",
    sizes_bytes: Sequence[int] | None = None,
    progress: Progress | None = None,
    where: Where | None = None,
) -> tuple[Path, Path]:
    """Measure with real ranks for ``budget_s`` seconds, fit, and write both files.

    Returns the paths of NAME.measurements.json and NAME.yaml in ``out_dir``. The fit takes a few
    seconds beyond the budget. ranks: None is 2, 3, 4, 8, or what the hosts have room for.
    ``progress(done, total, text)`` is called before every run.
    Raises StudyError for an argument that cannot be right, MeasurementError where measuring fails,
    and OutputError where the folder cannot be written (found out before anything is measured);
    earlier files then stay as they were.
    """
    place = where or Where()
    _check_asked(budget_s, name)
    if place.runner in (*SERVER_RUNNERS, COMPUTE):
        found = _measured_otherwise(budget_s, ranks, name, sizes_bytes, progress, place, out_dir)
        return _write(found, Path(out_dir), name)
    hosts = place.hosts
    counts = ranks or (counts_up_to(hosts.ranks, hosts.ranks_per_node) if hosts else DEFAULT_RANKS)
    plan = _plan(counts, sizes_bytes)
    _check_writable(Path(out_dir))
    return _write(_measured(plan, budget_s, name, progress, place), Path(out_dir), name)


def _measured_otherwise(
    budget_s: float,
    ranks: Sequence[int] | None,
    name: str,
    sizes_bytes: Sequence[int] | None,
    progress: Progress | None,
    place: Where,
    out_dir: str | Path,
) -> Experiment:
    """Parameter servers, or compute speed."""
    if place.runner == COMPUTE:
        if ranks is not None:
            raise StudyError("--ranks", 0, 0, "nothing is sent by --runner compute", "leave it out")
        _check_writable(Path(out_dir))
        return measure_speed(budget_s, name, place.device)
    plan = server_plan(ranks, place.servers, sizes_bytes, place.hosts)
    _check_writable(Path(out_dir))
    return measure_servers(
        place.runner, plan, budget_s, name, progress, place.hosts, place.mpi, place.link,
        place.link_bytes_per_s,
    )  # fmt: skip


def _measured(
    plan: MeasurePlan, budget_s: float, name: str, progress: Progress | None, place: Where
) -> Experiment:
    link: dict[str, Any] = {"link": place.link, "link_bytes_per_s": place.link_bytes_per_s}
    if place.runner == "torch":
        from dse.calibration.runners.torch_distributed import measure_torch

        return measure_torch(plan, budget_s, name, progress, **link)
    if place.runner == "ray":
        from dse.calibration.runners.ray_cluster import measure_ray

        return measure_ray(plan, budget_s, name, progress, place.address, **link)
    return measure(
        plan, budget_s, name=name, progress=progress, mpirun=place.mpi, hosts=place.hosts, **link
    )


def calibrate_as_rank(
    me: Started,
    out_dir: str | Path = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] | None = None,
    name: str = "this-machine",
    progress: Progress | None = None,
    where: Where | None = None,
) -> tuple[Path, Path] | None:
    """Like :func:`calibrate_here`, as one of the ranks that mpirun, srun or torchrun started.

    Every rank must call it alike; rank 0 writes the files and gets their paths, the others None.
    ranks: None is as many counts as there are ranks for.
    """
    place = where or Where()
    if place.hosts or place.mpi:
        problem = f"{me.by} has chosen the hosts and the MPI already"
        raise StudyError("--hostfile, --mpi", 0, 0, problem, "leave them out")
    if place.runner in (*SERVER_RUNNERS, COMPUTE):
        problem = f"'{place.runner}' starts processes of its own"
        raise StudyError("--runner", 0, 0, problem, f"start it without {me.by}")
    _check_asked(budget_s, name)
    plan = _plan(ranks or counts_up_to(me.ranks), None)
    if me.rank == 0:
        _check_writable(Path(out_dir))
    link = (place.link, place.link_bytes_per_s)
    if me.by == TORCHRUN:
        try:
            from dse.calibration.runners.torch_distributed import measure_as_rank
        except ImportError as cause:
            raise MeasurementError(f"cannot measure under torchrun: {cause}") from None
        found = measure_as_rank(plan, budget_s, name, progress, *link)
    else:
        from dse.calibration.runners.world import measure_world

        found = measure_world(plan, budget_s, name, progress, me, *link)
    return None if found is None else _write(found, Path(out_dir), name)


def _check_asked(budget_s: float, name: str) -> None:
    """StudyError unless the name is one of a file and the budget some time."""
    if not name or name != Path(name).name or name.startswith("."):
        raise StudyError("--name", 0, 0, f"'{name}' is not a file name", "use letters and dashes")
    arguments.check_budget(budget_s)


def _plan(ranks: Sequence[int], sizes: Sequence[int] | None) -> MeasurePlan:
    """The plan of allreduces, after the counts were found right."""
    if len(set(ranks)) < 2 or min(ranks) < 2:
        listed = ",".join(str(count) for count in ranks)
        problem = f"'{listed}' is too little to fit and to check the fit"
        raise StudyError("--ranks", 0, 0, problem, "give two or more counts from 2, as 2,3,4,8")
    sizes = DEFAULT_SIZES if sizes is None else tuple(sizes)
    return MeasurePlan(ranks=tuple(ranks), sizes_bytes=sizes)


def _write(experiment: Experiment, folder: Path, name: str) -> tuple[Path, Path]:
    # Imported here: what fits is needed once, and not on every rank.
    from dse.calibration.fitting.profile import fit_measurements
    from dse.calibration.profile import write_profile

    measurements, profile = folder / f"{name}.measurements.json", folder / f"{name}.yaml"
    write_experiment(experiment, measurements)
    write_profile(fit_measurements([measurements], name), profile)
    return measurements, profile


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise OutputError(f"{folder}: {cause.strerror}; choose another --out") from None
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{folder}: cannot be written; choose another --out")
