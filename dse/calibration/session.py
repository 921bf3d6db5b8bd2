"""One call from nothing to a profile: measure, fit, write both files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dse.calibration import arguments
from dse.calibration.experiment import MEASUREMENTS, Experiment, write_experiment
from dse.calibration.files import check_writable
from dse.calibration.profile_files import check_replaces_profile
from dse.calibration.runners.bench import OPERATIONS
from dse.calibration.runners.hosts import read_hosts
from dse.calibration.runners.plan import Progress
from dse.calibration.runners.registry import Request, Runner
from dse.calibration.runners.started_rank import Started
from dse.errors import ArgumentError


def requested(
    runner: Runner,
    budget_s: float,
    name: str,
    ranks: Sequence[int] | None = None,
    progress: Progress | None = None,
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
    operations: Sequence[str] | None = None,
) -> Request:
    """What the user asks for, read and checked; ArgumentError where that cannot be right.

    launcher: what started this process as one of many ranks, if anything did.
    """
    said = {
        "--ranks": ranks,
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
        "--operations": operations,
    }
    runner.check_options((name for name, value in said.items() if value is not None), launcher)
    arguments.check_profile_name(name)
    arguments.check_budget(budget_s)
    if device not in (None, "cpu", "cuda"):
        raise ArgumentError("--device", f"'{device}' is no device", "use cpu or cuda")
    for each in operations or ():
        arguments.named(each, OPERATIONS, "--operations")
    if hostfile is None and (ranks_per_node is not None or interface is not None):
        option = "--interface" if ranks_per_node is None else "--ranks-per-node"
        raise ArgumentError(option, "applies to the hosts of a host file", "give --hostfile")
    hosts = read_hosts(hostfile, ranks_per_node, interface) if hostfile else None
    network, speed = arguments.link_name(link), arguments.link_speed(link_bandwidth)
    return Request(
        budget_s, name, ranks, progress, mpi, hosts, network, speed, address, servers, device,
        workload, tuple(operations or ()),
    )  # fmt: skip


def check_folder(folder: Path, name: str) -> None:
    """OutputError where the profile plainly cannot be written there."""
    check_writable(folder)
    check_replaces_profile(folder / f"{name}.yaml", rates=False)


def calibrate(
    runner: Runner, request: Request, folder: Path, me: Started | None = None
) -> tuple[Path, Path] | None:
    """Measure with real ranks for the budget, fit, and write both files.

    Returns the paths of NAME.measurements.json and NAME.yaml. The fit takes a few seconds beyond
    the budget. me: this process as one of the ranks that mpirun, srun or torchrun started; every
    rank must call this alike, and rank 0 alone writes the files and gets their paths.
    Raises MeasurementError where measuring fails; earlier files then stay as they were.
    """
    found = runner.measure(request) if me is None else runner.measure_as_rank(request, me)
    return None if found is None else _write(found, folder, request.name)


def _write(experiment: Experiment, folder: Path, name: str) -> tuple[Path, Path]:
    # Imported here: what fits is needed once, and not on every rank.
    from dse.calibration.fitting.profile import fit_measurements
    from dse.calibration.profile import write_profile

    measurements, profile = folder / f"{name}{MEASUREMENTS}", folder / f"{name}.yaml"
    write_experiment(experiment, measurements)
    write_profile(fit_measurements([measurements], name), profile)
    return measurements, profile
