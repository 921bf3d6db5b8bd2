"""Parameter servers: workers push gradients to P servers and pull the weights back."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import node_count
from dse.model.links import Network


def parameter_server(
    ranks: ArrayLike,
    ranks_per_node: ArrayLike,
    message_bytes: ArrayLike,
    network: Network,
    servers: ArrayLike = 1.0,
    colocated: ArrayLike = False,
    imbalance: ArrayLike = 1.0,
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
    wire = network.wire_s_per_byte()
    worker = (count - own) * (network.inter_software(mean) + mean * wire)
    server = (workers - own) * (network.inter_software(shard) + shard * wire)
    one_way = np.maximum(worker, server) + network.inter.latency_s
    across = 2 * one_way + workers * shard * gamma
    return np.asarray(inside + np.where(workers > 1, across, 0.0))


def shard_imbalance(tensor_bytes: ArrayLike, servers: int) -> float:
    """Largest shard over the mean shard when whole tensors go to the least loaded of P servers.

    Greedy by falling size (Graham's LPT rule), as TensorFlow's load-balancing placement does.
    """
    sizes = np.sort(np.asarray(tensor_bytes, dtype=np.float64))[::-1]
    total = float(sizes.sum())
    if servers <= 1 or total <= 0:
        return 1.0
    load = np.zeros(servers)
    for size in sizes:
        load[np.argmin(load)] += size
    return float(load.max() * servers / total)
