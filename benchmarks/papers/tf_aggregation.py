"""Facts of Awan et al., "Scalable Distributed DNN Training using TensorFlow and CUDA-Aware MPI".

Only its abstract is known here. Two parameters in models/approaches were fitted to two of its
facts, which are no checks. What the abstract leaves open is assumed below; facts that turn on it,
or on recalled parameters, are no checks either (benchmarks/papers/fact.py has the roles).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from benchmarks.papers import tf_piz_daint
from benchmarks.papers.fact import ASSUMED, CHECK, FITTED, Fact
from benchmarks.papers.tf_machines import EDR_CLUSTER, PIZ_DAINT, on, samples_per_s
from dse import catalog
from dse.model.aggregation.nccl_tuner import LL, NETWORK_S, RING
from dse.model.aggregation.tensorwise import allreduce_s
from dse.model.arrays import Array

PAPER = "awan-2019"
SERVERS = ("grpc", "grpc-verbs", "grpc-mpi", "grpc-gdr")
ALLREDUCES = ("baidu-mpi", "horovod-mpi", "horovod-mpi-opt", "horovod-nccl")
WORKLOADS = ("resnet50", "resnet101", "mobilenet-v1", "nasnet-large")
# Assumed: the sizes called small and medium, and large; the ranks of the allreduce; what of Piz
# Daint was used, with how many images for each accelerator.
SMALL_BYTES = 2.0 ** np.arange(2, 17)  # 4 B to 64 KiB
LARGE_BYTES = 2.0 ** np.arange(26, 29)  # 64 to 256 MiB
RANKS, PIZ_DAINT_GPUS, BATCH = 16, 128, 64
# What else the window of small and medium messages could be.
ENDS_BYTES = (2.0**16, 2.0**17, 2.0**20)
OTHER_RANKS = (8, 16, 32, 64)
GPUS = 2.0 ** np.arange(8)  # 1 to 128
BATCHES = 2.0 ** np.arange(4, 9)  # 16 to 256
GPU_AXIS, BATCH_AXIS = GPUS[:, None], BATCHES[None, :]


def rows() -> list[dict[str, Any]]:
    """All facts of the abstract, and two measured series beside the model that they rest on."""
    found = (*messages(), *piz_daint(), *efficiencies(), *tf_piz_daint.rows())
    return [fact.plain() for fact in found]


def messages() -> list[Fact]:
    """The proposed allreduce against NCCL 2."""
    small = over_nccl(SMALL_BYTES)
    at = f"{RANKS} accelerators, InfiniBand EDR"
    others = [gain for window in windows().values() for gain in window]
    return [
        Fact(PAPER, "CUDA-aware MPI allreduce over NCCL 2, small and medium messages", "5-17",
             (float(small.min()), float(small.max())), 5, 17, ASSUMED, f"{at}, 4 B to 64 KiB, "
             "NCCL's Simple protocol; moves: other ends and counts, NCCL's LL protocol",
             (min(others), max(others))),
        Fact(PAPER, "CUDA-aware MPI allreduce, latency of large messages below NCCL 2's", 0.29,
             less_for_large(), 0.28, 0.30, FITTED, f"{at}, 64 to 256 MiB; set: NCCL's share of "
             "the link"),
    ]  # fmt: skip


def windows() -> dict[tuple[str, float, int], tuple[float, float]]:
    """Least and most gain over NCCL 2 from 4 B to an end, by NCCL's protocol, end and ranks."""
    simple = catalog.approach("horovod-nccl")
    steps = {"Simple": simple, "LL": replace(simple, message_s=float(NETWORK_S[RING, LL]))}
    found = {}
    for protocol, nccl in steps.items():
        for end in ENDS_BYTES:
            sizes = 2.0 ** np.arange(2, np.log2(end) + 1)
            for ranks in OTHER_RANKS:
                gain = over_nccl(sizes, nccl, ranks)
                found[protocol, end, ranks] = float(gain.min()), float(gain.max())
    return found


def over_nccl(
    message_bytes: Array, nccl: catalog.Approach | None = None, ranks: int = RANKS
) -> Array:
    """Seconds of NCCL's allreduce over those of the proposed one."""
    theirs = nccl or catalog.approach("horovod-nccl")
    ours = catalog.approach("horovod-mpi-opt")
    times = [allreduce_s(on(EDR_CLUSTER, one), ranks, 1, message_bytes) for one in (theirs, ours)]
    return np.asarray(times[0] / times[1])


def less_for_large(nccl: catalog.Approach | None = None) -> float:
    """By what share the proposed allreduce takes less, mean of the large sizes."""
    return float(np.mean(1 - 1 / over_nccl(LARGE_BYTES, nccl)))


def piz_daint() -> list[Fact]:
    """Horovod over MPI against parameter servers over gRPC."""
    how = f"{PIZ_DAINT_GPUS} nodes, {BATCH} images each, the best number of servers"
    return [
        Fact(PAPER, "Piz Daint, Horovod-MPI over gRPC, ResNet-50", 1.8,
             horovod_over_grpc("resnet50"), 1.75, 1.85, FITTED,
             f"{how}; set: messages that gRPC handles at once"),
        Fact(PAPER, "Piz Daint, Horovod-MPI over gRPC, MobileNet", 3.2,
             horovod_over_grpc("mobilenet-v1"), 3.2 / 1.25, 3.2 * 1.25, CHECK,
             f"{how}; Horovod's own rate there is missed"),
    ]  # fmt: skip


