"""Matrix products and blocks of workloads by torch, for the compute worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from dse.calibration.runners import timing
from dse.calibration.runners.compute_work import (
    SHAPES,
    Ready,
    Work,
    matmul_about,
    matmul_error,
)
from dse.calibration.runners.workload_block import ConvolutionShape, TransformerShape, usual_batch

GPU_SHAPES = (*SHAPES, (8192, 8192, 8192))
DROPOUT = 0.1
TYPES = {
    "fp32": torch.float32,
    "tf32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
}


def torch_works(
    device_name: str, block: dict[str, Any] | None = None
) -> tuple[dict[str, Any], list[Work]]:
    """All pieces of work to time on ``device_name``; block: see :mod:`.workload_block`."""
    cuda = device_name == "cuda"
    if cuda and not torch.cuda.is_available():
        raise RuntimeError("there is no GPU that torch can use")
    device = torch.device(device_name)
    torch.manual_seed(0)
    start = {
        "library": "torch",
        "version": str(torch.__version__),
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "threads": torch.get_num_threads(),
    }
    works = []
    for precision in TYPES if cuda else ("fp32",):
        works += [_matmul(s, precision, device) for s in (GPU_SHAPES if cuda else SHAPES)]
        if block is not None:
            works.append(workload_block(block, usual_batch(block, device_name), precision, device))
    return start, works


@contextmanager
def computing_in(precision: str, device: torch.device) -> Iterator[None]:
    """Products of float32 tensors in full precision, in TF32, or cast to 16 bits."""
    before = torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = precision == "tf32"
    half = precision in ("fp16", "bf16")
    try:
        with torch.autocast(device.type, dtype=TYPES[precision] if half else None, enabled=half):
            yield
    finally:
        torch.set_float32_matmul_precision(before[0])
        torch.backends.cudnn.allow_tf32 = before[1]


def _finished(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _matmul(shape: tuple[int, int, int], precision: str, device: torch.device) -> Work:
    def prepare() -> Ready:
        m, k, n = shape
        left = torch.randn(m, k, device=device).to(TYPES[precision])
        right = torch.randn(k, n, device=device).to(TYPES[precision])
        out = torch.empty(m, n, dtype=TYPES[precision], device=device)

        def run() -> None:
            with computing_in("tf32" if precision == "tf32" else "fp32", device):
                torch.matmul(left, right, out=out)
            _finished(device)

        run()
        a, b, c = (each.float().cpu().numpy() for each in (left, right, out))
        return Ready(run, matmul_error(a, b, c, precision))

    return Work(matmul_about(shape, precision), prepare)


class WorkloadTransformer(nn.Module):  # type: ignore[misc]  # torch may be absent
    """A block of a workload's own sizes, see :class:`.workload_block.TransformerShape`."""

    def __init__(self, shape: TransformerShape, dropout: float = DROPOUT) -> None:
        super().__init__()
        self.shape, self.dropout, bias = shape, dropout, shape.bias
        width = shape.heads * shape.head_size
        self.queries = nn.Linear(shape.hidden, width, bias)
        self.keys = nn.Linear(shape.hidden, shape.kv, bias)
        self.values = nn.Linear(shape.hidden, shape.kv, bias)
        self.out = nn.Linear(width, shape.hidden, bias)
        self.before, self.between = nn.LayerNorm(shape.hidden), nn.LayerNorm(shape.hidden)
        self.up = nn.Linear(shape.hidden, shape.ffn, bias)
        self.gate = nn.Linear(shape.hidden, shape.ffn, bias) if shape.gated else None
        self.down = nn.Linear(shape.ffn, shape.hidden, bias)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """tokens: (batch, tokens, hidden), and so is the result."""
        normal = self.before(tokens)
        query, key, value = (
            layer(normal).unflatten(-1, (-1, self.shape.head_size)).transpose(1, 2)
            for layer in (self.queries, self.keys, self.values)
        )
        shared = query.shape[1] // key.shape[1]  # heads that share keys and values
        key, value = (each.repeat_interleave(shared, dim=1) for each in (key, value))
        mixed = self._attention(query, key, value).transpose(1, 2).flatten(2)
        tokens = tokens + nn.functional.dropout(self.out(mixed), self.dropout)
        normal = self.between(tokens)
        inner = nn.functional.gelu(self.up(normal))
        inner = inner if self.gate is None else inner * self.gate(normal)
        return tokens + nn.functional.dropout(self.down(inner), self.dropout)

    def _attention(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor
    ) -> torch.Tensor:
        if self.shape.fused:
            causal = self.shape.causal
            return nn.functional.scaled_dot_product_attention(query, key, value, is_causal=causal)
        scores = query @ key.transpose(-1, -2) / math.sqrt(self.shape.head_size)
        if self.shape.causal:
            ones = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
            scores = scores.masked_fill(ones.triu(1), -math.inf)
        return nn.functional.dropout(torch.softmax(scores, dim=-1), self.dropout) @ value


Passes = tuple[nn.ModuleList, list[torch.Tensor]]  # networks, each with an input of its own


def _transformer(shape: dict[str, Any], batch: int, device: torch.device) -> Passes:
    """One block."""
    found = TransformerShape(**shape)
    inputs = torch.randn(batch, found.tokens, found.hidden, device=device)
    return nn.ModuleList([WorkloadTransformer(found)]), [inputs]


def _convolutions(shapes: list[dict[str, Any]], batch: int, device: torch.device) -> Passes:
    """Convolutions, each on an image of its own."""
    layers, inputs = nn.ModuleList(), []
    for shape in (ConvolutionShape(**each) for each in shapes):
        layers.append(nn.Conv2d(
            shape.inputs, shape.outputs, shape.kernel, shape.stride, shape.kernel // 2,
            groups=shape.groups, bias=False,
        ))  # fmt: skip
        size = (batch, shape.inputs, shape.pixels, shape.pixels)
        inputs.append(torch.randn(size, device=device))
    return layers, inputs


BLOCKS: Mapping[str, Callable[[Any, int, torch.device], Passes]] = {
    "transformer": _transformer,
    "convolutions": _convolutions,
}


def workload_block(block: dict[str, Any], batch: int, precision: str, device: torch.device) -> Work:
    """Forward and backward pass of a block of a workload; gradients of its inputs too."""

    def prepare() -> Ready:
        torch.manual_seed(0)
        build, shape = next((BLOCKS[name], block[name]) for name in BLOCKS if name in block)
        layers, inputs = build(shape, batch, device)
        layers = layers.to(device)
        inputs = [each.requires_grad_() for each in inputs]

        def run() -> None:
            layers.zero_grad()
            for layer, each in zip(layers, inputs, strict=True):
                each.grad = None
                with computing_in(precision, device):
                    done = layer(each)
                done.backward(torch.ones_like(done))
            _finished(device)

        def check() -> None:
            if not all(torch.isfinite(each.grad).all() for each in inputs if each.grad is not None):
                raise timing.WrongSum(
                    f"wrong result: gradients of {block['workload']}, {precision}"
                )

        run()
        check()
        return Ready(run, 0.0, check)

    about = {
        "kind": "block",
        "name": block["workload"],
        "precision": precision,
        "shape": [batch],
        "batch": batch,
        "flops": round(batch * block["sample_flops"]),
        "layers": block["layers"],
    }
    return Work(about, prepare)
