"""Seconds of one training step on one accelerator, from its rows of work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike
from dse.model.kept import Kept
from dse.model.passes import Compute, scaled
from dse.model.precision import Precision
from dse.model.products import ProductLaw, constant_law, direct, product_s
from dse.model.stack import Stack
from dse.model.work import Attention, Moved, Positions, Products, Work, equivalent_products, joined

# Of element-wise traffic a third is the forward pass: the backward pass reads and writes twice.
FORWARD_SHARE = 1 / 3
BACKWARD_FLOPS = 2.0  # of the forward pass: gradients of the inputs and of the weights
# Of a fused attention kernel's forward pass: the scores are computed again (Dao, FlashAttention-2,
# 2023, counts 5 products for 2).
BACKWARD_FUSED_ATTENTION = 2.5
# Elements of a score moved by both passes where the scores are stored: by a fused softmax, and by
# mask, softmax and dropout as kernels of their own.
SCORE_ELEMS = (7.0, 19.0)
# Launches: of a fused attention kernel for both passes, and of the kernels in its place.
ATTENTION_LAUNCHES = (3.0, 16.0)
FUSED_LAUNCHES = 0.4  # of element-wise kernels, what is left when all that can be is fused
EAGER_CAST_BYTES = 6.0  # a weight per pass: the fp32 weights read, their 16-bit copies written
EAGER_UPDATE_BYTES = 8.0  # a weight per step: gradients set to zero and unscaled, apart
FP8_CAST_BYTES = 4.0  # an operand's element: read in 16 bits, written twice in 8


@dataclass(frozen=True)
class Layers:
    """A workload's layer table in forward order; every array has shape (layers,).

    params: trainable parameters. forward_flops: per sample. traffic_elems: elements a layer writes
    per sample. kept: what a sample keeps for the backward pass. input_bytes: bytes of one sample as
    the accelerator receives it (NaN where not known). work: its rows of work, as far as known.
    family: the kind of network.
    """

    params: Array
    forward_flops: Array
    traffic_elems: Array
    kept: Kept
    input_bytes: float
    work: Work | None = None
    family: str = "other"

    @cached_property
    def rows(self) -> Work:
        """The rows of work; what is not known of them is made of the layers' sums.

        A layer whose FLOPs have no row becomes one product; without any rows each output is
        written and read once in the forward pass, and twice in the backward pass.
        """
        known = self.work
        if known is None:
            all_layers = np.arange(len(self.params))
            elems = 2 * self.traffic_elems / FORWARD_SHARE
            none = np.zeros(0)
            no_row = np.zeros(0, dtype=np.intp)
            return Work(
                equivalent_products(self.params, self.forward_flops),
                Attention(no_row, none, none, none, none, none),
                Moved(all_layers, elems, elems, np.zeros(len(elems))),
            )
        left = self.forward_flops.copy()
        left[known.products.layer] = left[known.attention.layer] = 0.0
        if not left.any():
            return known
        products = joined(known.products, equivalent_products(self.params, left))
        return Work(products, known.attention, known.moved)

    def part(self, layers: Positions) -> Layers:
        """Some of the layers, in ascending order, to time them; ``kept`` stays that of all."""
        return replace(
            self,
            params=self.params[layers],
            forward_flops=self.forward_flops[layers],
            traffic_elems=self.traffic_elems[layers],
            kept=Kept(float("nan")),
            work=self.rows.part(layers),
        )

    @property
    def total_params(self) -> float:
        """Trainable parameters of all layers."""
        return float(self.params.sum())


@dataclass(frozen=True)
class Device:
    """What one accelerator can do; arrays that broadcast against the other axes.

    law: of its matrix products in the number format in use. memory_bytes_per_s: peak.
    memory_bytes: its size. host_bytes_per_s: one direction of its link to the host.
    memory_efficiency: share of the memory's peak that element-wise kernels reach. attention_flops:
    FLOP/s of a fused attention kernel with large heads and many queries; NaN where there is none.
    factor: how much longer passes and update take than all rows of work together. most: share of
    the rate of large products that whole passes reach at most. grouped_rows: of a group, where
    products of experts for their weights take twice what the law says. launch: by how much longer
    than the stack says its host takes to launch a kernel.
    """

    law: ProductLaw
    memory_bytes_per_s: ArrayLike
    memory_bytes: ArrayLike
    host_bytes_per_s: ArrayLike
    memory_efficiency: ArrayLike
    attention_flops: ArrayLike = np.nan
    factor: ArrayLike = 1.0
    most: ArrayLike = 1.0
    grouped_rows: ArrayLike = 210.0
    launch: ArrayLike = 1.0

    @property
    def reached_flops_per_s(self) -> Array:
        """Floating-point operations per second of large products."""
        return self.law.reached_flops_per_s

    @property
    def reached_bytes_per_s(self) -> Array:
        """Bytes per second from and to the accelerator's memory in training."""
        return np.asarray(self.memory_bytes_per_s * np.asarray(self.memory_efficiency))

    def take(self, at: NDArray[np.int64]) -> Device:
        """Of accelerators in a row, those at ``at``, any shape; single numbers hold for all."""
        return replace(_taken(self, at), law=_taken(self.law, at))


