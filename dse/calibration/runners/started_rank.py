"""Whether this process is one of many ranks that a launcher started, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dse.errors import MeasurementError

MPIRUN, SRUN, TORCHRUN = "mpirun", "srun", "torchrun"
# Variables of rank and size, then of both on the rank's node, where they may be missing. In this
# order: srun may set what Hydra sets, and a script under mpirun or srun may set torchrun's.
OPENMPI = tuple(f"OMPI_COMM_WORLD_{x}" for x in ("RANK", "SIZE", "LOCAL_RANK", "LOCAL_SIZE"))
HYDRA = ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS")
SLURM = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_NTASKS_PER_NODE")
TORCH = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")
SLURM_STEP = "SLURM_STEP_ID"  # also a batch script has the rank 0, but only srun makes steps
TORCH_MASTER = "MASTER_ADDR"


@dataclass(frozen=True)
class Started:
    """This process is rank ``rank`` of ``ranks``, started ``by`` MPIRUN, SRUN or TORCHRUN.

    local_rank, ranks_per_node: the same on its node; where unknown, all are on one.
    """

    by: str
    rank: int
    ranks: int
    local_rank: int
    ranks_per_node: int


def started(environment: Mapping[str, str]) -> Started | None:
    """The rank that a launcher made of this process, by its environment; None without a launcher.

    A lone rank of srun is a shell on a node, not a rank. Raises MeasurementError where the
    variables contradict each other, and for a lone rank of the others.
    """
    found: Started | None = None
    if _has(environment, OPENMPI):
        found = _read(MPIRUN, environment, OPENMPI)
    elif _has(environment, SLURM, SLURM_STEP):
        found = _read(SRUN, environment, SLURM)
        if found.ranks == 1:
            return None
    elif _has(environment, HYDRA):
        found = _read(MPIRUN, environment, HYDRA)
    elif _has(environment, TORCH, TORCH_MASTER):
        found = _read(TORCHRUN, environment, TORCH)
    if found is not None and found.ranks < 2:
        raise MeasurementError(f"{found.by} started one rank; start 2 or more, or none at all")
    return found


def _has(environment: Mapping[str, str], names: Sequence[str], *others: str) -> bool:
    return all(name in environment for name in (*names[:2], *others))


def _read(by: str, environment: Mapping[str, str], names: Sequence[str]) -> Started:
    rank, ranks, local_rank, local_ranks = (environment.get(name, "") for name in names)
    if not (rank.isascii() and ranks.isascii() and rank.isdigit() and ranks.isdigit()):
        raise MeasurementError(f"{names[0]}={rank} and {names[1]}={ranks} are not two numbers")
    if int(rank) >= int(ranks):
        raise MeasurementError(f"{names[0]}={rank} is beyond {names[1]}={ranks}")
    each = int(local_ranks) if local_ranks.isdigit() else int(ranks)
    place = int(local_rank) if local_rank.isdigit() else int(rank) % each
    return Started(by, int(rank), int(ranks), place, each)
