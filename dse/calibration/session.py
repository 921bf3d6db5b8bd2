"""One call from nothing to a profile: measure, fit, write both files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.calibration import arguments
from dse.calibration.experiment import MEASUREMENTS, write_experiment
from dse.calibration.files import check_writable
from dse.calibration.profile_files import check_replaces_profile
from dse.calibration.runners.bench import OPERATIONS
from dse.calibration.runners.hosts import read_hosts
from dse.calibration.runners.registry import OPTIONS, Request, Runner
from dse.calibration.runners.started_rank import Started
from dse.errors import ArgumentError


def requested(
    runner: Runner,
    asked: Request,
    launcher: str | None = None,
    *,
    hostfile: str | Path | None = None,
    ranks_per_node: int | None = None,
    interface: str | None = None,
    link_bandwidth: str | None = None,
) -> Request:
    """What the user asks for with its hosts and the speed of their network, read and checked.

    launcher: what started this process as one of many ranks, if anything did. Raises ArgumentError
    where something cannot be right.
    """
    given: dict[str, Any] = {name: getattr(asked, name) for name in OPTIONS}
    given |= {"hostfile": hostfile, "ranks_per_node": ranks_per_node, "interface": interface}
    given["link_bandwidth"] = link_bandwidth
    said = (name for name, value in given.items() if value not in (None, ()))
    runner.check_options((f"--{name.replace('_', '-')}" for name in said), launcher)
    arguments.check_profile_name(asked.name)
    arguments.check_budget(asked.budget_s)
    if asked.device not in (None, "cpu", "cuda"):
        raise ArgumentError("--device", f"'{asked.device}' is no device", "use cpu or cuda")
    for each in asked.operations:
        arguments.named(each, OPERATIONS, "--operations")
    if hostfile is None and (ranks_per_node is not None or interface is not None):
        option = "--interface" if ranks_per_node is None else "--ranks-per-node"
        raise ArgumentError(option, "applies to the hosts of a host file", "give --hostfile")
    return replace(
        asked,
        hosts=read_hosts(hostfile, ranks_per_node, interface) if hostfile else None,
        link=arguments.link_name(asked.link),
        link_bytes_per_s=arguments.link_speed(link_bandwidth),
    )


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
    found = runner.measure(request, me)
    if found is None:
        return None
    # Imported here: what fits is needed once, and not on every rank.
    from dse.calibration.fitting.profile import fit_measurements
    from dse.calibration.profile import write_profile

    measurements = folder / f"{request.name}{MEASUREMENTS}"
    profile = folder / f"{request.name}.yaml"
    write_experiment(found, measurements)
    write_profile(fit_measurements([measurements], request.name), profile)
    return measurements, profile