_Numbers = TypeVar("_Numbers", Device, ProductLaw)


def _taken(numbers: _Numbers, at: NDArray[np.int64]) -> _Numbers:
    rows: dict[str, Any] = {
        name: value.take(at)
        for name, value in vars(numbers).items()
        if isinstance(value, np.ndarray) and value.ndim
    }
    return replace(numbers, **rows)


def roofline_device(
    flops_per_s: ArrayLike,
    memory_bytes_per_s: ArrayLike,
    memory_bytes: ArrayLike,
    host_bytes_per_s: ArrayLike,
    compute_efficiency: ArrayLike,
    memory_efficiency: ArrayLike,
    attention_flops: ArrayLike = np.nan,
) -> Device:
    """An accelerator of which only the shares of both peaks that it reaches are known."""
    law = constant_law(flops_per_s, memory_bytes_per_s, compute_efficiency, memory_efficiency)
    return Device(
        law, memory_bytes_per_s, memory_bytes, host_bytes_per_s, memory_efficiency, attention_flops
    )


def forward_backward(
    layers: Layers, device: Device, batch: ArrayLike, precision: Precision, stack: Stack
) -> Compute:
    """``T = max(launches, f (products + attention + element-wise traffic))``, summed over the rows.

    Products take what the accelerator's law says (:func:`~dse.model.products.product_s`), once in
    the forward pass and for both gradients in the backward pass; traffic is added, bytes over the
    memory's bandwidth, and hides behind nothing. Where the host launches kernels more slowly than
    the accelerator runs them, the host decides: f is the accelerator's alone. batch: samples per
    accelerator, any shape S that broadcasts with the device's arrays. The device's factor and the
    stack's launch time may have an axis of draws before those of S; so do the seconds then.
    """
    batch = np.asarray(batch, dtype=np.float64)
    law, reached = device.law, device.reached_flops_per_s
    shape = np.broadcast_shapes(
        batch.shape, reached.shape, law.reached_bytes_per_s.shape,
        np.shape(law.units), device.reached_bytes_per_s.shape, np.shape(device.attention_flops),
    )  # fmt: skip
    passes = _Passes(layers, device, batch, precision, stack, shape)
    passes.add_products(layers.rows.products)
    passes.add_attention(layers.rows.attention)
    passes.add_moved(layers.rows.moved)
    if precision.master_bytes:
        passes.add_casts()
    return passes.done()


