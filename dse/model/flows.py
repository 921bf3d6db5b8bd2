"""How many messages leave one node in every round of an algorithm, counted exactly.

Ranks sit on nodes in consecutive order, ``ranks_per_node`` on each; the last may be part-filled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np

from dse.model.arrays import Array, ceil_log2, distinct, largest_power_of_two

Leaving: TypeAlias = Callable[[float, float], tuple[float, ...]]


def in_every_round(distance: Array, ranks: Array, ranks_per_node: Array, leaving: Leaving) -> Array:
    """``leaving`` for every step, shape of ``distance`` and the ranks broadcast together.

    Counted once for each value of n and of g, however many points share them.
    """
    counts, count_at = distinct(ranks)
    widths, width_at = distinct(ranks_per_node)
    table = _table(len(distance), tuple(counts.tolist()), tuple(widths.tolist()), leaving)
    found = table.take(count_at * widths.size + width_at, axis=1)
    missing = (1,) * (distance.ndim - found.ndim)
    return found.reshape(found.shape[:1] + missing + found.shape[1:])


@lru_cache(maxsize=8)
def _table(
    rounds: int, counts: tuple[float, ...], widths: tuple[float, ...], leaving: Leaving
) -> Array:
    """``leaving`` of every round, n and g: (rounds, n x g)."""
    table = np.zeros((rounds, len(counts) * len(widths)))
    for at, (n, g) in enumerate(product(counts, widths)):
        flows = leaving(float(n), float(g))
        table[: len(flows), at] = flows
    table.flags.writeable = False  # others will get the same
    return table


@lru_cache(maxsize=65536)
def flows_of_exchanges(ranks: float, ranks_per_node: float, kept: int) -> tuple[float, ...]:
    """The most flows that leave one node in step 0, 1, ... lg p - 1, exactly; empty for one node.

    Of the first n - p pairs (2i, 2i+1) rank 2i + ``kept`` goes on. Those that go on are renumbered
    in order, so a node holds consecutive numbers low <= v < high, and v exchanges with v XOR d,
    d = 2^step (Open MPI, coll_base_allreduce.c). v and v + d share the node if v has bit d clear
    and low <= v < high - d; whoever is left sends outside. Arrays over the nodes.
    """
    if not ranks > ranks_per_node:
        return ()
    power = float(largest_power_of_two(ranks))
    nodes = math.ceil(ranks / ranks_per_node)
    border = np.minimum(np.arange(nodes + 1) * ranks_per_node, ranks)
    in_pairs = np.minimum(border, 2 * (ranks - power))
    number = np.floor((in_pairs + 1 - kept) / 2) + (border - in_pairs)
    low, high = number[:-1], number[1:]

    def bit_clear_below(end: Array, d: float) -> Array:
        return np.floor(end / (2 * d)) * d + np.minimum(np.mod(end, 2 * d), d)

    most = float(np.max(high - low))
    flows = []
    for step in range(int(ceil_log2(power))):
        d = 2.0**step
        if d >= most:  # no node is wide enough for a pair
            flows.append(most)
            continue
        pairs = np.maximum(bit_clear_below(high - d, d) - bit_clear_below(low, d), 0.0)
        flows.append(float(np.max(high - low - 2 * pairs)))
    return tuple(flows)


@lru_cache(maxsize=65536)
def crosses_in_tree(ranks: float, ranks_per_node: float) -> tuple[float, ...]:
    """Whether a message of a binomial tree leaves its node in round d = 1, 2, 4, ...: 1 or 0.

    v, a multiple of 2d, and v + d < n lie on two sides of a node's first rank b where
    0 < b mod 2d <= d. Pairs of a round do not overlap, so one at most does at each b.
    """
    nodes = math.ceil(ranks / ranks_per_node)
    border = np.arange(1, nodes) * ranks_per_node
    parted = []
    for step in range(int(ceil_log2(ranks))):
        d = 2.0**step
        past = np.mod(border, 2 * d)
        parted.append(float(np.any((past > 0) & (past <= d) & (border - past + d < ranks))))
    return tuple(parted)
