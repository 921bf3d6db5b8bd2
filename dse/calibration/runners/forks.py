"""The ranks of one host as forks of one process, which has imported what they need just once.

Standard library only. The process takes orders as lines of its standard input, and ends with every
fork as soon as that is closed.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

ORPHAN_STATUS = 4
FAILED_STATUS = 1
PR_SET_PDEATHSIG = 1  # linux/prctl.h: the signal a process gets when its parent ends


class Input:
    """JSON lines from standard input; at its end this process ends."""

    def __init__(self) -> None:
        self._text = b""

    def line(self) -> dict[str, Any]:
        """Wait for the next line and return it."""
        while b"\n" not in self._text:
            self.more()
        line, _, self._text = self._text.partition(b"\n")
        return dict(json.loads(line))

    def more(self) -> None:
        """Read what has arrived: at least a byte, or the end of the input."""
        come = os.read(0, 65536)
        if not come:
            os._exit(ORPHAN_STATUS)
        self._text += come


def run_forked(bodies: Mapping[int, Callable[[], int]], ranks: int, starter: Input) -> None:
    """Run each rank's body in a fork of its own until all have ended with status 0.

    The first that ends otherwise ends the others and this process, after a line on standard error
    if it was killed. A body returns its exit status, and reports its own errors.
    """
    parent = os.getpid()
    forks: dict[int, tuple[int, int]] = {}
    for rank, body in bodies.items():
        pid = os.fork()
        if pid == 0:
            _as_fork(parent, body)
        forks[os.pidfd_open(pid)] = (pid, rank)
    while forks:
        ready, _, _ = select.select([0, *forks], [], [])
        if 0 in ready:
            starter.more()
        ended = [(_status(forks[fd][0]), forks[fd][1], fd) for fd in ready if fd != 0]
        for status, rank, fd in sorted(ended):  # one that was killed comes first
            os.close(fd)
            del forks[fd]
            if status != 0:
                _fail(status, rank, ranks, [pid for pid, _ in forks.values()])


def _as_fork(parent: int, body: Callable[[], int]) -> NoReturn:
    """The fork's whole life; it leaves without what the parent would do at its end."""
    status = FAILED_STATUS
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        status = body() if os.getppid() == parent else ORPHAN_STATUS
    finally:
        os._exit(status)


def _status(pid: int) -> int:
    """Exit status, or minus the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _fail(status: int, rank: int, ranks: int, others: list[int]) -> NoReturn:
    for pid in others:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    if status < 0:
        who = f"rank {rank} of {ranks} was killed by {signal.Signals(-status).name}"
        print(who, file=sys.stderr, flush=True)
    os._exit(status if status > 0 else FAILED_STATUS)
