"""Points aggregated by an approach of the catalogue: its own messages on the study's machines."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dse import catalog
from dse.model import approach, step
from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import node_count
from dse.model.device_buffers import PointerQueries, Summing, on_device, on_host, with_terms
from dse.model.fusion import Fusion
from dse.model.links import FREE, NO_WIRE, Link, Network, StepCost
from dse.model.step import PARAMETER_SERVER
from dse.model.tensor_servers import Servers

if TYPE_CHECKING:
    from dse.pricing.setting import Setting


PHASES = 4  # of the cycle of tensor fusion, over which a step is the mean


@dataclass(frozen=True)
class Around:
    """What an approach runs on; arrays that broadcast.

    across: the link between nodes, as fast as messages get over it. memory_bytes_per_s: of an
    accelerator's memory, as reached. host_bytes_per_s: of its link to the host. inside: the link
    between accelerators of a node. rails: network cards of a node.
    """

    across: Link
    memory_bytes_per_s: ArrayLike
    host_bytes_per_s: ArrayLike
    inside: Link = NO_WIRE
    rails: ArrayLike = 1.0


def built(
    facts: catalog.Approach,
    around: Around,
    servers: Servers | None = None,
    fusion: Fusion | None = None,
) -> approach.Approach:
    """The approach there. servers: where it has them. fusion: in place of its own, if it fuses."""
    software = StepCost(facts.message_s, (facts.copy_s_per_byte,))
    served = facts.algorithm == PARAMETER_SERVER
    # Accelerators of a worker meet in its memory; where messages do not reach theirs, that is free.
    within = FREE if served and not facts.reaches_device else software
    summing = _summing(facts, around)
    network = with_terms(
        Network(
            within, software, around.inside, around.across, around.rails, facts.transport.multirail
        ),
        PointerQueries(facts.queries, facts.query_s),
        summing,
    )
    if facts.buffer_bytes is not None:
        fusion = fusion or Fusion(facts.buffer_bytes, facts.cycle_s)
    return approach.Approach(
        facts.algorithm,
        network,
        servers if served else None,
        fusion if facts.fuses else None,
        summing.start_s,
    )


def _summing(facts: catalog.Approach, around: Around) -> Summing:
    """Where the approach sums; servers do it in host memory, where the message lies."""
    if facts.sum_s_per_byte is None:
        if facts.sum_start_s == 0:
            return Summing()  # contained in the efficiency of the link
        return on_device(around.memory_bytes_per_s, facts.sum_start_s)
    host = around.host_bytes_per_s if _crosses(facts) else np.inf
    return on_host(facts.sum_s_per_byte, host, facts.sum_start_s)


def model(setting: Setting, facts: catalog.Approach, count: int = 1) -> approach.Approach:
    """The approach at these points, with ``count`` servers if it has any."""
    around = Around(
        Link(setting.wire(lambda w: w.latency_s), setting.wire(lambda w: w.bytes_per_s)),
        setting.device.reached_bytes_per_s,
        setting.device.host_bytes_per_s,
        setting.intra(),
        setting.rails,
    )
    fusion = Fusion(
        setting.numbers("fusion_buffer", facts.buffer_bytes or 0.0),
        setting.numbers("fusion_cycle", facts.cycle_s),
        phases=PHASES,
    )
    return built(facts, around, Servers(count, setting.colocated, facts.streams), fusion)


def step_time(setting: Setting, facts: catalog.Approach) -> step.StepTime:
    """The step of these points, aggregated by ``facts``.

    Without overlap the gradients are all there when aggregation begins, and all else waits for it.
    """
    passes, _, loading, update = setting.passes()
    elements, layer = setting.problem.tensors
    ready = passes.layer_done_s[layer]
    overlapped = setting.fixed.get("overlap", "bucketed") != "none"
    if not overlapped:
        ready = np.zeros_like(ready)
    end, comm = _summed(setting, facts, elements * setting.precision.gradient_bytes, ready)
    if overlapped:
        return step.ended(passes, end, comm, loading, update)
    return step.in_turn(passes, end, loading, update)


def _summed(
    setting: Setting, facts: catalog.Approach, tensor_bytes: Array, ready: Array
) -> tuple[Array, Array]:
    """See :func:`dse.model.approach.summed`; one number of servers after another."""
    counts = np.ones((1,) * setting.rank)
    if facts.algorithm == PARAMETER_SERVER:
        workers = node_count(setting.gpus, setting.gpus_per_node)
        # Of servers on the workers' machines at most as many have work as there are workers.
        most = np.where(setting.colocated, workers, np.inf)
        counts = np.minimum(setting.servers, most)
    found: tuple[Array, Array] | None = None
    for count in np.unique(counts):
        here = approach.summed(
            model(setting, facts, int(count)),
            tensor_bytes, ready, setting.gpus, setting.gpus_per_node,
        )  # fmt: skip
        there = found or here
        found = (
            np.where(counts == count, here[0], there[0]),
            np.where(counts == count, here[1], there[1]),
        )
    assert found is not None
    return found


def described(setting: Setting) -> dict[str, Any] | None:
    """What the approach of one point does, for people and programs; None where it has none.

    queries, sum: of the terms that MPI on accelerator memory adds, with the step as it would be
    without; of a sum also whether copies to the host and back are in its seconds a byte.
    unverified: names of the parameters that nobody checked.
    """
    facts = setting.approach
    if facts is None or setting.problem.closed:
        return None
    here = model(setting, facts)
    summing = replace(facts, sum_s_per_byte=None, sum_start_s=0.0)
    found: dict[str, Any] = {
        "name": facts.name,
        "title": facts.title,
        "message_s": facts.message_s,
        "link_efficiency": facts.link_efficiency,
        "queries": {
            "per_message": facts.queries,
            "query_s": facts.query_s,
            "without_step_s": _step_s(setting, replace(facts, queries=0.0)),
        },
        "sum": {
            "where": _where(facts),
            "copied": _crosses(facts),
            "s_per_byte": _one(here.network.gamma_s_per_byte),
            "start_s": facts.sum_start_s,
            "without_step_s": _step_s(setting, summing),
        },
        "fusion": None,
        "unverified": [fact.name for fact in facts.facts if fact.status == "unverified"],
    }
    if here.fusion is not None:
        found["fusion"] = {
            "buffer_bytes": _one(here.fusion.buffer_bytes),
            "cycle_s": _one(here.fusion.cycle_s),
        }
    return found


def _step_s(setting: Setting, facts: catalog.Approach) -> float | None:
    seconds = _one(step_time(setting, facts).step_s)
    return seconds if np.isfinite(seconds) else None


def _crosses(facts: catalog.Approach) -> bool:
    """Whether a sum copies from the accelerator to the host and back; servers have it there."""
    on_the_host = facts.sum_s_per_byte is not None
    return on_the_host and facts.reaches_device and facts.algorithm != PARAMETER_SERVER


def _where(facts: catalog.Approach) -> str:
    """Where received bytes are added."""
    if facts.sum_s_per_byte is not None:
        return "host"
    return "accelerator" if facts.sum_start_s > 0 else "contained in the link's efficiency"


def _one(value: ArrayLike) -> float:
    return float(np.ravel(value)[0])
