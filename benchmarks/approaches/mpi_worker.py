"""One MPI rank that sums gradients: by a ring of its own for every tensor, or fused and by MPI.

Started as ``mpirun -n N python -P mpi_worker.py JSON``; rank 0 prints one JSON object a line. The
JSON: ``{"rounds": n, "approaches": [{"name", "ring": bool, "messages": [[floats, ...], ...]}]}``.
A wrong sum ends every rank with status 3 and one line on stderr.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np
from mpi4py import MPI

from benchmarks.approaches.rounds import FusionBuffer, Gradients, timed
from dse.calibration.runners import timing
from dse.calibration.runners.timing import Floats

WARM_UP_FLOATS = 2**16


def ring(comm: MPI.Comm, tensor: Floats, inbox: Floats) -> None:
    """Sum ``tensor`` over all ranks in place: shares go round once to be summed, once to be known.

    ``2 (n - 1)`` steps of a send to the right and a receive from the left, as Baidu's allreduce
    (baidu-research/baidu-allreduce). inbox: space for a share.
    """
    rank, n = comm.Get_rank(), comm.Get_size()
    shares = np.array_split(tensor, n)

    def exchange(outgoing: int, target: Floats) -> None:
        receive = comm.Irecv(target, (rank - 1) % n)
        send = comm.Isend(shares[outgoing % n], (rank + 1) % n)
        MPI.Request.Waitall([receive, send])

    for step in range(n - 1):
        mine = shares[(rank - step - 1) % n]
        exchange(rank - step, inbox[: mine.size])
        mine += inbox[: mine.size]
    for step in range(n - 1):
        exchange(rank + 1 - step, shares[(rank - step) % n])


def run(comm: MPI.Comm, approach: dict[str, Any], rounds: int) -> list[float]:
    """Seconds of every round, of the slowest rank. Raises WrongSum."""
    gradients = Gradients(approach["messages"], comm.Get_rank(), comm.Get_size())
    buffer = FusionBuffer(gradients.messages)

    def by_ring() -> None:
        for message in gradients.messages:
            for tensor in message:
                ring(comm, tensor, buffer.space)

    def by_library() -> None:
        for message in gradients.messages:
            buffer.summed(message, lambda whole: comm.Allreduce(MPI.IN_PLACE, whole))

    how = by_ring if approach["ring"] else by_library
    times = np.array(timed(gradients, how, comm.Barrier, rounds, approach["name"]))
    slowest = np.empty_like(times)
    comm.Allreduce(times, slowest, op=MPI.MAX)
    return [float(seconds) for seconds in slowest]


def warm_up(comm: MPI.Comm) -> None:
    """Make the connections: a small sum by every way."""
    small = np.zeros(WARM_UP_FLOATS, dtype=np.float32)
    ring(comm, small, np.zeros_like(small))
    comm.Allreduce(MPI.IN_PLACE, small)
    comm.Barrier()


def main() -> None:
    """Run every approach of the JSON in the first argument."""
    task, comm = json.loads(sys.argv[1]), MPI.COMM_WORLD
    first = comm.Get_rank() == 0
    if first:
        library = MPI.Get_library_version().strip().split(",")[0]
        timing.emit({"kind": "start", "library": library})
    warm_up(comm)
    try:
        for approach in task["approaches"]:
            times = run(comm, approach, task["rounds"])
            if first:
                timing.emit({"kind": "sample", "name": approach["name"], **timing.summary(times)})
    except timing.WrongSum as wrong:
        print(wrong, file=sys.stderr, flush=True)
        comm.Abort(timing.WRONG_SUM_STATUS)


if __name__ == "__main__":
    main()
