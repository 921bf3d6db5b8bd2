"""Tensor fusion as Horovod does it: when does a gradient tensor leave, and in which message?

A background loop runs at most once a cycle. At its start it sees the tensors that are ready, agrees
on them with the other ranks, and sums them one message after the other, as many tensors in each as
the buffer holds; then the next cycle begins. So a tensor waits for the tick, for the messages
before it, and for its company. Sergeev & Del Balso, arXiv 1802.05799, 2018; docs/tensor-fusion.rst.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike


@dataclass(frozen=True)
class Fusion:
    """How tensors are put together.

    buffer_bytes: what a message holds at most (a larger tensor goes alone); 0 sends every tensor on
    its own. cycle_s: least time from one tick to the next. agreement_s: to agree on what is ready,
    once a tick; array, in the shape of the points.
    """

    buffer_bytes: float
    cycle_s: float
    agreement_s: ArrayLike = 0.0


@dataclass(frozen=True)
class Fused:
    """What became of a step's tensors; arrays in the shape of the points.

    end_s: seconds after the backward pass began until the last sum is there. busy_s: of them, spent
    summing and agreeing. messages: how many were sent.
    """

    end_s: Array
    busy_s: Array
    messages: Array


def fused(
    tensor_bytes: Array, ready_s: Array, fusion: Fusion, cost: Callable[[Array], Array]
) -> Fused:
    """Follow the loop through one backward pass, for all points at once.

    tensor_bytes: (tensors,), in the order in which they become ready. ready_s: (tensors, *S), not
    falling, from the start of the backward pass, when the first tick is. cost: bytes of shape S ->
    seconds of one allreduce, shape S. The loop takes as many rounds as there are tensors, at most.
    """
    tensors, shape = len(tensor_bytes), ready_s.shape[1:]
    below = np.concatenate([[0.0], np.cumsum(tensor_bytes)])
    sent, seen = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    now, busy, messages = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    tick = np.full(shape, -fusion.cycle_s)
    while np.any(sent < tensors):
        left = sent < tensors
        idle = left & (sent == seen)
        if np.any(idle):
            first = np.take_along_axis(ready_s, np.minimum(sent, tensors - 1)[None], axis=0)[0]
            tick = np.where(idle, _next_tick(np.maximum(now, tick + fusion.cycle_s), first,
                                             fusion.cycle_s), tick)  # fmt: skip
            seen = np.where(idle, np.sum(ready_s <= tick, axis=0), seen)
            now = np.where(idle, tick + fusion.agreement_s, now)
            busy = busy + np.where(idle, fusion.agreement_s, 0.0)
        fits = np.searchsorted(below, below[sent] + fusion.buffer_bytes, side="right") - 1
        until = np.clip(fits, np.minimum(sent + 1, tensors), np.maximum(seen, sent))
        seconds = np.where(left, cost(below[until] - below[sent]), 0.0)
        now, busy, messages = now + seconds, busy + seconds, messages + left
        sent = np.where(left, until, sent)
    return Fused(now, busy, messages)


def _next_tick(earliest: Array, wanted: Array, cycle_s: float) -> Array:
    """The first of ``earliest``, ``earliest`` + cycle, ... that is not before ``wanted``."""
    late = np.maximum(wanted - earliest, 0.0)
    if cycle_s <= 0:
        return np.asarray(earliest + late)
    waited = earliest + np.ceil(late / cycle_s) * cycle_s
    return np.asarray(np.maximum(waited, wanted))  # rounding must not leave the tensor behind
