"""One rank that sums gradients by torch and gloo, tensor by tensor or in buckets.

Started as ``python -P -m benchmarks.approaches.gloo_worker``. Its first line of standard input is
the task as JSON: ``rank``, ``ranks``, ``address`` of rank 0, ``timeout_s``, ``rounds``, and
``approaches``, a list of ``{"name", "messages": [[floats, ...], ...]}``. Rank 0 prints the port at
which all meet, which reaches the others as a line of their input, and then the results. One message
after the other: the next begins when the last is summed.
"""

from __future__ import annotations

import socket
import sys
from datetime import timedelta
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from benchmarks.approaches.rounds import FusionBuffer, Gradients, timed
from dse.calibration.runners import forks, timing
from dse.calibration.runners.timing import Floats
from dse.calibration.runners.torch_worker import open_store

WARM_UP_FLOATS = 2**16


def run(approach: dict[str, Any], rounds: int) -> list[float]:
    """Seconds of every round, of the slowest rank. Raises WrongSum."""
    gradients = Gradients(approach["messages"], dist.get_rank(), dist.get_world_size())
    buffer = FusionBuffer(gradients.messages)

    def allreduce(whole: Floats) -> None:
        dist.all_reduce(torch.from_numpy(whole))

    def add_up() -> None:
        for message in gradients.messages:
            buffer.summed(message, allreduce)

    times = np.array(timed(gradients, add_up, dist.barrier, rounds, approach["name"]))
    slowest = torch.from_numpy(times)
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    return [float(seconds) for seconds in slowest]


def as_rank(task: dict[str, Any], port: int, listener: int | None) -> int:
    """Join the others and run every approach; the exit status."""
    torch.set_num_threads(1)
    wait = timedelta(seconds=task["timeout_s"])
    store = open_store(task, port, listener)
    dist.init_process_group(
        "gloo", store=store, rank=task["rank"], world_size=task["ranks"], timeout=wait
    )
    if task["rank"] == 0:
        timing.emit({"kind": "start", "library": f"torch {torch.__version__}"})
    dist.all_reduce(torch.zeros(WARM_UP_FLOATS))
    dist.barrier()
    try:
        for approach in task["approaches"]:
            times = run(approach, task["rounds"])
            if task["rank"] == 0:
                timing.emit({"kind": "sample", "name": approach["name"], **timing.summary(times)})
        dist.barrier()
        dist.destroy_process_group()
    except timing.WrongSum as wrong:
        print(wrong, file=sys.stderr, flush=True)
        return timing.WRONG_SUM_STATUS
    except RuntimeError as cause:
        print(f"rank {task['rank']}: {str(cause).splitlines()[0]}", file=sys.stderr, flush=True)
        return forks.FAILED_STATUS
    return 0


def main() -> None:
    """Do what standard input says."""
    starter = forks.Input()
    task, listener = starter.line(), None
    if task["rank"] == 0:
        listener = socket.create_server((task["address"], 0))
        port = listener.getsockname()[1]
        timing.emit({"kind": "pass-on", "port": port})
    else:
        port = starter.line()["port"]
    number = listener.fileno() if listener else None
    forks.run_forked({task["rank"]: lambda: as_rank(task, port, number)}, task["ranks"], starter)


if __name__ == "__main__":
    main()
