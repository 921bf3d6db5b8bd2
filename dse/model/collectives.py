"""Allreduce algorithms as sums of their own steps.

Every function takes

    ranks           n, all ranks (array, >= 1)
    ranks_per_node  g, ranks of a node in consecutive order (array, >= 1; n <= g means one node)
    message_bytes   m, bytes to be summed over all ranks (array, >= 0)
    network         what one message costs inside a node and between nodes

all broadcastable, and returns seconds in the broadcast shape. One rank costs nothing. A step in
which some pairs sit in one node and some do not ends when its slowest pair does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, ArrayLike, ceil_log2, largest_power_of_two
from dse.model.links import Network

Algorithm: TypeAlias = Callable[[ArrayLike, ArrayLike, ArrayLike, Network], Array]


def node_count(ranks: ArrayLike, ranks_per_node: ArrayLike) -> Array:
    """Nodes that hold ``ranks`` ranks, filled in order; the last may be part-filled."""
    return np.asarray(np.ceil(np.asarray(ranks, dtype=np.float64) / ranks_per_node))


def ring(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Ring: ``2(n-1) f(m/n) + (n-1)/n m gamma`` (Patarasuk & Yuan, JPDC 69, 2009).

    Ranks are ordered by node, so one flow leaves each node and the slower tier paces every step.
    """
    n = np.asarray(ranks, dtype=np.float64)
    share = np.asarray(message_bytes) / n
    step = _paced(network, share, node_count(n, ranks_per_node) > 1, 1.0)
    return np.asarray((n - 1) * (2 * step + share * network.gamma_s_per_byte))


def recursive_doubling(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Recursive doubling: ``lg p (f(m) + m gamma)``.

    Thakur, Rabenseifner & Gropp, IJHPCA 19, 2005. p is the largest power of two in n. The n - p
    ranks beyond it first hand their vector to a neighbour and get the result back at the end:
    ``2 f(m) + m gamma`` more, as Open MPI and MPICH do.
    """
    n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
    power = largest_power_of_two(n)
    reduce_s = m * network.gamma_s_per_byte
    folded = 2 * _pair_step(network, m, 1.0, n, g) + reduce_s
    distance = _distances(power, _axes(network, n, g, m))
    steps = _pair_step(network, m, distance, n, g) + reduce_s
    return _added(np.where(n > power, folded, 0.0), np.where(2 * distance <= power, steps, 0.0))


def halving_doubling(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Rabenseifner: recursive halving reduce-scatter, then recursive doubling all-gather.

    ``2 sum_k f(m/2^k) + (p-1)/p m gamma``, k = 1..lg p (Thakur, Rabenseifner & Gropp, IJHPCA 19,
    2005); the largest messages go to the nearest rank. The n - p ranks beyond the largest power of
    two p exchange half vectors with a neighbour, hand one half back, and receive the whole result
    at the end, as Open MPI does: ``2 f(m/2) + f(m) + m/2 gamma`` more.
    """
    n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
    power = largest_power_of_two(n)
    folded = (
        2 * _pair_step(network, m / 2, 1.0, n, g)
        + _pair_step(network, m, 1.0, n, g)
        + m / 2 * network.gamma_s_per_byte
    )
    distance = _distances(power, _axes(network, n, g, m))
    half = m / (2 * distance)
    steps = 2 * _pair_step(network, half, distance, n, g) + half * network.gamma_s_per_byte
    return _added(np.where(n > power, folded, 0.0), np.where(2 * distance <= power, steps, 0.0))


def tree(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Double binary tree, pipelined in K chunks up and down, K the best power of two.

    ``2 (L + K - 1) f(m/K)`` with L levels: a chain of g-1 inside a node, lg N between N nodes
    (Sanders, Speck & Träff, Parallel Computing 35, 2009; levels as in NCCL's src/graph/tuning.cc).
    Each of the two trees carries half of the bytes, so a rank reduces m bytes in all.
    """
    n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
    nodes = node_count(n, g)
    chain = np.minimum(n, g) - 1
    levels = ceil_log2(nodes)
    best: Array | None = None
    for log_chunks in range(_MAX_LOG_CHUNKS + 1):
        chunks = 2.0**log_chunks
        chunk = m / chunks
        inside = np.where(chain > 0, network.within(chunk), 0.0)
        between = np.where(levels > 0, network.across(chunk), 0.0)
        reduce_s = chunk * network.gamma_s_per_byte
        fill = chain * inside + levels * between + (chain + levels) * reduce_s / 2
        drain = (chunks - 1) * (np.maximum(inside, between) + reduce_s / 2)
        total = 2 * (fill + drain)
        best = total if best is None else np.minimum(best, total)
    assert best is not None
    return np.where(n > 1, best, 0.0)


def hierarchical(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Two levels: reduce-scatter inside the node, ring of m/g across nodes, all-gather inside.

    ``2(g-1) f_in(m/g) + 2(N-1) f_out(m/(gN))`` with all g ranks of a node sharing its network cards
    in the middle phase, and ``gamma`` on every byte reduced. The phases follow one another; a
    library that overlaps them can be faster by up to the shorter of the two.
    """
    n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
    local = np.minimum(n, g)
    nodes = node_count(n, g)
    share = m / local
    inside = (local - 1) * (2 * network.within(share) + share * network.gamma_s_per_byte)
    part = share / nodes
    step = 2 * network.across(part, local) + part * network.gamma_s_per_byte
    return np.asarray(inside + (nodes - 1) * step)


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType(
    {
        "ring": ring,
        "recursive-doubling": recursive_doubling,
        "halving-doubling": halving_doubling,
        "tree": tree,
        "hierarchical": hierarchical,
    }
)

_MAX_LOG_CHUNKS = 12  # 4096 chunks: beyond, even 10 GB messages no longer gain


def _arrays(*values: ArrayLike) -> tuple[Array, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _distances(power: Array, ndim: int) -> Array:
    """1, 2, 4, ... below the largest of ``power`` (powers of two), along a new first axis.

    All steps of an algorithm are priced in one call: few large operations, not many small ones.
    """
    steps = int(np.max(ceil_log2(power), initial=0))
    return np.ldexp(1.0, np.arange(steps)).reshape((-1,) + (1,) * ndim)


def _axes(network: Network, ranks: Array, ranks_per_node: Array, message_bytes: Array) -> int:
    """How many axes a cost has: those of the arguments, and those of the network's own arrays."""
    prices = network.within(message_bytes), network.across(message_bytes, ranks_per_node)
    return max(ranks.ndim, *(price.ndim for price in prices))


def _added(total: Array, steps: Array) -> Array:
    """``total`` plus the steps, one after the other: the same rounding in a grid as at a point."""
    for step in steps:
        total = total + step
    return np.asarray(total)


def _pair_step(
    network: Network,
    message_bytes: ArrayLike,
    distance: ArrayLike,
    ranks: Array,
    ranks_per_node: Array,
) -> Array:
    """One step in which rank r exchanges with r XOR ``distance``, over all ranks at once.

    Pairs stay inside a node if 2*distance divides g; else up to min(distance, g) flows leave it.
    """
    apart = node_count(ranks, ranks_per_node) > 1
    leaves = apart & (np.mod(ranks_per_node, 2 * distance) != 0)
    return _paced(network, message_bytes, leaves, np.minimum(distance, ranks_per_node))


def _paced(
    network: Network, message_bytes: ArrayLike, leaves: ArrayLike, flows: ArrayLike
) -> Array:
    inside = network.within(message_bytes)
    return np.where(leaves, np.maximum(inside, network.across(message_bytes, flows)), inside)
