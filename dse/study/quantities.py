"""What the model computes for a point: one row a quantity.

Constraints, objectives, columns of tables, words and documents follow from the row alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.units import DIMENSIONS

SECONDS_PER_HOUR = 3600.0
JOULES_PER_KWH = 3.6e6
FLOPS_PER_TFLOPS = 1e12
PURCHASE, RENT, POWER = "purchase price", "rent", "power"
FACTS = (PURCHASE, RENT, POWER)
Need: TypeAlias = Literal["target", "layouts", "tokens"]
TARGET: Need = "target"
LAYOUTS: Need = "layouts"
TOKENS: Need = "tokens"
# Of units that people do not think in: from how many, divided by what, called what.
_LARGER = {
    "s": ((2 * 86_400.0, 86_400.0, "days"), (3_600.0, 3_600.0, "h"), (60.0, 60.0, "min")),
    "J": ((3.6e9, 3.6e9, "MWh"), (0.0, 3.6e6, "kWh")),
    "B": ((0.0, 1e9, "GB"),),
    "W": ((1e6, 1e6, "MW"), (1e3, 1e3, "kW")),
}


# Priced points, whose arrays broadcast to their shape: an evaluation of :mod:`dse.pricing`, which a
# study may not import. By name they also have every other quantity: ``points["power"]``.
PricedPoints: TypeAlias = Any


@dataclass(frozen=True)
class Phrase:
    """How an objective is spoken of: ``verb value tail``, and what its least point is called."""

    title: str
    unit: str
    verb: str
    tail: str = ""
    least: str = "least"


@dataclass(frozen=True)
class Quantity:
    """A number of every point.

    column: its name in tables, unit included. dimension: a key of ``units.DIMENSIONS``. doc: its
    meaning. value: computes it. objective: the sense in which it may be one, with its ``phrase``.
    communication: whether what is communicated changes it. facts: those of :data:`FACTS` that it
    rests on, which a study must not leave unknown; with facts alone it is a cost of the cluster
    (COSTS). needs: without which a study has no such number: a target, as it is about a whole run;
    layouts; or samples of so many tokens. whole: it counts something, so that every value is a
    whole number; of a dimension without a unit are shares and ratios, too.
    """

    name: str
    column: str
    dimension: str
    doc: str
    value: Callable[[PricedPoints], NDArray[np.float64]]
    objective: Literal["maximize", "minimize"] | None = None
    phrase: Phrase | None = None
    communication: bool = False
    facts: frozenset[str] = frozenset()
    needs: Need | None = None
    whole: bool = False

    def text(self, value: float) -> str:
        """A value with its unit, to four digits: ``30,660 USD``, ``13.2 days``, ``97.3 %``."""
        if not np.isfinite(value):
            return "unknown"
        unit, _ = DIMENSIONS[self.dimension]
        if self.dimension == "share":
            value, unit = 100 * value, "%"
        for least, size, called in _LARGER.get(unit, ()):
            if abs(value) >= least:
                value, unit = value / size, called
                break
        return f"{float(f'{value:.4g}'):,.12g} {unit}".rstrip()


GRADIENTS = "gradients_s"
_MAX: Literal["maximize"] = "maximize"
_MIN: Literal["minimize"] = "minimize"


def _speedup(p: PricedPoints) -> NDArray[np.float64]:
    own = _own_speedup(p)
    return own if p.mix is None else p.mix.speedup(p.points, own)


def _own_speedup(p: PricedPoints) -> NDArray[np.float64]:
    if np.any(p.start_up_s):  # which no rate holds
        return np.asarray(p.baseline["time_to_target"] / p["time_to_target"])
    if np.ndim(p.baseline_samples_per_s):  # of every draw, over which the baseline itself is 1
        return np.asarray(p["throughput"] / (p.baseline_samples_per_s * p.relative_work))
    # One pass over the points: the small numerator first.
    samples = p["global_batch"] / (p.baseline_samples_per_s * p.relative_work)
    return np.asarray(samples / p.step.step_s)


def _nodes(p: PricedPoints) -> NDArray[np.float64]:
    gpus = np.asarray(p.points.gpus, dtype=np.float64)
    return np.asarray(np.ceil(gpus / p.points.gpus_per_node))


def _exposed(name: str, term: str, doc: str) -> Quantity:
    """Seconds of a term of the step of a transformer that is laid out.

    Software that gives every accelerator the whole model exchanges gradients alone.
    """

    def value(p: PricedPoints) -> NDArray[np.float64]:
        if term in p.step:
            return np.asarray(p.step[term])
        exposed = np.asarray(p.step.exposed_s)
        return exposed if term == GRADIENTS else np.zeros_like(exposed)

    return Quantity(name, name, "seconds", doc, value, communication=True, needs=LAYOUTS)


QUANTITIES: Mapping[str, Quantity] = MappingProxyType({
    row.name: row
    for row in (
        Quantity("speedup", "speedup", "count",
                 "time of the baseline over that of the point, for the same work", _speedup, _MAX,
                 Phrase("speedup", "x", "runs", "as fast as the baseline", ""),
                 communication=True),
        Quantity("throughput", "throughput_samples_per_s", "samples_per_s",
                 "samples trained per second", lambda p: p["global_batch"] / p.step.step_s,
                 _MAX, Phrase("throughput", "samples/s", "trains", least=""), communication=True),
        Quantity("capital", "capital_usd", "usd", "purchase price of the cluster",
                 lambda p: p.cost.capital_usd,
                 _MIN, Phrase("purchase price", "USD", "costs", "to buy", "cheapest"),
                 facts=frozenset({PURCHASE})),
        Quantity("hourly", "rent_usd_per_hour", "usd_per_hour", "rent of the cluster",
                 lambda p: p.cost.rental_usd_per_hour,
                 _MIN, Phrase("rental", "USD/hour", "costs", "to rent", "cheapest"),
                 facts=frozenset({RENT})),
        Quantity("tco", "ownership_usd_per_hour", "usd_per_hour",
                 "purchase spread over the hours of its years in which the cluster is busy, all of "
                 "them unless a study gives its utilisation, and electricity",
                 lambda p: p.cost.tco_usd_per_hour,
                 _MIN,
                 Phrase("cost of ownership", "USD/hour", "costs", "to own and run", "cheapest"),
                 facts=frozenset({PURCHASE, POWER})),
        Quantity("power", "power_w", "watt", "electrical power of the cluster, cooling included",
                 lambda p: p.cost.power_w,
                 _MIN, Phrase("power", "W", "draws", least="least power-hungry"),
                 facts=frozenset({POWER})),
        Quantity("per_run", "run_usd", "usd", "cost of training to the target",
                 lambda p: p["hourly"] * p.billed_s / SECONDS_PER_HOUR,
                 _MIN, Phrase("cost per run", "USD", "costs", "per run", "cheapest"),
                 communication=True, facts=frozenset({RENT}), needs=TARGET),
        Quantity("time_to_target", "time_to_target_s", "seconds",
                 "time to the target, with the start-up of rented machines",
                 lambda p: p.start_up_s + p.running_s,
                 _MIN, Phrase("time to target", "s", "takes", "to the target", "quickest"),
                 communication=True, needs=TARGET),
        Quantity("energy", "run_energy_j", "joule",
                 "electricity of training to the target, cooling included",
                 lambda p: p["power"] * p.held_s,
                 _MIN, Phrase("energy per run", "J", "uses", "per run", "most frugal"),
                 communication=True, facts=frozenset({POWER}), needs=TARGET),
        Quantity("samples_to_target", "samples_to_target", "samples", "samples of the whole run",
                 lambda p: p.samples_to_target, needs=TARGET),
        Quantity("goodput", "goodput", "share",
                 "share of a run's time that trains, the rest being lost to failures",
                 lambda p: p.running.share),
        Quantity("carbon", "run_carbon_kg", "kilograms",
                 "greenhouse gases of the electricity of training to the target, as CO2",
                 lambda p: p["energy"] / JOULES_PER_KWH * p.carbon_kg_per_kwh,
                 _MIN, Phrase("carbon per run", "kg CO2e", "emits", "per run", "cleanest"),
                 communication=True, facts=frozenset({POWER}), needs=TARGET),
        Quantity("step", "step_s", "seconds", "time of one training step",
                 lambda p: p.step.step_s,
                 _MIN, Phrase("step time", "s", "takes", "per step", "quickest"),
                 communication=True),
        Quantity("compute", "compute_s", "seconds", "part of the step that computes",
                 lambda p: p.step.compute_s),
        Quantity("comm", "comm_s", "seconds", "communication of a step, hidden or not",
                 lambda p: p.step.comm_s, communication=True),
        Quantity("exposed", "exposed_s", "seconds", "communication of a step that nothing hides",
                 lambda p: p.step.exposed_s, communication=True),
        Quantity("memory_slack", "memory_slack_bytes", "bytes",
                 "memory of an accelerator that stays free", lambda p: p.room.free_bytes),
        Quantity("out_of_memory", "out_of_memory", "share",
                 "probability that a step needs more memory than an accelerator has",
                 lambda p: p.room.out_of_memory),
        Quantity("global_batch", "global_batch", "samples",
                 "samples of one step on all accelerators",
                 lambda p: p.points.data_parallel * p.points.batch * p.points.accumulation,
                 whole=True),
        Quantity("gpus", "gpus", "count", "accelerators that train", lambda p: p.points.gpus,
                 whole=True),
        Quantity("nodes", "nodes", "count", "nodes of the cluster", _nodes, whole=True),
        Quantity("racks", "racks", "count", "racks that the cluster fills, by watts and units",
                 lambda p: p.cost.racks, whole=True),
        Quantity("batch_per_gpu", "batch_per_gpu", "samples",
                 "samples of one pass on one accelerator", lambda p: p.points.batch,
                 whole=True),
        Quantity("accumulation", "accumulation", "count",
                 "passes whose gradients are added up in a step", lambda p: p.points.accumulation,
                 whole=True),
        Quantity("gpus_per_node", "gpus_per_node", "count", "accelerators of a node",
                 lambda p: p.points.gpus_per_node, whole=True),
        Quantity("nics_per_node", "nics_per_node", "count", "network cards of a node",
                 lambda p: p.points.rails, whole=True),
        Quantity("ps_servers", "ps_servers", "count", "parameter servers",
                 lambda p: p.points.servers, whole=True),
        Quantity("data_parallel", "data_parallel", "count", "replicas of the model",
                 lambda p: p.points.data_parallel, whole=True, needs=LAYOUTS),
        Quantity("tokens_per_s", "tokens_per_s", "count", "tokens trained per second",
                 lambda p: p["throughput"] * p.points.ideal.tokens, _MAX,
                 Phrase("tokens per second", "tokens/s", "trains", least=""),
                 communication=True, needs=TOKENS),
        Quantity("tokens_per_s_per_gpu", "tokens_per_s_per_gpu", "count",
                 "tokens that an accelerator trains per second",
                 lambda p: p["tokens_per_s"] / p.points.gpus, _MAX,
                 Phrase("tokens per second and GPU", "tokens/s per GPU", "trains", least=""),
                 communication=True, needs=TOKENS),
        Quantity("mfu", "mfu", "share",
                 "model FLOPs, causal attention counted half, over the dense peak of the precision",
                 lambda p: p["throughput"] * p.points.ideal.seconds / p.points.gpus, _MAX,
                 Phrase("model FLOPs utilisation", "%", "reaches", "of the peak", ""),
                 communication=True),
        Quantity("tflops_per_gpu", "tflops_per_gpu", "count",
                 "model FLOPs that an accelerator does per second, in 1e12",
                 lambda p: p["throughput"] * p.points.ideal.flops / p.points.gpus
                 / FLOPS_PER_TFLOPS, _MAX,
                 Phrase("model FLOPs per second and GPU", "TFLOPS per GPU", "does", least=""),
                 communication=True),
        Quantity("memory_bytes", "memory_bytes", "bytes", "peak allocated on the heaviest rank",
                 lambda p: p.points.placement.allocated_bytes, _MIN,
                 Phrase("memory", "B", "allocates", "on the heaviest rank"), needs=LAYOUTS),
        _exposed("bubble_s", "bubble_s", "idle time of the pipeline on the slowest stage"),
        _exposed("tensor_s", "tensor_s", "exchanges of tensor parallelism that nothing hides"),
        _exposed("pipeline_s", "pipeline_s", "sends of the pipeline that nothing hides"),
        _exposed("expert_s", "expert_s", "exchanges of experts that nothing hides"),
        _exposed("context_s", "context_s", "exchanges of contexts that nothing hides"),
        _exposed("data_s", GRADIENTS, "exchanges of data parallelism that nothing hides"),
        Quantity("bucket", "bucket_bytes", "bytes", "size of a fused message of gradients",
                 lambda p: np.asarray(p.points.bucket_bytes)),
    )
})  # fmt: skip

# How fast a point trains in units that workloads share: shown wherever its throughput is.
RATES = ("tokens_per_s", "tokens_per_s_per_gpu", "mfu", "tflops_per_gpu")
# What a cluster costs, whatever runs on it: shown of every point, also where nobody aims at it.
COSTS = tuple(row for row in QUANTITIES.values() if row.facts and row.needs is None)
EQUAL_BATCH = "equal_batch"
BUILTINS = {
    "fits_memory": "the state of training fits the memory of an accelerator",
    EQUAL_BATCH: "a step takes as many samples as the baseline's",
}


def facts_of(names: Iterable[str]) -> frozenset[str]:
    """The facts that some quantities rest on."""
    return frozenset().union(*(QUANTITIES[name].facts for name in names))
