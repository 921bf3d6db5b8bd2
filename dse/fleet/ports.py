"""Gains of jobs from another architecture on the same hardware.

A job keeps its batch per cNode. AllReduce-Local holds only as many cNodes as a server has, so a
larger job loses cNodes there: it may gain per cNode and yet train fewer samples per second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.fleet.breakdown import Priced
from dse.fleet.document import Port
from dse.fleet.population import Group
from dse.fleet.upgrades import speedup, sums
from dse.model.arrays import Array, Mask
from dse.model.pai import (
    ALLREDUCE_CLUSTER,
    ALLREDUCE_LOCAL,
    PS_WORKER,
    Hardware,
    placed_cnodes,
    step_times,
    throughput_ratio,
)

REPLICATED = (ALLREDUCE_LOCAL, ALLREDUCE_CLUSTER)  # every cNode holds all weights and tables
# A job gains where it is faster by more than rounding.
GAIN = 1 + 1e-9


@dataclass(frozen=True)
class Move:
    """Jobs as they would run elsewhere, arrays over the jobs: cNodes, seconds of a step, how many
    times as fast each cNode and the whole job are, and whether the job's state fits."""

    cnodes: Array
    step_s: Array
    per_cnode: Array
    throughput: Array
    fits: Mask

    @property
    def gains_per_cnode(self) -> Mask:
        """True of jobs that can move and are faster on each cNode."""
        return np.asarray((self.per_cnode > GAIN) & self.fits)

    @property
    def gains_throughput(self) -> Mask:
        """True of jobs that can move and train more samples per second."""
        return np.asarray((self.throughput > GAIN) & self.fits)


def move(
    group: Group,
    step_s: Array,
    to: str,
    hardware: Hardware,
    overlapped: bool,
    gpu_memory_bytes: float | None,
) -> Move:
    """The jobs of a class, which take ``step_s`` as they are, as they run in architecture ``to``.

    Peaks of the hardware may be draws, (draws, 1); seconds and speedups are (draws, jobs) then.
    """
    placed = placed_cnodes(to, group.cnodes, hardware.gpus_per_server)
    elsewhere = replace(group.jobs, cnodes=placed, per_server=np.inf)  # servers as full as can be
    after = step_times(to, elsewhere, hardware).total_s(overlapped)
    # PEARL parts the state of jobs with tables among the cNodes.
    parted = (np.asarray(group.jobs.embedding_bytes) > 0) & (to not in REPLICATED)
    held = group.state_bytes / np.where(parted, placed, 1.0)
    return Move(
        cnodes=placed,
        step_s=after,
        per_cnode=step_s / after,
        throughput=throughput_ratio(step_s, after, group.cnodes, placed),
        fits=np.asarray(held <= (np.inf if gpu_memory_bytes is None else gpu_memory_bytes)),
    )


def port(
    entry: Priced,
    to: str,
    hardware: Hardware,
    overlapped: bool,
    gpu_memory_bytes: float | None,
    fleet_share: float = 1.0,
) -> Port:
    """The jobs of one class moved to architecture ``to`` on ``hardware``.

    gpu_memory_bytes: None where not known; else a job whose state does not fit cannot move to an
    architecture that holds all of it on every cNode, and counts as one that does not gain. PEARL
    parts the state of jobs that have embedding_bytes, all of it, though it would replicate dense
    weights: of such jobs a few too many fit. Means
    are of the jobs that can move, None where none can. Speedups are of the same work: a job that
    loses cNodes may gain per cNode, hence need fewer GPU-hours, and yet finish later;
    ``jobs_that_gain_and_finish_later`` counts these among ``jobs_that_gain_per_cnode``.

    fleet_share: of the fleet's GPU-hours that the class holds; ``fleet_speedup_by_gpu_hours`` is
    that of all jobs, if those of the class move that gain per cNode.
    """
    group = entry.group
    to_move = move(group, entry.total_s, to, hardware, overlapped, gpu_memory_bytes)
    after, placed, fits = to_move.step_s, to_move.cnodes, to_move.fits
    per_cnode, throughput = to_move.per_cnode, to_move.throughput
    faster, more = to_move.gains_per_cnode, to_move.gains_throughput
    later = faster & (throughput * GAIN < 1)
    gained = speedup(sums(
        entry.total_s, np.where(faster, after, entry.total_s), group.run_hours, group.gpu_hours,
        np.where(faster, placed / group.cnodes, 1.0),
    ))  # fmt: skip
    return Port(
        source=group.architecture,
        target=to,
        jobs=group.size,
        cannot=float(1 - fits.mean()),
        gain_per_cnode=float(faster.mean()),
        gain_throughput=float(more.mean()),
        jobs_that_gain_per_cnode=int(faster.sum()),
        jobs_that_gain_and_finish_later=int(later.sum()),
        mean_speedup_per_cnode=float(per_cnode[fits].mean()) if fits.any() else None,
        mean_throughput_ratio=float(throughput[fits].mean()) if fits.any() else None,
        largest_speedup_per_cnode=float(per_cnode[fits].max()) if fits.any() else None,
        speedup_if_those_move_that_gain_per_cnode=gained,
        fleet_speedup_by_gpu_hours=1 / (1 - fleet_share * (1 - 1 / gained.gpu_hours)),
    )


def ports(
    found: Sequence[Priced],
    targets: Sequence[str],
    hardware: Hardware,
    overlapped: bool,
    gpu_memory_bytes: float | None,
) -> tuple[Port, ...]:
    """Every port of PS/Worker jobs; none where there are no such jobs."""
    whole = sum(float(entry.group.gpu_hours.sum()) for entry in found)
    return tuple(
        port(entry, to, hardware, overlapped, gpu_memory_bytes,
             float(entry.group.gpu_hours.sum()) / whole)
        for entry in found if entry.group.architecture == PS_WORKER
        for to in targets
    )  # fmt: skip
