"""Starts one process per host, which runs the ranks there, and leaves none behind."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from dse.calibration.runners.mpirun import PACKAGES, end_session, session_members
from dse.errors import MeasurementError

POLL_S = 0.02
DYING_S = 5.0  # that a killed process may take to be gone
PASS_ON = "pass-on"  # the kind of a record that goes to the standard input of all others
THREADS = tuple(f"{library}_NUM_THREADS" for library in ("OMP", "OPENBLAS", "MKL"))
TELLING = ("wrong sum", "was killed")  # what says more than whatever it led to

Record = dict[str, Any]
Processes = list[subprocess.Popen[str]]


def worker_command(
    module: str, extra: Mapping[str, str] | None = None, threads: int | None = 1
) -> list[str]:
    """The command that runs a module of this package wherever the package's folder is visible.

    Through ``env``, so that it still holds behind a prefix such as ssh. extra: more variables.
    threads: of every numerical library; None leaves that to them.
    """
    variables = {"PYTHONPATH": str(PACKAGES), **(extra or {})}
    if threads is not None:
        variables |= dict.fromkeys(THREADS, str(threads))
    pairs = [f"{name}={value}" for name, value in variables.items()]
    return ["env", *pairs, sys.executable, "-P", "-m", module]


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
    comes. Raises MeasurementError as soon as one fails, or after ``limit_s`` seconds.
    """
    deadline = time.monotonic() + limit_s
    processes: Processes = []
    with ExitStack() as stack:
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
                if record["kind"] == PASS_ON:
                    for process in processes[1:]:
                        _tell(process, record)
            if running:
                time.sleep(POLL_S)
        return records


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
    """The problem and the last that the ranks said, or what tells more."""
    said = [line.strip() for line in _text(errors).splitlines() if line.strip()]
    telling = [line for line in said if any(words in line for words in TELLING)]
    return ": ".join([problem, *(telling[:1] or said[-1:])])


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
