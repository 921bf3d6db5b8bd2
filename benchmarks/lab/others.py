"""The other transports across the lab: gloo by torch, and a parameter server over gRPC."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

from benchmarks.lab.measure import LINK, NOTES, SOURCE
from benchmarks.lab.network import INTERFACE, Lab
from dse import __version__
from dse.calibration.experiment import Experiment, this_machine, today
from dse.calibration.runners import grpc_ps, torch_gloo
from dse.calibration.runners.mpi import MeasurePlan
from dse.calibration.runners.shards import PsPlan


def gloo(lab: Lab, plan: MeasurePlan, budget_s: float, name: str = "gloo") -> Experiment:
    """Measure allreduce by torch and gloo, one rank a host."""
    hosts = [torch_gloo.Host(tuple(lab.prefix(i)), lab.address(i)) for i in range(lab.hosts)]
    found = torch_gloo.measure_torch(
        plan,
        budget_s,
        name,
        hosts=hosts,
        ranks_per_node=1,
        link=LINK,
        link_bytes_per_s=lab.rate_bytes_per_s,
        device="cpu",
        interface=INTERFACE,
    )
    notes = (*found.notes, *NOTES)
    return dataclasses.replace(found, source=SOURCE, notes=notes, shared_cores=True)


def parameter_server(
    lab: Lab, servers: Sequence[int], workers: Sequence[int], plan: PsPlan, budget_s: float
) -> Experiment:
    """Measure a gRPC parameter server whose processes have hosts of their own.

    servers, workers: the hosts of each, at least as many as the plan's largest counts.
    """
    began = time.monotonic()

    def places(hosts: Sequence[int]) -> list[grpc_ps.Host]:
        return [grpc_ps.Host(tuple(lab.prefix(i)), lab.address(i)) for i in hosts]

    samples = grpc_ps.measure_ps(
        plan, budget_s, places(servers), places(workers), LINK, lab.rate_bytes_per_s
    )
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