class _Passes:
    """Seconds of both passes while rows are added, (layers, *S) each."""

    def __init__(
        self,
        layers: Layers,
        device: Device,
        batch: Array,
        precision: Precision,
        stack: Stack,
        shape: tuple[int, ...],
    ) -> None:
        self.layers, self.device, self.batch = layers, device, batch
        self.precision, self.stack = precision, stack
        self.forward = np.zeros((len(layers.params), *shape))
        self.backward = np.zeros((len(layers.params), *shape))
        self.launches: Array = np.zeros(())
        self.flops: Array = float(layers.forward_flops.sum()) * batch  # of the forward pass
        self._column = (-1,) + (1,) * len(shape)

    def _rows(self, values: Array) -> Array:
        """Values of rows, to broadcast against the points."""
        return values.reshape(self._column)

    def _add(self, at: Positions, forward: Array, backward: Array) -> None:
        for total, seconds in ((self.forward, forward), (self.backward, backward)):
            np.add.at(total, at, np.broadcast_to(seconds, (len(at), *total.shape[1:])))

    def _traffic_s(self, moved_bytes: Array) -> Array:
        return moved_bytes / self.device.reached_bytes_per_s

    def _add_traffic(self, at: Positions, moved_bytes: Array, start_s: ArrayLike = 0.0) -> None:
        """Bytes that both passes move."""
        seconds = self._traffic_s(moved_bytes) + start_s
        self._add(at, seconds * FORWARD_SHARE, seconds * (1 - FORWARD_SHARE))

    def add_products(self, rows: Products) -> None:
        """Forward ``(m, k) x (k, n)``; backward ``(m, n) x (n, k)`` and ``(k, m) x (m, n)``.

        Steps of a recurrence run one after another, but for the gradient of their weights, which is
        one product over all. A depthwise convolution has one output a group and is no product: its
        kernels are direct ones. Equal rows are computed once.
        """
        unique, which = rows.distinct
        m, n, k, groups, steps, inputs, outputs, is_convolution = map(self._rows, unique)
        law, size = self.device.law, self.precision.operand_bytes
        depthwise = (is_convolution > 0) & (n == 1) & (groups > 1)
        convolution = (is_convolution > 0) & ~depthwise
        directly = direct(law) if depthwise.any() else law

        def seconds(m: Array, n: Array, k: Array, moved: Array, split: ArrayLike) -> Array:
            tiled = product_s(m, n, k, groups, moved, law, split)
            if directly is law:
                return tiled
            return np.where(depthwise, product_s(m, n, k, groups, moved, directly, False), tiled)

        samples = m * self.batch
        moved = ((inputs + outputs) * self.batch + groups * k * n) * size
        # 3x3 with stride 1: as many inputs as outputs of each channel.
        small = convolution & (k % 9 == 0) & (np.abs(9 * inputs / (m * k * groups) - 1) < 0.2)
        slower = np.where(convolution, np.asarray(law.convolution), 1.0)
        slower = slower / np.where(small, np.asarray(law.winograd), 1.0)
        forward = steps * seconds(samples, n, k, moved, steps > 1)
        inward = steps * seconds(samples, k, n, moved, True)
        every = samples * steps
        moved = ((inputs + outputs) * self.batch * steps + groups * k * n) * size
        weights = seconds(k, n, every, moved, True)
        at = rows.layer
        self._add(at, (slower * forward)[which], (slower * (inward + weights))[which])
        self.launches = self.launches + (2 * rows.steps + 1).sum()
        if size < self.precision.activation_bytes:
            elems = (groups * steps * samples * (k + n))[which]
            self._add_traffic(at, elems * FP8_CAST_BYTES)

    def add_attention(self, rows: Attention) -> None:
        """One kernel where there is one, ``3.5 * 4 q k h d`` FLOPs for both passes; elsewhere two
        batched products forward, four backward, and the traffic of the scores between them."""
        if not len(rows.layer):
            return
        device, batch = self.device, self.batch
        law = device.law
        fastest = np.asarray(device.attention_flops)
        fused = self.stack.fuses(self.layers.family) & np.isfinite(fastest)
        queries, keys, size = (self._rows(v) for v in (rows.queries, rows.keys, rows.head_size))
        heads = self._rows(rows.heads) * batch
        # Small heads and few queries fill a kernel less: fitted on operators' tables.
        filled = 1.25 * size / (size + 32) * queries / (queries + 256)
        flops = self._rows(rows.forward_flops * rows.unmasked) * batch
        masked = float((rows.forward_flops * (1 - rows.unmasked)).sum()) * batch
        self.flops = self.flops - np.where(fused, masked, 0.0)  # one kernel leaves them out
        kernel = flops / (np.where(fused, fastest, 1.0) * filled)
        moved = heads * (queries * keys + (queries + keys) * size) * self.precision.activation_bytes
        scores = product_s(queries, keys, size, heads, moved, law, False)
        context = product_s(queries, size, keys, heads, moved, law, False)
        elems = SCORE_ELEMS[0] + self.stack.eager * (SCORE_ELEMS[1] - SCORE_ELEMS[0])
        stored = self._rows(rows.scores) * batch * elems * self.precision.activation_bytes
        between = self._traffic_s(stored)
        forward = np.where(fused, law.start_s + kernel, scores + context + between * FORWARD_SHARE)
        backward = np.where(
            fused,
            law.start_s + BACKWARD_FUSED_ATTENTION * kernel,
            BACKWARD_FLOPS * (scores + context) + between * (1 - FORWARD_SHARE),
        )
        self._add(rows.layer, forward, backward)
        launches = np.where(fused, ATTENTION_LAUNCHES[0], ATTENTION_LAUNCHES[1])
        self.launches = self.launches + len(rows.layer) * launches

    def add_moved(self, rows: Moved) -> None:
        """Bytes over bandwidth, and the start of every kernel."""
        elems = rows.fused_elems + self.stack.eager * (rows.eager_elems - rows.fused_elems)
        kernels = rows.kernels * (FUSED_LAUNCHES + (1 - FUSED_LAUNCHES) * self.stack.eager)
        moved = self._rows(elems) * self.batch * self.precision.activation_bytes
        self._add_traffic(rows.layer, moved, self._rows(kernels) * self.device.law.start_s)
        self.launches = self.launches + float(kernels.sum())

    def add_casts(self) -> None:
        """Weights copied to 16 bits, in the forward pass, where that is a kernel of its own."""
        cast = self._rows(self.layers.params) * (EAGER_CAST_BYTES * self.stack.eager)
        self.forward += self._traffic_s(cast)

    def done(self) -> Compute:
        """What all rows take, by the host or by the accelerator, and what is left beside them."""
        # cumsum adds in layer order in any shape; sum() would round a grid and a point differently.
        forward = np.cumsum(self.forward, axis=0)[-1]
        done = np.cumsum(self.backward[::-1], axis=0)[::-1]
        busy_s = forward + done[0]
        # A factor below 1 makes nothing faster than passes are at most.
        law = self.device.law
        peak = law.reached_flops_per_s * np.asarray(law.winograd) * np.asarray(self.device.most)
        least_s = (1 + BACKWARD_FLOPS) * self.flops / peak
        host_s = self.launches * np.asarray(self.stack.launch_s) * np.asarray(self.device.launch)
        with np.errstate(divide="ignore", invalid="ignore"):
            by_host = np.where(busy_s > 0, host_s / busy_s, 0.0)
            by_peak = np.fmin(least_s / busy_s, 1.0)
        stretch = np.fmax(np.fmax(np.asarray(self.device.factor), by_peak), by_host)
        return scaled(Compute(forward, done[0], done), stretch)


