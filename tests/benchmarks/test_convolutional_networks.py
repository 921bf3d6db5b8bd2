"""Convolutional networks in closed form are those of the catalogue, and read what they should."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import rows_of_work as command
from benchmarks.networks.convolutional import resnet
from dse.catalog import models_dir, read_layers
from dse.catalog.rows_of_work import CONVOLUTION
from tests.catalog.test_rows_of_work import rows_of


@pytest.mark.parametrize(
    ("name", "blocks"), [("resnet50", (3, 4, 6, 3)), ("resnet152", (3, 8, 36, 3))]
)
def test_residual_networks_in_closed_form_are_the_traced_ones(
    name: str, blocks: tuple[int, ...]
) -> None:
    found = resnet(blocks)
    layer_names, kinds, table = read_layers(models_dir() / "workloads" / "layers" / f"{name}.csv")
    assert [(layer.name, layer.kind) for layer in found.layers] == list(
        zip(layer_names, kinds, strict=True)
    )
    assert [layer.params for layer in found.layers] == list(table[0])
    assert [layer.output_elems for layer in found.layers] == list(table[2])
    assert found.rows == command.network(name).rows


def test_depthwise_convolutions_have_a_group_for_every_channel() -> None:
    rows = [row for row in rows_of("mobilenet-v1") if row.kind == CONVOLUTION]
    depthwise = [row for row in rows if row.k == 9]
    assert len(depthwise) == 13
    assert all(row.n == 1 and (row.groups or 0) >= 32 for row in depthwise)
    assert all(row.groups == 1 for row in rows if row.k != 9)


@pytest.mark.parametrize(
    ("name", "layer", "elements"),
    [
        ("vgg16", "f.0", 3 * 224 * 224),
        ("resnet50", "body.0.d.0", 64 * 56 * 56),  # the shortcut reads what the block was given
        ("resnet50", "body.4.a.0", 512 * 28 * 28),
        ("inception-v3", "f.7.b5.0.0", 192 * 35 * 35),
        ("inception-v3", "f.8.b1.0", 256 * 35 * 35),  # four branches joined
        ("inception-v3", "f.10.b3.0", 288 * 35 * 35),
        ("inception-v3", "f.11.b1.0", 768 * 17 * 17),  # two branches and a pool
        ("inception-v3", "f.17.b3b.0", 384 * 8 * 8),  # parts after b31
        ("inception-v3", "f.17.bp.0", 2048 * 8 * 8),
    ],
)
def test_what_a_convolution_reads(name: str, layer: str, elements: int) -> None:
    (read,) = {row.input_elems for row in rows_of(name) if row.layer == layer}
    assert read == elements


@pytest.mark.parametrize(
    "name", ["alexnet", "inception-v3", "nasnet-large", "resnet101", "vgg16", "mobilenet-v1"]
)
def test_every_convolution_reads_a_square_of_whole_channels(name: str) -> None:
    """Its inputs over its input channels are a square, for some shape of its weights."""
    shapes = (1, 3, 5, 7, 9, 25, 49, 121)
    for row in rows_of(name):
        if row.kind == CONVOLUTION:
            channels = [(row.k or 0) * (row.groups or 0) / shape for shape in shapes]
            sides = [np.sqrt((row.input_elems or 0) / c) for c in channels if c == int(c)]
            assert any(side == pytest.approx(round(side), abs=1e-9) for side in sides), row


def test_residual_additions_are_counted() -> None:
    rows = [row for row in rows_of("resnet50") if row.layer.endswith(".r")]
    assert len(rows) == 2 * 16
    first = [(row.fused_elems, row.eager_elems) for row in rows[:2]]
    out = 256 * 56 * 56
    assert first == [(0, 5 * out), (2 * out, 6 * out)]
