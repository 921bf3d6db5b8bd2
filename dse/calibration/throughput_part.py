"""The rates in a profile: training that somebody measured, of layouts of transformers too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from dse import catalog
from dse.calibration.experiment import STRICT, Count, Experiment, Positive
from dse.calibration.files import rounded
from dse.calibration.hardware_names import nearest_device
from dse.model.aggregation.names import NAMES
from dse.study.aggregation_name import AggregationName
from dse.study.names import Names
from dse.study.quantities import FLOPS_PER_TFLOPS

Name = Annotated[str, Field(min_length=1)]
NODE = 8  # accelerators of a node, where nobody says
BLOCK_STACK = "plain"  # of blocks that dse times: ordinary framework code
RateOf = Literal[
    "tokens_per_s_per_gpu", "tokens_per_s", "samples_per_s", "step_s", "mfu", "tflops_per_gpu"
]
RATES: tuple[str, ...] = get_args(RateOf)
OF_FLOPS = ("mfu", "tflops_per_gpu")
Schedule = Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"]


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


def step_s(
    rate_of: str,
    rate: float,
    samples: float,
    tokens: float,
    gpus: int,
    flops: float,
    peak_flops_per_s: float,
) -> float:
    """Seconds of a step on gpus accelerators, by its rate in one of :data:`RATES`. samples, tokens,
    flops: of a step, model FLOPs forward and backward."""
    done: Mapping[str, float] = {
        "step_s": rate**2,
        "samples_per_s": samples,
        "tokens_per_s": tokens,
        "tokens_per_s_per_gpu": tokens / gpus,
        "mfu": flops / peak_flops_per_s / gpus,
        "tflops_per_gpu": flops / FLOPS_PER_TFLOPS / gpus,
    }
    return done[rate_of] / rate


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


@dataclass(frozen=True)
class LayoutRate:
    """One measured rate. What the model says of it is computed when a study is priced.

    workload: a name of the catalogue, or the path of a file. stack: one that lays out. sequence:
    tokens. node, or accelerator with links as in studies. global_batch: sequences of a step;
    accumulation: micro-batches of a step and replica, in its place. rate: in seconds, per second,
    or a share of the peak, as rate_of says; samples are sequences. Axes of layouts are as in
    studies; None: as usual of the stack.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    workload: Name
    precision: Literal["fp32", "tf32", "fp16", "bf16", "fp8"]
    stack: Name
    gpus: Count
    sequence: Count
    rate: Positive
    rate_of: RateOf
    node: Name | None = None
    accelerator: Name | None = None
    gpus_per_node: Count = NODE
    intra_node: Name | None = None
    inter_node: Name | None = None
    nics_per_node: Count | None = None
    tensor_parallel: Count = 1
    pipeline_parallel: Count = 1
    context_parallel: Count = 1
    expert_parallel: Count = 1
    expert_tensor_parallel: Count = 1
    virtual_stages: Count = 1
    micro_batch: Count = 1
    global_batch: Count | None = None
    accumulation: Count | None = None
    schedule: Schedule | None = None
    context_exchange: Literal["ring", "all-to-all", "all-gather"] | None = None
    zero: Literal["0", "1", "2", "3", "hsdp"] | None = None
    recompute: Literal["none", "selective", "full"] = "none"
    sequence_parallel: Literal["true", "false"] | None = None

    @property
    def replica(self) -> int:
        """Accelerators of one replica."""
        return self.tensor_parallel * self.context_parallel * self.pipeline_parallel

    @property
    def passes(self) -> float:
        """Micro-batches of a step and replica."""
        if self.global_batch is None:
            return float(self.accumulation or 1)
        return self.global_batch * self.replica / (self.micro_batch * self.gpus)

    @property
    def sequences(self) -> float:
        """Of a step."""
        return self.passes * self.micro_batch * self.gpus / self.replica

    def step_s(self, flops: float, peak_flops_per_s: float) -> float:
        """Seconds of a step. flops: model FLOPs of a token."""
        return step_s(
            self.rate_of, self.rate, self.sequences, self.sequences * self.sequence, self.gpus,
            self.sequences * self.sequence * flops, peak_flops_per_s,
        )  # fmt: skip

    @property
    def unmeasured(self) -> LayoutRate:
        """The same of all that were measured of its configuration."""
        return replace(self, rate=1.0, rate_of="step_s")

    @property
    def layout(self) -> str:
        """In words."""
        degrees = {
            "TP": self.tensor_parallel, "PP": self.pipeline_parallel, "CP": self.context_parallel,
            "EP": self.expert_parallel, "DP": self.gpus // self.replica,
        }  # fmt: skip
        always = ("TP", "PP", "DP")
        named = [f"{name} {n}" for name, n in degrees.items() if n > 1 or name in always]
        return ", ".join((*named, f"micro-batch {self.micro_batch}"))
