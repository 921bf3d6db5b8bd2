"""One MPI rank of a measurement; imports the standard library, numpy and mpi4py only.

Started by path as ``mpirun -n N python -P mpi_worker.py JSON`` with the folder of ``dse`` in
PYTHONPATH. Rank 0 prints one JSON object a line; every other rank prints nothing. The JSON holds::

    ranks            N
    groups           [{ranks, cells}, ...]: what to measure one after the other, each among the
                     first so many ranks, while the others wait
    cells            [[algorithm, number, bytes], ...]: time in-place float32 Allreduce of each,
                     forced to the library's algorithm (by number in Open MPI), interleaved so that
                     a disturbance hits all alike; the algorithms of bench.OPERATIONS are other
                     operations
    cores            of a node; a group gets time by its ranks per core
    seconds          the share of time of the whole start, set-up included
    min_repetitions  of every cell, unless its share of time cannot hold them
    local_seconds    the time in which the first group times a reduction and a copy first

The algorithm is forced through the MPI tool interface: one start that measures all algorithms
measures them all under the same conditions. A wrong sum ends the ranks with status 3 and one line
on stderr.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
from mpi4py import MPI

from dse.calibration.runners import bench as kinds
from dse.calibration.runners import timing
from dse.calibration.runners.bench import Bench, Call
from dse.calibration.runners.timing import Cell

OPENMPI_VARIABLE = b"coll_tuned_allreduce_algorithm"
MPICH_VARIABLE = b"MPIR_CVAR_ALLREDUCE_INTRA_ALGORITHM"
# How MPICH calls them; its numbers differ from version to version.
MPICH_NAMES = {
    "auto": "auto",
    "recursive-doubling": "recursive_doubling",
    "ring": "ring",
    "halving-doubling": "reduce_scatter_allgather",
}
AUTOMATIC = 0  # in Open MPI: the library chooses
TOLD_MPICH = "ring"  # what the environment of the start says, to check the numbers by
DESCRIPTION_BYTES = 8192
LOCAL_BATCH = 5
WAIT_S = 0.02  # between two looks of a rank that waits for others, so that it takes no core
LAST_WORDS_S = 5.0  # for rank 0 to say what is wrong, before the launcher ends all ranks
Floats = timing.Floats
Records = list[dict[str, Any]]


class CannotForce(Exception):
    """The library cannot be made to run an algorithm; the text is one line for the user."""


class Variable:
    """An integer control variable of the library, by name; CannotForce if there is none."""

    def __init__(self, name: bytes) -> None:
        self._library = ctypes.CDLL(_loaded())
        self._handle, self._index = ctypes.c_void_p(), ctypes.c_int()
        count, index, handle = ctypes.c_int(), self._index, self._handle
        self._call("MPI_T_init_thread", 0, ctypes.byref(count))
        self._call("MPI_T_cvar_get_index", name, ctypes.byref(index))
        by_handle = (index, None, ctypes.byref(handle), ctypes.byref(count))
        self._call("MPI_T_cvar_handle_alloc", *by_handle)

    def read(self) -> int:
        """The value of the variable."""
        value = ctypes.c_int(-1)
        self._call("MPI_T_cvar_read", self._handle, ctypes.byref(value))
        return value.value

    def write(self, value: int) -> None:
        """Set the variable, and check that it is set."""
        wanted = ctypes.c_int(value)
        self._call("MPI_T_cvar_write", self._handle, ctypes.byref(wanted))
        if self.read() != value:
            raise CannotForce(f"this MPI does not take allreduce algorithm number {value}")

    def description(self) -> str:
        """The library's description of the variable."""
        text, size = ctypes.create_string_buffer(DESCRIPTION_BYTES), ctypes.c_int(DESCRIPTION_BYTES)
        numbers = [ctypes.byref(ctypes.c_int()) for _ in range(4)]
        name_size, verbosity, bind, scope = numbers
        others = (None, name_size, verbosity, None, None, text, ctypes.byref(size), bind, scope)
        self._call("MPI_T_cvar_get_info", self._index, *others)
        return text.value.decode(errors="replace")

    def _call(self, function: str, *arguments: object) -> None:
        if getattr(self._library, function)(*arguments):
            raise CannotForce("this MPI does not let its allreduce algorithm be set")


class OpenMpi:
    """Open MPI reads the forced algorithm when a communicator is made: one copy for each."""

    def __init__(self, comm: MPI.Comm, numbers: Iterable[int]) -> None:
        variable = Variable(OPENMPI_VARIABLE)
        self._copies: dict[int, MPI.Comm] = {}
        for number in numbers:
            variable.write(number)
            self._copies[number] = comm.Dup()
        # Ranks that take no part in this have not forced anything; the next communicator that they
        # share with these must run the same algorithm on all.
        variable.write(AUTOMATIC)

    def communicator(self, cell: Cell) -> MPI.Comm:
        """The copy of the communicator that runs the algorithm of this number."""
        return self._copies[cell.number]

    def release(self) -> None:
        """Nothing to do: other communicators were never forced."""


