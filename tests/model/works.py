"""Steps of one structure, written out: what a step model is given where no study is priced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.model import compute, overlap
from dse.model.aggregation.base import Aggregation, Cluster, Gradients, Summed
from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device, Layers
from dse.model.passes import Compute
from dse.model.precision import Precision
from dse.model.stack import FUSED

BUCKET_BYTES = 25 * 2.0**20


def gradients_of(
    layer_elements: Sequence[float] | Array,
    element_bytes: float = 4.0,
    bucket_bytes: float = BUCKET_BYTES,
    overlapped: bool = True,
) -> Gradients:
    """Gradients of layers of one tensor each."""
    elements = np.asarray(layer_elements, dtype=np.float64)
    layer = np.flatnonzero(elements)
    buckets = overlap.fuse(elements * element_bytes, bucket_bytes)
    return Gradients(
        elements, element_bytes, bucket_bytes, buckets, elements[layer], layer, overlapped
    )


@dataclass(frozen=True)
class Given:
    """A :class:`~dse.model.step.Work`. overlap: ``none`` sums when all gradients are there."""

    layers: Layers
    precision: Precision
    device: Device
    batch: ArrayLike
    state_bytes: ArrayLike
    layout: Cluster
    aggregation: Aggregation
    overlap: str = "bucketed"
    bucket_bytes: float = BUCKET_BYTES
    accumulation: ArrayLike = 1.0
    inside_efficiency: float = 1.0
    across_efficiency: float = 1.0
    waiting: ArrayLike = 0.0
    slowdown: ArrayLike = 0.0
    decoding_s: ArrayLike = 0.0

    @property
    def passes(self) -> Compute:
        """Both passes."""
        return compute.forward_backward(self.layers, self.device, self.batch, self.precision, FUSED)

    @property
    def loading_s(self) -> Array:
        """To bring a batch from the host."""
        return compute.input_s(self.layers, self.device, self.batch)

    @property
    def update_s(self) -> Array:
        """Of the weights."""
        return compute.optimizer_s(
            self.layers, self.device, self.precision, self.state_bytes, FUSED
        )

    @property
    def gradients(self) -> Gradients:
        """One tensor a layer."""
        return gradients_of(
            self.layers.params, self.precision.gradient_bytes, self.bucket_bytes,
            self.overlap != "none",
        )  # fmt: skip

    def summed(self) -> Summed:
        """By the aggregation."""
        return self.aggregation.summed(self.gradients, self.passes.layer_done_s, self.layout)

    def sums_bounded(self) -> bool:
        """By the aggregation."""
        return self.aggregation.bounded(self.gradients, self.layout)
