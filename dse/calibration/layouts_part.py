"""The layouts in a profile: rates of transformers laid out that somebody measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, get_args

from dse.calibration.experiment import STRICT, Count, Positive
from dse.calibration.throughput_part import NODE, Name

RateOf = Literal["tokens_per_s_per_gpu", "tokens_per_s", "samples_per_s", "step_s", "mfu"]
RATES: tuple[str, ...] = get_args(RateOf)
Schedule = Literal["gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"]


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

    def step_s(self, ideal_s: float) -> float:
        """Seconds of a step. ideal_s: in which one accelerator at its peak does the model FLOPs of
        a token."""
        tokens = self.sequences * self.sequence
        done: Mapping[str, float] = {
            "step_s": self.rate**2,
            "samples_per_s": self.sequences,
            "tokens_per_s": tokens,
            "tokens_per_s_per_gpu": tokens / self.gpus,
            "mfu": tokens * ideal_s / self.gpus,
        }
        return done[self.rate_of] / self.rate

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
