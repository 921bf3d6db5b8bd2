"""The axes a study may have: what each one means, which values it takes, what it is when absent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["catalogue", "number", "choice", "link", "aggregation"]


@dataclass(frozen=True)
class NumberKind:
    """What a number may be: its dimension, limits (SI), and whether it is whole.

    example: what is usual, where that of ``units.DIMENSIONS`` is not.
    """

    dimension: str
    high: float
    low: float = 0.0
    whole: bool = False
    example: str = ""


@dataclass(frozen=True)
class AxisSpec:
    """One axis. ``default`` as it would be written; None: without the axis there is no value.

    ``kind`` catalogue: ``choices`` is the kind of catalogue entry; choice: the words themselves.
    absent: what it is without the axis, where that depends on the study.
    """

    name: str
    kind: Kind
    doc: str
    example: str
    default: str | int | None = None
    number: NumberKind | None = None
    choices: tuple[str, ...] = ()
    continuous: bool = False
    absent: str = ""

    @property
    def names(self) -> str:
        """The kind of names that its values are, of which there are aliases; '' of numbers."""
        if self.kind == "catalogue":
            return self.choices[0]
        own = {"choice": self.name, "aggregation": "aggregations", "link": "fabrics"}
        return own.get(self.kind, "")


def _count(name: str, doc: str, high: int, example: str, default: int | None = None) -> AxisSpec:
    kind = NumberKind("count", high, 1, whole=True)
    return AxisSpec(name, "number", doc, example, default, kind)


def _choice(name: str, doc: str, default: str, *choices: str, absent: str = "") -> AxisSpec:
    example = f"[{', '.join(choices[:2])}]"
    return AxisSpec(name, "choice", doc, example, default, choices=choices, absent=absent)


def _entry(name: str, kind: str, doc: str, example: str) -> AxisSpec:
    return AxisSpec(name, "catalogue", doc, example, choices=(kind,))


BANDWIDTH = NumberKind("bytes_per_s", 1e15)
OPTIMIZER = "optimizer"
GRADIENT, AUTO_FORMAT = "gradient", "auto"

AXES: dict[str, AxisSpec] = {
    spec.name: spec
    for spec in (
        _entry("node", "nodes", "complete machines, instead of accelerator", "[dgx-a100-80gb]"),
        _entry("accelerator", "accelerators", "GPUs and other chips", "[v100-sxm2-16gb, h100-sxm]"),
        _count("gpus", "accelerators that train", 10**7, "{from: 1, to: 1024, scale: doubling}"),
        _count("gpus_per_node", "accelerators of one node", 1024, "[1, 4, 8]", 1),
        _count("nics_per_node", "network cards of one node", 64, "[1, 8]", 1),
        AxisSpec("intra_node", "link", "link inside a node", "[pcie3-x16, nvlink3]"),
        AxisSpec(
            "inter_node",
            "link",
            "link between nodes",
            "{bandwidth: [10 Gbps, 25 Gbps], latency: 5 us}",
            continuous=True,
        ),
        AxisSpec(
            "oversubscription", "number", "network cards of a leaf switch over its links up: n "
            "means n to 1, a network between leaves that is n times smaller; 1 when absent",
            "[1, 2, 4]", number=NumberKind("count", 64, 1, example="2"),
        ),
        _count("batch_per_gpu", "samples of one pass on one accelerator", 10**7, "[32, 64, 128]"),
        _count(
            "accumulation", "passes whose gradients are added up before all accelerators sum them",
            10**6, "[1, 4, 16]", 1,
        ),
        _choice(
            "precision", "number format of the bulk of the work",
            "fp32", "fp32", "tf32", "fp16", "bf16", "fp8",
        ),
        _choice(
            GRADIENT, "number format in which gradients are summed over all accelerators; auto: in "
            "16 bits under stack tuned with a precision of 16 bits, else fp32",
            AUTO_FORMAT, "fp32", "fp16", "bf16", AUTO_FORMAT,
        ),
        _choice(
            "stack", "training software: ordinary code, the vendor's container and examples, or "
            "code as tuned as submissions to MLPerf", "vendor", "plain", "vendor", "tuned",
        ),
        _choice(
            OPTIMIZER, "what it keeps per parameter", "momentum", "sgd", "momentum", "adam",
            absent="what is usual for the network, such as adam for transformers, or momentum",
        ),
        AxisSpec(
            "aggregation",
            "aggregation",
            "how gradients are summed, and over what: <algorithm>-<transport>, or an approach",
            "[ring-mpi, tree-nccl, ps-grpc, horovod-mpi]",
        ),
        AxisSpec(
            "bucket",
            "number",
            "gradients are fused into messages of this size",
            "[1 MiB, 25 MiB]",
            "25 MiB",
            NumberKind("bytes", 1e15, 1.0),
            continuous=True,
        ),
        AxisSpec(
            "fusion_buffer", "number", "what an approach that fuses tensors puts in one message",
            "[2 MiB, 64 MiB]", number=NumberKind("bytes", 1e15, 1.0),
        ),
        AxisSpec(
            "fusion_cycle", "number", "least time from one look for tensors to fuse to the next",
            "[1 ms, 5 ms]", number=NumberKind("seconds", 1e3, example="5 ms"),
        ),
        _choice(
            "overlap", "what runs beside the backward pass: communication, or all (model pai)",
            "bucketed", "none", "bucketed", "ideal",
        ),
        _count("ps_servers", "parameter servers", 10**6, "[1, 2, 4]", 1),
        _choice(
            "ps_placement", "servers on machines of their own, or on the workers",
            "dedicated", "dedicated", "colocated",
        ),
    )
}  # fmt: skip

PAI = "pai"
# model -> what its steps may overlap; the first when absent
OVERLAPS = {"calibrated": ("bucketed", "none"), PAI: ("none", "ideal")}


def overlap_refused(model: str, value: object) -> tuple[str, str] | None:
    """What is wrong with a value of the axis overlap and what would be right; None if nothing.

    Words that no model knows are refused where the axis is read.
    """
    known = OVERLAPS[model]
    if value in known or value not in AXES["overlap"].choices:
        return None
    return f"overlap: model {model} has no '{value}'", f"use {' or '.join(known)}"


# The axes in the order in which a person would change a cluster: what costs no purchase first.
SOFTWARE = ("overlap", "aggregation", "ps_servers", "ps_placement", "fusion_buffer", "fusion_cycle",
            "bucket", GRADIENT, "precision", "stack", "optimizer", "batch_per_gpu",
            "accumulation")  # fmt: skip
HARDWARE = ("oversubscription", "nics_per_node", "inter_node", "intra_node", "gpus_per_node",
            "accelerator", "node", "gpus")  # fmt: skip

# A condition may not decide whether a point has these at all.
REQUIRED = ("node", "accelerator", "gpus", "batch_per_gpu", "aggregation")
