"""An approach of the catalogue on a machine, ready for the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse import catalog
from dse.model import approach, compute
from dse.model.arrays import Array
from dse.model.device_buffers import PointerQueries, Summing, on_device, on_host, with_terms
from dse.model.fusion import Fusion
from dse.model.links import NO_WIRE, Link, Network, StepCost
from dse.model.precision import PRECISIONS
from dse.model.tensor_servers import Servers
from dse.model.waiting import waiting_factor
from dse.search.efficiency import DEFAULT_EFFICIENCY
from dse.search.problem import model_layers

FP32 = PRECISIONS["fp32"]


@dataclass(frozen=True)
class Machine:
    """Nodes of one accelerator on one network; bytes/s of a node, one-way latency in seconds."""

    accelerator: str
    link_bytes_per_s: float
    latency_s: float


# What the abstract does not say is taken from what is generally known of the machines (recalled).
PIZ_DAINT = Machine("p100-sxm2-16gb", 10e9, 1.3e-6)
EDR_CLUSTER = Machine("p100-sxm2-16gb", 12.5e9, 1e-6)
# Waiting for one another, as Inception v3 on 1 to 8 nodes of Piz Daint shows it: the means of
# benchmarks.accuracy.scaling_fit over what those counts allow.
TOGETHER, SPREAD = 0.021, 0.019


def on(machine: Machine, facts: catalog.Approach, servers: int = 1) -> approach.Approach:
    """The approach there; servers only matter where it has them, on the workers' nodes."""
    software = StepCost(facts.message_s, (facts.copy_s_per_byte,))
    wire = Link(machine.latency_s, machine.link_bytes_per_s * facts.link_efficiency)
    summing = _summing(catalog.accelerator(machine.accelerator), facts)
    network = with_terms(
        Network(software, software, NO_WIRE, wire),
        PointerQueries(facts.queries, facts.query_s),
        summing,
    )
    return approach.Approach(
        facts.algorithm,
        network,
        Servers(servers, True, facts.streams) if facts.algorithm == "ps" else None,
        None if facts.buffer_bytes is None else Fusion(facts.buffer_bytes, facts.cycle_s),
        summing.start_s,
    )


def _summing(device: catalog.Accelerator, facts: catalog.Approach) -> Summing:
    """Where the approach sums; servers do it in host memory, where the message lies."""
    if facts.sum_s_per_byte is None:
        if facts.sum_start_s == 0:
            return Summing()  # contained in the efficiency of the link
        memory = device.memory_bytes_per_s or np.inf
        return on_device(memory * DEFAULT_EFFICIENCY, facts.sum_start_s)
    crossed = facts.algorithm != "ps" and facts.reaches_device and device.host_link is not None
    host = catalog.fabric(device.host_link or "").bytes_per_s if crossed else np.inf
    return on_host(facts.sum_s_per_byte, host or np.inf, facts.sum_start_s)


def samples_per_s(
    machine: Machine, facts: catalog.Approach, workload: str, gpus: Array, batch: Array
) -> Array:
    """Throughput of one accelerator a node, with the best number of servers where there are any.

    gpus and batch broadcast to the points' shape. Numbers of servers: 1, 2, 4, ... up to the
    workers.
    """
    layers = model_layers(catalog.workload(workload))
    device = catalog.accelerator(machine.accelerator)
    alone = compute.Device(
        device.peak_flops_per_s["fp32"], device.memory_bytes_per_s, device.memory_bytes, np.inf,
        DEFAULT_EFFICIENCY, DEFAULT_EFFICIENCY,
    )  # fmt: skip
    passes = compute.forward_backward(layers, alone, batch, FP32)
    passes = compute.scaled(passes, waiting_factor(gpus, TOGETHER, SPREAD))
    sizes = layers.params * FP32.gradient_bytes
    counts = [1]
    if facts.algorithm == "ps":
        counts = [2**k for k in range(int(np.log2(gpus.max())) + 1)]
    times = []
    for servers in counts:
        took = approach.step_s(on(machine, facts, servers), sizes, passes, gpus)
        times.append(np.where(servers <= gpus, took, np.inf))
    return np.asarray(gpus * batch / np.min(times, axis=0))
