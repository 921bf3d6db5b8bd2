"""A profile's part for parameter servers over one transport, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.calibration.experiment import STRICT, Count, NonNegative, Positive, Seconds
from dse.model.aggregation.parameter_server import MEASURED_COSTS, MeasuredServers, wire_bytes
from dse.model.arrays import Array, ArrayLike

PS = "ps"


@dataclass(frozen=True)
class ServerPoint:
    """One measured median beside its prediction by a fit that never saw as many workers.

    Or, where all points have as many workers, servers.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    workers: Count
    servers: Count
    bytes: Count
    measured_s: Seconds
    held_out_s: Seconds
    link_bytes_per_s: Positive | None = None


@dataclass(frozen=True)
class ServersFit:
    """Fitted costs of measured servers, and how far off they are.

    See :class:`~dse.model.aggregation.parameter_server.MeasuredServers`.

    costs: in its order. edge_bytes: None where there is none. cores: that all processes shared;
    None where each had a machine of its own. workers, servers, message_bytes: least and largest
    measured (bytes of one worker's gradients). link, link_bytes_per_s: between the machines, (0, 0)
    where there was none or its speed is unknown. max_nodes: machines that had workers. error,
    error_p90: median and 90th percentile of the absolute relative error on numbers of workers, and
    of servers, that were left out; textbook_*: the same of one latency and one price of the bytes
    on the busier link. residual: the median error of the fit itself. draws: the costs, one row per
    bootstrap replica.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    library: str
    version: str
    costs: tuple[NonNegative, ...]
    edge_bytes: Positive | None
    cores: Positive | None
    workers: tuple[Count, Count]
    servers: tuple[Count, Count]
    message_bytes: tuple[Positive, Positive]
    link: str
    link_bytes_per_s: tuple[NonNegative, NonNegative]
    max_nodes: Count
    error: NonNegative
    error_p90: NonNegative
    textbook_error: NonNegative
    textbook_error_p90: NonNegative
    residual: NonNegative
    draws: tuple[tuple[NonNegative, ...], ...]
    points: tuple[ServerPoint, ...] = ()

    def wrong(self) -> str:
        """What is wrong with it that no single value shows; empty if nothing."""
        if any(len(costs) != MEASURED_COSTS for costs in (self.costs, *self.draws)):
            return f"costs and every draw must have {MEASURED_COSTS} values"
        if not self.draws:
            return "there are no draws"
        for name in ("workers", "servers", "message_bytes", "link_bytes_per_s"):
            low, high = getattr(self, name)
            if low > high:
                return f"the range of {name}, {low:g} .. {high:g}, is inverted"
        return ""

    def cost(self, apart: bool = False) -> MeasuredServers:
        """The costs, on the cores that were measured, or ``apart``: a machine for each process."""
        return MeasuredServers(self.costs, *self._place(apart))

    def drawn(self, replicas: NDArray[np.intp], rank: int, apart: bool = False) -> MeasuredServers:
        """These draws along a first axis before ``rank`` others; -1 is the best fit itself."""
        rows = np.vstack([self.draws, self.costs])[replicas]
        costs = tuple(column.reshape((-1,) + (1,) * rank) for column in rows.T)
        return MeasuredServers(costs, *self._place(apart))

    def _place(self, apart: bool) -> tuple[float, float]:
        shared = np.inf if apart or self.cores is None else self.cores
        return np.inf if self.edge_bytes is None else self.edge_bytes, shared

    def seconds(
        self,
        workers: ArrayLike,
        servers: ArrayLike,
        message_bytes: ArrayLike,
        link_bytes_per_s: ArrayLike,
    ) -> Array:
        """Of a push and a pull on the system measured, shards equal; the arguments broadcast."""
        return _of(self.cost(), workers, servers, message_bytes, link_bytes_per_s)

    def draw_spread(
        self, workers: Array, servers: Array, message_bytes: Array, link_bytes_per_s: Array
    ) -> Array:
        """Standard deviation of the logarithm over the draws, in the shape of the arguments."""
        cost = self.drawn(np.arange(len(self.draws)), workers.ndim)
        drawn = _of(cost, workers, servers, message_bytes, link_bytes_per_s)
        return np.asarray(np.std(np.log(np.maximum(drawn, 1e-30)), axis=0))


def _of(
    cost: MeasuredServers,
    workers: ArrayLike,
    servers: ArrayLike,
    message_bytes: ArrayLike,
    link_bytes_per_s: ArrayLike,
) -> Array:
    shard = np.asarray(message_bytes, dtype=np.float64) / servers
    wire_s = wire_bytes(workers, servers, message_bytes, shard) / link_bytes_per_s
    return cost(workers, servers, message_bytes, shard, wire_s)
