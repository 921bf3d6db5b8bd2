"""One rank's gradients, and timed rounds of summing them; numpy and the standard library only."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from dse.calibration.runners import timing
from dse.calibration.runners.timing import Floats


class Gradients:
    """The tensors of all messages of one rank, and what their sums must be.

    messages: floats of every tensor of every message, in the order of sending.
    """

    def __init__(self, messages: Sequence[Sequence[int]], rank: int, ranks: int) -> None:
        ends = np.cumsum([count for message in messages for count in message])
        self.ranks, self.step, self.starts = ranks, 0, np.array([0, *ends[:-1]])
        self.own = np.resize(timing.pattern(rank), ends[-1])
        self.expected = np.resize(timing.pattern_sum(ranks), ends[-1])
        self.values = self.own.copy()
        tensors = iter(np.split(self.values, ends[:-1]))
        self.messages: list[list[Floats]] = [[next(tensors) for _ in one] for one in messages]

    def renew(self) -> None:
        """Other data every time, so that an old sum does not pass for the new one."""
        self.own[self.starts] += 1
        self.expected[self.starts] += self.ranks
        self.values[:] = self.own

    def check(self, what: str) -> None:
        """Raises WrongSum unless every sum is exact."""
        if not np.array_equal(self.values, self.expected):
            raise timing.WrongSum(f"wrong sum: {what}, {self.ranks} ranks")


def timed(
    gradients: Gradients,
    add_up: Callable[[], None],
    barrier: Callable[[], object],
    rounds: int,
    what: str,
) -> list[float]:
    """Seconds of every round on this rank; every sum is checked."""
    times = []
    for _ in range(rounds):
        gradients.renew()
        barrier()
        began = time.perf_counter()
        add_up()
        times.append(time.perf_counter() - began)
        barrier()
        gradients.check(what)
    return times


class FusionBuffer:
    """Where the tensors of a message are put together, as large as the largest message."""

    def __init__(self, messages: Sequence[Sequence[Floats]]) -> None:
        largest = max(sum(tensor.size for tensor in one) for one in messages)
        self.space: Floats = np.ones(largest, dtype=np.float32)  # written: its pages are there

    def summed(self, tensors: Sequence[Floats], allreduce: Callable[[Floats], object]) -> None:
        """Sum one message over the ranks; a tensor that is alone in it is not copied."""
        if len(tensors) == 1:
            allreduce(tensors[0])
            return
        ends = np.cumsum([0, *(tensor.size for tensor in tensors)])
        for tensor, start, end in zip(tensors, ends[:-1], ends[1:], strict=True):
            self.space[start:end] = tensor
        allreduce(self.space[: ends[-1]])
        for tensor, start, end in zip(tensors, ends[:-1], ends[1:], strict=True):
            tensor[:] = self.space[start:end]
