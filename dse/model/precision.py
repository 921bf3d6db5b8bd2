"""How many bytes a number takes, per training precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

HALF = 2.0  # bytes of an element in 16 bits


@dataclass(frozen=True)
class Precision:
    """Bytes per element of mixed-precision training (Micikevicius et al., ICLR 2018).

    weight_bytes: the weights the kernels read; master_bytes: the fp32 copy the optimizer keeps
    beside them (0 where the weights are fp32 themselves); gradient_bytes: what is summed over all
    accelerators; activation_bytes: what is kept for the backward pass; operand_bytes: of matrix
    products.
    """

    name: str
    weight_bytes: float
    master_bytes: float
    gradient_bytes: float
    activation_bytes: float
    operand_bytes: float

    @property
    def stored_gradient_bytes(self) -> float:
        """Of a gradient in the accelerator's memory: gradients of fp32 weights are fp32 there,
        whatever is sent."""
        return max(self.gradient_bytes, self.weight_bytes)


# Automatic mixed precision (PyTorch's autocast, TensorFlow's mixed_float16) keeps weights and hence
# gradients in fp32 and computes with copies of 16 bits; so does Megatron under bf16.
# fp8 trains with fp8 matmul inputs but 16-bit stored weights, gradients and activations
# (Micikevicius et al., "FP8 formats for deep learning", 2022).
PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp32": Precision("fp32", 4, 0, 4, 4, 4),
        "tf32": Precision("tf32", 4, 0, 4, 4, 4),
        "fp16": Precision("fp16", 2, 4, 4, 2, 2),
        "bf16": Precision("bf16", 2, 4, 4, 2, 2),
        "fp8": Precision("fp8", 2, 4, 4, 2, 1),
    }
)
GRADIENT_BYTES: Mapping[str, float] = MappingProxyType({"fp32": 4.0, "fp16": 2.0, "bf16": 2.0})


def usual_gradient(precision: str, software_bytes: float) -> str:
    """The format in which software sums gradients if nobody tells it otherwise.

    software_bytes: of an element that it sums where weights have 16 bits; 2 stands for the format
    of these weights (bf16 under fp8). Where weights are fp32, gradients are.
    """
    if software_bytes > 2 or not PRECISIONS[precision].master_bytes:
        return "fp32"
    return "fp16" if precision == "fp16" else "bf16"


def trained_in(precision: str, gradient: str) -> Precision:
    """Bytes per element where gradients are summed in the format ``gradient``."""
    return replace(PRECISIONS[precision], gradient_bytes=GRADIENT_BYTES[gradient])


# optimizer -> bytes of fp32 state per parameter: none, one momentum, two moments.
OPTIMIZER_STATE_BYTES: Mapping[str, float] = MappingProxyType(
    {"sgd": 0.0, "momentum": 4.0, "adam": 8.0}
)
