"""Whether this process is one of many ranks that a launcher started, and which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.errors import MeasurementError

MPIRUN, SRUN, TORCHRUN = "mpirun", "srun", "torchrun"
# Variables of rank and size, and others that must be there too. In this order: srun may set what
# Hydra sets, and a script under mpirun or srun may set torchrun's.
OPENMPI = ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE")
HYDRA = ("PMI_RANK", "PMI_SIZE")
SLURM = ("SLURM_PROCID", "SLURM_NTASKS")
SLURM_STEP = "SLURM_STEP_ID"  # also a batch script has the rank 0, but only srun makes steps
TORCH = ("RANK", "WORLD_SIZE")
TORCH_MASTER = "MASTER_ADDR"


@dataclass(frozen=True)
class Started:
    """This process is rank ``rank`` of ``ranks``, started ``by`` MPIRUN, SRUN or TORCHRUN."""

    by: str
    rank: int
    ranks: int


def started(environment: Mapping[str, str]) -> Started | None:
    """The rank that a launcher made of this process, by its environment; None without a launcher.

    A lone rank of srun is a shell on a node, not a rank. Raises MeasurementError where the
    variables contradict each other, and for a lone rank of the others.
    """
    found: Started | None = None
    if all(name in environment for name in OPENMPI):
        found = _read(MPIRUN, environment, OPENMPI)
    elif SLURM_STEP in environment and all(name in environment for name in SLURM):
        found = _read(SRUN, environment, SLURM)
        if found.ranks == 1:
            return None
    elif all(name in environment for name in HYDRA):
        found = _read(MPIRUN, environment, HYDRA)
    elif all(name in environment for name in (*TORCH, TORCH_MASTER)):
        found = _read(TORCHRUN, environment, TORCH)
    if found is not None and found.ranks < 2:
        raise MeasurementError(f"{found.by} started one rank; start 2 or more, or none at all")
    return found


def _read(by: str, environment: Mapping[str, str], names: tuple[str, str]) -> Started:
    rank, ranks = (environment[name] for name in names)
    if not (rank.isascii() and ranks.isascii() and rank.isdigit() and ranks.isdigit()):
        raise MeasurementError(f"{names[0]}={rank} and {names[1]}={ranks} are not two numbers")
    if int(rank) >= int(ranks):
        raise MeasurementError(f"{names[0]}={rank} is beyond {names[1]}={ranks}")
    return Started(by, int(rank), int(ranks))
