"""Where units of work run: one file an executor, and :class:`Executors` that opens them by name."""

from __future__ import annotations

from collections.abc import Callable

from dse.search.executors.executor import Executor, Finished, LocalExecutor
from dse.search.executors.ray_executor import RayExecutor

__all__ = ["Executor", "Executors", "Finished", "LocalExecutor", "RayExecutor"]


class Executors:
    """What studies ask for, opened when first asked for: one is open, for all that ask alike.

    say: takes a line for the user, of what an executor waits for.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self._say = say
        self._wanted: tuple[bool, str | None] | None = None
        self._open: Executor | None = None

    def get(self, kind: str, address: str | None) -> Executor:
        """``local``, ``ray``, or ``auto``: Ray only where a cluster is named."""
        ray = kind == "ray" or (kind == "auto" and address not in (None, "auto"))
        wanted = (ray, address if ray else None)
        if self._open is None or self._wanted != wanted:
            self.close()
            self._open = RayExecutor(address, self._say) if ray else LocalExecutor()
            self._wanted = wanted
        return self._open

    def close(self) -> None:
        """Close what is open."""
        if self._open is not None:
            self._open.close()
        self._open = None
