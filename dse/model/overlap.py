"""Gradient buckets, and how much of their aggregation hides behind the backward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array
from dse.model.passes import LayerTimes


@dataclass(frozen=True)
class Bucket:
    """Gradients fused into one message: layers ``first`` and later, down to the bucket before.

    The backward pass runs from the last layer to the first, so the bucket is complete when layer
    ``first`` (its index in forward order) is done.
    """

    first: int
    message_bytes: float


def fuse(layer_bytes: Array, bucket_bytes: float) -> tuple[Bucket, ...]:
    """Fill buckets in backward order; a bucket closes once it holds ``bucket_bytes`` or more.

    The rule of PyTorch's DistributedDataParallel (torch/csrc/distributed/c10d/reducer), whose first
    bucket closes earlier, at 1 MiB: that exception is left out. A layer is not split.
    layer_bytes: shape (layers,), forward order. The buckets' bytes sum to all bytes.
    """
    buckets: list[Bucket] = []
    held = 0.0
    for index in range(len(layer_bytes) - 1, -1, -1):
        held += float(layer_bytes[index])
        if held >= bucket_bytes and held > 0:
            buckets.append(Bucket(index, held))
            held = 0.0
    if held > 0:
        last = int(np.argmax(np.asarray(layer_bytes) > 0))
        buckets.append(Bucket(last, held))
    return tuple(buckets)


def ready_s(buckets: Sequence[Bucket], layer_done_s: LayerTimes) -> Array:
    """Seconds from the start of the backward pass until each bucket is complete, (buckets, *S).

    layer_done_s: shape (layers, *S), see :class:`.passes.Compute`.
    """
    return layer_done_s[[bucket.first for bucket in buckets]]


def last_end_s(ready: Sequence[Array] | Array, cost: Sequence[Array]) -> tuple[Array, Array]:
    """When the last bucket is aggregated on one communication stream, and the sum of all costs.

    ``end_i = max(end_{i-1}, ready_i) + cost_i`` unrolled: ``end = max_i (ready_i + sum_{j>=i}
    cost_j)``. ready and cost, one array per bucket, may have different (broadcastable) shapes:
    costs are summed on their own axes first, which is what makes a sparse grid cheap.
    """
    tail = cost[-1]
    end = np.asarray(ready[-1] + tail)
    spare = np.empty_like(end)  # one buffer: the arrays are large and the buckets many
    for start, seconds in zip(reversed(ready[:-1]), reversed(cost[:-1]), strict=True):
        tail = tail + seconds
        np.add(start, tail, out=spare)
        np.maximum(end, spare, out=end)
    return end, tail
