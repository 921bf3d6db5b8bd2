"""Parameter servers: workers push gradients to P servers and pull the weights back."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import (
    HARDWARE_AXES,
    SERVER_AXES,
    Bucketed,
    Gradients,
    Layout,
    all_finite,
)
from dse.model.aggregation.composed import Software
from dse.model.arrays import Array, ArrayLike
from dse.model.links import Network

MEASURED_COSTS = 10  # latency; call, byte and byte beyond the edge of worker, server and cores
WORK_FROM = 7  # the costs of the cores begin here


@dataclass(frozen=True)
class MeasuredServers:
    """What parameter servers were measured to cost; every cost >= 0, floats or arrays of draws.

    The seconds of one push and pull with M workers, P servers and m bytes of gradients per worker,
    x of them on the fullest server::

        T = latency + P f_worker(m/P) + M f_server(x) + max(wire, work)
        f(s) = call + per_byte * s + beyond * max(0, s - edge)
        work = M P f_cores(m/P) / C                       C cores shared by all processes
        work = max(P f_cores(m/P), M f_cores(x)) / 2      a machine for every process (C infinite)

    latency: of a push and a pull one after the other. worker: its P calls, with the copies into and
    out of messages. server: its M calls and sums, which one thread makes one after another. cores:
    the processors' work of a message at both of its ends. Where nobody shares a core, each process
    is taken to do half of the work of its own messages on one core, and the busiest paces: that
    is the upper line with C = 2 min(M, P). wire: see :func:`wire_bytes`; while it is busy the cores
    work on other messages, so the slower of both paces. beyond: messages that no longer fit a cache
    cost more per byte.

    costs: latency, then (call, per_byte, beyond) of worker, server and cores. edge_bytes: infinite
    where there is none.
    """

    costs: tuple[ArrayLike, ...]
    edge_bytes: float = np.inf
    cores: float = np.inf

    def __call__(
        self,
        workers: ArrayLike,
        servers: ArrayLike,
        message_bytes: ArrayLike,
        shard_bytes: ArrayLike,
        wire_s: ArrayLike,
    ) -> Array:
        """Seconds; all arguments broadcast. wire_s: of push and pull on the busier link."""
        units = server_terms(
            workers, servers, message_bytes, shard_bytes, self.edge_bytes, self.cores
        )
        host, work = np.zeros(()), np.zeros(())
        for at, (cost, unit) in enumerate(zip(self.costs, units, strict=True)):
            if at < WORK_FROM:
                host = host + cost * unit
            else:
                work = work + cost * unit
        return np.asarray(host + np.maximum(work, wire_s))


def server_terms(
    workers: ArrayLike,
    servers: ArrayLike,
    message_bytes: ArrayLike,
    shard_bytes: ArrayLike,
    edge_bytes: float,
    cores: float,
) -> list[Array]:
    """What each cost of :class:`MeasuredServers` multiplies: MEASURED_COSTS arrays.

    The busier side of ``work`` is chosen term by term; that is above the equation only where one
    side has the more calls and the other the more bytes.
    """
    m, p, message, shard = (
        np.asarray(v, dtype=np.float64) for v in (workers, servers, message_bytes, shard_bytes)
    )
    mean = message / p

    def of(count: Array, size: Array) -> list[Array]:
        return [count, count * size, count * np.maximum(0.0, size - edge_bytes)]

    worker, server = of(p, mean), of(m, shard)
    if np.isinf(cores):
        work = [np.maximum(a, b) / 2 for a, b in zip(worker, server, strict=True)]
    else:
        work = of(m * p / cores, mean)
    return [np.ones(()), *worker, *server, *work]


def wire_bytes(
    workers: ArrayLike,
    servers: ArrayLike,
    message_bytes: ArrayLike,
    shard_bytes: ArrayLike,
    own: ArrayLike = 0.0,
) -> Array:
    """Bytes on the busier link of a push and a pull, ``2 max((P - own) m/P, (M - own) x)``.

    own: 1 where a server lives on each worker and the message to oneself needs no wire.
    """
    return np.asarray(
        2.0 * np.maximum(*side_bytes(workers, servers, message_bytes, shard_bytes, own))
    )


def side_bytes(
    workers: ArrayLike,
    servers: ArrayLike,
    message_bytes: ArrayLike,
    shard_bytes: ArrayLike,
    own: ArrayLike = 0.0,
) -> tuple[Array, Array]:
    """Bytes of a push on the link of a worker, and on that of the fullest server."""
    mean = np.asarray(message_bytes, dtype=np.float64) / servers
    from_worker = (np.asarray(servers) - own) * mean
    to_server = (np.asarray(workers) - own) * np.asarray(shard_bytes)
    return np.asarray(from_worker), np.asarray(to_server)


def parameter_server(
    ranks: ArrayLike,
    ranks_per_node: ArrayLike,
    message_bytes: ArrayLike,
    network: Network,
    servers: ArrayLike = 1.0,
    colocated: ArrayLike = False,
    imbalance: ArrayLike = 1.0,
    measured: MeasuredServers | None = None,
) -> Array:
    """Seconds to aggregate ``message_bytes`` over all ranks through P servers, push plus pull.

    The ranks of a node sum first (``(g-1) (2 f_in(m/g) + m/g gamma)``, ring), so that the M workers
    are nodes. Then each worker sends m bytes in P messages, while the busiest server takes M
    messages of its shard, x = imbalance*m/P bytes but never more than m. The busier side paces,
    and the wire's latency is paid once because the messages follow one another::

        worker = P * (software(m/P) + m/P / bandwidth)
        server = M * (software(x) + x / bandwidth)
        push = max(worker, server) + latency + M * x * gamma
        pull = the same without the reduction

    that is 2*max(m/B_w, M*m/(P*B_s)) of Li et al. (OSDI 2014) with the software's part added.
    Colocated servers live on the workers, one each, so at most M of them have work; they spare the
    message to themselves: P-1 and M-1 messages. (With P < M some workers hold no server and send P
    messages, but then the servers pace.)
    imbalance: largest shard over the mean shard, >= 1, because a tensor is not split; taken as
    given where colocation lowers P to M, which is why x needs its bound.
    One node needs no server: only the local sum is paid.
    ``measured``, where it was, replaces the part between nodes, with a crossing of the wire's
    latency for the push and one for the pull. A colocated server's message to its own worker is
    still a call there.
    """
    n = np.asarray(ranks, dtype=np.float64)
    m = np.asarray(message_bytes, dtype=np.float64)
    local = np.minimum(n, ranks_per_node)
    workers = node_count(n, ranks_per_node)
    gamma = network.gamma_s_per_byte
    local_share = m / local
    inside = (local - 1) * (2 * network.within(local_share) + local_share * gamma)

    count = np.where(colocated, np.minimum(servers, workers), servers)
    own = np.where(colocated, 1.0, 0.0)
    mean = m / count
    shard = np.minimum(imbalance * mean, m)
    # All workers push at once, and all servers receive: each kind shares the links of its leaves.
    wire, to_servers = (network.wire_s_per_byte(1.0, beside) for beside in (workers, count))
    if measured is not None:
        worker_bytes, server_bytes = side_bytes(workers, count, m, shard, own)
        wire_s = 2.0 * np.maximum(worker_bytes * wire, server_bytes * to_servers)
        between = measured(workers, count, m, shard, wire_s) + 2 * network.inter.latency_s
        return np.asarray(inside + np.where(workers > 1, between, 0.0))
    worker = (count - own) * (network.inter_software(mean) + mean * wire)
    server = (workers - own) * (network.inter_software(shard) + shard * to_servers)
    one_way = np.maximum(worker, server) + network.inter.latency_s
    across = 2 * one_way + workers * shard * gamma
    return np.asarray(inside + np.where(workers > 1, across, 0.0))


def homes(tensor_bytes: ArrayLike, servers: int) -> NDArray[np.int64]:
    """Which of P servers keeps each tensor, (tensors,): the least loaded, in the order given.

    The rule of TensorFlow's GreedyLoadBalancingStrategy by size, in the order of creation.
    """
    load = np.zeros(servers)
    found = np.zeros(len(tensor_bytes), dtype=np.int64)
    for at, size in enumerate(tensor_bytes):
        found[at] = np.argmin(load)
        load[found[at]] += size
    return found


def shard_imbalance(tensor_bytes: ArrayLike, servers: int, as_created: bool = False) -> float:
    """Largest shard over the mean shard when whole tensors go to the least loaded of P servers.

    By falling size (Graham's LPT rule), as a placement may that knows all tensors; or
    ``as_created``, in the order given: TensorFlow's rule, which meets a large last layer when all
    servers are loaded already.
    """
    sizes = np.asarray(tensor_bytes, dtype=np.float64)
    if not as_created:
        sizes = np.sort(sizes)[::-1]
    total = float(sizes.sum())
    if servers <= 1 or total <= 0:
        return 1.0
    shards = np.bincount(homes(sizes, servers), weights=sizes, minlength=servers)
    return float(shards.max() * servers / total)


@dataclass(frozen=True)
class ParameterServer(Bucketed):
    """Parameter servers over a transport.

    measured: what a push and a pull took, in place of the software's cost between nodes. Its
    placement of tensors knows all of them beforehand, and so is not that of tf_cnn_benchmarks, in
    the order of creation; the servers of an approach are (:mod:`dse.model.tensor_servers`).
    """

    updates_on_servers: ClassVar[bool] = True
    software: Software
    measured: MeasuredServers | None = None
    leading_axes: int = field(default=0, kw_only=True)

    @property
    def axes(self) -> frozenset[str]:
        """The hardware, the servers, and what fuses the gradients."""
        return HARDWARE_AXES | SERVER_AXES | {"bucket"}

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """Push and pull, and the copies of a transport that cannot reach devices."""
        seconds = parameter_server(
            layout.gpus,
            layout.gpus_per_node,
            message_bytes,
            self.software.network(layout),
            layout.servers,
            layout.colocated,
            self.imbalance(gradients, layout),
            self.measured,
        )
        staged = self.software.staged_s(message_bytes, layout)
        return np.where(np.asarray(layout.gpus) > 1, seconds + staged, 0.0)

    def imbalance(self, gradients: Gradients, layout: Layout) -> Array:
        """Largest shard over the mean one, in the shape of the layout's servers."""
        counts, which = np.unique(layout.servers, return_inverse=True)
        elements = gradients.layer_elements.tobytes()
        worst = [_imbalance(elements, int(count)) for count in counts]
        return np.array(worst)[which].reshape(np.shape(layout.servers))

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether the dearest exchange has a finite price."""
        return self.software.bounded(gradients, layout) and all_finite(
            self.imbalance(gradients, layout)
        )


@lru_cache(maxsize=4096)
def _imbalance(tensor_elements: bytes, servers: int) -> float:
    """:func:`shard_imbalance`, remembered: a large grid asks for the same few again and again."""
    return shard_imbalance(np.frombuffer(tensor_elements), servers)
