"""What is run: approaches, networks, hosts, links; and what of it a model may be fitted to.

The gradient tensors are those of the catalogue's networks, whole, float32, in the order in which
the backward pass completes them. All are ready at once: nothing is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np

from dse import catalog
from dse.calibration.runners.parameter_servers import Message
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.model import overlap
from dse.model.aggregation.parameter_server import homes
from dse.model.arrays import Array

MIB = 2**20
SMALL, LARGE, OTHER = "mobilenet-v1", "resnet50", "inception-v3"
HOSTS = (2, 3, 4, 6, 8)
FITTED_HOSTS = (2, 3, 4)
# The faster never limits here: what is measured there is the hosts' part. It is not judged.
MBPS, FAST_MBPS = 400.0, 10_000.0
HALF_MBPS, SLOW_MBPS = 200.0, 100.0
OTHER_MBPS = 300.0
SLOW_HOSTS = (2, 4, 8)  # a round takes seconds there

GRPC_PS, MPI_PS, BAIDU = "grpc-ps", "mpi-ps", "baidu-ring"
HOROVOD_64, HOROVOD_2 = "horovod-64mib", "horovod-2mib"
GLOO, GLOO_25 = "gloo-tensors", "gloo-25mib"
APPROACHES = (GRPC_PS, MPI_PS, BAIDU, HOROVOD_64, HOROVOD_2, GLOO, GLOO_25)
# What one start of the processes runs, one approach after the other. Servers over MPI were measured
# once; dse runs them no more.
STARTS = ((GRPC_PS,), (BAIDU, HOROVOD_64, HOROVOD_2), (GLOO, GLOO_25))


@dataclass(frozen=True)
class Cell:
    """One network's gradients on so many hosts, each on a link of so many Mbit/s."""

    workload: str
    hosts: int
    mbps: float

    @property
    def link_bytes_per_s(self) -> float:
        """Of every host, in each direction."""
        return self.mbps * 1e6 / 8

    @property
    def fitted(self) -> bool:
        """Whether a model may be fitted to what was measured here; else it is judged here.

        Few hosts, the small network, two link rates. Held out are more hosts, the other network,
        and two slower rates.
        """
        few = self.hosts in FITTED_HOSTS and self.mbps in (MBPS, FAST_MBPS)
        return few and self.workload == SMALL


def confirming() -> list[Cell]:
    """Measured after the form of the model was final: other hosts, another rate and network."""
    small = [Cell(SMALL, n, OTHER_MBPS) for n in (2, 3, 5, 7)]
    return [*small, *(Cell(OTHER, n, OTHER_MBPS) for n in (2, 5))]


def cells() -> list[Cell]:
    """Those to fit to first, then those that were held out."""
    hosts_part = [Cell(SMALL, n, FAST_MBPS) for n in FITTED_HOSTS]
    both = [Cell(workload, n, MBPS) for workload, n in product((SMALL, LARGE), HOSTS)]
    half = [Cell(SMALL, n, HALF_MBPS) for n in HOSTS]
    slow = [Cell(SMALL, n, SLOW_MBPS) for n in SLOW_HOSTS]
    return [*hosts_part, *both, *half, *slow, *(Cell(LARGE, n, HALF_MBPS) for n in SLOW_HOSTS)]


@cache
def backward_elements(workload: str) -> tuple[int, ...]:
    """Floats of every gradient tensor, the last layer's first."""
    elements, _ = catalog.gradient_tensors(catalog.workload(workload))
    return tuple(int(count) for count in elements[::-1])


def tensor_bytes(workload: str) -> Array:
    """Bytes of every gradient tensor in the order of creation, the first layer's first."""
    return FLOAT_BYTES * np.array(backward_elements(workload)[::-1], dtype=np.float64)


def messages(approach: str, workload: str) -> list[list[int]]:
    """The floats of the tensors of every message of an allreduce, in the order of sending."""
    elements = backward_elements(workload)
    if approach in (BAIDU, GLOO):
        return [[count] for count in elements]
    if approach == GLOO_25:
        return in_buckets(elements, 25 * MIB)
    return in_buffers(elements, {HOROVOD_64: 64 * MIB, HOROVOD_2: 2 * MIB}[approach])


def in_buffers(elements: Sequence[int], buffer_bytes: int) -> list[list[int]]:
    """Horovod's fusion: as many tensors in a row as the buffer holds; a larger one goes alone."""
    found: list[list[int]] = []
    held = 0
    for count in elements:
        if not found or held + FLOAT_BYTES * count > buffer_bytes:
            found.append([])
            held = 0
        found[-1].append(count)
        held += FLOAT_BYTES * count
    return found


def in_buckets(elements: Sequence[int], bucket_bytes: int) -> list[list[int]]:
    """PyTorch's buckets, which close once they hold enough; see :func:`dse.model.overlap.fuse`."""
    sizes = FLOAT_BYTES * np.array(elements[::-1], dtype=np.float64)
    last, found = len(elements), list[list[int]]()
    for bucket in overlap.fuse(sizes, bucket_bytes):
        found.append(list(elements[len(elements) - last : len(elements) - bucket.first]))
        last = bucket.first
    return found


def to_servers(workload: str, servers: int) -> list[Message]:
    """(server, bytes) of every tensor in the order of sending, placed as tf_cnn_benchmarks does."""
    sizes = tensor_bytes(workload)
    keepers = homes(sizes, servers)
    return [(int(keepers[at]), int(sizes[at])) for at in range(len(sizes) - 1, -1, -1)]
