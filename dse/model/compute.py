"""Seconds of one training step on one accelerator: a roofline over the layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike
from dse.model.precision import Precision

BACKWARD_FLOPS = 2.0  # of the forward pass: gradients of the inputs and of the weights
BACKWARD_TRAFFIC = 2.0  # likewise reads and writes of both gradients


@dataclass(frozen=True)
class Layers:
    """A workload's layer table in forward order; every array has shape (layers,).

    params: trainable parameters. forward_flops: per sample. traffic_elems: elements a layer writes
    per sample. activation_elems: elements of all layers kept for the backward pass per sample (NaN
    if not known). input_bytes: bytes of one sample as the accelerator receives it (NaN likewise).
    """

    params: Array
    forward_flops: Array
    traffic_elems: Array
    activation_elems: float
    input_bytes: float

    @property
    def total_params(self) -> float:
        """Trainable parameters of all layers."""
        return float(self.params.sum())


@dataclass(frozen=True)
class Device:
    """What one accelerator can do; arrays that broadcast against the other axes.

    flops_per_s: dense peak at the precision in use. memory_bytes_per_s: peak. memory_bytes: its
    size. host_bytes_per_s: one direction of its link to the host. compute_efficiency and
    memory_efficiency: the fractions of both peaks that training reaches, in (0, 1].
    """

    flops_per_s: ArrayLike
    memory_bytes_per_s: ArrayLike
    memory_bytes: ArrayLike
    host_bytes_per_s: ArrayLike
    compute_efficiency: ArrayLike
    memory_efficiency: ArrayLike

    @property
    def reached_flops_per_s(self) -> Array:
        """Floating-point operations per second in training."""
        return np.asarray(self.flops_per_s * np.asarray(self.compute_efficiency))

    @property
    def reached_bytes_per_s(self) -> Array:
        """Bytes per second from and to the accelerator's memory in training."""
        return np.asarray(self.memory_bytes_per_s * np.asarray(self.memory_efficiency))


@dataclass(frozen=True)
class Compute:
    """Seconds of one step on one accelerator.

    forward_s, backward_s: shape S, the broadcast of device and batch. layer_done_s: shape
    (layers, *S), in forward order: from the start of the backward pass until it has done a layer.
    """

    forward_s: Array
    backward_s: Array
    layer_done_s: LayerTimes


class LayerTimes(Protocol):
    """Times of every layer, (layers, *S): rows are looked up by one index or several."""

    def __getitem__(self, layer: Any) -> Array: ...


class CellOfPoints:
    """Which of a few cells each of many points agrees with.

    which: (points,), each in [0, cells). Points in the order of their cells are spread the fastest.
    """

    def __init__(self, which: NDArray[np.intp], cells: int) -> None:
        self.which, self.cells = which, cells
        in_order = bool(np.all(which[1:] >= which[:-1]))
        self._counts = np.bincount(which, minlength=cells) if in_order else None

    def spread(self, few: Array) -> Array:
        """Values of the cells as values of the points, (..., cells) -> (..., points)."""
        if self._counts is not None:
            return few.repeat(self._counts, axis=-1)
        return few.take(self.which, axis=-1)


@dataclass(frozen=True)
class SpreadTimes:
    """:class:`LayerTimes` of many points, kept for a few cells: (layers, cells)."""

    few: Array
    points: CellOfPoints

    def __getitem__(self, layer: Any) -> Array:
        return self.points.spread(self.few[layer])

    def part(self, where: slice) -> SpreadTimes:
        """Those of some of the points."""
        return SpreadTimes(self.few, CellOfPoints(self.points.which[where], self.points.cells))


def part_of(times: LayerTimes, where: slice, count: int) -> LayerTimes:
    """Times of some of ``count`` points, from those of all."""
    if isinstance(times, SpreadTimes):
        return times.part(where)
    every = np.asarray(times)
    return np.broadcast_to(every, (len(every), count))[:, where]


