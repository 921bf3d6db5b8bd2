"""What every executor does: units of an exhaustive search, as they finish, in any order.

Work is named by unit number: a worker makes a unit's boxes itself, so no arrays of points travel.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from dse.pricing.problem import Problem
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
