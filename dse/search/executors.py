"""Where units of work run: in this process, or as Ray tasks on any cluster.

An executor yields units as they finish, in any order. Work is named by unit number: a worker makes
a unit's boxes itself, so no arrays of points travel.
"""

from __future__ import annotations

import math
import socket
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol

import numpy as np

from dse.errors import DseError
from dse.ray_session import CONNECT_S, ray_session
from dse.search import exhaustive, pareto
from dse.search.pareto import Front
from dse.search.problem import Problem
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


class RayExecutor:
    """Units as Ray tasks; a unit whose worker or node is lost is begun again elsewhere.

    address: None starts Ray on this machine; else a cluster to join ("auto", "ray://host:10001",
    "host:6379").
    """

    name = "ray"
    IN_FLIGHT_PER_CPU = 3
    ATTEMPTS = 5  # of one unit; then something is wrong with it
    LOOK_S = 1.0  # between looks at the cluster: is its head there, and how many CPUs has it
    # A head that is started again in this time is the same cluster still. Ray itself ends this
    # process, without a word that is ours, when it has not reached the head for a minute.
    HEAD_S = 10.0

    def __init__(self, address: str | None) -> None:
        self._session = ExitStack()
        self._ray = self._session.enter_context(ray_session(address))
        self._head = _head(self._ray, address)

    def run(self, problem: Problem, units: Iterable[int], known: Front) -> Iterator[Finished]:
        """Units as they finish; few are in flight at once, so a stop loses little."""
        errors = self._ray.exceptions
        try:
            yield from self._run(problem, units, known)
        except errors.RayTaskError:
            raise  # what went wrong in our own code there
        except (ConnectionError, errors.RayError) as cause:
            self._check_head()
            said = str(cause).strip().partition("\n")[0]
            raise DseError(f"Ray failed: {said}; go on with --resume") from cause

    def _run(self, problem: Problem, units: Iterable[int], known: Front) -> Iterator[Finished]:
        ray, front = self._ray, known
        held = ray.put(problem)
        task = ray.remote(max_retries=0)(_search_unit)  # begun again, and counted, here
        first = ((unit, 1) for unit in units)
        again: deque[tuple[int, int]] = deque()
        flying: dict[Any, tuple[int, int]] = {}
        room, looked = 0, -math.inf
        while True:
            if time.monotonic() - looked >= self.LOOK_S:
                self._check_head()
                room = self.IN_FLIGHT_PER_CPU * max(1, int(ray.cluster_resources().get("CPU", 1)))
                looked = time.monotonic()
            rival = _bare(front)
            for unit, attempt in islice(chain(_emptied(again), first), max(0, room - len(flying))):
                flying[task.remote([held], unit, rival)] = unit, attempt
            if not flying:
                return
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=self.LOOK_S)
            for reference in ready:
                unit, attempt = flying.pop(reference)
                tally = self._result(reference, unit, attempt)
                if tally is None:
                    again.append((unit, attempt + 1))
                    continue
                front = pareto.merge([front, tally.front])
                yield Finished(unit, tally, attempt)

    def _result(self, reference: Any, unit: int, attempt: int) -> Tally | None:
        """A finished task's tally; None if its worker or node was lost."""
        errors = self._ray.exceptions
        try:
            tally: Tally = self._ray.get(reference)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as cause:
            self._check_head()
            if attempt < self.ATTEMPTS:
                return None
            said = str(cause).strip().partition("\n")[0]
            raise DseError(
                f"unit of work {unit} was lost {attempt} times with its worker: {said}; "
                "go on with --resume"
            ) from cause
        return tally

    def _check_head(self) -> None:
        """Raise if the cluster's head is gone and does not come back."""
        deadline = time.monotonic() + self.HEAD_S
        while not _listens(self._head):
            if time.monotonic() > deadline:
                host, port = self._head
                raise DseError(
                    f"the head of the Ray cluster at {host}:{port} is lost; finished work is in "
                    "the log: go on with --resume, on another cluster with --address, or here "
                    "with --executor local"
                )
            time.sleep(self.LOOK_S)

    def close(self) -> None:
        """Leave the cluster, or stop the one that was started here."""
        self._session.close()


def _head(ray: Any, address: str | None) -> tuple[str, int]:
    """Host and port of what the driver cannot do without: the head, or Ray's server for clients."""
    if address is not None and address.startswith("ray://"):
        place = address.removeprefix("ray://")
    else:
        place = ray.get_runtime_context().gcs_address
    host, _, port = place.rpartition(":")
    return host.strip("[]"), int(port)


def _listens(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, CONNECT_S).close()
    except OSError:
        return False
    return True


def _emptied(queue: deque[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    while queue:
        yield queue.popleft()


def _bare(front: Front) -> Front:
    """The front without what it takes to name its points, to be sent along with every unit."""
    nothing = np.zeros(0, dtype=np.int64)
    return replace(front, ties=np.zeros(len(front), np.int64), indices=(nothing,) * len(front))


_KEPT: dict[str, Problem] = {}


def _search_unit(held: list[Any], unit: int, rival: Front) -> Tally:
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
    return exhaustive.search(problem, exhaustive.unit_boxes(problem.space, unit), rival)


class Executors:
    """What studies ask for, opened when first asked for: one is open, for all that ask alike."""

    def __init__(self) -> None:
        self._asked: tuple[bool, str | None] | None = None
        self._open: Executor | None = None

    def get(self, kind: str, address: str | None) -> Executor:
        """``local``, ``ray``, or ``auto``: Ray only where a cluster is named."""
        ray = kind == "ray" or (kind == "auto" and address not in (None, "auto"))
        asked = (ray, address if ray else None)
        if self._open is None or self._asked != asked:
            self.close()
            self._open = RayExecutor(address) if ray else LocalExecutor()
            self._asked = asked
        return self._open

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            self._open.close()
        self._open = None