def optimizer_s(
    layers: Layers,
    device: Device,
    precision: Precision,
    state_bytes: ArrayLike,
    stack: Stack,
) -> Array:
    """Seconds of the weight update, bound by memory: ``f bytes / (bandwidth e)``.

    Reads gradient, weights (the fp32 master where there is one) and state; writes weights, state.
    Where kernels are not fused, gradients are set to zero and unscaled besides. state_bytes:
    optimizer state per parameter.
    """
    master = precision.master_bytes or precision.weight_bytes
    copies = precision.weight_bytes if precision.master_bytes else 0.0
    per_param = precision.stored_gradient_bytes + 2 * master + copies + 2 * np.asarray(state_bytes)
    per_param = per_param + EAGER_UPDATE_BYTES * stack.eager
    seconds = layers.total_params * per_param / device.reached_bytes_per_s
    return np.asarray(seconds * device.factor)


def server_update_s(
    layers: Layers,
    precision: Precision,
    state_bytes: ArrayLike,
    servers: ArrayLike,
    host_bytes_per_s: float,
) -> Array:
    """Seconds of the weight update on P parameter servers: ``params (g + 2 w + 2 s) / (P host)``.

    Each updates an equal share in its host's memory: reads gradient, fp32 weights and state, writes
    weights and state. The workers then have them with the pull. state_bytes: s, per parameter.
    """
    master = precision.master_bytes or precision.weight_bytes
    per_param = precision.gradient_bytes + 2 * master + 2 * np.asarray(state_bytes)
    return np.asarray(layers.total_params * per_param / (servers * host_bytes_per_s))


def adding_s(layers: Layers, device: Device, precision: Precision) -> Array:
    """Seconds to add the gradients of a pass to those of earlier ones: ``f 2 params g / (bandwidth
    e)``, the sum read and written once. That the pass writes its own gradients is in the pass."""
    moved = 2 * layers.total_params * precision.stored_gradient_bytes
    return np.asarray(moved / device.reached_bytes_per_s * device.factor)


def update_share_s(
    layers: Layers,
    device: Device,
    precision: Precision,
    state_bytes: ArrayLike,
    stack: Stack,
    accumulation: ArrayLike,
) -> Array:
    """Seconds that a pass adds to its own: its share of the weight update, and of the sums of
    gradients where ``accumulation`` passes are added up before it."""
    update = optimizer_s(layers, device, precision, state_bytes, stack)
    adding = adding_s(layers, device, precision) * (np.asarray(accumulation) - 1)
    return np.asarray((update + adding) / accumulation)


def input_s(layers: Layers, device: Device, batch: ArrayLike) -> Array:
    """Seconds to bring a batch from the host: ``input bytes * batch / host link``."""
    return np.asarray(layers.input_bytes * np.asarray(batch) / device.host_bytes_per_s)
