"""What to measure of allreduce and other operations, where the ranks of it are, and for how long.

Processes are started for every turn (a number of ranks; a number of workers and of servers), or run
already. All turns are gone through once, then again as often as the budget allows, because
two starts of the same thing differ more than its repetitions do. What is left of the budget is
shared out again before each turn.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from dse.calibration.runners.bench import PING_PONG, PRIMITIVES
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.errors import ArgumentError, MeasurementError

# Open MPI's coll_tuned_allreduce_algorithm numbers (ompi_info --param coll tuned --level 9).
OPENMPI_ALGORITHMS = {"recursive-doubling": 3, "ring": 4, "halving-doubling": 6}
AUTO = "auto"  # the library chooses, in every library by the number 0
DEFAULT_RANKS = (2, 3, 4, 8)
DEFAULT_SIZES = (*(8 * 4**k for k in range(11)), 16 * 2**20)
MIN_REPETITIONS = 5
STARTS_SHARE = 0.5  # of the budget that the starts of one pass over the rank counts may take
PASSES_SHARE = 0.4  # of the budget that the starts of all passes may take, if that is several
LEAST_SHARE = 0.75  # of the budget that the starts of the only pass may take
MAX_PASSES = 5
MPIRUN_S = (0.8, 0.25)  # guess of a start's seconds: fixed, and per rank of two cores
TORCH_START_S = 3.0  # guess of the seconds in which Python imports torch on every host
GROUP_S = 4.0  # that a rank count of torch should get in a run
LEAST_GROUP_S = 1.0  # that it must get where no rank count can be dropped
GRACE_S = 30.0  # processes may overrun their share by this before they are taken for hung
Progress: TypeAlias = Callable[[int, int, str], None]  # turns done, turns, what is next
Servers: TypeAlias = tuple[int, int]  # workers, servers
Turn = TypeVar("Turn")


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


def limit_s(share_s: float, grace_s: float | None = None) -> float:
    """Seconds after which processes that were given ``share_s`` seconds count as hung."""
    return 3 * share_s + (GRACE_S if grace_s is None else grace_s)


class Budget(Generic[Turn]):
    """Shares the seconds that are left among the turns that are left."""

    def __init__(
        self,
        turns: Sequence[Turn],
        passes: int,
        budget_s: float,
        text: Callable[[int, Turn], str],
        progress: Progress | None = None,
        began: float | None = None,
        start_s: Callable[[Turn], float] = lambda _: 0.0,
        weight: Callable[[Turn], float] = lambda _: 1.0,
        least_slowness: float = 0.5,
    ) -> None:
        """text: says which turn of which pass is next. began: time.monotonic() then; now if None.
        start_s: the estimated start-up seconds of a turn; none where its ranks run already. weight:
        of a turn when the budget is shared out. least_slowness: the least factor by which quick
        starts lower the estimates for later ones.

        ``progress`` is called before every turn and at the end.
        """
        self.end = (time.monotonic() if began is None else began) + budget_s
        self._text, self._start_s, self._weight = text, start_s, weight
        self._tell: Progress = progress or (lambda *_: None)
        self._least_slowness = least_slowness
        self._slowness = 1.0
        self._all = [(run, one) for run in range(1, passes + 1) for one in turns]

    def turns(self) -> Iterator[tuple[int, Turn, float]]:
        """(run from 1, turn, seconds to measure in it), all turns of a run before the next run."""
        for done, (run, turn) in enumerate(self._all):
            self._tell(done, len(self._all), self._text(run, turn))
            left = [one for _, one in self._all[done:]]
            lost = self._slowness * sum(map(self._start_s, left))
            spare = max(0.0, self.end - time.monotonic() - lost)
            yield run, turn, spare * self._weight(turn) / sum(map(self._weight, left))
        self._tell(len(self._all), len(self._all), "done")

    def spent(self, turn: Turn, wall_s: float, records: Sequence[dict[str, Any]]) -> None:
        """Correct the estimates for later turns by how long this one took to start."""
        inside_s = next((float(r["seconds"]) for r in records if r["kind"] == "end"), wall_s)
        ratio = (wall_s - inside_s) / self._start_s(turn)
        slowness = 0.5 * self._slowness + 0.5 * ratio
        self._slowness = min(max(slowness, self._least_slowness), 10.0)


def start_s(ranks: int, cores: int) -> float:
    """A guess of the seconds from mpirun to the first barrier; measured starts correct it."""
    return MPIRUN_S[0] + MPIRUN_S[1] * max(2.0, ranks * 2.0 / cores)


def weight(ranks: int, cores: int) -> float:
    """The weight of a rank count when the budget is shared out: ranks per core, at least 1."""
    return max(1.0, ranks / cores)


def server_budget(
    turns: Sequence[Servers],
    budget_s: float,
    cores: int,
    progress: Progress | None = None,
) -> Budget[Servers]:
    """The budget of parameter servers: starting k processes is estimated at ``1 s + k/cores s``.

    Raises MeasurementError if ``budget_s`` does not even hold each of the ``turns`` once.
    """

    def start_s(turn: Servers) -> float:
        return 1.0 + sum(turn) / cores

    once = sum(map(start_s, turns))
    if not once <= LEAST_SHARE * budget_s < math.inf:
        problem = f"{budget_s:g} s is too short to start the processes {len(turns)} times"
        needed = math.ceil(once / LEAST_SHARE)
        raise MeasurementError(f"{problem}; give --budget {needed} or more")
    passes = _passes(budget_s, once)
    return Budget(
        turns,
        passes,
        budget_s,
        lambda run, turn: f"workers: {turn[0]}, servers: {turn[1]}, run {run} of {passes}",
        progress,
        start_s=start_s,
        weight=sum,
        least_slowness=0.3,
    )


def affordable_counts(
    plan: MeasurePlan, budget_s: float, cores: int
) -> tuple[tuple[int, ...], int]:
    """The rank counts to measure, each started by mpirun, and how often.

    Rank counts are dropped, the largest first, until the starts fit STARTS_SHARE of the budget.
    Three always stay, one of them no power of two if the plan has one. Raises MeasurementError if
    those three do not fit LEAST_SHARE.
    """
    counts = sorted(set(plan.ranks))

    def starts() -> float:
        return sum(start_s(ranks, cores) for ranks in counts)

    while len(counts) > 3 and starts() > STARTS_SHARE * budget_s:
        odd = [ranks for ranks in counts if ranks & (ranks - 1)]
        counts.remove(max(ranks for ranks in counts if odd != [ranks]))
    if starts() > LEAST_SHARE * budget_s:
        needed = starts() / LEAST_SHARE
        problem = f"{budget_s:g} s is too short to start ranks for {len(counts)} rank counts"
        raise MeasurementError(f"{problem}; give --budget {math.ceil(needed)} or more")
    return tuple(counts), _passes(budget_s, starts())


def affordable_groups(
    plan: MeasurePlan, budget_s: float, start_s: float = TORCH_START_S
) -> tuple[list[int], int]:
    """The rank counts to measure by torch, and in how many runs; every run starts all ranks anew.

    Counts that would get less than GROUP_S are dropped, the largest first; three stay.
    Raises MeasurementError if those get less than LEAST_GROUP_S. start_s: seconds of the
    budget that the start takes.
    """
    counts, spare_s = sorted(set(plan.ranks)), budget_s - start_s
    while len(counts) > 3 and spare_s < GROUP_S * len(counts):
        counts.pop()
    if spare_s < LEAST_GROUP_S * len(counts):
        needed = math.ceil(start_s + LEAST_GROUP_S * len(counts))
        problem = (
            f"{budget_s:g} s is too short to start torch and measure {len(counts)} rank counts"
        )
        raise MeasurementError(f"{problem}; give --budget {needed} or more")
    return counts, min(max(1, int(spare_s / (GROUP_S * len(counts)))), MAX_PASSES)


def _passes(budget_s: float, once_s: float) -> int:
    """How often what takes ``once_s`` seconds to start is gone through."""
    return min(max(int(PASSES_SHARE * budget_s / once_s), 1), MAX_PASSES)
