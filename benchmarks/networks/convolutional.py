"""Convolutional networks in closed form, and the rows of work that follow from a layer table."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from dse.catalog.rows_of_work import (
    CONVOLUTION,
    ELEMENT_WISE,
    PRODUCT,
    Builder,
    Layer,
    Network,
    WorkRow,
)

_BLOCK = re.compile(r"(\w+\.\d+)\.([a-z]\w*)\.?")  # of layers in blocks of several branches
_CELL = re.compile(r"(cell_\w+\.comb_iter_\d)_")  # of layers whose outputs are added in pairs
# Branch -> the branches it reads, the largest part first; others read what their block is given,
# and a block's output is what no branch of it reads. Of residual blocks (a, b, c, the shortcut d,
# squeeze-and-excitation, the addition r) and of Inception's (b3a and b3b part after b31, da and db
# after d1, bp follows a pool).
_READS = MappingProxyType(
    {
        "b": ("a",),
        "c": ("b",),
        "se": ("c",),
        "r": ("c", "d", "se"),
        "b3a": ("b31",),
        "b3b": ("b31",),
        "da": ("d1",),
        "db": ("d1",),
        "bp": ("pl",),
    }
)
# Elements moved in both passes for each one written, for each one read, fused and eager; kernels.
_POOL = ((1, 2), (1, 2), 2)
_MOVED = MappingProxyType(
    {
        "batchnorm": ((8, 8), (0, 0), 3),
        "relu": ((3, 5), (0, 0), 2),
        "relu of a batchnorm": ((0, 5), (0, 0), 2),
        "addition": ((2, 6), (0, 0), 2),
        "squeeze-excitation": ((7, 9), (0, 0), 12),  # channels' means, and each times a number
        **dict.fromkeys(("maxpool", "avgpool", "adaptiveavgpool", "zeropad", "dropout"), _POOL),
    }
)
_DEPTHWISE = (9, 25, 49)  # weights of a channel that reads one channel


def convolutional(layers: Iterable[Layer], image: float) -> Network:
    """A network of convolutions from its layer table; image: elements of a sample.

    Of a convolution follow k = FLOPs / (2 outputs), channels = params / k (k + 1 with a bias),
    pixels = outputs / channels; 3 x 3, 5 x 5 or 7 x 7 weights a channel are a depthwise one. What
    it reads follows from the names of branches (:data:`_READS`), elsewhere it is the output of the
    row before. What the other layers move is in :data:`_MOVED`.
    """
    out = Builder()
    table = list(layers)
    inputs = _inputs(table, image)
    pairs = {cell[1]: layer.name for layer in table if (cell := _CELL.match(layer.name))}
    added = set(pairs.values())
    before = ""
    for layer, read in zip(table, inputs, strict=True):
        out.layers.append(layer)
        kind = layer.kind
        if kind in _MOVED:
            follows = (before, kind) == ("batchnorm", "relu")
            _moved(out, layer, read, "relu of a batchnorm" if follows else kind)
        else:
            _product(out, layer, read)
        if layer.name.endswith(".r") or layer.name in added:
            _moved(out, layer, read, "addition")
        before = kind
    return out.network("convolutional")


def _inputs(table: list[Layer], image: float) -> list[float]:
    """Elements that every layer reads."""
    found: list[float] = []
    last = given = image
    block, ends = "", dict[str, float]()  # the block being read, the outputs of its branches so far
    for layer in table:
        inside = _BLOCK.match(layer.name)
        name, branch = (inside[1], inside[2]) if inside else ("", "")
        if name != block:
            last = given = _joined(ends) if block else last
            block, ends = name, {}
        if branch and branch not in ends:
            last = next((ends[part] for part in _READS.get(branch, ()) if part in ends), given)
        found.append(last if layer.input_elems is None else layer.input_elems)
        last = layer.output_elems or last
        if branch:
            ends[branch] = last
    return found


def _joined(ends: dict[str, float]) -> float:
    """Outputs of a block: of all branches that no other reads."""
    read = {part for branch in ends for part in _READS.get(branch, ())}
    return sum(elements for branch, elements in ends.items() if branch not in read)


def _moved(out: Builder, layer: Layer, read: float, kind: str) -> None:
    """The row of an element-wise layer."""
    (fused, eager), (fused_read, eager_read), kernels = _MOVED[kind]
    written = layer.output_elems or 0.0
    out.move(
        layer.name,
        fused * written + fused_read * read,
        eager * written + eager_read * read,
        kernels,
    )


def _product(out: Builder, layer: Layer, read: float) -> None:
    """The row of a convolution or of a linear layer, which is one of a single pixel."""
    written = layer.output_elems or 0.0
    k = layer.forward_flops / 2 / written
    kind, channels, groups = PRODUCT, written, 1.0
    if layer.kind == "conv":
        kind, channels = CONVOLUTION, round(layer.params / (k if layer.params % k == 0 else k + 1))
        groups = channels if k in _DEPTHWISE else layer.groups
    sizes = {"m": written / channels, "n": channels / groups, "k": k, "groups": groups}
    out.row(layer.name, kind, **sizes, input_elems=read)


class _Table:
    """A layer table of a convolutional network while it is put together."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []

    def conv(
        self,
        name: str,
        side: int,
        n: int,
        k: int,
        groups: int = 1,
        input_elems: float | None = None,
    ) -> None:
        """A convolution of n channels, each of k weights, to side x side pixels."""
        written = side * side * n
        layer = Layer(name, "conv", n * k, 2 * written * k, written, input_elems, groups)
        self.layers.append(layer)

    def normed(
        self, name: str, side: int, n: int, k: int, groups: int = 1, relu: bool = True
    ) -> None:
        """A convolution with its normalisation, and its ReLU if it has one."""
        self.conv(f"{name}.0", side, n, k, groups)
        self.other(f"{name}.1", "batchnorm", side * side * n, 2 * n)
        if relu:
            self.other(f"{name}.2", "relu", side * side * n)

    def other(self, name: str, kind: str, written: float, params: float = 0) -> None:
        """A layer that is no product."""
        self.layers.append(Layer(name, kind, params, 0.0, written))

    def linear(self, name: str, n: int, k: int) -> None:
        """A linear layer with a bias."""
        self.layers.append(Layer(name, "linear", n * k + n, 2 * n * k, n))


