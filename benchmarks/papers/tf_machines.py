"""An approach of the catalogue on a machine, ready for the model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse import catalog
from dse.model import compute
from dse.model.aggregation.base import Cluster
from dse.model.aggregation.tensorwise import Approach, step_s
from dse.model.arrays import Array
from dse.model.links import Link
from dse.model.passes import scaled
from dse.model.precision import PRECISIONS
from dse.model.scale import waiting_factor
from dse.pricing import devices
from dse.pricing.aggregations import tensorwise
from dse.pricing.devices import USUAL_STACK
from dse.pricing.network import model_layers

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
# Waiting for one another, fitted to Inception v3 on 1 to 8 nodes of Piz Daint: the means over what
# those counts allow where nothing is known before. What other systems say beside it, in
# benchmarks.accuracy.scaling_fit, makes passes on 128 nodes 0.6 % shorter.
TOGETHER, SPREAD = 0.021, 0.019


def on(machine: Machine, facts: catalog.Approach, servers: int = 1) -> Approach:
    """The approach there; servers only matter where it has them, on the workers' nodes.

    Tensor fusion as the paper's benchmark has it: its first tick is with the backward pass.
    """
    device = catalog.accelerator(machine.accelerator)
    host = catalog.fabric(device.host_link).bytes_per_s if device.host_link else None
    share = catalog.computing().elementwise_efficiency
    there = Cluster(
        np.ones(()),
        across=Link(machine.latency_s, machine.link_bytes_per_s * facts.link_efficiency),
        host_bytes_per_s=host or np.inf,
        memory_bytes_per_s=(device.memory_bytes_per_s or np.inf) * share,
        colocated=np.ones((), dtype=bool),
    )
    return tensorwise(facts, phases=0).on(there, servers)


def samples_per_s(
    machine: Machine,
    facts: catalog.Approach,
    workload: str,
    gpus: Array,
    batch: Array,
    waits: bool = True,
) -> Array:
    """Throughput of one accelerator a node, with the best number of servers where there are any.

    gpus and batch broadcast to the points' shape. Numbers of servers: 1, 2, 4, ... up to the
    workers. waits: whether passes take longer where several wait for one another.
    """
    network = catalog.workload(workload)
    alone = devices.alone(network, machine.accelerator, "fp32", USUAL_STACK)
    passes = compute.forward_backward(
        model_layers(network), alone, batch, FP32, devices.software(USUAL_STACK)
    )
    if waits:
        passes = scaled(passes, waiting_factor(gpus, TOGETHER, SPREAD))
    elements, layer = catalog.gradient_tensors(catalog.workload(workload))
    sizes = elements * FP32.gradient_bytes
    counts = [1]
    if facts.algorithm == "ps":
        counts = [2**k for k in range(int(np.log2(gpus.max())) + 1)]
    times = []
    for servers in counts:
        took = step_s(on(machine, facts, servers), sizes, layer, passes, gpus)
        times.append(np.where(servers <= gpus, took, np.inf))
    return np.asarray(gpus * batch / np.min(times, axis=0))
