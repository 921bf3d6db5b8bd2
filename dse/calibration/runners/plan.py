"""What to measure, and how often it fits the budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

from dse.errors import MeasurementError

# Open MPI's coll_tuned_allreduce_algorithm numbers (ompi_info --param coll tuned --level 9).
OPENMPI_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "halving-doubling": 6}
AUTO = "auto"  # the library chooses, in every library by the number 0
# pairs.PRIMITIVES, which cannot be imported without starting MPI in this process.
EXCHANGE, PING_PONG = "exchange", "ping-pong"
PRIMITIVES = (EXCHANGE, PING_PONG)
DEFAULT_RANKS = (2, 3, 4, 8)
DEFAULT_SIZES = (*(8 * 4**k for k in range(11)), 16 * 2**20)
MIN_REPETITIONS = 5
START_S = (0.8, 0.25)  # guess of a start's seconds: fixed, and per rank of two cores
STARTS_SHARE = 0.5  # of the budget that the starts of one pass over the rank counts may take
PASSES_SHARE = 0.4  # of the budget that the starts of all passes may take, if that is several
LEAST_SHARE = 0.75  # of the budget that the starts may take where no rank count can be dropped
MAX_PASSES = 5
FLOAT_BYTES = 4


@dataclass(frozen=True)
class MeasurePlan:
    """What to measure. sizes_bytes: per rank, multiples of 4. ranks: each at least 2.

    primitives: messages of pairs of ranks: 'exchange' at every rank count, all pairs at once, and
    'ping-pong' of one pair, at the smallest rank count. local: also what one rank does alone.
    """

    algorithms: tuple[str, ...] = tuple(OPENMPI_ALGORITHMS)
    ranks: tuple[int, ...] = DEFAULT_RANKS
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES
    primitives: tuple[str, ...] = PRIMITIVES
    local: bool = True

    def __post_init__(self) -> None:
        known = (*OPENMPI_ALGORITHMS, AUTO, *PRIMITIVES)
        unknown = {*self.algorithms, *self.primitives} - set(known)
        if unknown or not (self.algorithms or self.primitives):
            what = ", ".join(sorted(unknown)) or "nothing"
            raise MeasurementError(f"cannot measure {what}; choose from {', '.join(known)}")
        if not self.ranks or min(self.ranks) < 2:
            raise MeasurementError("every rank count must be at least 2, for example 2,3,4,8")
        if not self.sizes_bytes or any(s < 4 or s % FLOAT_BYTES for s in self.sizes_bytes):
            raise MeasurementError("every size must be a positive multiple of 4 bytes")

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


def start_s(ranks: int, cores: int) -> float:
    """A guess of the seconds from mpirun to the first barrier; measured starts correct it."""
    return START_S[0] + START_S[1] * max(2.0, ranks * 2.0 / cores)


def affordable(plan: MeasurePlan, budget_s: float, cores: int) -> tuple[tuple[int, ...], int]:
    """The rank counts to measure and how often.

    What does not fit STARTS_SHARE loses rank counts, the largest first; three always stay, one of
    them no power of two if the plan has one. MeasurementError if those do not fit LEAST_SHARE.
    """
    counts = sorted(set(plan.ranks))

    def starts() -> float:
        return sum(start_s(ranks, cores) for ranks in counts)

    while len(counts) > 3 and starts() > STARTS_SHARE * budget_s:
        odd = [ranks for ranks in counts if ranks & (ranks - 1)]
        counts.remove(max(ranks for ranks in counts if odd != [ranks]))
    if starts() > LEAST_SHARE * budget_s:
        needed = starts() / LEAST_SHARE
        problem = f"{budget_s:g} s do not hold the starts of {len(counts)} rank counts"
        raise MeasurementError(f"{problem}; give --budget {math.ceil(needed)} or more")
    passes = int(PASSES_SHARE * budget_s / starts())
    return tuple(counts), min(max(passes, 1), MAX_PASSES)


def counts_up_to(ranks: int, ranks_per_node: int = 1) -> tuple[int, ...]:
    """Rank counts worth measuring where there are ``ranks``: small ones, full nodes, and all."""
    whole = [ranks_per_node * 2**k for k in range(ranks.bit_length())]
    some = {2, 3, 4, 3 * ranks_per_node, *whole}
    return tuple(sorted({n for n in some if 1 < n < ranks} | {ranks}))


def weight(ranks: int, cores: int) -> float:
    """How much time a rank count gets, against others: as much more as the ranks share cores."""
    return max(1.0, ranks / cores)
