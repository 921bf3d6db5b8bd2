"""One rank of a torch measurement as a Ray actor; runs wherever Ray put it.

Imports nothing but the standard library before it is asked to: this module, with the package around
it, is sent to nodes that may lack everything else.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from dataclasses import asdict
from typing import Any


class RankActor:
    """A rank. The one with rank 0 opens the port at which all meet."""

    def __init__(self) -> None:
        self._listener: socket.socket | None = None

    def about(self) -> dict[str, Any]:
        """What this node has; imports torch, so that measuring need not wait for it.

        torch: whether there is one. cores, address: of the node. machine: the fields of a Machine,
        or None where they are unknown.
        """
        for library in ("OMP", "OPENBLAS", "MKL"):
            os.environ[f"{library}_NUM_THREADS"] = "1"
        from ray.util import get_node_ip_address

        address: Callable[[], str] = get_node_ip_address
        found = {
            "torch": True,
            "cores": os.cpu_count() or 1,
            "address": str(address()),
            "machine": None,
        }
        try:
            import torch  # noqa: F401
        except ImportError:
            return {**found, "torch": False}
        try:
            from dse.calibration.experiment import this_machine
        except ImportError:  # a node without pydantic
            return found
        return {**found, "machine": asdict(this_machine())}

    def listen(self, address: str) -> int:
        """Open a free port for the next run."""
        if self._listener:
            self._listener.close()
        self._listener = socket.create_server((address, 0))
        return int(self._listener.getsockname()[1])

    def measure(self, task: dict[str, Any], port: int) -> dict[str, Any]:
        """Run the task's rank once; returns its records, or the problem it met."""
        from dse.calibration.runners import timing, torch_worker

        # The store closes what it listens on: hand it over.
        listener = self._listener.detach() if self._listener else None
        self._listener = None
        try:
            store = torch_worker.open_store(task, port, listener)
            return {"records": torch_worker.measure(task, store)}
        except (timing.WrongSum, RuntimeError, OSError) as cause:
            said = (str(cause).splitlines() or [type(cause).__name__])[0]
            return {"problem": f"rank {task['rank']}: {said}"}
