"""dse's own model on the jobs of a fleet, beside the PAI paper's: one effect after the other.

The paper divides bytes by bandwidth. Here the same bytes are aggregated by the algorithms of
:mod:`dse.model`, over transports as the catalogue knows them. ``S_w`` of the paper is what a step
exchanges, to and fro, so the gradients that are aggregated are half of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from dse import catalog
from dse.fleet.breakdown import Priced
from dse.fleet.document import ModelRow
from dse.fleet.facts import FASTER_ETHERNET
from dse.fleet.measured_costs import NOTHING, Measured
from dse.fleet.ports import GAIN, moved_to
from dse.model import overlap
from dse.model.aggregation.algorithms import hierarchical, ring
from dse.model.aggregation.parameter_server import parameter_server
from dse.model.arrays import Array, Mask
from dse.model.links import FREE, Link, Network, StepCost
from dse.model.pai import (
    ALLREDUCE_CLUSTER,
    ALLREDUCE_LOCAL,
    ONE_WORKER_N_GPUS,
    ONE_WORKER_ONE_GPU,
    PEARL,
    PS_WORKER,
    Hardware,
    Jobs,
    in_one_server,
    placed_cnodes,
    step_times,
    throughput_ratio,
)

BACKWARD_SHARE = 2 / 3  # of computing: two of the three products of a layer
BUCKETS = 8
WORKERS_PER_SERVER = 4.0  # workers of one parameter server, where servers are scarce


@dataclass(frozen=True)
class Effects:
    """What is modelled besides bytes over bandwidth.

    software: latency, messages and copies, as the catalogue knows them or as they were measured.
    overlapped: with the backward pass, in :data:`BUCKETS` messages.
    """

    software: bool = False
    workers_per_server: float = 1.0
    overlapped: bool = False
    measured: Measured = NOTHING

    @property
    def costs(self) -> Measured:
        """As they were measured, where software is modelled."""
        return self.measured if self.software else NOTHING


STEPS: tuple[tuple[str, Effects], ...] = (
    ("the algorithm: push and pull; a ring", Effects()),
    ("and latency, messages and copies of gRPC and NCCL", Effects(True)),
    (
        f"and contention: one server for {WORKERS_PER_SERVER:g} workers",
        Effects(True, WORKERS_PER_SERVER),
    ),
    (
        f"and overlap with the backward pass, in {BUCKETS} buckets",
        Effects(True, WORKERS_PER_SERVER, True),
    ),
    ("the algorithm and overlap alone", Effects(False, 1.0, True)),
)


class Exchange(Protocol):
    """How the jobs of one architecture sum their gradients; all arrays of shape (jobs,)."""

    def seconds(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Array:
        """Seconds to aggregate the gradients of every job as one message."""
        ...

    def measured(self, jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
        """Whether a profile, not the catalogue, prices what each job exchanges."""
        ...

    def in_range(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Mask:
        """Whether what a profile prices was measured like that, of jobs with what one message
        exchanges; True of the catalogue's."""
        ...


