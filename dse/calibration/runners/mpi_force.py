"""Forces the algorithm of MPI_Allreduce through the MPI tool interface, within one start.

Imports the standard library, numpy and mpi4py only, as a part of the MPI worker. One start that
measures all algorithms measures them all under the same conditions.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterable
from typing import Protocol

from mpi4py import MPI

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


class CannotForce(Exception):
    """The library cannot be made to run an algorithm; the text is one line for the user."""


class Forced(Protocol):
    """Gives the communicator on which Allreduce runs the cell's algorithm, until released."""

    def communicator(self, cell: Cell) -> MPI.Comm: ...

    def release(self) -> None: ...


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


def forced(comm: MPI.Comm, cells: Iterable[Cell]) -> Forced:
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