class Mpich:
    """MPICH reads the forced algorithm at every call, and describes its numbers by name."""

    def __init__(self, comm: MPI.Comm) -> None:
        self._comm, self._variable = comm, Variable(MPICH_VARIABLE)
        lines = self._variable.description().splitlines()
        named = [found[1] for line in lines if (found := re.match(r"(\w+)\s+- ", line.strip()))]
        self._numbers = {name: number for number, name in enumerate(named)}
        self._told = self._numbers.get(TOLD_MPICH, -1)
        if self._variable.read() != self._told:
            raise CannotForce("this MPICH numbers its allreduce algorithms in a way not known here")

    def communicator(self, cell: Cell) -> MPI.Comm:
        """The communicator itself, once the algorithm is set; all ranks must call this alike."""
        name = MPICH_NAMES[cell.algorithm]
        if name not in self._numbers:
            raise CannotForce(f"this MPICH has no allreduce algorithm {name}")
        self._variable.write(self._numbers[name])
        return self._comm

    def release(self) -> None:
        """Restore the algorithm that was set before."""
        self._variable.write(self._told)


def forced(comm: MPI.Comm, cells: Iterable[Cell]) -> OpenMpi | Mpich:
    """What forces the algorithms of ``cells`` on ``comm``; raises CannotForce where nothing can."""
    library = MPI.Get_library_version()
    if "Open MPI" in library:
        return OpenMpi(comm, sorted({cell.number for cell in cells}))
    if library.startswith("MPICH"):
        return Mpich(comm)
    name = library.splitlines()[0].strip()
    raise CannotForce(f"{name}: only Open MPI and MPICH let their allreduce algorithm be forced")


def _loaded() -> str:
    """The file of the MPI library that this process uses."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = [line.split()[-1] for line in maps if "/libmpi" in line and ".so" in line]
    return paths[0] if paths else "libmpi.so"


FAILURES = (timing.WrongSum, CannotForce, MPI.Exception)


class MpiBench(Bench):
    """Batches among all ranks of a communicator."""

    def __init__(self, comm: MPI.Comm, cells: Sequence[Cell]) -> None:
        largest = max(cell.size_bytes for cell in cells) // timing.FLOAT_BYTES
        super().__init__(comm.Get_rank(), comm.Get_size(), largest)
        self.comm = comm
        collectives = [cell for cell in cells if cell.algorithm not in kinds.OPERATIONS]
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

    def allreduce(self, cell: Cell, buffer: Floats) -> Call:
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


def perform(comm: MPI.Comm, task: dict[str, Any], began: float) -> Records:
    """Do the task on all ranks of ``comm``; the records are rank 0's. Raises one of FAILURES.

    began: time.perf_counter() when the share of time began.
    """
    if comm.Get_size() != task["ranks"]:
        sees = f"{task['ranks']} ranks were started, but each sees {comm.Get_size()}"
        other = f"mpi4py uses {library()}, which is another MPI than the launcher's"
        remedy = "use that library's mpirun or srun --mpi=pmix, or set MPI4PY_LIBMPI"
        raise CannotForce(f"{sees}: {other}; {remedy}")
    nodes: list[str] = comm.allgather(MPI.Get_processor_name())
    records: Records = [{"kind": "start", "library": library()}]
    places = [Counter(nodes[: group["ranks"]]) for group in task["groups"]]
    weights = [max(1.0, max(place.values()) / task["cores"]) for place in places]
    for at, (group, place) in enumerate(zip(task["groups"], places, strict=True)):
        inside = comm.Get_rank() < group["ranks"]
        part = comm.Split(0 if inside else MPI.UNDEFINED, comm.Get_rank())
        if inside:
            cells = [Cell(*cell) for cell in group["cells"]]
            bench = MpiBench(part, cells)
            if at == 0 and task["local_seconds"] > 0:
                alone = partial(timing.alone, MPI.SUM.Reduce_local)
                records += timing.local_rows(task["local_seconds"], alone, LOCAL_BATCH, bench.agree)
            now = time.perf_counter()
            share = max(0.0, task["seconds"] - (now - began)) * weights[at] / sum(weights[at:])
            found = bench.measure(cells, share, task["min_repetitions"], now)
            about = {"ranks": group["ranks"], "ranks_per_node": max(place.values())}
            records += [{**row, **about, "nodes": len(place)} for row in found]
            part.Free()
        _wait(comm)
    return records


def _wait(comm: MPI.Comm) -> None:
    """A barrier that leaves the core to others."""
    arrived = comm.Ibarrier()
    while not arrived.Test():
        time.sleep(WAIT_S)


def library() -> str:
    """Name and version of the MPI library: its own description up to the first comma."""
    return MPI.Get_library_version().strip().splitlines()[0].split(",")[0]


def main() -> None:
    """Do what the JSON in the first argument says."""
    began = time.perf_counter()
    task = json.loads(sys.argv[1])
    try:
        records = perform(MPI.COMM_WORLD, task, began)
    except FAILURES as failure:
        if MPI.COMM_WORLD.Get_rank() == 0:
            print(failure, file=sys.stderr, flush=True)
        else:
            time.sleep(LAST_WORDS_S)
        # Ranks outside the group wait: MPI does not end in order, and the launcher ends them.
        os._exit(timing.WRONG_SUM_STATUS)
    for record in records if MPI.COMM_WORLD.Get_rank() == 0 else ():
        timing.emit(record)


if __name__ == "__main__":
    main()
