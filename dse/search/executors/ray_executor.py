"""Units of work as Ray tasks, on this machine or any cluster.

They are dealt out in lots, and taken back from nodes that are gone.
"""

from __future__ import annotations

import math
import pickle
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from dse.calibration.runners.ray_session import CONNECT_S, ray_session
from dse.errors import ClusterError
from dse.pricing.problem import Problem
from dse.search import exhaustive, pareto
from dse.search.executors.executor import Finished
from dse.search.executors.ray_worker import Lot, lot_task
from dse.search.fingerprint import installation
from dse.search.pareto import Front

_CLOSED = "Cannot monitor channel state: Channel closed"  # of grpc's watching threads


class Begun(NamedTuple):
    """A unit that a task is to search, and how often it was begun, this time included."""

    unit: int
    attempt: int


class Lots:
    """Deals out units, several to a task, so that a task takes long beside what it costs Ray.

    A task costs several ms of CPU time here and there, a unit often takes but 20 ms. Towards the
    end lots get smaller, so that all workers end about together. units: may be fewer than
    ``whole``, where some are done already. longest_s: that a lot has taken.
    """

    LOT_S = 0.25  # that a task should take
    LOT_S_PER_CPU = 0.005  # or this for every CPU of the cluster: there is one driver for all

    def __init__(self, units: Iterable[int], whole: int) -> None:
        self._fresh = iter(units)
        self._left = whole
        self._again: deque[Begun] = deque()
        self._unit_s = math.inf
        self.longest_s = 0.0

    def next(self, cpus: int) -> list[Begun]:
        """Units for a task of a cluster with so many CPUs; none if all are dealt out."""
        if self._again:  # each by itself: if one of them kills its worker, the others come through
            return [self._again.popleft()]
        task_s = max(self.LOT_S, self.LOT_S_PER_CPU * cpus)
        fair = -(-self._left // (2 * cpus))
        size = max(1, min(int(task_s / self._unit_s), fair))
        lot = [Begun(unit, 1) for unit in islice(self._fresh, size)]
        self._left = max(0, self._left - len(lot))
        return lot

    def lost(self, lot: Sequence[Begun]) -> None:
        """Have the units of a lost task dealt out once more."""
        self._again.extend(Begun(unit, attempt + 1) for unit, attempt in lot)

    def took(self, lot_s: float, units: int) -> None:
        """Tell how long so many units took; what was told last counts half."""
        self.longest_s = max(self.longest_s, lot_s)
        unit_s = max(1e-6, lot_s / units)
        self._unit_s = unit_s if self._unit_s == math.inf else (self._unit_s + unit_s) / 2


class Nodes:
    """The nodes of a cluster, looked at now and then.

    A node may go without a word: the power fails, the network breaks. Ray tells that it is gone,
    but waits for the tasks there for minutes more. So tasks that were under way when a node went
    are given up if they do not end soon; where one was only slow, its units are searched twice.
    """

    PATIENCE_S = 5.0  # and twice the longest that a lot has taken: one may have to wait for another

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._alive: set[str] = set()
        self._doubtful: dict[Any, float] = {}  # a task, and since when
        self.cpus = 0

    def look(self, flying: Collection[Any], longest_s: float) -> list[Any]:
        """Count the CPUs; returns those of the tasks under way that are to be given up."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        self.cpus = int(sum(node["Resources"].get("CPU", 0) for node in nodes))
        now_s, alive = time.monotonic(), {node["NodeID"] for node in nodes}
        doubtful = {task: self._doubtful[task] for task in flying if task in self._doubtful}
        if self._alive - alive:
            doubtful = {task: doubtful.get(task, now_s) for task in flying}
        self._alive = alive
        oldest_s = now_s - self.PATIENCE_S - 2 * longest_s
        given_up = [task for task, since_s in doubtful.items() if since_s <= oldest_s]
        self._doubtful = {task: since_s for task, since_s in doubtful.items() if since_s > oldest_s}
        return given_up


class RayExecutor:
    """Lots of units as Ray tasks; a unit whose worker or node is lost is begun again elsewhere.

    address: None starts Ray on this machine; else a cluster to join ("auto", "ray://host:10001",
    "host:6379"). say: takes a line for the user where the cluster takes up no work.
    """

    name = "ray"
    IN_FLIGHT_PER_CPU = 2  # lots: one is searched, one waits
    ATTEMPTS = 5  # of one unit; then something is wrong with it
    WAIT_S = 60.0  # until any work is done, before the user is told: workers have to start first
    LOOK_S = 1.0  # between looks at the cluster: is its head there, and how many CPUs has it
    # A head that is started again in this time is the same cluster still. Ray itself ends this
    # process, without a word that is ours, when it has not reached the head for a minute.
    HEAD_S = 10.0

    def __init__(self, address: str | None, say: Callable[[str], None] = lambda _: None) -> None:
        self._say = say
        self._session = ExitStack()
        self._ray = self._session.enter_context(ray_session(address))
        self._head = _head(self._ray, address)

    def run(self, problem: Problem, units: Iterable[int], known: Front) -> Iterator[Finished]:
        """Units as they finish; few are in flight at once, so a stop loses little."""
        # A Ray client that asks for the nodes while its server dies lets what gRPC raises through.
        grpc: Any = sys.modules.get("grpc")
        errors, of_grpc = self._ray.exceptions, () if grpc is None else (grpc.RpcError,)
        try:
            yield from self._run(problem, units, known)
        except errors.RayTaskError:
            raise  # what went wrong in our own code there
        except (ConnectionError, errors.RayError, *of_grpc) as cause:
            self._check_head()
            whole = cause.details() if isinstance(cause, of_grpc) else str(cause)
            said = whole.strip().partition("\n")[0]
            raise ClusterError(f"Ray failed: {said}; continue with --resume") from cause

    def _run(self, problem: Problem, units: Iterable[int], known: Front) -> Iterator[Finished]:
        ray, front, rival = self._ray, known, _sent(known)
        held = [ray.put(installation()), ray.put(problem)]
        task = ray.remote(max_retries=0)(lot_task())  # begun again, and counted, here
        lots = Lots(units, exhaustive.units(problem.space))
        flying: dict[Any, list[Begun]] = {}
        nodes, looked, told_s = Nodes(ray), -math.inf, time.monotonic() + self.WAIT_S
        while True:
            if time.monotonic() - looked >= self.LOOK_S:
                self._check_head()
                for reference in nodes.look(flying, lots.longest_s):
                    lots.lost(flying.pop(reference))
                looked = time.monotonic()
                if looked > told_s:
                    told_s = math.inf
                    self._say(
                        f"waiting: none of the {nodes.cpus:,} CPUs of the Ray cluster has finished "
                        "any work; other jobs may hold them (ray status tells)"
                    )
            cpus = max(1, nodes.cpus)  # of a cluster that has none yet some are to be wanted
            while len(flying) < cpus * self.IN_FLIGHT_PER_CPU and (lot := lots.next(cpus)):
                flying[task.remote(held, [begun.unit for begun in lot], rival)] = lot
            if not flying:
                return
            ready, _ = ray.wait(list(flying), num_returns=1, timeout=self.LOOK_S)
            for reference in ready:
                lot = flying.pop(reference)
                done = self._result(reference, lot)
                if done is None:
                    lots.lost(lot)
                    continue
                lots.took(done.searched_s, len(lot))
                told_s = math.inf
                found = [tally.front for tally in done.tallies if len(tally.front)]
                if found:
                    front = pareto.merge([front, *found])
                    rival = _sent(front)
                for begun, tally in zip(lot, done.tallies, strict=True):
                    yield Finished(begun.unit, tally, begun.attempt)

    def _result(self, reference: Any, lot: Sequence[Begun]) -> Lot | None:
        """What a task found; None if its worker or node was lost."""
        errors = self._ray.exceptions
        try:
            found: Lot | tuple[str, str] = self._ray.get(reference)
        except (
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.LocalRayletDiedError,
            errors.OutOfMemoryError,
            errors.ObjectLostError,
        ) as cause:
            self._check_head()
            if lot[0].attempt < self.ATTEMPTS:
                return None
            said = str(cause).strip().partition("\n")[0]
            raise ClusterError(
                f"unit of work {lot[0].unit} was lost {lot[0].attempt} times with its worker: "
                f"{said}; continue with --resume"
            ) from cause
        if isinstance(found, Lot):
            return found
        node, why = found
        raise ClusterError(
            f"node {node} of the Ray cluster {why}: its prices might be others; install the same "
            "dse and catalogue on every node and continue with --resume"
        )

    def _check_head(self) -> None:
        """Raise if the cluster's head is gone and does not come back."""
        deadline = time.monotonic() + self.HEAD_S
        while not _listens(self._head):
            if time.monotonic() > deadline:
                _silence_closed_channels()
                host, port = self._head
                raise ClusterError(
                    f"the head of the Ray cluster at {host}:{port} is lost; finished work is in "
                    "the log: continue with --resume, on another cluster with --address, or here "
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


def _silence_closed_channels() -> None:
    """Let a thread in which gRPC watches a channel end without a traceback where the channel is
    closed under it, as on leaving a cluster whose head is lost; others say what they said before.
    """
    before = threading.excepthook

    def hook(failed: threading.ExceptHookArgs) -> None:
        if not (isinstance(failed.exc_value, ValueError) and _CLOSED in str(failed.exc_value)):
            before(failed)

    threading.excepthook = hook


def _listens(place: tuple[str, int]) -> bool:
    try:
        socket.create_connection(place, CONNECT_S).close()
    except OSError:
        return False
    return True


def _sent(front: Front) -> bytes:
    """The front without what it takes to name its points, as it is sent along with every lot."""
    nothing = np.zeros(0, dtype=np.int64)
    ties = np.zeros(len(front), dtype=np.int64)
    return pickle.dumps(replace(front, ties=ties, indices=(nothing,) * len(front)))
