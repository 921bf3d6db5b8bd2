"""A law for the time of matrix products, by five numbers an accelerator and number format."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dse.model.arrays import Array, ArrayLike

# Tiles of the output that one unit computes: rows, columns, and the power of the factor that small
# tiles lose. Kernels of cuBLAS; the powers are part of the law.
Tile = tuple[float, float, float]
TILES: tuple[Tile, ...] = (
    (256, 128, 0.0), (128, 256, 0.0), (128, 128, 0.5), (128, 64, 1.0), (64, 64, 1.7),
)  # fmt: skip
# Tiles so small that nothing is rounded up: products take what their elements do.
WHOLE: tuple[Tile, ...] = ((2.0**-40, 2.0**-40, 0.0),)
SPLITS = (2, 4, 8, 16, 32, 64)  # parts of the inner dimension that idle units may share
PARTIAL_BYTES = 4.0  # of a partial sum, whatever the format of the operands


@dataclass(frozen=True)
class ProductLaw:
    """``T = t0 + max(waves * tile * (k + k0) / (peak e s^p), bytes / (bandwidth e_b))``.

    A wave is one tile of the output for each of an accelerator's units, and even a product of half
    a wave takes a whole one. Arrays that broadcast against the other axes of the points.

    flops_per_s: dense peak of the format. bytes_per_s: peak of the memory. efficiency: e, what
    large products reach of the peak. extra_k: k0, what a tile costs beside its k steps, in steps.
    start_s: t0. memory_efficiency: e_b. small_tile: s, what tiles of half the size reach. units:
    streaming multiprocessors, or what the maker calls them. slowdown: how much slower products are
    in minutes of training than in the short bursts in which they were timed, at least 1.
    convolution: how much slower convolutions are than the product of their sizes; winograd: how
    much faster those of 3x3 with stride 1 are than others.
    """

    flops_per_s: ArrayLike
    bytes_per_s: ArrayLike
    efficiency: ArrayLike
    extra_k: ArrayLike = 0.0
    start_s: ArrayLike = 0.0
    memory_efficiency: ArrayLike = 1.0
    small_tile: ArrayLike = 1.0
    units: ArrayLike = 1.0
    slowdown: ArrayLike = 1.0
    convolution: ArrayLike = 1.0
    winograd: ArrayLike = 1.0
    tiles: tuple[Tile, ...] = TILES

    @property
    def reached_flops_per_s(self) -> Array:
        """What no product exceeds, but for Winograd's convolutions."""
        return np.asarray(self.flops_per_s * np.asarray(self.efficiency) / self.slowdown)

    @property
    def reached_bytes_per_s(self) -> Array:
        """From and to memory."""
        return np.asarray(self.bytes_per_s * np.asarray(self.memory_efficiency))


def constant_law(
    flops_per_s: ArrayLike, bytes_per_s: ArrayLike, efficiency: ArrayLike, memory: ArrayLike
) -> ProductLaw:
    """Every product at the same share of the peak: Williams et al., Roofline, CACM 52, 2009."""
    return ProductLaw(flops_per_s, bytes_per_s, efficiency, memory_efficiency=memory, tiles=WHOLE)


def direct(law: ProductLaw) -> ProductLaw:
    """The law of kernels without tiles, such as those of depthwise convolutions.

    One output a group would leave all but one column of a tile empty, so no library runs them as
    matrix products. Their FLOPs are so few that bytes nearly always decide.
    """
    return replace(law, extra_k=0.0, tiles=WHOLE)


def product_s(
    m: Array,
    n: Array,
    k: Array,
    groups: Array,
    moved_bytes: Array,
    law: ProductLaw,
    splittable: ArrayLike,
) -> Array:
    """Seconds of products ``(m, k) x (k, n)``; all arguments broadcast.

    groups: independent products of that shape in one kernel. moved_bytes: operands and result.
    splittable: whether k may be split over units that the tiles leave idle, whose partial sums are
    then written and added. Zero rows or columns cost ``t0``.
    """
    units, waves = np.asarray(law.units), [np.asarray(k + law.extra_k)]
    added: list[ArrayLike] = [0.0]  # seconds, where the inner dimension is split
    if np.any(splittable):
        partial = 2 * PARTIAL_BYTES * (m * n * groups) / law.reached_bytes_per_s
        partial = np.where(splittable, partial, np.inf)
        waves += [k / parts + law.extra_k for parts in SPLITS]
        added += [parts * partial for parts in SPLITS]
    best: Array = np.full((), np.inf)
    for rows, columns, power in law.tiles:
        tiles = np.ceil(m / rows) * np.ceil(n / columns) * groups / units
        speed = law.reached_flops_per_s * np.power(law.small_tile, power) / (2.0 * rows * columns)
        step_s = units / speed
        for parts, steps, partial_s in zip((1, *SPLITS), waves, added, strict=False):
            best = np.minimum(best, np.ceil(tiles * parts) * steps * step_s + partial_s)
    return np.asarray(law.start_s + np.maximum(best, moved_bytes / law.reached_bytes_per_s))
