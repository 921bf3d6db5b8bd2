"""How many bytes a number takes, per training precision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Precision:
    """Bytes per element of mixed-precision training (Micikevicius et al., ICLR 2018).

    weight_bytes: the weights the kernels read; master_bytes: the fp32 copy the optimizer keeps
    beside them (0 where the weights are fp32 themselves); gradient_bytes: what is aggregated;
    activation_bytes: what is kept for the backward pass.
    """

    name: str
    weight_bytes: float
    master_bytes: float
    gradient_bytes: float
    activation_bytes: float


# fp8 trains with fp8 matmul inputs but 16-bit stored weights, gradients and activations
# (Micikevicius et al., "FP8 formats for deep learning", 2022).
PRECISIONS: Mapping[str, Precision] = MappingProxyType(
    {
        "fp32": Precision("fp32", 4, 0, 4, 4),
        "tf32": Precision("tf32", 4, 0, 4, 4),
        "fp16": Precision("fp16", 2, 4, 2, 2),
        "bf16": Precision("bf16", 2, 4, 2, 2),
        "fp8": Precision("fp8", 2, 4, 2, 2),
    }
)

# optimizer -> bytes of fp32 state per parameter: none, one momentum, two moments.
OPTIMIZER_STATE_BYTES: Mapping[str, float] = MappingProxyType(
    {"sgd": 0.0, "momentum": 4.0, "adam": 8.0}
)
