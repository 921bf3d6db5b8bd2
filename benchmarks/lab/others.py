"""The other transports across the lab: gloo by torch, and a parameter server over gRPC."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from benchmarks.lab.measure import (
    DISTURBED,
    LINK,
    MBPS,
    NOTES,
    RESULTS,
    SOURCE,
    Start,
    merge,
    next_run,
    path_of,
    used_by_others,
)
from benchmarks.lab.network import Lab, network
from dse.calibration.experiment import Experiment, this_machine, today
from dse.calibration.runners.parameter_servers import PsPlan, measure
from dse.calibration.runners.plan import MeasurePlan
from dse.calibration.runners.processes import Host
from dse.calibration.runners.registry import Request
from dse.calibration.runners.torch_distributed import measure_torch
from dse.version import __version__

GLOO = "gloo"  # of the names of its files
# Every run is given at least 4 s: what it cannot hold, from 4 MiB on below 400 Mbps, is left out.
GLOO_SIZES = tuple(4**k for k in range(5, 12))


def gloo_pass(seconds: float = 1.0) -> list[Start]:
    """Every start of one pass over gloo; 1: about 6 minutes, of which starting takes 1.5."""
    links = ((100.0, 34.0), (200.0, 14.0), (400.0, 18.0))
    return [
        Start(mbps, hosts, 1, seconds * share_s * (0.4 + 0.1 * hosts))
        for (mbps, share_s), hosts in product(links, (2, 3, 4, 6, 8))
    ]


def measure_gloo(start: Start, folder: Path = RESULTS) -> Experiment:
    """Build the lab, measure one start of gloo, add its runs to its file unless disturbed."""
    path, before = path_of(start, folder, GLOO), next_run(start, folder, GLOO) - 1
    plan = MeasurePlan(ranks=(start.ranks,), sizes_bytes=GLOO_SIZES, local=False)
    busy = used_by_others()
    with network(start.hosts, start.mbps * MBPS) as lab:
        found = gloo(lab, plan, start.seconds, path.stem)
    samples = tuple(dataclasses.replace(s, run=before + s.run) for s in found.samples)
    found = dataclasses.replace(found, samples=samples)
    if max(busy, used_by_others()) <= DISTURBED:
        merge(path, found)
    return found


def gloo(lab: Lab, plan: MeasurePlan, budget_s: float, name: str = GLOO) -> Experiment:
    """Measure allreduce by torch and gloo, one rank a host."""
    request = Request(
        budget_s, name, link=LINK, link_bytes_per_s=lab.rate_bytes_per_s, device="cpu"
    )
    found = measure_torch(plan, request, _places(lab, range(lab.hosts)))
    return emulated(found)


def emulated(found: Experiment) -> Experiment:
    """The same, with what a reader must know of numbers from the lab."""
    notes = (*found.notes, *NOTES)
    return dataclasses.replace(found, source=SOURCE, notes=notes, shared_cores=True)


def parameter_server(
    lab: Lab, servers: Sequence[int], workers: Sequence[int], plan: PsPlan, budget_s: float
) -> Experiment:
    """Measure a gRPC parameter server whose processes have hosts of their own.

    servers, workers: the hosts of each, at least as many as the plan's largest counts.
    """
    began = time.monotonic()

    request = Request(budget_s, link=LINK, link_bytes_per_s=lab.rate_bytes_per_s)
    samples = measure(plan, request, _places(lab, servers), _places(lab, workers))
    return Experiment(
        name="grpc",
        date=today(),
        dse_version=__version__,
        machine=this_machine(),
        samples=tuple(samples),
        budget_s=budget_s,
        wall_s=round(time.monotonic() - began, 2),
        source=SOURCE,
        shared_cores=True,
        notes=NOTES,
    )


def _places(lab: Lab, hosts: Sequence[int]) -> list[Host]:
    return [Host(tuple(lab.prefix(host)), lab.address(host)) for host in hosts]
