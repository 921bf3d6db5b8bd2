"""Parameter servers that hold whole tensors: each tensor waits at its own server.

Where :func:`.aggregation.parameter_server.parameter_server` spreads a bucket over all servers
evenly but for one factor of imbalance, here every tensor is a message of its own to the server that
keeps it, as tf_cnn_benchmarks' greedy placement does: few servers hold large tensors, and there the
queue is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from dse.model.aggregation.parameter_server import homes
from dse.model.arrays import Array, ArrayLike
from dse.model.links import Network
from dse.model.overlap import last_end_s


@dataclass(frozen=True)
class Servers:
    """Parameter servers for M workers, one worker a node.

    count: how many servers. colocated: on the workers' nodes, so that a worker's message to its own
    needs no wire; array, in the shape of the points. streams: messages that a process handles at
    once: its software then costs that much less (processor cores that copy and serialise).
    """

    count: int
    colocated: ArrayLike = False
    streams: float = 1.0


def push_pull_s(
    tensor_bytes: Array, ready_s: Array, workers: ArrayLike, servers: Servers, network: Network
) -> tuple[Array, Array]:
    """Seconds from the start of the backward pass until all weights are back; and of the busiest.

    Every tensor goes to its server from M workers and back to them, one tensor after the other as
    they become ready; likewise all tensors pass the link of every worker::

        server = 2 (M - own) (software(s) / streams + s / bandwidth) + M s gamma
        worker = 2 (1 - own / P) (software(s) / streams + s / bandwidth)

    The slowest of them paces; a round trip of the wire's latency comes on top. One worker: nothing.

    tensor_bytes: (tensors,), forward order, the order of creation, > 0. ready_s: (tensors, *S),
    falling. workers: shape S. Returns the end and the busiest one's work, shape S.
    """
    count = np.asarray(workers, dtype=np.float64)
    own = np.where(servers.colocated, 1.0, 0.0)
    keeper = homes(tensor_bytes, servers.count)
    column = tensor_bytes.reshape((-1,) + (1,) * (ready_s.ndim - 1))
    at_server = _message_s(
        column, np.clip(count - own, 1.0, servers.streams), network, servers.count
    )
    at_server = 2 * (count - own) * at_server + count * column * network.gamma_s_per_byte
    at_worker = _message_s(column, np.minimum(servers.count, servers.streams), network, count)
    at_worker = 2 * (1.0 - own / servers.count) * at_worker
    order = np.arange(len(tensor_bytes))[::-1]  # the last layer's gradients come first
    queues = [last_end_s(list(ready_s[order]), list(at_worker[order]))]
    for server in range(min(servers.count, len(tensor_bytes))):
        held = order[keeper[order] == server]
        queues.append(last_end_s([ready_s[at] for at in held], [at_server[at] for at in held]))
    end = reduce(np.maximum, [queue[0] for queue in queues])
    work = reduce(np.maximum, [queue[1] for queue in queues])
    trip_s = 2 * np.asarray(network.inter.latency_s)
    several = count > 1
    return np.where(several, end + trip_s, ready_s[0]), np.where(several, work + trip_s, 0.0)


def _message_s(
    tensor_bytes: Array, streams: ArrayLike, network: Network, beside: ArrayLike
) -> Array:
    """Seconds of one message of each tensor, between nodes; its sender is one of ``beside``."""
    software = network.inter_software(tensor_bytes) / streams
    return np.asarray(software + tensor_bytes * network.wire_s_per_byte(1.0, beside))
