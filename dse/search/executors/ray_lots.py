"""How work is dealt out to Ray's workers, and what is taken back from nodes that are gone."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Any, NamedTuple


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
