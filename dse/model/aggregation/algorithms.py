"""Allreduce algorithms as sums of their own steps.

Every function takes

    ranks           n, all ranks (array, >= 1)
    ranks_per_node  g, ranks of a node in consecutive order (array, >= 1; n <= g means one node)
    message_bytes   m, bytes to be summed over all ranks (array, >= 0)
    network         what one message costs inside a node and between nodes

all broadcastable, and returns seconds in the broadcast shape. One rank costs nothing. A step in
which some pairs sit in one node and some do not ends when its slowest pair does. How many flows
leave an oversubscribed leaf in each is told in :mod:`dse.model.leaves`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, ArrayLike, ceil_log2, largest_power_of_two
from dse.model.flows import crosses_in_tree, flows_of_exchanges, in_every_round
from dse.model.links import Network

# Which of two ranks beyond a power of two goes on with the others.
_FIRST_GOES_ON = partial(flows_of_exchanges, kept=0)
_SECOND_GOES_ON = partial(flows_of_exchanges, kept=1)


def node_count(ranks: ArrayLike, ranks_per_node: ArrayLike) -> Array:
    """Nodes that hold ``ranks`` ranks, filled in order; the last may be part-filled."""
    return np.asarray(np.ceil(np.asarray(ranks, dtype=np.float64) / ranks_per_node))


def ring_crossings(ranks: ArrayLike, nodes: ArrayLike) -> Array:
    """How many of a ring's 2(n-1) steps cross from node to node on the path of a message.

    A share goes round twice, but for two steps, and passes every one of N borders each time: 2N;
    all steps where every node has one rank; none in one node.
    """
    steps = 2 * (np.asarray(ranks, dtype=np.float64) - 1)
    return np.where(np.asarray(nodes) > 1, np.minimum(2 * np.asarray(nodes), steps), 0.0)


def ring(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Ring: ``2(n-1) f(m/n) + (n-1)/n m gamma`` (Patarasuk & Yuan, JPDC 69, 2009).

    Ranks are ordered by node, so one flow leaves each node and the slower tier paces every step.
    """
    n = np.asarray(ranks, dtype=np.float64)
    share = np.asarray(message_bytes) / n
    step = _paced(network, share, node_count(n, ranks_per_node) > 1, 1.0, 1.0)
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
    folded = 2 * _fold_step(network, m, n, g) + reduce_s
    distance = _distances(power, _axes(network, n, g, m))
    flows = in_every_round(distance, n, g, _SECOND_GOES_ON)
    steps = _paced(network, m, flows > 0, flows, 2 * distance) + reduce_s
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
        _fold_step(network, m / 2, n, g, network.across)
        + _fold_step(network, m / 2, n, g)
        + _fold_step(network, m, n, g)
        + m / 2 * network.gamma_s_per_byte
    )
    distance = _distances(power, _axes(network, n, g, m))
    flows = in_every_round(distance, n, g, _FIRST_GOES_ON)
    half = m / (2 * distance)
    steps = _paced(network, half, flows > 0, flows, 2 * distance)
    steps = 2 * steps + half * network.gamma_s_per_byte
    return _added(np.where(n > power, folded, 0.0), np.where(2 * distance <= power, steps, 0.0))


