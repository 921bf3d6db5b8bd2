"""One MPI rank of a measurement; imports the standard library, numpy and mpi4py only.

Started by path as ``mpirun -n N python -P mpi_worker.py JSON`` with the folder of ``dse`` in
PYTHONPATH. Rank 0 prints one JSON object a line; every other rank prints nothing. The JSON holds::

    ranks            N, if that is to be checked
    cells            [[algorithm, number, bytes], ...]: time in-place float32 Allreduce of each,
                     forced to the library's algorithm (by number in Open MPI), interleaved so that
                     a disturbance hits all alike; the algorithms 'exchange' and 'ping-pong' are
                     messages of pairs of ranks, those of bench.OPERATIONS other collectives
    stride           the partner of rank r in those is r + stride or r - stride
    seconds          the share of time of the whole start, set-up included
    min_repetitions  of every cell, unless its share of time cannot hold them
    local_seconds    the time in which to time a reduction and a copy first

A wrong sum ends every rank with status 3 and one line on stderr.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners import bench as kinds
from dse.calibration.runners import timing
from dse.calibration.runners.bench import Bench, Call
from dse.calibration.runners.mpi_force import CannotForce, forced

LOCAL_BATCH = 5
FAILURES = (timing.WrongSum, CannotForce, MPI.Exception)

Floats = timing.Floats
Records = list[dict[str, Any]]


class MpiBench(Bench):
    """Batches among all ranks of a communicator."""

    def __init__(self, comm: MPI.Comm, cells: Sequence[timing.Cell], stride: int) -> None:
        largest = max(cell.size_bytes for cell in cells) // timing.FLOAT_BYTES
        super().__init__(comm.Get_rank(), comm.Get_size(), stride, largest)
        self.comm = comm
        collectives = [cell for cell in cells if cell.algorithm not in kinds.NAMED]
        self.forced = forced(comm, collectives) if collectives else None

    def agree(self, order: Floats) -> None:
        self.comm.Bcast(order)

    def barrier(self) -> None:
        self.comm.Barrier()

    def slowest(self, times: list[float], good: bool) -> list[float] | None:
        if self.forced is not None:
            self.forced.release()
        found = np.empty(len(times) + 1)
        self.comm.Allreduce(np.array([*times, not good]), found, op=MPI.MAX)
        return None if found[-1] else [float(seconds) for seconds in found[:-1]]

    def allreduce(self, cell: timing.Cell, buffer: Floats) -> Call:
        assert self.forced is not None
        return partial(self.forced.communicator(cell).Allreduce, MPI.IN_PLACE, buffer)

    def operation(self, name: str, own: Floats, got: Floats) -> Call:
        if name == kinds.SENDRECV:
            ranks = self.comm.Get_size()
            after, before = (self.rank + 1) % ranks, (self.rank - 1) % ranks
            return partial(self.comm.Sendrecv, own, after, recvbuf=got, source=before)
        call: Callable[..., object] = {
            kinds.ALL_GATHER: self.comm.Allgather,
            kinds.REDUCE_SCATTER: self.comm.Reduce_scatter,
            kinds.ALLTOALL: self.comm.Alltoall,
        }[name]
        return partial(call, own, got)

    def exchange(self, own: Floats, got: Floats) -> None:
        self.comm.Sendrecv(own, self.partner, recvbuf=got, source=self.partner)

    def send(self, values: Floats) -> None:
        self.comm.Send(values, self.partner)

    def receive(self, values: Floats) -> None:
        self.comm.Recv(values, self.partner)


def perform(comm: MPI.Comm, task: dict[str, Any], began: float) -> Records:
    """Do the task on all ranks of ``comm``; the records are rank 0's. Raises one of FAILURES.

    began: time.perf_counter() when the share of time began.
    """
    if comm.Get_size() != task.get("ranks", comm.Get_size()):
        sees = f"{task['ranks']} ranks were started, but each sees {comm.Get_size()}"
        raise CannotForce(f"{sees}: mpi4py uses {library()}, which is another MPI than mpirun's")
    cells = [timing.Cell(*cell) for cell in task["cells"]]
    bench = MpiBench(comm, cells, task["stride"])
    records: Records = [{"kind": "start", "library": library()}]
    if task["local_seconds"] > 0:
        records += timing.local_rows(task["local_seconds"], _alone, LOCAL_BATCH, bench.agree)
    records += bench.measure(cells, task["seconds"], task["min_repetitions"], began)
    return [*records, {"kind": "end", "seconds": time.perf_counter() - began}]


def library() -> str:
    """Name and version of the MPI library: its own description up to the first comma."""
    return MPI.Get_library_version().strip().splitlines()[0].split(",")[0]


def _alone(size_bytes: int) -> dict[str, Callable[[], object]]:
    source = np.ones(size_bytes // timing.FLOAT_BYTES, dtype=np.float32)
    target = np.zeros_like(source)
    return {
        "reduce": partial(MPI.SUM.Reduce_local, source, target),
        "copy": partial(np.copyto, target, source),
    }


def main() -> None:
    """Do what the JSON in the first argument says."""
    began = time.perf_counter()
    task = json.loads(sys.argv[1])
    try:
        records = perform(MPI.COMM_WORLD, task, began)
    except FAILURES as failure:
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(failure, file=sys.stderr, flush=True)
        sys.exit(timing.WRONG_SUM_STATUS)
    for record in records if MPI.COMM_WORLD.Get_rank() == 0 else ():
        timing.emit(record)


if __name__ == "__main__":
    main()