def _residual(
    out: _Table,
    blocks: tuple[int, ...],
    size: int,
    strides: tuple[int, ...],
    groups: int,
    base: int,
    squeeze: bool,
) -> tuple[int, int]:
    """Stem and stages of a residual network; the side of its last pictures and their channels."""
    side = -(-size // 2)
    out.normed("stem", side, 64, 147)
    side = -(-side // 2)
    out.other("pool", "maxpool", 64 * side * side)
    width, number = 64, 0
    for stage, (count, stride) in enumerate(zip(blocks, strides, strict=True)):
        inner, outer = base * 2**stage, 256 * 2**stage
        for block in range(count):
            part, before = f"body.{number}", side
            side = -(-side // stride) if block == 0 else side
            out.normed(f"{part}.a", before, inner, width)
            out.normed(f"{part}.b", side, inner, 9 * inner // groups, groups)
            out.normed(f"{part}.c", side, outer, inner, relu=False)
            if squeeze:
                out.other(f"{part}.se.pool", "squeeze-excitation", outer * side * side)
                out.linear(f"{part}.se.0", outer // 16, outer)
                out.linear(f"{part}.se.1", outer, outer // 16)
            if block == 0:
                out.normed(f"{part}.d", side, outer, width, relu=False)
            out.other(f"{part}.r", "relu", outer * side * side)
            width, number = outer, number + 1
    return side, width


def resnet(
    blocks: tuple[int, ...], groups: int = 1, base: int = 64, squeeze: bool = False
) -> Network:
    """Residual networks with bottlenecks (He et al., arXiv 1512.03385), strided in the 3 x 3.

    blocks: of each stage. groups, base: of ResNeXt (Xie et al., arXiv 1611.05431), groups of the 3
    x 3 convolution and its channels in the first stage. squeeze: squeeze-and-excitation (Hu et al.,
    arXiv 1709.01507). Pictures of 224 x 224.
    """
    out = _Table()
    _, width = _residual(out, blocks, 224, (1, 2, 2, 2), groups, base, squeeze)
    out.other("gap", "adaptiveavgpool", width)
    out.linear("fc", 1000, width)
    return convolutional(out.layers, 3 * 224 * 224)


def ssd300() -> Network:
    """SSD (Liu et al., arXiv 1512.02325) at 300 x 300 on ResNet-50 without its last stage.

    Third stage unstrided, five further feature maps, 81 classes and 4 coordinates a box: as in
    NVIDIA's examples, whose throughput is published. Of its loss, which matches boxes, only the
    kernels count, some 60.
    """
    out = _Table()
    side, width = _residual(out, (3, 4, 6), 300, (1, 2, 1), 1, 64, False)
    maps = [(side, width, 4)]
    further = ((256, 512, 19, 6), (256, 512, 10, 6), (128, 256, 5, 6), (128, 256, 3, 4))
    for number, (middle, n, after, boxes) in enumerate((*further, (128, 256, 1, 4))):
        out.normed(f"extra.{number}.a", side, middle, width)
        out.normed(f"extra.{number}.b", after, n, 9 * middle)
        side, width = after, n
        maps.append((side, width, boxes))
    for number, (side, width, boxes) in enumerate(maps):
        out.conv(f"heads.{number}", side, boxes * 85, 9 * width, input_elems=side * side * width)
    found = convolutional(out.layers, 3 * 300 * 300)
    loss = WorkRow(
        found.layers[-1].name, ELEMENT_WISE, fused_elems=0.0, eager_elems=0.0, kernels=60.0
    )
    return replace(found, rows=(*found.rows, loss))