def horovod_over_grpc(
    workload: str, grpc: catalog.Approach | None = None, nodes: int = PIZ_DAINT_GPUS
) -> float:
    """Throughput of Horovod over MPI over that of gRPC."""
    both = (catalog.approach("horovod-mpi"), grpc or catalog.approach("grpc"))
    gpus, batch = np.array([float(nodes)]), np.array([float(BATCH)])
    rates = [samples_per_s(PIZ_DAINT, one, workload, gpus, batch) for one in both]
    return float((rates[0] / rates[1])[0])


def efficiencies() -> list[Fact]:
    """Over models, counts of accelerators and batches."""
    found = _rates((*SERVERS, *ALLREDUCES))
    alike = {**found, **_rates(SERVERS, catalog.approach("grpc").streams)}
    kept = {key: rate / rate[:1] / GPU_AXIS for key, rate in found.items()}
    at_64 = efficiency_at_64()
    cells = f"{len(WORKLOADS)} models, 2 to 128 accelerators, batches of 16 to 256"
    moves = "moves: the other gRPC approaches handle as many messages at once as gRPC does"
    return [
        Fact(PAPER, "scaling efficiency, ResNet-50 on 64 GPUs, CUDA-aware MPI", "about 0.9", at_64,
             0.85, 0.95, ASSUMED, f"Horovod, {BATCH} images each, waiting as fitted on Piz Daint; "
             "moves: no waiting", (at_64, efficiency_at_64(waits=False))),
        Fact(PAPER, "No-gRPC faster than gRPC, share of configurations", "most", _pairs_won(found),
             0.5, 1.0, ASSUMED, f"{cells}; every No-gRPC approach against every gRPC one; {moves}",
             (_pairs_won(alike), _pairs_won(found))),
        Fact(PAPER, "the best of No-gRPC faster than the best of gRPC, share of configurations",
             "most", _best_won(found), 0.5, 1.0, ASSUMED, f"{cells}; {moves}",
             (_best_won(alike), _best_won(found))),
        Fact(PAPER, "efficiency grows with the batch, share of configurations", "it grows",
             float(np.mean([kept[key][1:, -1] >= kept[key][1:, 0] for key in kept])), 0.95, 1.0,
             CHECK, f"{cells}; 256 against 16, every approach; nearly any model says so"),
    ]  # fmt: skip


def efficiency_at_64(waits: bool = True) -> float:
    """What 64 accelerators keep of 64 times the rate of one, ResNet-50 by the proposed approach."""
    gpus, batch = np.array([1.0, 64.0]), np.full(2, float(BATCH))
    facts = catalog.approach("horovod-mpi-opt")
    one, many = samples_per_s(EDR_CLUSTER, facts, "resnet50", gpus, batch, waits)
    return float(many / one / 64)


def _rates(names: Sequence[str], streams: float | None = None) -> dict[tuple[str, str], Array]:
    """Samples/s by approach and network, each (counts, batches). streams: None: their own."""
    found = {}
    for name in names:
        facts = catalog.approach(name)
        facts = facts if streams is None else replace(facts, streams=streams)
        for workload in WORKLOADS:
            found[name, workload] = samples_per_s(
                EDR_CLUSTER, facts, workload, GPU_AXIS, BATCH_AXIS
            )
    return found


def _pairs_won(rates: Mapping[tuple[str, str], Array]) -> float:
    """Share of the cells in which an allreduce beats servers, over all pairs of the two."""
    return float(np.mean([
        rates[one, workload][1:] > rates[other, workload][1:]
        for workload in WORKLOADS for one in ALLREDUCES for other in SERVERS
    ]))  # fmt: skip


def _best_won(rates: Mapping[tuple[str, str], Array]) -> float:
    """Share of the cells in which the best allreduce beats the best servers."""

    def best(names: tuple[str, ...], workload: str) -> Array:
        return np.asarray(np.max([rates[name, workload][1:] for name in names], axis=0))

    return float(np.mean([best(ALLREDUCES, one) > best(SERVERS, one) for one in WORKLOADS]))


def fitted_streams(nodes: int = PIZ_DAINT_GPUS) -> float:
    """Messages at once that make Horovod 1.8 times as fast as gRPC for ResNet-50."""
    grpc = catalog.approach("grpc")

    def miss(streams: float) -> float:
        return horovod_over_grpc("resnet50", replace(grpc, streams=streams), nodes) - 1.8

    return float(brentq(miss, 1.0, 100.0))


def fitted_nccl_efficiency() -> float:
    """NCCL's share of the link that leaves the proposed allreduce 29 % faster."""
    nccl = catalog.approach("horovod-nccl")

    def miss(share: float) -> float:
        return less_for_large(replace(nccl, link_efficiency=share)) - 0.29

    return float(brentq(miss, 0.3, 0.9))
