"""What dse's model says of a published row before any factor, and what FLOPs alone say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache

import numpy as np

from benchmarks.anchors.accelerators import accelerator
from benchmarks.anchors.rows import Row
from dse.catalog import Workload
from dse.model import compute
from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Layers
from dse.model.precision import OPTIMIZER_STATE_BYTES, PRECISIONS
from dse.pricing import devices
from dse.pricing.hardware import Machine, number
from dse.pricing.network import model_layers, model_work

# What networks of a family are usually trained with.
_OPTIMIZERS = {"convolutional": "momentum", "recommender": "sgd"}
_USUAL = "adam"


@cache
def layers(workload: Workload) -> Layers:
    """A workload with its rows of work as the model wants it."""
    return replace(model_layers(workload), work=model_work(workload), family=workload.family)


def _machine(name: str) -> Machine:
    nothing = float("nan")
    return Machine(accelerator(name), None, *[nothing] * (len(fields(Machine)) - 3))


@cache
def by_law(name: str, precision: str, stack: str) -> compute.Device:
    """An accelerator by the laws alone, factor 1; arrays (1,)."""
    return devices.under([_machine(name)], precision, stack)


@cache
def by_share(name: str, precision: str, _stack: str) -> compute.Device:
    """An accelerator at the usual share of both peaks."""
    return devices.by_share([_machine(name)], precision, None, None)


def step_s(
    row: Row,
    device: Callable[[str, str, str], compute.Device] = by_law,
    factor: ArrayLike = 1.0,
    launch: ArrayLike = 1.0,
) -> Array:
    """Seconds of a pass and of its share of the update, as :attr:`.Row.step_s` measures them.

    Both passes, a second forward pass where activations are recomputed, the gradients' addition
    to those of earlier passes, and the update, shared by ``shards`` accelerators and done once in
    ``accumulation`` passes. device: by accelerator, precision and stack. factor: of the
    accelerator's time, and launch: of the host's; single numbers or (draws,), as the result is.
    """
    stack = devices.software(row.stack)
    stack = replace(stack, launch_s=stack.launch_s * np.reshape(launch, (-1, 1)))
    machine = device(row.accelerator, row.precision, row.stack)
    machine = replace(machine, factor=machine.factor * np.reshape(factor, (-1, 1)))
    if not row.fuses_attention:
        machine = replace(machine, attention_flops=float("nan"))
    precision, network = PRECISIONS[row.precision], layers(row.workload)
    passes = compute.forward_backward(network, machine, row.batch, precision, stack)
    state = OPTIMIZER_STATE_BYTES[_OPTIMIZERS.get(row.workload.family, _USUAL)]
    update = compute.update_share_s(network, machine, precision, state, stack, row.accumulation)
    forward = 2 if row.recomputed else 1
    step = passes.forward_s * forward + passes.backward_s
    seconds = np.ravel(step + update / row.shards)
    return seconds if np.ndim(factor) or np.ndim(launch) else seconds[0]


def launches_bind(row: Row) -> bool:
    """Whether the host launches kernels more slowly than the accelerator runs them, factor 1."""
    return bool(step_s(row) > step_s(row, launch=0.0))


def flops_s(row: Row, share: float) -> float:
    """Seconds by FLOPs over a share of the peak: ``3 forward FLOPs / (peak share)``."""
    peak = number(accelerator(row.accelerator).peak_flops_per_s[row.precision])
    passes = 4 if row.recomputed else 3
    return passes * row.workload.forward_flops * row.batch / (peak * share)
