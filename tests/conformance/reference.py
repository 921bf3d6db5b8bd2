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


def recursive_doubling(world: World, m: float) -> float:
    """Power-of-two counts only: partner at 1, 2, 4, ... ranks, whole vectors."""
    total, distance = 0.0, 1
    while distance < world.n:
        pairs = [(r, r ^ distance) for r in range(world.n) if r < r ^ distance]
        total += world.exchange(m, pairs) + m * world.gamma
        distance *= 2
    return total


def halving_doubling(world: World, m: float) -> float:
    """Power-of-two counts only: halves shrink on the way in and grow on the way back."""
    total, distance, size = 0.0, 1, m / 2
    while distance < world.n:
        pairs = [(r, r ^ distance) for r in range(world.n) if r < r ^ distance]
        total += 2 * world.exchange(size, pairs) + size * world.gamma
        distance, size = distance * 2, size / 2
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
