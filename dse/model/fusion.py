"""Tensor fusion as Horovod does it: when does a gradient tensor leave, and in which message?

A background loop runs at most once a cycle. At its start it sees the tensors that are ready, agrees
on them with the other ranks, and sums them one message after the other, as many tensors in each as
the buffer holds; then the next cycle begins. So a tensor waits for the tick, for the messages
before it, and for its company. Sergeev & Del Balso, arXiv 1802.05799, 2018; docs/tensor-fusion.rst.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike

Indices: TypeAlias = NDArray[np.int64]

KEPT = 1 << 23  # prices of messages that are kept: 64 MB
AT_FIRST = 1 << 16  # of them, priced in one call before the loop: those of few tensors
SLOWED = (1, 2, 4, 8, 16)  # cycles that pass from one look of a busy loop to its next
AHEAD = 8  # times as much work is worth a price that later rounds look up


@dataclass(frozen=True)
class Fusion:
    """How tensors are put together; arrays that broadcast to the shape of the points.

    buffer_bytes: what a message holds at most (a larger tensor goes alone); 0 sends every tensor on
    its own. cycle_s: least time from one tick to the next. agreement_s: to agree on what is ready,
    once a tick.

    phases: 0 follows the loop, with a tick when the backward pass starts; a loop that was busy at a
    tick then looks as soon as it is done, so that slower sums may find more company for a tensor
    and end earlier. The loop knows nothing of the pass: with phases > 0 the result is the mean over
    first ticks at (k + 1/2) / phases of a cycle, and all later ticks are whole cycles after these,
    so that which tensors leave together does not depend on what sums take. A loop that is busy has
    in effect a longer cycle: the one of :data:`SLOWED` that ends first. No step is then longer for
    faster sums.
    """

    buffer_bytes: ArrayLike
    cycle_s: ArrayLike
    agreement_s: ArrayLike = 0.0
    phases: int = 0


@dataclass(frozen=True)
class Fused:
    """What became of a step's tensors; arrays in the shape of the points, means over phases.

    end_s: seconds after the backward pass began until the last sum is there. busy_s: of them, spent
    summing and agreeing. messages: how many were sent.
    """

    end_s: Array
    busy_s: Array
    messages: Array


def fused(
    tensor_bytes: Array,
    ready_s: Array,
    fusion: Fusion,
    cost: Callable[[Array], Array],
    shape: tuple[int, ...] | None = None,
) -> Fused:
    """Follow the loop through one backward pass, for all points at once.

    tensor_bytes: (tensors,), in the order in which they become ready. ready_s: (tensors, *R), not
    falling, from the start of the backward pass. shape: S, to which R
    broadcasts; R by default. cost: bytes, of shape S or (sizes, 1, ...), -> seconds of one
    allreduce, in a shape that broadcasts with it and S. The loop takes as many rounds as there are
    tensors, at most; points that are done are left out of it. Without tensors all is 0.

    A point is priced as it is alone, whatever its company. One whose gradients are never ready
    (infinite), or whose times or costs are not known (NaN), ends never, or at an unknown time.
    """
    shape = ready_s.shape[1:] if shape is None else shape
    if tensor_bytes.size == 0:
        return Fused(*np.zeros((3, *shape)))
    phases, slowed = max(1, fusion.phases), SLOWED if fusion.phases else SLOWED[:1]
    ways = len(slowed) * phases  # of ticking, followed side by side
    times, prices = _Times(ready_s, shape, ways), _Prices(tensor_bytes, cost, shape, ways)
    buffer, cycle, agree = (
        np.broadcast_to(np.asarray(value, dtype=np.float64), shape).reshape(-1)
        for value in (fusion.buffer_bytes, fusion.cycle_s, fusion.agreement_s)
    )
    long = np.multiply.outer(np.repeat(slowed, phases), cycle)
    part = (np.arange(phases) + 0.5) / phases if fusion.phases else np.zeros(1)
    first = np.tile(part, len(slowed))[:, np.newaxis] * long
    found = _followed(
        times, prices, np.tile(buffer, ways), long.reshape(-1), np.tile(agree, ways),
        first.reshape(-1), fusion.phases > 0,
    )  # fmt: skip
    means = found.reshape(3, len(slowed), phases, -1).mean(axis=2)
    best = np.argmin(means[0], axis=0)  # of equals the shortest cycle
    end, busy, messages = means[:, best, np.arange(buffer.size)].reshape((3, *shape))
    return Fused(end, busy, messages)


def _followed(
    times: _Times,
    prices: _Prices,
    buffer: Array,
    cycle: Array,
    agree: Array,
    first_s: Array,
    steady: bool,
) -> Array:
    """(end, busy, messages) of the loop whose first tick is at ``first_s``; all (ways x points,).

    steady: ticks stay whole cycles after the first, also where the loop is busy.
    """
    tensors = times.count
    points = buffer.size
    sent, seen = np.zeros(points, dtype=np.int64), np.zeros(points, dtype=np.int64)
    busy, messages = np.zeros(points), np.zeros(points)
    # Nothing is followed where it leads nowhere: the sum of what it takes tells how it ends.
    never = times.all_s() + cycle + agree + np.where(np.isnan(buffer), np.nan, 0.0)
    followed = np.isfinite(never)
    now = np.where(followed, 0.0, never)
    at = np.flatnonzero(followed)
    tick = np.where(followed, first_s, 0.0) - np.where(followed, cycle, 0.0)
    while at.size:
        idle = at[sent[at] == seen[at]]
        if idle.size:
            earliest = tick[idle] + cycle[idle]
            if not steady:
                earliest = np.maximum(now[idle], earliest)
            tick[idle] = _next_tick(earliest, times.of(sent[idle], idle), cycle[idle])
            seen[idle] = times.reached(tick[idle], idle)
            now[idle] = np.maximum(now[idle], tick[idle]) + agree[idle]
            busy[idle] += agree[idle]
        fits = prices.fitting(sent[at], buffer[at])
        until = np.clip(fits, sent[at] + 1, seen[at])
        seconds = prices.of(sent[at], until, at)
        now[at] += seconds
        busy[at] += seconds
        messages[at] += 1
        sent[at] = until
        at = at[(until < tensors) & np.isfinite(now[at])]
    return np.stack([now, busy, messages])


class _Times:
    """When each tensor is ready: (tensors, *R), looked up at points of shape (ways, *S).

    How many are ready by some time is found by halving, for all points at once, in the row of each
    point's cell of R. Rows are filled up to one less than a power of two with times that never
    come.
    """

    def __init__(self, ready_s: Array, shape: tuple[int, ...], ways: int) -> None:
        self._cell, self._cells = _cells(ready_s.shape[1:], (ways, *shape))
        self._ready_s, self.count = ready_s.reshape(-1), len(ready_s)
        columns = ready_s.reshape(self.count, -1)
        self._sum_s = columns.sum(axis=0)  # NaN or infinite where one of them is
        self._halves = [1 << bit for bit in reversed(range(self.count.bit_length()))]
        self._width = 2 * self._halves[0] - 1
        rows = np.full((self._cells, self._width), np.inf)
        rows[:, : self.count] = np.where(np.isfinite(self._sum_s), columns, 0.0).T
        self._rows = rows.reshape(-1)
        self._before = self._cell * self._width - 1  # one before the first of each point's row

    def all_s(self) -> Array:
        """The sum over all tensors, at every point."""
        return np.asarray(self._sum_s[self._cell])

    def of(self, tensor: Indices, at: Indices) -> Array:
        """When a tensor is ready, at some of the points."""
        return np.asarray(self._ready_s[tensor * self._cells + self._cell[at]])

    def reached(self, now: Array, at: Indices) -> Indices:
        """How many tensors are ready by ``now``, which is finite."""
        before = self._before[at]
        found = before.copy()
        for half in self._halves:
            found += np.where(self._rows[found + half] <= now, half, 0)
        return np.asarray(found - before)


class _Prices:
    """Seconds of a message of some tensors, looked up where many points share them.

    The price depends on fewer axes than the points have. So it is computed once per message and
    cell of those axes, as long as that is not much more work and there is room for it.
    """

    def __init__(
        self, tensor_bytes: Array, cost: Callable[[Array], Array], shape: tuple[int, ...], ways: int
    ) -> None:
        self._below = np.concatenate([[0.0], np.cumsum(tensor_bytes)])
        self._cost, self._shape = cost, (ways, *shape)
        self._cell, self._cells = _cells(np.shape(cost(self._below[-1])), self._shape)
        tensors, few = len(tensor_bytes), AT_FIRST // (len(tensor_bytes) * self._cells)
        self._row = np.full((tensors + 1) ** 2, -1, dtype=np.int32)  # -1: not priced
        self._table, self._used = np.empty((16, self._cells)), 0
        self._keep(np.array([
            first * (tensors + 1) + until
            for first in range(tensors)
            for until in range(first + 1, min(first + few, tensors) + 1)
        ], dtype=np.int64))  # fmt: skip

    def fitting(self, first: Indices, buffer_bytes: Array) -> Indices:
        """Up to which tensor, exclusive, those from ``first`` on fit into the buffer."""
        limit = self._below[first] + buffer_bytes
        return np.asarray(np.searchsorted(self._below, limit, side="right") - 1)

    def of(self, first: Indices, until: Indices, at: Indices) -> Array:
        """Of a message of the tensors first .. until - 1, at some of the points."""
        messages = first * len(self._below) + until
        row = self._row[messages]
        if np.any(unknown := row < 0):
            missing = np.unique(messages[unknown])
            work = len(missing) * self._cells
            if work > AHEAD * self._cell.size or self._used * self._cells + work > KEPT:
                return self._each(self._below[until] - self._below[first], at)
            self._keep(missing)
            row = self._row[messages]
        return np.asarray(self._table[row, self._cell[at]])

    def _each(self, message_bytes: Array, at: Indices) -> Array:
        """Of messages of these sizes, one for each of the points."""
        size = np.zeros(self._cell.size)
        size[at] = message_bytes
        seconds = np.broadcast_to(self._cost(size.reshape(self._shape)), self._shape)
        return np.asarray(seconds.reshape(-1)[at])

    def _keep(self, messages: Indices) -> None:
        """Price messages, each given as ``first * (tensors + 1) + until``."""
        if not messages.size:
            return
        first, until = np.divmod(messages, len(self._below))
        sizes = (self._below[until] - self._below[first]).reshape((-1,) + (1,) * len(self._shape))
        used, self._used = self._used, self._used + len(messages)
        while self._used > len(self._table):
            self._table = np.concatenate([self._table, np.empty_like(self._table)])
        seconds = self._cost(sizes).reshape(len(messages), -1)
        self._table[used : self._used] = seconds
        self._row[messages] = np.arange(used, self._used)


def _cells(own: tuple[int, ...], shape: tuple[int, ...]) -> tuple[Indices, int]:
    """Position in a flat array of shape ``own`` of every point of ``shape``; size of the former."""
    numbers = np.arange(math.prod(own)).reshape(own)
    return np.broadcast_to(numbers, shape).reshape(-1), numbers.size


def _next_tick(earliest: Array, wanted: Array, cycle_s: ArrayLike) -> Array:
    """The first of ``earliest``, ``earliest`` + cycle, ... that is not before ``wanted``."""
    cycle = np.asarray(cycle_s, dtype=np.float64)
    late = np.maximum(wanted - earliest, 0.0)
    cycles = np.ceil(late / np.where(cycle > 0, cycle, 1.0))
    waited = earliest + np.where(cycle > 0, cycles * cycle, late)
    return np.asarray(np.maximum(waited, wanted))  # rounding must not leave the tensor behind
