"""What to measure of allreduce and other operations, and where the ranks of it are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.calibration.runners.bench import PING_PONG, PRIMITIVES
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.errors import ArgumentError, MeasurementError

# Open MPI's coll_tuned_allreduce_algorithm numbers (ompi_info --param coll tuned --level 9).
OPENMPI_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "halving-doubling": 6}
AUTO = "auto"  # the library chooses, in every library by the number 0
DEFAULT_RANKS = (2, 3, 4, 8)
DEFAULT_SIZES = (*(8 * 4**k for k in range(11)), 16 * 2**20)
MIN_REPETITIONS = 5


@dataclass(frozen=True)
class MeasurePlan:
    """What to measure. sizes_bytes: per rank, multiples of 4. ranks: each at least 2.

    primitives: messages of pairs of ranks: 'exchange' at every rank count, all pairs at once, and
    'ping-pong' of one pair, at the smallest rank count; also other operations, of
    :data:`.bench.OPERATIONS`. local: also what one rank does alone.
    """

    algorithms: tuple[str, ...] = tuple(OPENMPI_ALGORITHMS)
    ranks: tuple[int, ...] = DEFAULT_RANKS
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES
    primitives: tuple[str, ...] = PRIMITIVES
    local: bool = True

    def cells(self, ranks: int) -> list[tuple[str, int, int]]:
        """(algorithm, its number in Open MPI, bytes), smallest first, where it really runs.

        With fewer elements than ranks there is nothing to share out, and Open MPI falls back to
        another algorithm for all but recursive doubling. Primitives have the number 0.
        """
        alone = PING_PONG if ranks > min(self.ranks) else ""
        primitives = [name for name in self.primitives if name != alone]
        return [
            (name, OPENMPI_ALGORITHMS.get(name, 0), size)
            for size in sorted(set(self.sizes_bytes))
            for name in (*self.algorithms, *primitives)
            if name not in ("ring", "halving-doubling") or size >= FLOAT_BYTES * ranks
        ]


def counts_up_to(ranks: int, ranks_per_node: int = 1) -> tuple[int, ...]:
    """Rank counts worth measuring among ``ranks`` ranks: small ones, full nodes, and all."""
    whole = [ranks_per_node * 2**k for k in range(ranks.bit_length())]
    some = {2, 3, 4, 3 * ranks_per_node, *whole}
    return tuple(sorted({n for n in some if 1 < n < ranks} | {ranks}))


def allreduce_plan(
    ranks: Sequence[int] | None,
    usual: Sequence[int] = DEFAULT_RANKS,
    operations: Sequence[str] = (),
) -> MeasurePlan:
    """The plan for these rank counts, the ``usual`` ones where None, and operations besides.

    Raises StudyError where the counts are too few to fit and to check the fit.
    """
    counts = tuple(ranks or usual)
    if len(set(counts)) < 2 or min(counts) < 2:
        listed = ",".join(str(count) for count in counts)
        problem = f"'{listed}' is too little to fit and to check the fit"
        raise ArgumentError("--ranks", problem, "give two or more counts from 2, as 2,3,4,8")
    return MeasurePlan(ranks=counts, primitives=(*PRIMITIVES, *operations))


@dataclass(frozen=True)
class Placement:
    """Where ranks are: ``ranks_per_node`` on each of at most ``nodes`` nodes, in order.

    link: the tier between the nodes by name; link_bytes_per_s: its speed in one direction per node.
    """

    ranks_per_node: int
    nodes: int = 1
    link: str | None = None
    link_bytes_per_s: float | None = None

    def on_each(self, ranks: int) -> int:
        """The ranks on a full node."""
        return min(self.ranks_per_node, ranks)

    def nodes_of(self, ranks: int) -> int:
        """The nodes that ``ranks`` fill; raises MeasurementError if there are fewer."""
        count = math.ceil(ranks / self.on_each(ranks))
        if count > self.nodes:
            room = f"{self.nodes} node{'s' * (self.nodes != 1)} of {self.ranks_per_node} ranks"
            raise MeasurementError(f"{ranks} ranks do not fit on {room}; give fewer --ranks")
        return count

    def stride(self, ranks: int) -> int:
        """How far apart the ranks of a pair are, so that every message leaves its node."""
        return self.on_each(ranks) if self.nodes_of(ranks) > 1 else 1

    def about(self, ranks: int) -> dict[str, Any]:
        """The fields of a Measurement that say where its ranks were."""
        return about(self.on_each(ranks), self.nodes_of(ranks), self.link, self.link_bytes_per_s)


def about(
    ranks_per_node: int, nodes: int, link: str | None, link_bytes_per_s: float | None
) -> dict[str, Any]:
    """The fields of a Measurement for ranks on so many nodes, joined by this link."""
    return {
        "ranks_per_node": ranks_per_node,
        "nodes": nodes,
        "link": (link or "network") if nodes > 1 else "shared-memory",
        "link_bytes_per_s": link_bytes_per_s if nodes > 1 else None,
    }
