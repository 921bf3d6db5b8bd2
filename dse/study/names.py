"""Names a study may use, and what to say about one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dse.spelling import alternatives, meant

ALGORITHMS = (
    "ring",
    "recursive-doubling",
    "halving-doubling",
    "reduce-broadcast",
    "tree",
    "hierarchical",
    "auto",
    "auto-openmpi",
    "auto-mpich",
    "ps",
)
TRANSPORTS = ("mpi", "mpi-gdr", "nccl", "gloo", "grpc")
APPROACHES = (
    "baidu-mpi",
    "grpc",
    "grpc-gdr",
    "grpc-mpi",
    "grpc-verbs",
    "horovod-mpi",
    "horovod-mpi-opt",
    "horovod-nccl",
)


@dataclass(frozen=True)
class Names:
    """What the catalogue knows; the caller passes it in, since a study may not import it."""

    workloads: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    fabrics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    transports: tuple[str, ...] = TRANSPORTS
    algorithms: tuple[str, ...] = ALGORITHMS
    approaches: tuple[str, ...] = APPROACHES

    @property
    def aggregations(self) -> tuple[str, ...]:
        """Every ``<algorithm>-<transport>``, and every approach."""
        pairs = (f"{how}-{over}" for how in self.algorithms for over in self.transports)
        return (*pairs, *self.approaches)


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """'did you mean resnet50?', or the short list of what is known, or ``otherwise``."""
    candidates = list(known)
    near = meant(name, candidates)
    if near:
        return near
    if otherwise or not candidates or len(candidates) > 12:
        return otherwise or "see `dse catalog` for what is known"
    return f"use {alternatives(candidates)}"
