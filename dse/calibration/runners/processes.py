"""Starts one process per host, which runs what is wanted there, and leaves none behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dse.errors import MeasurementError

PACKAGES = Path(__file__).resolve().parents[3]  # the folder that holds the package dse
POLL_S = 0.02
DYING_S = 5.0  # that a killed process may take to be gone
PASS_ON = "pass-on"  # the kind of a record that goes to the standard input of all others
THREADS = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL"))
# What says more than whatever it led to.
TELLING = ("wrong ", "was killed", "this MPI", " ranks were started")
TAIL_LINES = 3

Record = dict[str, Any]


@dataclass(frozen=True)
class Host:
    """Where processes run.

    prefix: what starts a command there, such as ('ip', 'netns', 'exec', 'host2'); empty: here.
    address: on which it listens, and at which all others reach it.
    """

    prefix: tuple[str, ...] = ()
    address: str = "127.0.0.1"


HERE = Host()
Processes = list[subprocess.Popen[str]]


def with_variables(variables: Mapping[str, str], threads: int | None = 1) -> list[str]:
    """The words before a command that set variables, and let it see this package's folder.

    They hold also behind a prefix such as ssh. threads: of every numerical library; None leaves
    that to them.
    """
    path = os.pathsep.join(filter(None, (str(PACKAGES), os.environ.get("PYTHONPATH"))))
    limits = {} if threads is None else dict.fromkeys(THREADS, str(threads))
    every = {"PYTHONPATH": path, **limits, **variables}
    return ["env", *(f"{name}={value}" for name, value in every.items())]


def worker_command(
    module: str, extra: Mapping[str, str] | None = None, threads: int | None = 1
) -> list[str]:
    """The command that runs a module of this package; see :func:`with_variables`."""
    return [*with_variables(extra or {}, threads), sys.executable, "-P", "-m", module]


def run_processes(
    commands: Sequence[Sequence[str]],
    inputs: Sequence[Mapping[str, Any]],
    limit_s: float,
    heard: Callable[[Record], None] = lambda _: None,
) -> list[Record]:
    """Run one process per command to its end; the JSON lines that the first one printed.

    inputs: one object each, written as the first line of its standard input, which stays open as
    long as this process wants it to run: a process must end when it closes. What the first prints
    with kind 'pass-on' becomes a line of all others' input. ``heard`` gets every record as it
    comes. Raises MeasurementError as soon as one fails, or after ``limit_s`` seconds; no process
    survives that, SIGINT or SIGTERM.
    """
    deadline = time.monotonic() + limit_s
    processes: Processes = []
    with terminable(), ExitStack() as stack:
        output, errors = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        stack.callback(_end_all, processes)
        for command, record in zip(commands, inputs, strict=True):
            processes.append(_started(command, errors, subprocess.DEVNULL if processes else output))
            _tell(processes[-1], record)
        records: list[Record] = []
        running = True
        while running:
            running = any(process.poll() is None for process in processes)
            _complain(processes, errors.fileno())
            if running and time.monotonic() > deadline:
                problem = f"the ranks did not finish within {limit_s:.0f} s"
                raise MeasurementError(_with_tail(problem, errors.fileno()))
            for record in _printed(output.fileno())[len(records) :]:
                records.append(record)
                heard(record)
                if record.get("kind") == PASS_ON:
                    for process in processes[1:]:
                        _tell(process, record)
            if running:
                time.sleep(POLL_S)
        return records


@contextmanager
def terminable() -> Iterator[None]:
    """Make SIGTERM raise SystemExit inside, so that started processes end. Main thread only."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _: Any) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _started(command: Sequence[str], errors: Any, output: Any) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    except OSError as cause:
        raise MeasurementError(f"cannot run {command[0]}: {cause.strerror}") from None


def _tell(process: subprocess.Popen[str], record: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it is gone: its status tells
        process.stdin.write(json.dumps(record) + "\n")
        process.stdin.flush()


def _complain(processes: Processes, errors: int) -> None:
    """Raise if a process failed; first of all one that was killed, as the others die of that."""
    failed = [(p.returncode, number) for number, p in enumerate(processes) if p.poll()]
    if not failed:
        return
    status, number = min(failed)
    who = "the ranks" if len(processes) == 1 else f"the ranks on host {number + 1}"
    how = f"were killed by {signal.Signals(-status).name}" if status < 0 else "failed"
    raise MeasurementError(_with_tail(f"{who} {how}", errors))


def _printed(file: int) -> list[Record]:
    """The complete lines so far; pread leaves the place at which the processes write alone."""
    return [json.loads(line) for line in _text(file).split("\n")[:-1] if line.startswith("{")]


def _with_tail(problem: str, errors: int) -> str:
    """The problem and the last that was said, or what tells more, without frames of signs."""
    said = [line.strip(" |") for line in _text(errors).splitlines() if line.strip(" -=|")]
    telling = [line for line in said if any(words in line for words in TELLING)]
    tail = " | ".join(telling[:1] or dict.fromkeys(said[-TAIL_LINES:]))
    return f"{problem}: {tail}" if tail else problem


def _text(file: int) -> str:
    return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")


def _end_all(processes: Processes) -> None:
    """Ask all to end at once, then make sure of each and of what it started."""
    for process in processes:
        if process.stdin:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.close()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in processes:
        end_session(process)
    deadline = time.monotonic() + DYING_S
    while any(session_members(p.pid) for p in processes) and time.monotonic() < deadline:
        time.sleep(POLL_S)


def end_session(process: subprocess.Popen[str], patience_s: float = 5.0) -> None:
    """End a process in order, then what is left of its session (ranks have their own groups)."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    end_processes(session_members(process.pid))
    if process.stdout:
        process.stdout.close()


def session_members(session: int) -> list[int]:
    """Live processes whose session is ``session`` (from /proc; empty where there is none)."""
    members = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            # The command name, in parentheses, may hold anything: count fields from its end.
            state, _, _, sid = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue
        if int(sid) == session and state != "Z":
            members.append(int(entry.name))
    return members


def end_processes(processes: Sequence[int]) -> None:
    """Kill the processes at once."""
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
