"""What every executor does: units of an exhaustive search, as they finish, in any order; and the
executor that is this process.

Work is named by unit number: a worker makes a unit's boxes itself, so no arrays of points travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from dse.pricing.problem import Problem
from dse.search import exhaustive, pareto
from dse.search.pareto import Front
from dse.search.tally import Tally


class Finished(NamedTuple):
    """A unit of work with its tally. attempts: how often it was begun; more than once where a
    worker or a node was lost.
    """

    unit: int
    tally: Tally
    attempts: int = 1


class Executor(Protocol):
    """Runs units of the exhaustive search."""

    name: str

    def run(self, problem: Problem, units: Iterable[int], known: Front) -> Iterator[Finished]:
        """Yield every unit once. ``known``: a front of points that need not be found again."""
        ...

    def close(self) -> None:
        """Release workers."""
        ...


class LocalExecutor:
    """One unit after the other in this process."""

    name = "local"

    def run(self, problem: Problem, units: Iterable[int], known: Front) -> Iterator[Finished]:
        """Units in the order given; each knows the front of those before it."""
        front = known
        for unit in units:
            tally = exhaustive.search(problem, exhaustive.unit_boxes(problem.space, unit), front)
            front = pareto.merge([front, tally.front])
            yield Finished(unit, tally)

    def close(self) -> None:
        """Nothing to release."""
