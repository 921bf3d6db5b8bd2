"""Other processes, as tests watch them: what runs below one, when it is up, what is left of it."""

from __future__ import annotations

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
DEADLINE_S = 60.0  # generous: only what never comes about reaches it
# Nothing tells when a process of somebody else's has come so far: one can only look again.
LOOK_S = 0.05


def text(path: Path) -> str:
    """The file's text; empty where there is none, as when its process has just ended."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def command(pid: int) -> str:
    """The command line; empty once the process has ended, collected by its parent or not."""
    return text(Path(f"/proc/{pid}/cmdline"))


def stopped(pid: int) -> bool:
    """Whether a signal has stopped the process."""
    return text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()[:1] == ["T"]


def children(parent: int) -> list[int]:
    """The processes that one has started, of all its threads."""
    try:
        tasks = list(Path(f"/proc/{parent}/task").glob("*/children"))
    except OSError:  # it has just ended
        return []
    return [int(pid) for task in tasks for pid in text(task).split()]


def descendants(parent: int) -> list[int]:
    """The process and all below it, whatever sessions they made for themselves."""
    return [parent, *(pid for child in children(parent) for pid in descendants(child))]


def until(
    condition: Callable[[], T],
    deadline_s: float = DEADLINE_S,
    over: threading.Event | None = None,
) -> T:
    """The first true value of ``condition``, or its last once ``over`` is set.

    AssertionError if there is none in time.
    """
    over = over or threading.Event()
    deadline = time.monotonic() + deadline_s
    while not (found := condition()) and not over.wait(LOOK_S):
        assert time.monotonic() < deadline, "what was waited for did not come about"
    return found


@contextmanager
def disturbed(
    moment: Callable[[], list[int]],
    action: Callable[[list[int]], object],
    ending_s: float = 0.0,
) -> Iterator[None]:
    """While the body runs, ``action`` is done to the first pids that ``moment`` finds.

    Asserts that it was done, and that none of them is left ``ending_s`` seconds after the body.
    """
    seen: list[int] = []
    over = threading.Event()

    def watch() -> None:
        found = until(moment, over=over)
        if found:
            seen.extend(found)
            action(found)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    assert seen, "it was over before the moment came"
    assert left(seen, ending_s) == []


def interrupt(_: object) -> None:
    """Ctrl-C for this process."""
    os.kill(os.getpid(), signal.SIGINT)


def left(pids: list[int], wait_s: float = 0.0) -> list[int]:
    """Those that still run after that time; one that only waits to be collected does not."""
    deadline = time.monotonic() + wait_s
    lasting = [pid for pid in pids if not _ended(pid, deadline)]
    return [pid for pid in lasting if command(pid)]


def _ended(pid: int, deadline: float) -> bool:
    try:
        watched = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        wait_s = max(0.0, deadline - time.monotonic())
        return bool(select.select([watched], [], [], wait_s)[0])
    finally:
        os.close(watched)
