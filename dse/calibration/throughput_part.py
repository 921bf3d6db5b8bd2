"""The throughput in a profile: samples per second of training that somebody measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dse import catalog
from dse.calibration.experiment import STRICT, Count, Experiment, Positive
from dse.calibration.files import rounded
from dse.calibration.hardware_names import nearest_device
from dse.model.aggregation.names import NAMES
from dse.study.aggregation_name import AggregationName
from dse.study.names import Names

Name = Annotated[str, Field(min_length=1)]
NODE = 8  # accelerators of a node, where nobody says
BLOCK_STACK = "plain"  # of blocks that dse times: ordinary framework code


@dataclass(frozen=True)
class Throughput:
    """One measured rate. What the model says of it is computed when a study is priced.

    workload: a name of the catalogue, or the path of a workload file. accelerator: a name of the
    catalogue, or what the device calls itself where the catalogue has none like it. precision,
    stack, optimizer: as in studies. batch_per_gpu: samples of a pass on one accelerator.
    samples_per_s: of all ``gpus`` accelerators together. gpus_per_node: how many of them share a
    node. accumulation: passes a step. layers: of which the forward and backward pass was timed,
    without update; empty for whole steps of the whole network. aggregation: how several
    accelerators summed their gradients, as in studies, over the links intra_node and inter_node,
    names of fabrics, with nics_per_node cards, or those of a complete machine, node; None where
    nobody says.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    workload: Name
    accelerator: Name
    precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8"]
    stack: Name
    batch_per_gpu: Positive
    samples_per_s: Positive
    gpus: Count = 1
    gpus_per_node: Count = NODE
    accumulation: Count = 1
    optimizer: Literal["sgd", "momentum", "adam"] = "momentum"
    layers: tuple[Name, ...] = ()
    aggregation: Name | None = None
    node: Name | None = None
    intra_node: Name | None = None
    inter_node: Name | None = None
    nics_per_node: Count | None = None

    @property
    def stated(self) -> bool:
        """Whether it is said how several accelerators summed their gradients."""
        return self.gpus > 1 and self.aggregation is not None

    @property
    def over(self) -> str:
        """How, and over what, in words; '' where nobody says."""
        links = (self.aggregation, self.node, self.intra_node, self.inter_node)
        return ", ".join(name for name in links if name) if self.stated else ""

    @property
    def pass_s(self) -> float:
        """Seconds of one pass and of its share of the update."""
        return self.batch_per_gpu * self.gpus / self.samples_per_s

    @property
    def what(self) -> str:
        """What was timed, in words."""
        return f"a block of {self.workload}" if self.layers else self.workload


@cache
def aggregation_names() -> Mapping[str, AggregationName]:
    """Every aggregation that a study may name, by its text."""
    return Names(
        transports=catalog.names("transports"),
        algorithms=NAMES,
        approaches=catalog.names("approaches"),
    ).aggregations


def block_rates(experiments: Sequence[Experiment]) -> tuple[Throughput, ...]:
    """The rates of blocks of workloads that were timed."""
    known = catalog.names("accelerators")
    return tuple(
        Throughput(
            workload=speed.name,
            accelerator=nearest_device(speed.device, known) or speed.device,
            precision=speed.precision,  # type: ignore[arg-type]
            stack=BLOCK_STACK,
            batch_per_gpu=float(speed.batch),
            samples_per_s=rounded(speed.batch / speed.median_s),
            layers=speed.layers,
        )
        for experiment in experiments
        for speed in experiment.compute
        if speed.kind == "block"
    )
