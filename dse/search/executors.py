"""Where units of work run: in this process, or as Ray tasks on any cluster.

An executor yields (unit, tally) as units finish, in any order. Work is named by unit number: a
worker makes a unit's boxes itself, so no arrays of points travel.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from dse.errors import DseError
from dse.ray_session import authenticate, reachable
from dse.search import exhaustive, pareto
from dse.search.problem import Problem
from dse.search.tally import Tally


class Executor(Protocol):
    """Runs units of the exhaustive search."""

    name: str

    def run(self, problem: Problem, units: Iterable[int]) -> Iterator[tuple[int, Tally]]:
        """Yield every unit once with its tally."""
        ...

    def close(self) -> None:
        """Release workers."""
        ...


class LocalExecutor:
    """One unit after the other in this process."""

    name = "local"

    def run(self, problem: Problem, units: Iterable[int]) -> Iterator[tuple[int, Tally]]:
        """Units in the order given; each knows the front of those before it."""
        front = pareto.empty_front()
        for unit in units:
            tally = exhaustive.search(problem, exhaustive.unit_boxes(problem.space, unit), front)
            front = pareto.merge([front, tally.front])
            yield unit, tally

    def close(self) -> None:
        """Nothing to release."""


class RayExecutor:
    """Units as Ray tasks; a task whose worker or node dies is run again elsewhere.

    address: None starts Ray on this machine; else a cluster to join ("auto", "ray://host:10001",
    "host:6379").
    """

    name = "ray"
    IN_FLIGHT_PER_CPU = 3
    ATTEMPTS = 5

    def __init__(self, address: str | None) -> None:
        reachable(address)  # Ray itself tries for minutes
        authenticate(address)
        import ray

        self._ray = ray
        self._owned = not ray.is_initialized()
        if self._owned:
            try:
                ray.init(
                    address=address,
                    include_dashboard=False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    configure_logging=False,
                )
            except (ConnectionError, OSError, RuntimeError, ValueError) as cause:
                where = address or "this machine"
                raise DseError(
                    f"no Ray on {where}: {cause}; start one with 'ray start --head'"
                ) from cause

    def run(self, problem: Problem, units: Iterable[int]) -> Iterator[tuple[int, Tally]]:
        """Units as they finish; few are in flight at once, so a stop loses little."""
        ray = self._ray
        held = ray.put(problem)
        task = ray.remote(max_retries=self.ATTEMPTS, retry_exceptions=False)(_search_unit)
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        waiting = iter(units)
        flying: dict[Any, int] = {}
        while True:
            for unit in islice(waiting, cpus * self.IN_FLIGHT_PER_CPU - len(flying)):
                flying[task.remote([held], unit)] = unit
            if not flying:
                return
            finished, _ = ray.wait(list(flying), num_returns=1)
            for reference in finished:
                unit = flying.pop(reference)
                yield unit, ray.get(reference)

    def close(self) -> None:
        """Leave the cluster, or stop the one that was started here."""
        if self._owned:
            self._ray.shutdown()


_KEPT: dict[str, Problem] = {}


def _search_unit(held: list[Any], unit: int) -> Tally:
    """Runs in a worker, which keeps the problem, and what it remembers, for its next unit.

    held: the problem's reference, in a list so that Ray does not fetch it for every unit. Its
    number is the key: a search with other prices or profiles is another object.
    """
    key = held[0].hex()
    if key not in _KEPT:
        import ray

        _KEPT.clear()
        _KEPT[key] = ray.get(held[0])
    problem = _KEPT[key]
    return exhaustive.search(problem, exhaustive.unit_boxes(problem.space, unit))


def executor(kind: str, address: str | None) -> Executor:
    """``local``, ``ray``, or ``auto``: Ray only where a cluster is named."""
    if kind == "ray" or (kind == "auto" and address not in (None, "auto")):
        return RayExecutor(address)
    return LocalExecutor()
