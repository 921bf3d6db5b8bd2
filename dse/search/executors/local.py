"""Units of work in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dse.pricing.problem import Problem
from dse.search import exhaustive, pareto
from dse.search.executors.executor import Finished
from dse.search.pareto import Front


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
