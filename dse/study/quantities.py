"""What the model computes for a point, by the names constraints and objectives use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Quantity:
    """A column of results: its dimension (a key of ``units.DIMENSIONS``), and its meaning.

    ``objective`` is the sense in which it may be an objective. ``needs_target``: it is about a
    whole run, so the study must say how long one is.
    """

    dimension: str
    doc: str
    objective: Literal["maximize", "minimize"] | None = None
    needs_target: bool = False


_MAX: Literal["maximize"] = "maximize"
_MIN: Literal["minimize"] = "minimize"

QUANTITIES: dict[str, Quantity] = {
    "speedup": Quantity("count", "throughput over that of the baseline", _MAX),
    "throughput": Quantity("samples_per_s", "samples trained per second", _MAX),
    "capital": Quantity("usd", "purchase price of the cluster", _MIN),
    "hourly": Quantity("usd_per_hour", "rent of the cluster", _MIN),
    "tco": Quantity("usd_per_hour", "amortised purchase and electricity", _MIN),
    "power": Quantity("watt", "electrical power of the cluster, cooling included", _MIN),
    "per_run": Quantity("usd", "cost of training to the target", _MIN, needs_target=True),
    "time_to_target": Quantity("seconds", "time to train to the target", _MIN, needs_target=True),
    "energy": Quantity(
        "joule", "electricity of training to the target, cooling included", _MIN, needs_target=True
    ),
    "step": Quantity("seconds", "time of one training step", _MIN),
    "compute": Quantity("seconds", "part of the step that computes"),
    "comm": Quantity("seconds", "communication of a step, hidden or not"),
    "exposed": Quantity("seconds", "communication of a step that nothing hides"),
    "memory_slack": Quantity("bytes", "memory of an accelerator that stays free"),
    "global_batch": Quantity("samples", "samples of one step on all accelerators"),
    "gpus": Quantity("count", "accelerators that train"),
    "nodes": Quantity("count", "nodes of the cluster"),
    "batch_per_gpu": Quantity("samples", "samples of one step on one accelerator"),
    "gpus_per_node": Quantity("count", "accelerators of a node"),
    "nics_per_node": Quantity("count", "network cards of a node"),
    "ps_servers": Quantity("count", "parameter servers"),
    "bucket": Quantity("bytes", "size of a fused message of gradients"),
}

BUILTINS = {"fits_memory": "the state of training fits the memory of an accelerator"}
