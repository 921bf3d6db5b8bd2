"""Rates that were measured on Piz Daint, beside those of the model that the abstract's facts use.

The counts up to 8 of Inception v3 set the model's waiting; the larger ones set nothing, and none of
Horovod's did.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.accuracy.scaling_data import Series, read_series
from benchmarks.papers.fact import CHECK, Fact
from benchmarks.papers.tf_machines import PIZ_DAINT, samples_per_s
from dse import catalog
from dse.model.arrays import Array

WITHIN = 0.20  # of the published rate
SYNTHETIC = "synthetic"  # data, not read from disks
HOROVOD, GRPC = "piz-daint-horovod", "piz-daint-grpc"
SOURCES = {HOROVOD: "sarus-cookbook", GRPC: "distributed-tensorflow-2017"}


@dataclass(frozen=True)
class Beside:
    """Rates by count, (counts,): images/s, or times the rate of one node."""

    nodes: Array
    modelled: Array
    measured: Array

    @property
    def error(self) -> Array:
        """Of the model, relative."""
        return np.asarray(self.modelled / self.measured - 1)


def horovod() -> Beside:
    """ResNet-50 by Horovod over MPI, images/s."""
    return _beside(HOROVOD, "horovod-mpi")


def grpc() -> Beside:
    """Inception v3 on parameter servers over gRPC, times the rate of one node.

    Computing itself is not judged here: no fact of the abstract turns on it.
    """
    found = _beside(GRPC, "grpc")
    first = found.modelled[0], found.measured[0]
    return Beside(found.nodes, found.modelled / first[0], found.measured / first[1])


def rows() -> list[Fact]:
    """The largest count of each: the one that the abstract's facts are computed for."""
    return [
        _at_most(HOROVOD, "Piz Daint, Horovod over MPI, ResNet-50, images/s", horovod()),
        _at_most(GRPC, "Piz Daint, gRPC servers, Inception v3, times the rate of one node", grpc()),
    ]


def _at_most(system: str, name: str, found: Beside) -> Fact:
    measured = float(found.measured[-1])
    fewer = ", ".join(
        f"{error:+.0%} on {nodes:g}"
        for nodes, error in zip(found.nodes[:-1], found.error[:-1], strict=True)
    )
    return Fact(
        SOURCES[system], f"{name}, {found.nodes[-1]:g} nodes", measured, float(found.modelled[-1]),
        measured * (1 - WITHIN), measured * (1 + WITHIN), CHECK, f"the model is off by {fewer}",
    )  # fmt: skip


def _beside(system: str, approach: str) -> Beside:
    of = _series(system)
    nodes = np.array([float(row.gpus) for row in of.rows])
    batch = np.full(nodes.shape, float(of.batch))
    rates = samples_per_s(PIZ_DAINT, catalog.approach(approach), of.workload, nodes, batch)
    return Beside(nodes, rates, np.array([row.samples_per_s for row in of.rows]))


def _series(system: str) -> Series:
    (found,) = [of for of in read_series()
                if of.route.system == system and of.data == SYNTHETIC]  # fmt: skip
    return found
