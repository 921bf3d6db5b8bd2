"""Facts of Awan et al., "Scalable Distributed DNN Training using TensorFlow and CUDA-Aware MPI".

Only its abstract is known here. Two parameters in models/approaches were fitted to two of its
facts, which are no checks; the others follow. What the abstract leaves open is assumed below.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from benchmarks.papers.tf_machines import EDR_CLUSTER, PIZ_DAINT, on, samples_per_s
from dse import catalog
from dse.model.approach import allreduce_s
from dse.model.arrays import Array

PAPER = "awan-2019"
FITTED, CHECK = "fitted", "check"
SERVERS = ("grpc", "grpc-verbs", "grpc-mpi", "grpc-gdr")
ALLREDUCES = ("baidu-mpi", "horovod-mpi", "horovod-mpi-opt", "horovod-nccl")
WORKLOADS = ("resnet50", "resnet101", "mobilenet-v1", "nasnet-large")
# Assumed: the sizes called small and medium, and large; the ranks of the allreduce; what of Piz
# Daint was used, with how many images for each accelerator.
SMALL_BYTES = 2.0 ** np.arange(2, 17)  # 4 B to 64 KiB
LARGE_BYTES = 2.0 ** np.arange(26, 29)  # 64 to 256 MiB
RANKS, PIZ_DAINT_GPUS, BATCH = 16, 128, 64
GPUS = 2.0 ** np.arange(8)  # 1 to 128
BATCHES = 2.0 ** np.arange(4, 9)  # 16 to 256
GPU_AXIS, BATCH_AXIS = GPUS[:, None], BATCHES[None, :]


@dataclass(frozen=True)
class Fact:
    """A published number beside the computed one; right where that lies in low .. high."""

    fact: str
    published: float | str
    computed: float
    low: float
    high: float
    role: str
    how: str

    @property
    def ok(self) -> bool:
        """Whether both agree."""
        return self.low <= self.computed <= self.high

    def plain(self) -> dict[str, Any]:
        """For the list of facts."""
        return {
            "paper": PAPER, "fact": self.fact, "published": self.published,
            "computed": self.computed, "low": self.low, "high": self.high, "role": self.role,
            "ok": self.ok, "how": self.how,
        }  # fmt: skip


def rows() -> list[dict[str, Any]]:
    """All facts of the abstract."""
    return [fact.plain() for fact in (*messages(), *piz_daint(), *efficiencies())]


def messages() -> list[Fact]:
    """The proposed allreduce against NCCL 2."""
    small = over_nccl(SMALL_BYTES)
    at = f"{RANKS} accelerators, InfiniBand EDR"
    name = "CUDA-aware MPI allreduce over NCCL 2, small and medium messages"
    how = f"{at}, 4 B to 64 KiB; beyond, the gain falls"
    return [
        Fact(f"{name}, least", "5-17", float(small.min()), 5, 17, CHECK, how),
        Fact(f"{name}, most", "5-17", float(small.max()), 5, 17, CHECK, how),
        Fact("CUDA-aware MPI allreduce, latency of large messages below NCCL 2's", 0.29,
             less_for_large(), 0.28, 0.30, FITTED, f"{at}, 64 to 256 MiB; set: NCCL's share of "
             "the link"),
    ]  # fmt: skip


def over_nccl(message_bytes: Array, nccl: catalog.Approach | None = None) -> Array:
    """Seconds of NCCL's allreduce over those of the proposed one."""
    theirs = nccl or catalog.approach("horovod-nccl")
    ours = catalog.approach("horovod-mpi-opt")
    times = [allreduce_s(on(EDR_CLUSTER, one), RANKS, 1, message_bytes) for one in (theirs, ours)]
    return np.asarray(times[0] / times[1])


def less_for_large(nccl: catalog.Approach | None = None) -> float:
    """By what share the proposed allreduce takes less, mean of the large sizes."""
    return float(np.mean(1 - 1 / over_nccl(LARGE_BYTES, nccl)))


