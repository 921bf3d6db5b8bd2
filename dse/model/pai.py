"""The model of the PAI paper: a step is input, computing and weights, one after the other.

Wang et al., "Characterizing Deep Learning Training Workloads on Alibaba-PAI", IISWC 2019 (arXiv
1910.05930)::

    T   = T_d + T_c + T_w
    T_d = S_d / (B_pcie e)                         input, from host to accelerator
    T_c = FLOPs / (peak e) + S_m / (B_mem e)       compute-bound and memory-bound work
    T_w = S_w sum over the media on the way of 1 / (B_medium e)

No latency, no algorithm, no overlap: every resource works at the share e of its peak. A cNode is
one accelerator with the processors beside it; S and FLOPs are those of one cNode and one step. The
equations are known from reading notes and from their consequences (the two legs of PS/Worker are
the only form that gives the paper's 1.7x from 25 to 100 Gbps), not from the paper's text.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from dse.model import compute
from dse.model.aggregation.base import SERVER_AXES, Aggregation, Layout
from dse.model.arrays import Array, ArrayLike, scalar
from dse.model.stack import FUSED
from dse.model.step import Work
from dse.model.step import terms as step_terms
from dse.model.terms import TERMS, Terms

ONE_WORKER_ONE_GPU, ONE_WORKER_N_GPUS, PS_WORKER = "1w1g", "1wng", "ps-worker"
ALLREDUCE_LOCAL, ALLREDUCE_CLUSTER, PEARL = "allreduce-local", "allreduce-cluster", "pearl"
ARCHITECTURES = (
    ONE_WORKER_ONE_GPU,
    ONE_WORKER_N_GPUS,
    PS_WORKER,
    ALLREDUCE_LOCAL,
    ALLREDUCE_CLUSTER,
    PEARL,
)
RESOURCES = ("gpu", "memory", "pcie", "ethernet", "nvlink")
# The media over which weights go, beyond one server; PEARL inside one server needs no Ethernet, and
# where a server has one accelerator nothing goes over NVLink.
MEDIA = MappingProxyType(
    {
        ONE_WORKER_ONE_GPU: (),
        ONE_WORKER_N_GPUS: ("pcie",),
        PS_WORKER: ("ethernet", "pcie"),
        ALLREDUCE_LOCAL: ("nvlink",),
        ALLREDUCE_CLUSTER: ("ethernet", "nvlink"),
        PEARL: ("ethernet", "nvlink"),
    }
)
IN_ONE_SERVER = (ONE_WORKER_N_GPUS, ALLREDUCE_LOCAL)
SHARE_PCIE = (ALLREDUCE_LOCAL, ALLREDUCE_CLUSTER, PEARL)  # servers full of linked accelerators


@dataclass(frozen=True)
class Hardware:
    """Peaks of one accelerator and its links, in one direction; arrays that broadcast.

    efficiency: the share e in (0, 1] of every peak that is reached. gpus_per_server: accelerators
    that NVLink joins, >= 1. shared_pcie: whether these share one PCIe for their input.
    """

    gpu_flops_per_s: ArrayLike
    memory_bytes_per_s: ArrayLike
    pcie_bytes_per_s: ArrayLike
    ethernet_bytes_per_s: ArrayLike
    nvlink_bytes_per_s: ArrayLike
    efficiency: ArrayLike = 0.7
    gpus_per_server: ArrayLike = 8.0
    shared_pcie: bool = True


@dataclass(frozen=True)
class Jobs:
    """What one cNode does in one step; arrays that broadcast, values >= 0.

    cnodes: accelerators of the job, >= 1. memory_bytes: read and written in device memory.
    input_bytes: samples that come from the host. weight_bytes: dense weights and gradients
    exchanged. embedding_bytes: rows of embedding tables exchanged besides: AllGatherv and
    ReduceScatter of PEARL take them over the same media as the dense part. per_server: how many of
    a job's accelerators are in one server, >= 1; where infinite, as many as a server has.
    """

    cnodes: ArrayLike
    flops: ArrayLike
    memory_bytes: ArrayLike
    input_bytes: ArrayLike
    weight_bytes: ArrayLike
    embedding_bytes: ArrayLike = 0.0
    per_server: ArrayLike = np.inf


@dataclass(frozen=True)
class StepTimes:
    """Seconds of one step by what takes them; arrays in the broadcast shape of jobs and hardware.

    The weights are told apart by their medium: pcie_s, ethernet_s, nvlink_s.
    """

    data_s: Array
    flops_s: Array
    memory_s: Array
    pcie_s: Array
    ethernet_s: Array
    nvlink_s: Array

    @property
    def compute_s(self) -> Array:
        """T_c."""
        return self.flops_s + self.memory_s

    @property
    def weights_s(self) -> Array:
        """T_w."""
        return self.pcie_s + self.ethernet_s + self.nvlink_s

    def total_s(self, overlapped: bool = False) -> Array:
        """``T_d + T_c + T_w``, or ``max(T_d, T_c, T_w)`` where all overlaps ideally."""
        if overlapped:
            return np.maximum(np.maximum(self.data_s, self.compute_s), self.weights_s)
        return self.data_s + self.compute_s + self.weights_s


def placed_cnodes(architecture: str, cnodes: ArrayLike, gpus_per_server: ArrayLike = 8.0) -> Array:
    """How many cNodes a job of ``cnodes`` has in ``architecture``: one server holds only so many.

    Batches of a cNode stay as they are, so a job that is cut down has a smaller global batch.
    """
    return np.minimum(
        np.asarray(cnodes, dtype=np.float64), most_cnodes(architecture, gpus_per_server)
    )


def most_cnodes(architecture: str, gpus_per_server: ArrayLike = 8.0) -> Array:
    """How many cNodes, one at least, a job of ``architecture`` may have; infinite for any."""
    if architecture in IN_ONE_SERVER:
        return np.asarray(gpus_per_server, dtype=np.float64)
    return np.asarray(np.inf if "ethernet" in MEDIA[architecture] else 1.0)


def in_one_server(jobs: Jobs, hardware: Hardware) -> Array:
    """The most accelerators of a job that share a server; arrays broadcast."""
    return np.asarray(np.minimum(jobs.per_server, hardware.gpus_per_server), dtype=np.float64)


def step_times(architecture: str, jobs: Jobs, hardware: Hardware) -> StepTimes:
    """The terms of the module's equation for jobs that run in ``architecture``.

    jobs.cnodes as placed (:func:`placed_cnodes`). T_d is longer by the number of accelerators that
    share a server's PCIe, in the architectures of :data:`SHARE_PCIE`.
    """
    e, n = np.asarray(hardware.efficiency), np.asarray(jobs.cnodes, dtype=np.float64)
    sharers: ArrayLike = 1.0
    if hardware.shared_pcie and architecture in SHARE_PCIE:
        sharers = np.minimum(n, in_one_server(jobs, hardware))
    weights = np.asarray(jobs.weight_bytes, dtype=np.float64) + jobs.embedding_bytes
    media = dict.fromkeys(MEDIA[architecture], weights)
    if architecture == PEARL:
        media["ethernet"] = np.where(n > in_one_server(jobs, hardware), weights, 0.0)
    if "nvlink" in media:  # it joins the accelerators of a server
        media["nvlink"] = np.where(in_one_server(jobs, hardware) > 1, weights, 0.0)
    none = np.zeros(())

    def over(medium: str, bytes_per_s: ArrayLike) -> Array:
        if medium not in media:
            return none
        return np.asarray(media[medium] / (np.asarray(bytes_per_s) * e))

    return StepTimes(
        data_s=np.asarray(jobs.input_bytes * sharers / (hardware.pcie_bytes_per_s * e)),
        flops_s=np.asarray(jobs.flops / (hardware.gpu_flops_per_s * e)),
        memory_s=np.asarray(jobs.memory_bytes / (hardware.memory_bytes_per_s * e)),
        pcie_s=over("pcie", hardware.pcie_bytes_per_s),
        ethernet_s=over("ethernet", hardware.ethernet_bytes_per_s),
        nvlink_s=over("nvlink", hardware.nvlink_bytes_per_s),
    )


def throughput_ratio(
    before_s: ArrayLike, after_s: ArrayLike, cnodes: ArrayLike, placed: ArrayLike
) -> Array:
    """``(n' / T') / (n / T)``: samples per second after a port over those before.

    The batch of a cNode is the same in both. All arrays broadcast.
    """
    return np.asarray(np.asarray(placed) * before_s / (np.asarray(cnodes) * after_s))


def jobs_of_times(
    architecture: str, cnodes: ArrayLike, seconds: StepTimes, hardware: Hardware
) -> Jobs:
    """The jobs whose terms on ``hardware`` are ``seconds``, the inverse of :func:`step_times`.

    seconds.pcie_s holds all of T_w, whatever the media; 1w1g exchanges nothing.
    """
    unit = Jobs(cnodes, 1.0, 1.0, 1.0, 1.0)
    one = step_times(architecture, unit, hardware)
    per_byte = one.weights_s
    weights = np.divide(
        seconds.weights_s, per_byte, out=np.zeros(np.shape(seconds.weights_s)), where=per_byte > 0
    )
    return Jobs(
        cnodes=cnodes,
        flops=seconds.flops_s / one.flops_s,
        memory_bytes=seconds.memory_s / one.memory_s,
        input_bytes=seconds.data_s / one.data_s,
        weight_bytes=weights,
    )


IDEAL = "ideal"  # of the axis overlap
FLOPS_OF_PASSES = 1.0 + compute.BACKWARD_FLOPS  # of both passes, in forward passes
BACKWARD_TRAFFIC = 2.0  # of the forward pass: reads and writes of both gradients
TRAFFIC_OF_PASSES = 1.0 + BACKWARD_TRAFFIC
EFFICIENCY = 0.7  # of every peak, by the paper


@dataclass(frozen=True)
class PaiStep:
    """The paper's model as a :class:`~dse.model.step.StepModel`: what it takes of a point::

        S_d   = input bytes of a sample * batch
        FLOPs = 3 * those of the forward pass * batch
        S_m   = 3 * memory traffic of the forward pass, and the bytes of the weight update
        S_w   = 2 * bytes of all gradients, out and back

    each but S_w times the passes of a step, whose gradients are also added up in memory.

    The backward pass takes twice of the forward one: 2/3 of T_c without the update. Peaks are the
    catalogue's: the host link for PCIe, the link inside a node for NVLink, a node's network cards
    together for Ethernet. Every accelerator has its host link to itself, whatever it exchanges
    over.
    """

    overlaps: ClassVar[tuple[str, ...]] = ("none", IDEAL)
    measurable: ClassVar[bool] = False

    def step_time(self, work: Work) -> Terms:
        """With ``T_w`` as its aggregation and ``T_d`` as its input."""
        found = self.times(work)
        return self._combined(work, found, found.weights_s)

    def without_communication(self, work: Work) -> Terms:
        """The same with ``T_w = 0``: no term falls where ``T_w`` rises."""
        return self._combined(work, self.times(work), np.zeros(()))

    def bounded(self, work: Work) -> bool:
        """Whether ``T_w`` of all points is known."""
        weights = self.times(work).weights_s
        return bool(np.all(np.isfinite(weights) & (weights >= 0)))

    def times(self, work: Work) -> StepTimes:
        """The paper's terms without the weight update; arrays broadcast to the points' shape."""
        jobs, hardware = jobs_of(work), hardware_of(work)
        alone, inside, across = (
            step_times(name, jobs, hardware) for name in architectures(work.aggregation)
        )
        layout = work.layout
        one, one_node = layout.gpus <= 1, layout.gpus <= layout.gpus_per_node

        def of_layout(term: str) -> Array:
            several: Array = np.where(one_node, getattr(inside, term), getattr(across, term))
            return np.where(one, getattr(alone, term), several)

        return StepTimes(
            data_s=alone.data_s,
            flops_s=alone.flops_s,
            memory_s=alone.memory_s,
            pcie_s=of_layout("pcie_s"),
            ethernet_s=of_layout("ethernet_s"),
            nvlink_s=of_layout("nvlink_s"),
        )

    def terms(self, work: Work) -> dict[str, Array]:
        """The terms of the paper by name, the weight update told apart; arrays broadcast."""
        found = vars(self.times(work))
        own = {"update_s": _update_s(work), **found}
        return {name: own[name] for name in TERMS if name in own}

    def architecture(self, work: Work) -> str:
        """What a single point is to the paper."""
        gpus = scalar(work.layout.gpus)
        at = 0 if gpus <= 1 else 1 + int(gpus > scalar(work.layout.gpus_per_node))
        return architectures(work.aggregation)[at]

    def _combined(self, work: Work, found: StepTimes, weights_s: Array) -> Terms:
        """``T_w + (T_d + T_c)``, or the longest of the three where all overlaps ideally."""
        flops, memory = found.flops_s / FLOPS_OF_PASSES, found.memory_s / TRAFFIC_OF_PASSES
        forward = flops + memory
        backward = compute.BACKWARD_FLOPS * flops + BACKWARD_TRAFFIC * memory
        update = _update_s(work)
        computing = forward + backward + update
        if work.overlap == IDEAL:  # of the passes of a step the last only has anything to sum
            earlier = (forward + backward) * (1 - 1 / np.asarray(work.accumulation))
            busy = np.maximum(computing - earlier, weights_s) + earlier
            stalled = np.maximum(found.data_s - busy, 0.0)
            step = np.maximum(busy, found.data_s)
        else:
            stalled = found.data_s
            step = weights_s + (computing + found.data_s)
        return step_terms(forward, backward, found.data_s, weights_s, stalled, update, step)


def architectures(aggregation: Aggregation) -> tuple[str, str, str]:
    """What an aggregation is to the paper: on one accelerator, inside a node, across nodes."""
    if aggregation.axes & SERVER_AXES:
        return ONE_WORKER_ONE_GPU, ONE_WORKER_N_GPUS, PS_WORKER
    return ONE_WORKER_ONE_GPU, ALLREDUCE_LOCAL, ALLREDUCE_CLUSTER


def hardware_of(work: Work) -> Hardware:
    """What is reached of every peak, so that the efficiency left to apply is 1."""
    device, layout = work.device, work.layout
    # Links come as the transport has them.
    inside, across = EFFICIENCY / work.inside_efficiency, EFFICIENCY / work.across_efficiency
    return Hardware(
        gpu_flops_per_s=device.reached_flops_per_s / np.asarray(device.factor),
        memory_bytes_per_s=device.reached_bytes_per_s / np.asarray(device.factor),
        pcie_bytes_per_s=np.asarray(device.host_bytes_per_s) * EFFICIENCY,
        ethernet_bytes_per_s=_between_bytes_per_s(layout) * across,
        nvlink_bytes_per_s=layout.inside.bytes_per_s * inside,
        efficiency=1.0,
        gpus_per_server=layout.gpus_per_node,
        shared_pcie=False,
    )


def _between_bytes_per_s(layout: Layout) -> Array:
    """All network cards of a node; where leaf switches are oversubscribed, their share of the links
    up, as if all traffic between nodes left its leaf (the paper knows of no leaves)."""
    cards = np.asarray(layout.across.bytes_per_s * layout.rails)
    return cards if layout.leaf is None else cards / layout.leaf.slower(layout.leaf.nodes)


def jobs_of(work: Work) -> Jobs:
    """What one accelerator does in one step, the weight update left out."""
    layers, precision, batch = work.layers, work.precision, np.asarray(work.batch)
    passes = np.asarray(work.accumulation)
    adding = 2 * layers.total_params * precision.stored_gradient_bytes * (passes - 1)
    outputs = 2 * float(np.sum(layers.traffic_elems)) * precision.activation_bytes
    weights = layers.total_params * precision.weight_bytes
    return Jobs(
        cnodes=work.layout.gpus,
        flops=FLOPS_OF_PASSES * float(np.sum(layers.forward_flops)) * batch * passes,
        memory_bytes=TRAFFIC_OF_PASSES * (outputs * batch + weights) * passes + adding,
        input_bytes=layers.input_bytes * batch * passes,
        weight_bytes=2 * layers.total_params * precision.gradient_bytes,
    )


def _update_s(work: Work) -> Array:
    """The memory-bound seconds of the weight update."""
    return compute.optimizer_s(work.layers, work.device, work.precision, work.state_bytes, FUSED)
