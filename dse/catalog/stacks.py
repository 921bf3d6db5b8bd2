"""Training software of transformers that are laid out over many accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dse.catalog.computing import KERNELS
from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, once
from dse.catalog.store import Stacks, of_file

STACKS = "stacks"
KERNEL, WRITTEN_OUT = "kernel", "written-out"
ZERO = ("0", "1", "2", "3", "hsdp")  # ways to shard states, see :class:`.layouts.Layouts`
_KEPT = ("hidden", "projected", "output", "ffn", "score", "routed", "logit")


@dataclass(frozen=True)
class LayoutStack:
    """One stack; see :class:`dse.model.parallel.step.Runtime`.

    factor: of all computing, beside its laws. kernels: of attention, one of
    :data:`.computing.KERNELS`. kept: bytes that layers keep, see
    :class:`dse.model.parallel.memory.Kept`. schedule, sequence_parallel, zero: what is usual.
    most_sharded: the most ZeRO with a pipeline; most_zero: without. fills: a replica needs p - 1
    micro-batches.
    computing_spread, exchange_spread, memory_spread: standard deviations of the logarithms of what
    such parts of a step, and memory, took over what is expected. measured: the most nodes of
    published steps, by generation of accelerators. stalls: share of pipelines that stalled, by
    nodes, rising; empty where nobody counted. stall_s: for how long in each micro-batch.
    """

    name: str
    title: str
    factor: float
    eager: float
    fused_attention: bool
    kernels: str
    host_s: float
    host_tensor_s: float
    host_stage_s: float
    host_routing_s: float
    host_expert_s: float
    host_send_s: float
    sum_bytes: float
    loss_bytes: float
    kept: Mapping[str, float]
    hides_tensor: float
    hides_experts: bool
    hides_sends: bool
    hides_gradients: bool
    hides_weights: bool
    rule: str
    scatters: bool
    deduplicates: bool
    gradient_bytes: float
    schedule: str
    sequence_parallel: bool
    zero: int
    most_sharded: int
    most_zero: int
    fills: bool
    computing_spread: float
    exchange_spread: float
    memory_spread: float
    measured: Mapping[str, float]
    stalls: Mapping[float, float]
    stall_s: float
    facts: tuple[Fact, ...]


@of_file(STACKS)
def layout_stacks(folder: Path) -> Mapping[str, LayoutStack]:
    """All of them, by name."""
    return Stacks(folder, {path.stem: _stack(path) for path in sorted(folder.glob("*.yaml"))})


@once
def _stack(entry: Entry) -> LayoutStack:
    host, moved, kept, hides = (entry.section(key) for key in ("host", "moved", "kept", "hides"))
    usual, refuses = entry.section("usual"), entry.section("refuses")
    spread, stalls = entry.section("spread"), entry.section("stalls")
    often = stalls.known_numbers("runs")

    def yes(section: Entry, key: str) -> bool:
        return section.choice(key, "yes", "no") == "yes"

    return LayoutStack(
        name=entry.path.stem,
        title=entry.text("title"),
        factor=entry.known("factor", "count"),
        eager=entry.known("eager", "count"),
        fused_attention=entry.choice("attention", KERNEL, WRITTEN_OUT) == KERNEL,
        kernels=entry.choice("kernels", *KERNELS),
        host_s=host.known("layer", "seconds"),
        host_tensor_s=host.known("split", "seconds"),
        host_stage_s=host.known("stages", "seconds"),
        host_routing_s=host.known("routing", "seconds"),
        host_expert_s=host.known("expert", "seconds"),
        host_send_s=host.known("sends", "seconds"),
        sum_bytes=moved.known("gradient_sum", "count"),
        loss_bytes=moved.known("loss", "count"),
        kept={key: kept.known(key, "count") for key in _KEPT},
        hides_tensor=hides.known("tensor", "count"),
        hides_experts=yes(hides, "experts"),
        hides_sends=yes(hides, "sends"),
        hides_gradients=yes(hides, "gradients"),
        hides_weights=yes(hides, "weights"),
        rule=entry.choice("layers", "even", "by-cost"),
        scatters=entry.choice("sends", "scattered", "whole") == "scattered",
        deduplicates=entry.choice("experts", "once-a-node", "every-copy") == "once-a-node",
        gradient_bytes=entry.known("gradient_bytes", "count"),
        schedule=usual.text("schedule"),
        sequence_parallel=yes(usual, "sequence_parallel"),
        zero=ZERO.index(usual.choice("zero", *ZERO)),
        most_sharded=ZERO.index(refuses.choice("sharded_above", *ZERO)),
        most_zero=ZERO.index(refuses.choice("zero_above", *ZERO)),
        fills=yes(refuses, "unfilled_pipeline"),
        computing_spread=spread.known("computing", "count"),
        exchange_spread=spread.known("exchanges", "count"),
        memory_spread=spread.known("memory", "count"),
        measured=entry.known_numbers("measured"),
        stalls={float(nodes): share for nodes, share in often.items()},
        stall_s=stalls.known("micro_batch", "seconds") if often else 0.0,
        facts=tuple(entry.facts),
    )
