"""Where units of work run: one file an executor, and :func:`opened` by what a study asks for."""

from __future__ import annotations

from collections.abc import Callable

from dse.search.executors.executor import Executor, Finished, LocalExecutor
from dse.search.executors.ray_executor import RayExecutor

__all__ = ["Executor", "Finished", "LocalExecutor", "RayExecutor", "opened"]


def opened(kind: str, address: str | None, say: Callable[[str], None] = lambda _: None) -> Executor:
    """``local``, ``ray``, or ``auto``: Ray only where a cluster is named; to be closed.

    say: takes a line for the user, of what the executor waits for.
    """
    ray = kind == "ray" or (kind == "auto" and address not in (None, "auto"))
    return RayExecutor(address, say) if ray else LocalExecutor()