def reduce_broadcast(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Reduce to rank 0, then broadcast, each over a binomial tree: ``2 L f(m) + L m gamma``.

    L = lg n, rounded up (Thakur, Rabenseifner & Gropp, IJHPCA 19, 2005; Open MPI's "nonoverlapping"
    allreduce). In round d = 1, 2, 4, ... rank v + d sends to v, a multiple of 2d, and on the way
    back receives: messages that go one way, of which one at most enters or leaves a node.
    """
    n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
    distance = _distances(n, _axes(network, n, g, m))
    inside = network.within(m)
    leaves = in_every_round(distance, n, g, crosses_in_tree) > 0
    step = np.where(leaves, np.maximum(inside, network.one_way(m, 1.0, 1.0)), inside)
    rounds = 2 * step + m * network.gamma_s_per_byte
    free = np.zeros(np.broadcast_shapes(n.shape, g.shape, inside.shape))
    return _added(free, np.where(distance < n, rounds, 0.0))


def tree(
    ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike, network: Network
) -> Array:
    """Double binary tree, pipelined in K chunks up and down, K the best power of two.

    ``2 (L + K - 1) f(m/K)`` with L levels: a chain of g-1 inside a node, lg N between N nodes
    (Sanders, Speck & Träff, Parallel Computing 35, 2009; levels as in NCCL's src/graph/tuning.cc).
    Each of the two trees carries half of the bytes, so a rank reduces m bytes in all. Of two nodes
    one is the root of the first tree and a leaf of the second: half a chunk goes each way at once,
    and the message crosses once, not twice as between more.
    """
    n, g, m = _arrays(ranks, ranks_per_node, message_bytes)
    nodes = node_count(n, g)
    chain = np.minimum(n, g) - 1
    levels = ceil_log2(nodes)
    sent = np.where(nodes == 2, 0.5, 1.0)
    leaving = None if network.leaf is None else network.leaf.tree(nodes)
    best: Array | None = None
    for log_chunks in range(_MAX_LOG_CHUNKS + 1):
        chunks = 2.0**log_chunks
        chunk = m / chunks
        inside = np.where(chain > 0, network.within(chunk), 0.0)
        between = np.where(levels > 0, network.across(chunk * sent, 1.0, leaving), 0.0)
        reduce_s = chunk * network.gamma_s_per_byte
        fill = chain * inside + levels * between + (chain + levels) * (reduce_s / 2)
        drain = (chunks - 1) * (np.maximum(inside, between) + reduce_s / 2)
        one_way = fill + drain
        best = one_way if best is None else np.minimum(best, one_way)
    assert best is not None
    return np.where(n > 1, 2 * best, 0.0)


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
    step = 2 * network.across(part, local, local) + part * network.gamma_s_per_byte
    return np.asarray(inside + (nodes - 1) * step)


def _whole_steps(ranks: Array, message_bytes: Array) -> tuple[Array, Array]:
    """Every step carries the whole message."""
    del ranks
    return message_bytes, message_bytes


def _ring_steps(ranks: Array, message_bytes: Array) -> tuple[Array, Array]:
    """m/n."""
    return message_bytes / ranks, message_bytes / ranks


def _halving_steps(ranks: Array, message_bytes: Array) -> tuple[Array, Array]:
    """From m/p to m/2, p the largest power of two in n; or to m where ranks beyond p take part."""
    power = 2.0 ** np.floor(np.log2(ranks))
    largest = np.where(ranks > power, message_bytes, message_bytes / 2)
    return message_bytes / power, largest


Seconds: TypeAlias = Callable[[ArrayLike, ArrayLike, ArrayLike, Network], Array]


@dataclass(frozen=True)
class Algorithm:
    """One allreduce algorithm. Calling it gives its seconds.

    seconds: of (ranks, ranks per node, message bytes, network), see above. additions: how often a
    rank adds what it received, of the number of ranks; what those beyond a power of two add is left
    out. folds: it goes by powers of two, and the ranks beyond the largest one hand their vector to
    another first and get the sum last. first_parts: into how many parts the first exchange cuts a
    message, of the number of ranks; None where its two sides do not start together. pair_exchanges:
    how many exchanges two ranks make. step_bytes: of its smallest and its largest step, of (ranks,
    bytes). pipelined: whether it divides a message into as many chunks as the costs make fastest.
    """

    name: str
    seconds: Seconds
    additions: Callable[[Array], Array]
    folds: bool = False
    first_parts: Callable[[Array], Array] | None = None
    pair_exchanges: float = 2.0
    step_bytes: Callable[[Array, Array], tuple[Array, Array]] = _whole_steps
    pipelined: bool = False

    def __call__(
        self,
        ranks: ArrayLike,
        ranks_per_node: ArrayLike,
        message_bytes: ArrayLike,
        network: Network,
    ) -> Array:
        """Seconds; all arguments broadcast."""
        return self.seconds(ranks, ranks_per_node, message_bytes, network)


def _around(ranks: Array) -> Array:
    return np.asarray(ranks - 1)


def _count(ranks: Array) -> Array:
    return ranks


def _one(ranks: Array) -> Array:
    return np.ones_like(ranks)


def _two(ranks: Array) -> Array:
    return np.full_like(ranks, 2.0)


ALGORITHMS: Mapping[str, Algorithm] = MappingProxyType({
    row.name: row
    for row in (
        Algorithm("ring", ring, _around, first_parts=_count, step_bytes=_ring_steps),
        Algorithm("recursive-doubling", recursive_doubling, ceil_log2, folds=True,
                  first_parts=_one, pair_exchanges=1.0),
        Algorithm("halving-doubling", halving_doubling, ceil_log2, folds=True,
                  first_parts=_two, step_bytes=_halving_steps),
        Algorithm("reduce-broadcast", reduce_broadcast, ceil_log2),
        Algorithm("tree", tree, ceil_log2, step_bytes=_halving_steps, pipelined=True),
        Algorithm("hierarchical", hierarchical, _around, step_bytes=_halving_steps),
    )
})  # fmt: skip

_MAX_LOG_CHUNKS = 12  # 4096 chunks: beyond, even 10 GB messages no longer gain


def _arrays(*values: ArrayLike) -> tuple[Array, ...]:
    return tuple(np.asarray(value, dtype=np.float64) for value in values)


def _distances(count: Array, ndim: int) -> Array:
    """1, 2, 4, ... below the largest of ``count``, along a new first axis.

    All steps of an algorithm are priced in one call: few large operations, not many small ones.
    """
    steps = int(np.max(ceil_log2(count), initial=0))
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


def beyond_power_of_two(ranks: ArrayLike) -> Array:
    """Ranks that hand their vector to another first and get the sum last, where an algorithm folds:
    n - p, p the largest power of two in n."""
    return np.asarray(ranks - largest_power_of_two(ranks))


def _fold_step(
    network: Network,
    message_bytes: ArrayLike,
    ranks: Array,
    ranks_per_node: Array,
    between: Callable[[ArrayLike, ArrayLike, ArrayLike], Array] | None = None,
) -> Array:
    """One message between ranks 2i and 2i+1, for every i < n - p at once; one way unless told.

    A node border parts a pair only at an odd rank. The first such border is at rank g, if g is odd,
    and no two follow one another, so one flow at most leaves a node.
    """
    extra = beyond_power_of_two(ranks)
    parted = (np.mod(ranks_per_node, 2) != 0) & (ranks_per_node < 2 * extra)
    inside = network.within(message_bytes)
    outside = (between or network.one_way)(message_bytes, 1.0, 1.0)
    return np.where(parted, np.maximum(inside, outside), inside)


def _paced(
    network: Network,
    message_bytes: ArrayLike,
    leaves: ArrayLike,
    flows: ArrayLike,
    leaving: ArrayLike,
) -> Array:
    inside = network.within(message_bytes)
    across = network.across(message_bytes, flows, leaving)
    return np.where(leaves, np.maximum(inside, across), inside)
