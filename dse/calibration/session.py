"""One call from nothing to a profile: measure, fit, write both files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.calibration import arguments
from dse.calibration.experiment import MEASUREMENTS, Experiment, write_experiment
from dse.calibration.files import check_writable
from dse.calibration.profile_files import check_replaces_profile
from dse.calibration.runners import registry
from dse.calibration.runners.budget import Progress
from dse.calibration.runners.hosts import read_hosts
from dse.calibration.runners.registry import Runner
from dse.calibration.runners.request import Request, Where
from dse.calibration.runners.started_rank import Started
from dse.errors import ArgumentError


def whereabouts(
    runner: Runner,
    launcher: str | None = None,
    *,
    mpi: str | None = None,
    hostfile: str | Path | None = None,
    ranks_per_node: int | None = None,
    interface: str | None = None,
    link: str | None = None,
    link_bandwidth: str | None = None,
    address: str | None = None,
    servers: Sequence[int] | None = None,
    device: str | None = None,
    workload: str | None = None,
) -> Where:
    """What the user says of it, read and checked; ArgumentError where that cannot be right.

    launcher: what started this process as one of many ranks, if anything did.
    """
    said = {
        "--mpi": mpi,
        "--hostfile": hostfile,
        "--ranks-per-node": ranks_per_node,
        "--interface": interface,
        "--link": link,
        "--link-bandwidth": link_bandwidth,
        "--address": address,
        "--servers": servers,
        "--device": device,
        "--workload": workload,
    }
    runner.check_options((name for name, value in said.items() if value is not None), launcher)
    if device not in (None, "cpu", "cuda"):
        raise ArgumentError("--device", f"'{device}' is no device", "use cpu or cuda")
    if hostfile is None and (ranks_per_node is not None or interface is not None):
        option = "--interface" if ranks_per_node is None else "--ranks-per-node"
        raise ArgumentError(option, "applies to the hosts of a host file", "give --hostfile")
    hosts = read_hosts(hostfile, ranks_per_node, interface) if hostfile else None
    name, speed = arguments.link_name(link), arguments.link_speed(link_bandwidth)
    counts = None if servers is None else tuple(servers)
    return Where(mpi, hosts, name, speed, address, counts, device, workload)


def calibrate_here(
    out_dir: str | Path = "calibrations",
    budget_s: float = 60.0,
    ranks: Sequence[int] | None = None,
    name: str = "this-machine",
    sizes_bytes: Sequence[int] | None = None,
    progress: Progress | None = None,
    where: Where | None = None,
    runner: str | None = None,
) -> tuple[Path, Path]:
    """Measure with real ranks for ``budget_s`` seconds, fit, and write both files.

    Returns the paths of NAME.measurements.json and NAME.yaml in ``out_dir``. The fit takes a few
    seconds beyond the budget. ranks: None is 2, 3, 4, 8, or what the hosts have room for. runner:
    a name of :data:`.runners.registry.RUNNERS`; None is MPI.
    ``progress(done, total, text)`` is called before every run.
    Raises ArgumentError for one that cannot be right, MeasurementError where measuring fails,
    and OutputError where the folder plainly cannot be written (found out before anything is
    measured); earlier files then stay as they were.
    """
    found, folder = registry.find_runner(runner), Path(out_dir)
    request = Request(budget_s, name, ranks, sizes_bytes, progress, where or Where())
    check(found, request, folder)
    return calibrate(found, request, folder)


def check(runner: Runner, request: Request, folder: Path) -> None:
    """ArgumentError unless the name is a file's, the budget some time, and all of it applies.

    OutputError where the folder plainly cannot be written.
    """
    arguments.check_profile_name(request.name)
    arguments.check_budget(request.budget_s)
    ranks = [] if request.ranks is None else ["--ranks"]
    runner.check_options([*ranks, *request.where.options])
    check_writable(folder)
    check_replaces_profile(folder / f"{request.name}.yaml", rates=False)


def calibrate(runner: Runner, request: Request, folder: Path) -> tuple[Path, Path]:
    """What :func:`calibrate_here` does, of what :func:`check` has found right."""
    return _write(runner.measure(request), folder, request.name)


def calibrate_as_rank(
    runner: Runner, request: Request, folder: Path, me: Started
) -> tuple[Path, Path] | None:
    """Like :func:`calibrate`, as one of the ranks that mpirun, srun or torchrun started.

    Every rank must call it alike; rank 0 writes the files and gets their paths, the others None.
    Without rank counts, as many are measured as there are ranks for.
    """
    found = runner.measure_as_rank(request, me)
    return None if found is None else _write(found, folder, request.name)


def _write(experiment: Experiment, folder: Path, name: str) -> tuple[Path, Path]:
    # Imported here: what fits is needed once, and not on every rank.
    from dse.calibration.fitting.profile import fit_measurements
    from dse.calibration.profile import write_profile

    measurements, profile = folder / f"{name}{MEASUREMENTS}", folder / f"{name}.yaml"
    write_experiment(experiment, measurements)
    write_profile(fit_measurements([measurements], name), profile)
    return measurements, profile
