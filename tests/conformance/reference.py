"""Slow scalar references: each algorithm written out rank by rank or step by step.

Deliberately unlike the array code: loops, one number at a time, no shared helpers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Cost = Callable[[float], float]


def nodes_of(n: int, g: int) -> list[int]:
    """The node every rank lives on."""
    return [rank // g for rank in range(n)]


class World:
    """Prices one exchange at a time on a two-tier cluster."""

    def __init__(self, n: int, g: int, software: Cost, latency: float, link: float,
                 rails: int, multirail: bool, gamma: float) -> None:  # fmt: skip
        self.n, self.g, self.home = n, g, nodes_of(n, g)
        self.software, self.latency, self.link = software, latency, link
        self.rails, self.multirail, self.gamma = rails, multirail, gamma

    def exchange(self, size: float, pairs: list[tuple[int, int]]) -> float:
        """All pairs send ``size`` bytes to each other at once; the slowest pair ends the step."""
        leaving = dict.fromkeys(self.home, 0)
        for a, b in pairs:
            if self.home[a] != self.home[b]:
                leaving[self.home[a]] += 1
                leaving[self.home[b]] += 1
        slowest = 0.0
        for a, b in pairs:
            seconds = self.software(size)
            if self.home[a] != self.home[b]:
                flows = max(leaving[self.home[a]], leaving[self.home[b]])
                alone = self.link * (self.rails if self.multirail else 1)
                rate = min(alone, self.link * self.rails / flows)
                seconds += self.latency + size / rate
            slowest = max(slowest, seconds)
        return slowest

    def send(self, size: float, pairs: list[tuple[int, int]]) -> float:
        """Every first rank sends ``size`` bytes to its second at once; the slowest pair counts."""
        out, into = dict.fromkeys(self.home, 0), dict.fromkeys(self.home, 0)
        for a, b in pairs:
            if self.home[a] != self.home[b]:
                out[self.home[a]] += 1
                into[self.home[b]] += 1
        slowest = 0.0
        for a, b in pairs:
            seconds = self.software(size)
            if self.home[a] != self.home[b]:
                flows = max(out[self.home[a]], into[self.home[b]])
                alone = self.link * (self.rails if self.multirail else 1)
                seconds += self.latency + size / min(alone, self.link * self.rails / flows)
            slowest = max(slowest, seconds)
        return slowest


def ring(world: World, m: float) -> float:
    """Every step all ranks send one n-th to the next; one flow leaves every node."""
    n = world.n
    total = 0.0
    for step in range(2 * (n - 1)):
        seconds = world.software(m / n)
        if len(set(world.home)) > 1:
            rate = world.link * (world.rails if world.multirail else 1)
            seconds = max(seconds, world.software(m / n) + world.latency + m / n / rate)
        total += seconds + (m / n * world.gamma if step < n - 1 else 0.0)
    return total


def fold(n: int, odd_stay: bool) -> tuple[list[tuple[int, int]], list[int]]:
    """The pairs that merge so that a power of two of ranks is left, and who is left, in order."""
    power = 1
    while 2 * power <= n:
        power *= 2
    merging = [(2 * i, 2 * i + 1) for i in range(n - power)]
    gone = {pair[0] if odd_stay else pair[1] for pair in merging}
    return merging, [rank for rank in range(n) if rank not in gone]


def partners(left: list[int], distance: int) -> list[tuple[int, int]]:
    """Real ranks of the pairs whose new numbers differ by ``distance``."""
    return [(left[v], left[v ^ distance]) for v in range(len(left)) if v < v ^ distance]


def recursive_doubling(world: World, m: float) -> float:
    """Partner at 1, 2, 4, ... ranks, whole vectors; of a merging pair the odd rank goes on."""
    merging, left = fold(world.n, odd_stay=True)
    total, distance = 0.0, 1
    if merging:
        total += world.exchange(m, merging) + m * world.gamma
    while distance < len(left):
        total += world.exchange(m, partners(left, distance)) + m * world.gamma
        distance *= 2
    return total + (world.exchange(m, merging) if merging else 0.0)


def halving_doubling(world: World, m: float) -> float:
    """Halves shrink on the way in and grow on the way back; the even rank of a pair goes on."""
    merging, left = fold(world.n, odd_stay=False)
    total, distance, size = 0.0, 1, m / 2
    if merging:  # swap halves, reduce, hand one back; the whole result at the end
        total += world.exchange(m / 2, merging) + m / 2 * world.gamma
        total += world.exchange(m / 2, merging)
    while distance < len(left):
        total += 2 * world.exchange(size, partners(left, distance)) + size * world.gamma
        distance, size = distance * 2, size / 2
    return total + (world.exchange(m, merging) if merging else 0.0)


def reduce_broadcast(world: World, m: float) -> float:
    """Those left hand their sums to the left neighbour that is left; then all the way back."""
    left, rounds = list(range(world.n)), []
    while len(left) > 1:
        rounds.append([(left[i + 1], left[i]) for i in range(0, len(left) - 1, 2)])
        left = left[::2]
    total = 0.0
    for pairs in rounds:
        total += world.send(m, pairs) + m * world.gamma
    for pairs in reversed(rounds):
        total += world.send(m, [(b, a) for a, b in pairs])
    return total


def hierarchical(world: World, m: float) -> float:
    """Reduce-scatter in the node, ring of the shares over nodes, all-gather in the node."""
    g = min(world.n, world.g)
    count = len(set(world.home))
    total = 0.0
    for _ in range(g - 1):
        total += 2 * world.software(m / g) + m / g * world.gamma
    for _ in range(count - 1):
        part = m / g / count
        alone = world.link * (world.rails if world.multirail else 1)
        rate = min(alone, world.link * world.rails / g)
        total += 2 * (world.software(part) + world.latency + part / rate) + part * world.gamma
    return total


def parameter_server(
    world: World, m: float, servers: int, colocated: bool, imbalance: float
) -> float:
    """Message by message: what a worker sends, and what the busiest server takes."""
    g = min(world.n, world.g)
    workers = len(set(world.home))
    total = 0.0
    for _ in range(g - 1):
        total += 2 * world.software(m / g) + m / g * world.gamma
    if workers == 1:
        return total
    count = min(servers, workers) if colocated else servers
    largest = min(imbalance * m / count, m)
    rate = world.link * (world.rails if world.multirail else 1)
    sending = taking = 0.0
    for server in range(count):
        if not (colocated and server == 0):
            sending += world.software(m / count) + m / count / rate
    for worker in range(workers):
        if not (colocated and worker == 0):
            taking += world.software(largest) + largest / rate
        total += largest * world.gamma
    return total + 2 * (max(sending, taking) + world.latency)


def flat_fold(n: int, m: float, f: Cost, gamma: float, halves: bool) -> float:
    """Recursive doubling or Rabenseifner on one tier for any n, from the libraries' description."""
    power = 2 ** math.floor(math.log2(n))
    total = 0.0
    if n > power:
        if halves:  # swap halves, reduce, hand one back; whole result at the end
            total += f(m / 2) + m / 2 * gamma + f(m / 2) + f(m)
        else:
            total += f(m) + m * gamma + f(m)
    for level in range(int(math.log2(power))):
        size = m / 2 ** (level + 1) if halves else m
        total += (2 if halves else 1) * f(size) + size * gamma
    return total
