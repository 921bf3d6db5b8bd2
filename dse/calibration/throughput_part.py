"""The throughput in a profile: samples per second of training that somebody measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from dse import catalog
from dse.calibration.experiment import STRICT, Count, Experiment, Positive
from dse.calibration.files import rounded
from dse.calibration.hardware_names import nearest_device

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
    without update; empty for whole steps of the whole network.
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

    @property
    def pass_s(self) -> float:
        """Seconds of one pass and of its share of the update."""
        return self.batch_per_gpu * self.gpus / self.samples_per_s

    @property
    def what(self) -> str:
        """What was timed, in words."""
        return f"a block of {self.workload}" if self.layers else self.workload


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
