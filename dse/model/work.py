"""Rows of work: what one sample makes an accelerator do, apart from any accelerator."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array

Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Products:
    """Matrix products of the forward pass, ``(m B, k) x (k, n)`` for B samples; arrays (rows,).

    layer: the row of the layer table whose gradient they belong to. m: rows a sample, n: columns,
    k: inner dimension. groups: independent products of that shape in one kernel, each with weights
    of its own (grouped convolutions). steps: how often one after another (recurrences), m each
    time. convolution: whether it is one, a product of m pixels with k weights for each of n
    channels. input_elems, output_elems: elements read and written per sample and step.
    """

    layer: Positions
    m: Array
    n: Array
    k: Array
    groups: Array
    steps: Array
    input_elems: Array
    output_elems: Array
    convolution: NDArray[np.bool_]

    @cached_property
    def distinct(self) -> tuple[Array, Positions]:
        """All numbers but layer of the rows that differ, (8, distinct), and which of these each row
        is, (rows,)."""
        numbers = np.stack([
            self.m, self.n, self.k, self.groups, self.steps, self.input_elems, self.output_elems,
            self.convolution,
        ])  # fmt: skip
        unique, which = np.unique(numbers, axis=1, return_inverse=True)
        return unique, which

    @property
    def forward_flops(self) -> Array:
        """FLOPs of the forward pass per sample, ``2 m n k groups steps``, (rows,)."""
        return np.asarray(2 * self.m * self.n * self.k * self.groups * self.steps)


@dataclass(frozen=True, eq=False)
class Attention:
    """Attention of queries to keys, per sample; arrays (rows,).

    layer: as in :class:`Products`. queries, keys: positions. heads, head_size: of each position.
    unmasked: share of the pairs that count, 1/2 where it is causal.
    """

    layer: Positions
    queries: Array
    keys: Array
    heads: Array
    head_size: Array
    unmasked: Array

    @property
    def scores(self) -> Array:
        """Elements of the matrices of scores per sample, (rows,)."""
        return np.asarray(self.heads * self.queries * self.keys)

    @property
    def forward_flops(self) -> Array:
        """FLOPs of both products per sample with masked pairs counted, (rows,)."""
        return np.asarray(4 * self.scores * self.head_size)


@dataclass(frozen=True, eq=False)
class Moved:
    """Element-wise and normalising work of both passes, bound by memory; arrays (rows,).

    layer: as in :class:`Products`. fused_elems, eager_elems: elements read and written per sample
    where kernels are fused as far as usual, and where each operation is a kernel of its own.
    kernels: launches of the latter, whatever the batch.
    """

    layer: Positions
    fused_elems: Array
    eager_elems: Array
    kernels: Array


_Rows = TypeVar("_Rows", Products, Attention, Moved)


@dataclass(frozen=True, eq=False)
class Work:
    """All rows of one network."""

    products: Products
    attention: Attention
    moved: Moved

    def part(self, layers: Positions) -> Work:
        """The rows of some layers, in ascending order, which are then numbered by their place."""

        def kept(rows: _Rows) -> _Rows:
            mine = np.isin(rows.layer, layers)
            found = {name: values[mine] for name, values in vars(rows).items()}
            return replace(rows, **{**found, "layer": np.searchsorted(layers, found["layer"])})

        return Work(kept(self.products), kept(self.attention), kept(self.moved))


def equivalent_products(params: Array, forward_flops: Array) -> Products:
    """Products that stand for layers of which only parameters and FLOPs are known; (layers,) each.

    One for every layer with FLOPs: ``n = k = sqrt(params), m = FLOPs / (2 n k)``, as a layer that
    uses each weight m times a sample has it; a cube where a layer has no parameters. What it reads
    and writes besides its weights is left to the layer's traffic.
    """
    layer = np.flatnonzero(forward_flops > 0)
    half, weights = forward_flops[layer] / 2, params[layer]
    side = np.where(weights > 0, np.sqrt(weights), np.cbrt(half))
    one, none = np.ones(len(layer)), np.zeros(len(layer))
    return Products(layer, half / side**2, side, side, one, one, none, none, none > 0)


def joined(first: Products, second: Products) -> Products:
    """The rows of both."""
    return Products(*(
        np.concatenate([getattr(first, field.name), getattr(second, field.name)])
        for field in fields(Products)
    ))  # fmt: skip