@dataclass(frozen=True)
class AsInPaper:
    """Within one worker: bytes over bandwidth, as the paper has it; nothing of it is measured."""

    architecture: str

    def seconds(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Array:
        """See :class:`Exchange`."""
        del effects
        return step_times(self.architecture, jobs, hardware).weights_s

    def measured(self, jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
        """Nowhere."""
        del hardware, own
        return np.zeros(np.shape(jobs.cnodes), dtype=bool)

    def in_range(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Mask:
        """Everywhere."""
        del hardware, effects
        return _everywhere(jobs)


class PushAndPull:
    """Parameter servers over gRPC; gradients are copied to the host and back over PCIe."""

    def seconds(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Array:
        """See :class:`Exchange`."""
        n = _cnodes(jobs)
        gradients, servers = gradient_bytes(jobs), self._servers(n, effects)
        staged = 2 * gradients / (hardware.pcie_bytes_per_s * np.asarray(hardware.efficiency))
        own = effects.costs.servers
        if own is not None:
            link, e = hardware.ethernet_bytes_per_s, hardware.efficiency
            return np.asarray(staged + own.seconds(n, gradients, servers, link, e))
        seen = network("grpc", hardware, effects)
        return np.asarray(staged + parameter_server(n, 1.0, gradients, seen, servers))

    def measured(self, jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
        """See :class:`Exchange`."""
        del hardware
        return np.asarray((_cnodes(jobs) > 1) & (own.servers is not None))

    def in_range(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Mask:
        """See :class:`Exchange`."""
        inside, own, n = _everywhere(jobs), effects.measured.servers, _cnodes(jobs)
        if own is None:
            return inside
        link, servers = hardware.ethernet_bytes_per_s, self._servers(n, effects)
        return inside & own.in_range(n, gradient_bytes(jobs), servers, link)

    @staticmethod
    def _servers(cnodes: Array, effects: Effects) -> Array:
        return np.asarray(np.ceil(cnodes / effects.workers_per_server))


@dataclass(frozen=True)
class Allreduce:
    """A ring of NCCL in one server; ``across`` servers hierarchical, where a job has several."""

    across: bool

    def seconds(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Array:
        """See :class:`Exchange`."""
        n, gradients = _cnodes(jobs), gradient_bytes(jobs)
        seen = network("nccl", hardware, effects)
        per_server = in_one_server(jobs, hardware)
        alone, local = n <= per_server, np.minimum(n, per_server)
        own = effects.costs.inside
        if own is not None:
            inside = own.seconds(local, gradients)
        else:
            inside = ring(local, per_server, gradients, seen)
        if not self.across:
            return inside
        return np.where(alone, inside, hierarchical(n, per_server, gradients, seen))

    def measured(self, jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
        """In one server."""
        return self._in_one(jobs, hardware, own) & (_cnodes(jobs) > 1)

    def in_range(self, jobs: Jobs, hardware: Hardware, effects: Effects) -> Mask:
        """See :class:`Exchange`."""
        inside, own = _everywhere(jobs), effects.measured.inside
        if own is None:
            return inside
        others = ~self._in_one(jobs, hardware, effects.measured)
        nvlink = hardware.nvlink_bytes_per_s
        return inside & (others | own.in_range(_cnodes(jobs), gradient_bytes(jobs), nvlink))

    @staticmethod
    def _in_one(jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
        """Whether a job is in one server, whose NCCL was measured."""
        alone = _cnodes(jobs) <= in_one_server(jobs, hardware)
        return np.asarray(alone & (own.inside is not None))


EXCHANGES: Mapping[str, Exchange] = {
    ONE_WORKER_ONE_GPU: AsInPaper(ONE_WORKER_ONE_GPU),
    ONE_WORKER_N_GPUS: AsInPaper(ONE_WORKER_N_GPUS),
    PS_WORKER: PushAndPull(),
    ALLREDUCE_LOCAL: Allreduce(across=False),
    ALLREDUCE_CLUSTER: Allreduce(across=True),
    PEARL: Allreduce(across=True),
}


def network(transport: str, hardware: Hardware, effects: Effects) -> Network:
    """Both tiers as a transport of the catalogue sees them."""
    e = np.asarray(hardware.efficiency)
    across = Link(0.0, hardware.ethernet_bytes_per_s * e)
    within = Link(0.0, hardware.nvlink_bytes_per_s * e)
    if not effects.software:
        return Network(FREE, FREE, within, across)
    found = catalog.transport(transport)

    def cost(tier: catalog.Tier) -> StepCost:
        return StepCost(tier.latency_s, (tier.s_per_byte,))

    return Network(cost(found.within), cost(found.across), within, across)


def aggregation_s(architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects) -> Array:
    """Seconds to aggregate the gradients of every job as one message, shape (jobs,)."""
    return EXCHANGES[architecture].seconds(jobs, hardware, effects)


def _cnodes(jobs: Jobs) -> Array:
    return np.asarray(jobs.cnodes, dtype=np.float64)


def _everywhere(jobs: Jobs) -> Mask:
    """True of every job, shape (jobs,)."""
    shape = np.broadcast_shapes(np.shape(jobs.cnodes), np.shape(gradient_bytes(jobs)))
    return np.ones(shape, dtype=bool)


def gradient_bytes(jobs: Jobs) -> Array:
    """Half of what a step exchanges, to and fro."""
    return np.asarray((np.asarray(jobs.weight_bytes) + jobs.embedding_bytes) / 2)


def communication_s(
    architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects
) -> tuple[Array, Array]:
    """(all aggregation, that which nothing hides) of every job, shape (jobs,)."""
    if not effects.overlapped:
        whole = aggregation_s(architecture, jobs, hardware, effects)
        return whole, whole
    each = aggregation_s(architecture, in_buckets(jobs), hardware, effects)
    backward = BACKWARD_SHARE * step_times(architecture, jobs, hardware).compute_s
    ready = [backward * (at + 1) / BUCKETS for at in range(BUCKETS)]
    end, _ = overlap.last_end_s(ready, [each] * BUCKETS)
    return BUCKETS * each, np.maximum(end - backward, 0.0)


def in_buckets(jobs: Jobs) -> Jobs:
    """The same jobs with what one bucket of a step exchanges."""
    return replace(
        jobs,
        weight_bytes=np.asarray(jobs.weight_bytes) / BUCKETS,
        embedding_bytes=np.asarray(jobs.embedding_bytes) / BUCKETS,
    )


def in_range(architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects) -> Mask:
    """Of every job, whether what prices its messages was measured like that; shape (jobs,).

    True where no part of it was measured: that is the catalogue's.
    """
    message = in_buckets(jobs) if effects.overlapped else jobs
    return EXCHANGES[architecture].in_range(message, hardware, effects)


def priced_by_profile(architecture: str, jobs: Jobs, hardware: Hardware, own: Measured) -> Mask:
    """Whether a profile, not the catalogue, prices what each job exchanges; shape (jobs,)."""
    return EXCHANGES[architecture].measured(jobs, hardware, own)


def step_s(
    architecture: str, jobs: Jobs, hardware: Hardware, effects: Effects
) -> tuple[Array, Array, Array]:
    """(step, all aggregation, that which nothing hides) of every job, shape (jobs,)."""
    times = step_times(architecture, jobs, hardware)
    every, exposed = communication_s(architecture, jobs, hardware, effects)
    return times.data_s + times.compute_s + exposed, every, exposed


def compare_models(
    found: Sequence[Priced], hardware: Hardware, own: Measured = NOTHING
) -> tuple[ModelRow, ...]:
    """The two facts of the paper about PS/Worker jobs by each model; none without such jobs.

    own: costs as they were measured, which have rows of their own.
    """
    entry = next((one for one in found if one.group.architecture == PS_WORKER), None)
    if entry is None:
        return ()
    jobs, cnodes = entry.group.jobs, entry.group.cnodes
    faster = replace(hardware, ethernet_bytes_per_s=FASTER_ETHERNET)
    placed = placed_cnodes(ALLREDUCE_LOCAL, cnodes, hardware.gpus_per_server)
    moved = moved_to(jobs, placed)
    paper = [step_times(PS_WORKER, jobs, on) for on in (hardware, faster)]
    local = step_times(ALLREDUCE_LOCAL, moved, hardware).total_s()
    rows = [_row("the paper: bytes over bandwidth", paper[0].total_s(), paper[0].weights_s,
                 paper[1].total_s(), local, cnodes, placed)]  # fmt: skip
    for name, effects in (*STEPS, *_measured_steps(own)):
        before, _, exposed = step_s(PS_WORKER, jobs, hardware, effects)
        fast, *_ = step_s(PS_WORKER, jobs, faster, effects)
        port, *_ = step_s(ALLREDUCE_LOCAL, moved, hardware, effects)
        row = _row(name, before, exposed, fast, port, cnodes, placed)
        if effects.measured != NOTHING:
            inside = in_range(PS_WORKER, jobs, hardware, effects)
            inside = inside & in_range(PS_WORKER, jobs, faster, effects)
            inside = inside & in_range(ALLREDUCE_LOCAL, moved, hardware, effects)
            row = replace(row, extrapolated=1.0 - float(inside.mean()))
        rows.append(row)
    return tuple(rows)


def _measured_steps(own: Measured) -> tuple[tuple[str, Effects], ...]:
    """The same with costs as they were measured, before and after contention and overlap."""
    if own == NOTHING:
        return ()
    return (
        (f"latency, messages and copies as measured: {own.name}", Effects(True, measured=own)),
        ("measured, and contention and overlap", Effects(True, WORKERS_PER_SERVER, True, own)),
    )


def _row(name: str, own: Array, comm: Array, fast: Array, port: Array,
         cnodes: Array, placed: Array) -> ModelRow:  # fmt: skip
    more = throughput_ratio(own, port, cnodes, placed) > GAIN
    return ModelRow(
        model=name,
        communication=float((comm / own).mean()),
        speedup=float((own / fast).mean()),
        gain=float(more.mean()),
        extrapolated=None,
    )