def piz_daint() -> list[Fact]:
    """Horovod over MPI against parameter servers over gRPC."""
    how = f"{PIZ_DAINT_GPUS} nodes, {BATCH} images each, the best number of servers"
    return [
        Fact("Piz Daint, Horovod-MPI over gRPC, ResNet-50", 1.8, horovod_over_grpc("resnet50"),
             1.75, 1.85, FITTED, f"{how}; set: messages that gRPC handles at once"),
        Fact("Piz Daint, Horovod-MPI over gRPC, MobileNet", 3.2, horovod_over_grpc("mobilenet-v1"),
             3.2 / 1.25, 3.2 * 1.25, CHECK, how),
    ]  # fmt: skip


def horovod_over_grpc(workload: str, grpc: catalog.Approach | None = None) -> float:
    """Throughput of Horovod over MPI over that of gRPC."""
    both = (catalog.approach("horovod-mpi"), grpc or catalog.approach("grpc"))
    gpus, batch = np.array([float(PIZ_DAINT_GPUS)]), np.array([float(BATCH)])
    rates = [samples_per_s(PIZ_DAINT, one, workload, gpus, batch) for one in both]
    return float((rates[0] / rates[1])[0])


def efficiencies() -> list[Fact]:
    """Over models, counts of accelerators and batches."""
    rates = {
        (name, workload): samples_per_s(
            EDR_CLUSTER, catalog.approach(name), workload, GPU_AXIS, BATCH_AXIS
        )
        for name in (*SERVERS, *ALLREDUCES)
        for workload in WORKLOADS
    }
    kept = {key: rate / rate[:1] / GPU_AXIS for key, rate in rates.items()}
    at_64 = kept["horovod-mpi-opt", "resnet50"][GPUS == 64, BATCHES == BATCH][0]
    cells = f"{len(WORKLOADS)} models, 2 to 128 accelerators, batches of 16 to 256"
    return [
        Fact("scaling efficiency, ResNet-50 on 64 GPUs, CUDA-aware MPI", "about 0.9", float(at_64),
             0.85, 0.95, CHECK, f"Horovod, {BATCH} images each"),
        Fact("No-gRPC faster than gRPC, share of configurations", "most", _pairs_won(rates), 0.5,
             1.0, CHECK, f"{cells}; every No-gRPC approach against every gRPC one"),
        Fact("the best of No-gRPC faster than the best of gRPC, share of configurations", "most",
             _best_won(rates), 0.5, 1.0, CHECK, cells),
        Fact("efficiency grows with the batch, share of configurations", "it grows",
             float(np.mean([kept[key][1:, -1] >= kept[key][1:, 0] for key in kept])), 0.95, 1.0,
             CHECK, f"{cells}; 256 against 16, every approach"),
    ]  # fmt: skip


def _pairs_won(rates: dict[tuple[str, str], Array]) -> float:
    """Share of the cells in which an allreduce beats servers, over all pairs of the two."""
    return float(np.mean([
        rates[one, workload][1:] > rates[other, workload][1:]
        for workload in WORKLOADS for one in ALLREDUCES for other in SERVERS
    ]))  # fmt: skip


def _best_won(rates: dict[tuple[str, str], Array]) -> float:
    """Share of the cells in which the best allreduce beats the best servers."""

    def best(names: tuple[str, ...], workload: str) -> Array:
        return np.asarray(np.max([rates[name, workload][1:] for name in names], axis=0))

    return float(np.mean([best(ALLREDUCES, one) > best(SERVERS, one) for one in WORKLOADS]))


def fitted_streams() -> float:
    """Messages at once that make Horovod 1.8 times as fast as gRPC for ResNet-50."""
    grpc = catalog.approach("grpc")

    def miss(streams: float) -> float:
        return horovod_over_grpc("resnet50", replace(grpc, streams=streams)) - 1.8

    return float(brentq(miss, 1.0, 100.0))


def fitted_nccl_efficiency() -> float:
    """NCCL's share of the link that leaves the proposed allreduce 29 % faster."""
    nccl = catalog.approach("horovod-nccl")

    def miss(share: float) -> float:
        return less_for_large(replace(nccl, link_efficiency=share)) - 0.29

    return float(brentq(miss, 0.3, 0.9))