def spread(passes: Compute, shape: tuple[int, ...], points: CellOfPoints) -> Compute:
    """The passes of points each of which agrees with a cell of a grid.

    passes: of the grid, in arrays that broadcast to ``shape``, the cells.
    """
    forward, backward = (
        points.spread(np.broadcast_to(seconds, shape).reshape(-1))
        for seconds in (passes.forward_s, passes.backward_s)
    )
    done = np.asarray(passes.layer_done_s)
    few = np.broadcast_to(done, (len(done), *shape)).reshape(len(done), -1)
    return Compute(forward, backward, SpreadTimes(few, points))


def forward_backward(
    layers: Layers, device: Device, batch: ArrayLike, precision: Precision
) -> Compute:
    """Roofline per layer, summed: ``T = sum_l max(FLOPs_l / (peak e), bytes_l / (bandwidth e))``.

    Williams, Waterman & Patterson, CACM 52, 2009. A layer's bytes are its output, written once and
    read once per sample, and its weights, read once; the backward pass does twice of each.
    batch: samples per accelerator, any shape S that broadcasts with the device's arrays.
    """
    batch = np.asarray(batch, dtype=np.float64)
    flops = device.reached_flops_per_s
    bandwidth = device.reached_bytes_per_s
    rank = max(batch.ndim, flops.ndim, bandwidth.ndim)
    column = (-1,) + (1,) * rank
    work = layers.forward_flops.reshape(column) * batch
    outputs = 2 * layers.traffic_elems.reshape(column) * batch * precision.activation_bytes
    traffic = outputs + layers.params.reshape(column) * precision.weight_bytes
    forward = np.maximum(work / flops, traffic / bandwidth)
    backward = np.maximum(BACKWARD_FLOPS * work / flops, BACKWARD_TRAFFIC * traffic / bandwidth)
    # cumsum adds in layer order in any shape; sum() would round a grid and a point differently.
    done = np.cumsum(backward[::-1], axis=0)
    return Compute(np.cumsum(forward, axis=0)[-1], done[-1], done[::-1])


def scaled(passes: Compute, factor: ArrayLike) -> Compute:
    """The same passes, ``factor`` times as long; factor may add leading axes to shape S."""
    factor = np.asarray(factor)
    done = np.asarray(passes.layer_done_s)
    layers = done.reshape(done.shape[:1] + (1,) * (factor.ndim - done.ndim + 1) + done.shape[1:])
    return Compute(passes.forward_s * factor, passes.backward_s * factor, layers * factor)


def optimizer_s(
    layers: Layers, device: Device, precision: Precision, state_bytes: ArrayLike
) -> Array:
    """Seconds of the weight update, bound by memory: ``bytes / (bandwidth e)``.

    Reads gradient, weights (the fp32 master where there is one) and state; writes weights, state.
    state_bytes: optimizer state per parameter.
    """
    master = precision.master_bytes or precision.weight_bytes
    copies = precision.weight_bytes if precision.master_bytes else 0.0
    per_param = precision.stored_gradient_bytes + 2 * master + copies + 2 * np.asarray(state_bytes)
    return np.asarray(layers.total_params * per_param / device.reached_bytes_per_s)


def adding_s(layers: Layers, device: Device, precision: Precision) -> Array:
    """Seconds to add the gradients of a pass to those of earlier ones: ``2 params g / (bandwidth
    e)``, the sum read and written once. That the pass writes its own gradients is in the pass."""
    moved = 2 * layers.total_params * precision.stored_gradient_bytes
    return np.asarray(moved / device.reached_bytes_per_s)


def input_s(layers: Layers, device: Device, batch: ArrayLike) -> Array:
    """Seconds to bring a batch from the host: ``input bytes * batch / host link``."""
    return np.asarray(layers.input_bytes * np.asarray(batch) / device.host_bytes_per_s)
