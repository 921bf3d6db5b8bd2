"""What to measure of allreduce and other operations, where the ranks of it are, and for how long.

A run starts as many ranks as the largest count needs, or takes those that are there, and measures
all counts one after another, each among the first so many ranks. There are as many runs as the
budget allows, because two starts of the same thing differ more than its repetitions do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from dse.calibration.runners.started_rank import Started
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.errors import ArgumentError, MeasurementError

# Open MPI's coll_tuned_allreduce_algorithm numbers (ompi_info --param coll tuned --level 9).
OPENMPI_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "halving-doubling": 6}
DEFAULT_RANKS = (2, 3, 4, 8)
DEFAULT_SIZES = (*(8 * 4**k for k in range(11)), 16 * 2**20)
MIN_REPETITIONS = 5
MAX_RUNS = 5
MPIRUN_S = (0.8, 0.25)  # guess of a start's seconds: fixed, and per rank of two cores
TORCH_START_S = 3.0  # guess of the seconds in which Python imports torch on every host
GROUP_S = 4.0  # that a rank count should get in a run
LEAST_GROUP_S = 1.0  # that it must get where no rank count can be dropped
GRACE_S = 30.0  # processes may overrun their share by this before they are taken for hung
Progress: TypeAlias = Callable[[int, int, str], None]  # turns done, turns, what is next


@dataclass(frozen=True)
class MeasurePlan:
    """What to measure. sizes_bytes: per rank, multiples of 4. ranks: each at least 2.

    operations: besides allreduce, of :data:`.bench.OPERATIONS`. local: also what one rank does
    alone.
    """

    algorithms: tuple[str, ...] = tuple(OPENMPI_ALGORITHMS)
    ranks: tuple[int, ...] = DEFAULT_RANKS
    sizes_bytes: tuple[int, ...] = DEFAULT_SIZES
    operations: tuple[str, ...] = ()
    local: bool = True

    def cells(self, ranks: int) -> list[tuple[str, int, int]]:
        """(algorithm, its number in Open MPI, bytes), smallest first, where it really runs.

        With fewer elements than ranks there is nothing to share out, and Open MPI falls back to
        another algorithm for all but recursive doubling. Operations have the number 0.
        """
        return [
            (name, OPENMPI_ALGORITHMS.get(name, 0), size)
            for size in sorted(set(self.sizes_bytes))
            for name in (*self.algorithms, *self.operations)
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
    return MeasurePlan(ranks=counts, operations=tuple(operations))


def started_plan(
    ranks: Sequence[int] | None, me: Started, operations: Sequence[str], whole: bool
) -> MeasurePlan:
    """The plan among ranks that a launcher started: of the counts asked for those up to all.

    By default small counts and all. whole: all ranks besides. Raises MeasurementError and
    StudyError where the counts are too few to fit and to check the fit.
    """
    if me.ranks < 3:
        problem = f"{me.by} started {me.ranks} ranks, and a fit needs two rank counts from 2"
        raise MeasurementError(f"{problem}; start 3 ranks or more")
    plan = allreduce_plan(ranks, counts_up_to(me.ranks), operations)
    some = {count for count in plan.ranks if count <= me.ranks} | ({me.ranks} if whole else set())
    if len(some) < 2:
        problem = f"names fewer than two counts up to the {me.ranks} ranks that {me.by} started"
        raise ArgumentError("--ranks", problem, "give two or more of these, or start more ranks")
    return replace(plan, ranks=tuple(sorted(some)))


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


def limit_s(share_s: float, grace_s: float | None = None) -> float:
    """Seconds after which processes that were given ``share_s`` seconds count as hung."""
    return 3 * share_s + (GRACE_S if grace_s is None else grace_s)


def start_s(ranks: int, cores: int) -> float:
    """A guess of the seconds from mpirun to the first barrier."""
    return MPIRUN_S[0] + MPIRUN_S[1] * max(2.0, ranks * 2.0 / cores)


def affordable(
    plan: MeasurePlan, budget_s: float, start_s: float = 0.0, again_s: float = 0.0
) -> tuple[list[int], int]:
    """The rank counts to measure, and in how many runs.

    Counts that would get less than GROUP_S are dropped, the largest first; three stay, one of them
    no power of two if the plan has one. Raises MeasurementError if those get less than
    LEAST_GROUP_S. start_s: seconds of the budget that the first start takes; again_s: each other.
    """
    counts, spare_s = sorted(set(plan.ranks)), budget_s - start_s
    while len(counts) > 3 and spare_s < GROUP_S * len(counts):
        odd = [ranks for ranks in counts if ranks & (ranks - 1)]
        counts.remove(max(ranks for ranks in counts if odd != [ranks]))
    if not spare_s >= LEAST_GROUP_S * len(counts):
        needed = math.ceil(start_s + LEAST_GROUP_S * len(counts))
        problem = f"{budget_s:g} s is too short to start ranks and measure {len(counts)} counts"
        raise MeasurementError(f"{problem}; give --budget {needed} or more")
    share_s = GROUP_S * len(counts)
    runs = 1 + (spare_s - share_s) // (again_s + share_s)
    return counts, int(min(max(1, runs), MAX_RUNS))


def run_texts(counts: Sequence[int], runs: int) -> list[str]:
    """The text printed before each run of all rank counts."""
    listed = ", ".join(map(str, counts))
    return [f"{listed} ranks, run {run} of {runs}" for run in range(1, runs + 1)]


def shared(
    texts: Sequence[str],
    budget_s: float,
    progress: Progress | None,
    began: float,
    start_s: float = 0.0,
) -> Iterator[tuple[int, float]]:
    """(turn from 1, seconds to measure in it): an equal share of what is left of the budget.

    texts: of each turn. began: time.monotonic() then. start_s: estimated seconds of a start.
    ``progress`` is called before every turn and at the end.
    """
    tell = progress or (lambda *_: None)
    for done, text in enumerate(texts):
        tell(done, len(texts), text)
        left_s = began + budget_s - time.monotonic()
        # The first also where starting took all the time.
        yield done + 1, max(left_s / (len(texts) - done) - start_s, 0.0 if done else GROUP_S)
    tell(len(texts), len(texts), "done")
