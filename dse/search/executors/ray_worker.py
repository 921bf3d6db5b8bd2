"""What a Ray worker does: units of work, once it is sure to price points as the driver does."""

from __future__ import annotations

import pickle
import socket
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dse.pricing.problem import Problem
from dse.search.executors.executor import LocalExecutor
from dse.search.fingerprint import disagreement, installation
from dse.search.tally import Tally


class Lot(NamedTuple):
    """What came of the units of one task. searched_s: how long they took, without getting ready."""

    tallies: list[Tally]
    searched_s: float


def lot_task() -> Callable[[list[Any], list[int], bytes], Lot | tuple[str, str]]:
    """The function that is sent to workers; see :func:`search_lot`.

    It is made inside another one so that Ray sends its code and not its name: a node that has
    another dse, or none, can say so. Its arguments are what any Python can read.
    """

    def search_units(held: list[Any], units: list[int], rival: bytes) -> Any:
        try:
            from dse.search.executors.ray_worker import search_lot
        except ImportError as cause:
            import socket

            return socket.gethostname(), f"lacks dse, or has a very different one ({cause})"
        return search_lot(held, units, rival)

    return search_units


def search_lot(held: Sequence[Any], units: Sequence[int], rival: bytes) -> Lot | tuple[str, str]:
    """Search units in turn, each with the front of those before it; or (node, why it must not).

    held: references to the driver's installation and to the problem, in a list so that Ray does not
    fetch them for every task. rival: a front that is known already, pickled.
    """
    ready = _ready(held)
    if isinstance(ready, str):
        import ray

        address: Any = ray.util.get_node_ip_address
        return f"{address()} ({socket.gethostname()})", ready
    began = time.perf_counter()
    tallies = [done.tally for done in LocalExecutor().run(ready, units, pickle.loads(rival))]
    return Lot(tallies, time.perf_counter() - began)


_KEPT: dict[str, Problem | str] = {}


def _ready(held: Sequence[Any]) -> Problem | str:
    """The problem, kept with what it remembers for the next lot; or what differs here.

    The number of its reference is the key: a search with other prices or profiles is another one.
    """
    key = held[1].hex()
    if key not in _KEPT:
        import ray

        _KEPT.clear()
        _KEPT[key] = disagreement(ray.get(held[0]), installation()) or ray.get(held[1])
    return _KEPT[key]
