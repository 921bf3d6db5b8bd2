"""A piece of a workload that can be timed in place of all of it: which layers, in which shapes.

Of transformers one block: products of queries, keys and values, attention, output and feed-forward,
with norms, residuals and activations. Of convolutional networks a few convolutions. What torch
makes of it is in :mod:`.compute_torch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from math import isqrt
from pathlib import Path
from typing import Any

from dse import catalog
from dse.calibration.throughput_part import BLOCK_STACK
from dse.catalog import Workload
from dse.catalog.rows_of_work import ATTENTION, CAUSAL_ATTENTION, WorkRow
from dse.errors import ArgumentError
from dse.spelling import alternatives

CONVOLUTION, PRODUCT = "convolution", "product"
CONVOLUTIONS = 4  # timed, from the first to the last of a network
STRIDES = (1, 2, 4)
GPU_TOKENS, GPU_IMAGES = 16384, 64  # of a batch
GATED = 3  # products of a feed-forward layer with a gate; two without


@dataclass(frozen=True)
class TransformerShape:
    """Sizes of a transformer block. kv: width of keys, and of values. fused: whether ordinary code
    runs its attention as one kernel."""

    tokens: int
    hidden: int
    heads: int
    head_size: int
    kv: int
    ffn: int
    gated: bool
    causal: bool
    bias: bool
    fused: bool


@dataclass(frozen=True)
class ConvolutionShape:
    """Sizes of a convolution of square images. pixels: of a side of the input."""

    pixels: int
    inputs: int
    outputs: int
    kernel: int
    stride: int
    groups: int


def block_of(given: str) -> dict[str, Any]:
    """What a worker needs to time a block of a workload, by its name or the path of its file.

    Raises ArgumentError where the workload's kind has no block, or its rows of work are unknown;
    UnknownName or StudyError where there is no such workload.
    """
    workload = catalog.named_workload(given)
    make = _KINDS.get(workload.family)
    if make is None or workload.work is None:
        able = alternatives(_KINDS)
        problem = f"no block of {workload.name} can be timed ({workload.family})"
        raise ArgumentError("--workload", problem, f"name one that is {able}")
    blocks = [block for block, _ in workload.shape.runs] if workload.shape else []
    if any(block.experts or block.latent for block in blocks):
        problem = f"no block of {workload.name} can be timed: it has experts or latent attention"
        raise ArgumentError("--workload", problem, "name a network of dense layers")
    layers, shapes = make(workload)
    rows = [row for row in workload.work if row.layer in layers]
    return {
        "workload": str(Path(given).resolve()) if catalog.is_path(given) else given,
        "layers": sorted(layers, key=workload.layer_names.index),
        "sample_flops": 3 * sum(_flops(row) for row in rows),
        **shapes,
    }


def _flops(row: WorkRow) -> float:
    """Of the forward pass of one sample."""
    m, n, k, groups = (getattr(row, key) or 0.0 for key in ("m", "n", "k", "groups"))
    products = {PRODUCT: 2, CONVOLUTION: 2, ATTENTION: 4, CAUSAL_ATTENTION: 2}
    return float(products.get(row.kind, 0) * m * n * k * groups)


def _transformer(workload: Workload) -> tuple[frozenset[str], dict[str, Any]]:
    """The first block with attention."""
    rows = workload.work or ()
    attention = next(row for row in rows if row.kind in (ATTENTION, CAUSAL_ATTENTION))
    start = attention.layer.split(".")[0] + "."
    mine = [row for row in rows if row.layer.startswith(start)]
    before = [row for row in mine[: mine.index(attention)] if row.kind == PRODUCT]
    _, *feed = (row for row in mine[mine.index(attention) :] if row.kind == PRODUCT)
    heads, size = round(_number(attention.groups)), round(_number(attention.k))
    fuses = catalog.computing().stacks[BLOCK_STACK].fuses_attention
    shape = TransformerShape(
        tokens=round(_number(attention.m)),
        hidden=round(_number(before[0].k)),
        heads=heads,
        head_size=size,
        kv=round((sum(_number(row.n) for row in before) - heads * size) / 2),
        ffn=round(_number(feed[0].n)),
        gated=len(feed) == GATED,
        causal=attention.kind == CAUSAL_ATTENTION,
        bias=any(row.layer.endswith(".b") for row in mine),
        fused=fuses is None or workload.family in fuses,
    )
    return frozenset(row.layer for row in mine), {"transformer": asdict(shape)}


def _convolutions(workload: Workload) -> tuple[frozenset[str], dict[str, Any]]:
    """Some convolutions, evenly spread over those whose shape is plain."""
    plain = [
        (row.layer, shape)
        for row in workload.work or ()
        if row.kind == CONVOLUTION and (shape := _square(row)) is not None
    ]
    step = max(1, (len(plain) - 1) // max(CONVOLUTIONS - 1, 1))
    chosen = plain[::step][:CONVOLUTIONS]
    shapes = [asdict(shape) for _, shape in chosen]
    return frozenset(layer for layer, _ in chosen), {"convolutions": shapes}


def _square(row: WorkRow) -> ConvolutionShape | None:
    """A convolution of square images with a square kernel; None if it is another.

    ``m = side^2`` pixels of output, ``k = inputs / groups kernel^2``, and stride^2 as many pixels
    of input.
    """
    pixels, groups = round(_number(row.m)), round(_number(row.groups))
    side = isqrt(pixels)
    for stride in STRIDES:
        inputs = _number(row.input_elems) / (pixels * stride**2)
        taps = _number(row.k) * groups / inputs if inputs else 0.0
        kernel = isqrt(round(taps))
        if side**2 == pixels and inputs == round(inputs) and taps == kernel**2 and kernel % 2:
            outputs = round(_number(row.n)) * groups
            return ConvolutionShape(side * stride, round(inputs), outputs, kernel, stride, groups)
    return None


def _number(value: float | None) -> float:
    return 0.0 if value is None else float(value)


_Block = tuple[frozenset[str], dict[str, Any]]
_KINDS: Mapping[str, Callable[[Workload], _Block]] = {
    "encoder": _transformer,
    "decoder": _transformer,
    "encoder-decoder": _transformer,
    "convolutional": _convolutions,
}


def usual_batch(block: Mapping[str, Any], device: str) -> int:
    """Samples that fill a GPU; one on a CPU."""
    if device == "cpu":
        return 1
    shape: Mapping[str, int] = block.get("transformer", {})
    return max(1, GPU_TOKENS // shape["tokens"]) if shape else GPU_IMAGES
