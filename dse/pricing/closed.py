"""Points priced by the PAI paper's model (``model: pai``): input, computing, weights, in a row.

See :mod:`dse.model.pai` for the equation. What it takes of a point::

    S_d   = input bytes of a sample * batch
    FLOPs = 3 * those of the forward pass * batch
    S_m   = 3 * memory traffic of the forward pass, and the bytes of the weight update
    S_w   = 2 * bytes of all gradients, out and back

The backward pass takes twice of the forward one: 2/3 of T_c without the update. Peaks are those of
the catalogue: the host link for PCIe, the link inside a node for NVLink, a node's network cards
together for Ethernet. Every accelerator has its host link to itself, whatever it exchanges over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dse.model import compute, pai
from dse.model.arrays import Array, ArrayLike
from dse.model.step import PARAMETER_SERVER, StepTime
from dse.pricing.efficiency import DEFAULT_EFFICIENCY

if TYPE_CHECKING:
    from dse.pricing.setting import Setting

IDEAL = "ideal"  # of the axis overlap
FLOPS_OF_PASSES = 1.0 + compute.BACKWARD_FLOPS  # of both passes, in forward passes
TRAFFIC_OF_PASSES = 1.0 + compute.BACKWARD_TRAFFIC


def architectures(algorithm: str) -> tuple[str, str, str]:
    """What an algorithm is to the paper: on one accelerator, inside a node, across nodes."""
    if algorithm == PARAMETER_SERVER:
        return pai.ONE_WORKER_ONE_GPU, pai.ONE_WORKER_N_GPUS, pai.PS_WORKER
    return pai.ONE_WORKER_ONE_GPU, pai.ALLREDUCE_LOCAL, pai.ALLREDUCE_CLUSTER


def hardware(setting: Setting) -> pai.Hardware:
    """What is reached of every peak, so that the efficiency left to apply is 1."""
    device, transport = setting.device, setting.transport
    share = DEFAULT_EFFICIENCY / transport.link_efficiency  # links come as the transport has them
    return pai.Hardware(
        gpu_flops_per_s=device.reached_flops_per_s,
        memory_bytes_per_s=device.reached_bytes_per_s,
        pcie_bytes_per_s=np.asarray(device.host_bytes_per_s) * DEFAULT_EFFICIENCY,
        ethernet_bytes_per_s=setting.wire(lambda w: w.bytes_per_s) * setting.rails * share,
        nvlink_bytes_per_s=setting.inside_bytes_per_s * share,
        efficiency=1.0,
        gpus_per_server=setting.gpus_per_node,
        shared_pcie=False,
    )


def jobs(setting: Setting) -> pai.Jobs:
    """What one accelerator does in one step, the weight update left out."""
    layers, precision, batch = setting.problem.layers, setting.precision, setting.batch
    outputs = 2 * float(np.sum(layers.traffic_elems)) * precision.activation_bytes
    weights = layers.total_params * precision.weight_bytes
    return pai.Jobs(
        cnodes=setting.gpus,
        flops=FLOPS_OF_PASSES * float(np.sum(layers.forward_flops)) * batch,
        memory_bytes=TRAFFIC_OF_PASSES * (outputs * batch + weights),
        input_bytes=layers.input_bytes * batch,
        weight_bytes=2 * layers.total_params * precision.gradient_bytes,
    )


def times(setting: Setting) -> pai.StepTimes:
    """The paper's terms without the weight update; arrays broadcast to the points' shape."""
    asked, given = jobs(setting), hardware(setting)
    alone, inside, across = (
        pai.step_times(name, asked, given) for name in architectures(setting.algorithm)
    )
    one, one_node = setting.gpus <= 1, setting.gpus <= setting.gpus_per_node

    def chosen(term: str) -> Array:
        several: Array = np.where(one_node, getattr(inside, term), getattr(across, term))
        return np.where(one, getattr(alone, term), several)

    return pai.StepTimes(
        data_s=alone.data_s,
        flops_s=alone.flops_s,
        memory_s=alone.memory_s,
        pcie_s=chosen("pcie_s"),
        ethernet_s=chosen("ethernet_s"),
        nvlink_s=chosen("nvlink_s"),
    )


def update_s(setting: Setting) -> Array:
    """The memory-bound seconds of the weight update."""
    layers, device = setting.problem.layers, setting.device
    return compute.optimizer_s(layers, device, setting.precision, setting.state_bytes)


def step_time(setting: Setting) -> StepTime:
    """Every point of the setting, with ``T_w`` as its aggregation and ``T_d`` as its input."""
    found = times(setting)
    return _combined(setting, found, found.weights_s)


def without_weights(setting: Setting) -> StepTime:
    """The same with ``T_w = 0``: no point is faster, since no term falls where ``T_w`` rises."""
    return _combined(setting, times(setting), np.zeros(()))


def _combined(setting: Setting, found: pai.StepTimes, weights_s: Array) -> StepTime:
    """``T_w + (T_d + T_c)``, or the longest of the three where all overlaps ideally."""
    flops, memory = found.flops_s / FLOPS_OF_PASSES, found.memory_s / TRAFFIC_OF_PASSES
    forward = flops + memory
    backward = compute.BACKWARD_FLOPS * flops + compute.BACKWARD_TRAFFIC * memory
    update = update_s(setting)
    computing = forward + backward + update
    if setting.fixed.get("overlap") == IDEAL:
        busy = np.maximum(computing, weights_s)
        stalled = np.maximum(found.data_s - busy, 0.0)
        step = np.maximum(busy, found.data_s)
    else:
        stalled = found.data_s
        step = weights_s + (computing + found.data_s)
    return StepTime(forward, backward, found.data_s, weights_s, stalled, update, step)


def surely_priced(setting: Setting) -> bool:
    """Whether ``T_w`` of all points is known."""
    weights = times(setting).weights_s
    return bool(np.all(np.isfinite(weights) & (weights >= 0)))


def described(setting: Setting) -> dict[str, Any] | None:
    """The class and the terms of one point, for people; None under another model.

    architecture: of :data:`dse.model.pai.ARCHITECTURES`. ideal: whether all overlaps. terms:
    seconds by name, which sum to the step where nothing overlaps.
    """
    if not setting.problem.closed:
        return None
    found = times(setting)
    at = 0 if _one(setting.gpus) <= 1 else 1 + int(_one(setting.gpus) > _one(setting.gpus_per_node))
    return {
        "architecture": architectures(setting.algorithm)[at],
        "ideal": setting.fixed.get("overlap") == IDEAL,
        "terms": {
            "data_s": _one(found.data_s),
            "flops_s": _one(found.flops_s),
            "memory_s": _one(found.memory_s),
            "update_s": _one(update_s(setting)),
            "pcie_s": _one(found.pcie_s),
            "ethernet_s": _one(found.ethernet_s),
            "nvlink_s": _one(found.nvlink_s),
        },
    }


def _one(values: ArrayLike) -> float:
    return float(np.ravel(values)[0])
