"""dse.model.products: the law of matrix products against a scalar form of it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.products import PARTIAL_BYTES, SPLITS, TILES, ProductLaw, constant_law, product_s

A100 = ProductLaw(312e12, 2.039e12, 0.8956, 182.6, 3.57e-6, 0.609, 0.862, 108.0)

sizes = st.integers(1, 20_000)


def reference(m: int, n: int, k: int, groups: int, law: ProductLaw, split: bool) -> float:
    """The docstring's formula, one tile and one split after another."""
    flops = float(law.flops_per_s) * float(law.efficiency) / float(law.slowdown)  # type: ignore[arg-type]
    memory = float(law.bytes_per_s) * float(law.memory_efficiency)  # type: ignore[arg-type]
    units, extra = float(law.units), float(law.extra_k)  # type: ignore[arg-type]
    best = math.inf
    for rows, columns, power in law.tiles:
        speed = flops * float(law.small_tile) ** power  # type: ignore[arg-type]
        tiles = math.ceil(m / rows) * math.ceil(n / columns) * groups
        for parts in (1, *SPLITS) if split else (1,):
            waves = math.ceil(tiles * parts / units)
            seconds = waves * units * 2 * rows * columns * (k / parts + extra) / speed
            if parts > 1:
                seconds += 2 * parts * PARTIAL_BYTES * m * n * groups / memory
            best = min(best, seconds)
    moved = 2 * groups * (m * k + k * n + m * n)
    return float(law.start_s) + max(best, moved / memory)  # type: ignore[arg-type]


def seconds(m: object, n: object, k: object, groups: object, split: bool) -> np.ndarray:
    m, n, k, groups = (np.asarray(v, dtype=float) for v in (m, n, k, groups))
    return product_s(m, n, k, groups, 2 * groups * (m * k + k * n + m * n), A100, split)


@given(sizes, sizes, sizes, st.integers(1, 64), st.booleans())
def test_arrays_and_scalars_agree(m: int, n: int, k: int, groups: int, split: bool) -> None:
    expected = reference(m, n, k, groups, A100, split)
    assert float(seconds(m, n, k, groups, split)) == pytest.approx(expected, rel=1e-12)


@given(sizes, sizes, sizes)
def test_nothing_is_faster_than_the_peak_or_the_memory(m: int, n: int, k: int) -> None:
    found = float(seconds(m, n, k, 1, True))
    assert found >= 2 * m * n * k / (312e12 * 0.8956)
    assert found >= 2 * (m * k + k * n + m * n) / (2.039e12 * 0.609)


def test_large_products_reach_the_efficiency() -> None:
    m = n = 108 * 256  # whole waves of the largest tile
    reached = 2.0 * m * n * 1e6 / float(seconds(m, n, 1e6, 1, False))
    assert reached == pytest.approx(312e12 * 0.8956, rel=1e-3)


def test_half_a_wave_takes_as_long_as_a_whole_one_unless_it_is_split() -> None:
    one, half = (float(seconds(64 * tiles, 64, 50_000, 1, False)) for tiles in (1, 8))
    assert one == half
    assert float(seconds(64, 64, 50_000, 1, True)) < one


def test_a_measured_product_of_an_a100() -> None:
    # 4096 x 4096 x 4096 in bf16 reaches 240 to 270 TFLOP/s in published tables.
    rate = 2 * 4096.0**3 / float(seconds(4096, 4096, 4096, 1, False))
    assert 220e12 < rate < 275e12


def test_a_constant_law_is_a_roofline() -> None:
    law = constant_law(1e13, 1e12, 0.5, 0.8)
    m, n, k = (np.array([v]) for v in (3.0, 5.0, 7e6))
    moved = np.array([4.0])
    assert product_s(m, n, k, np.ones(1), moved, law, True) == pytest.approx(
        [2 * 3 * 5 * 7e6 / 5e12], rel=1e-9
    )
    assert product_s(m, n, np.ones(1), np.ones(1), np.array([8e11]), law, True) == [1.0]


def test_tiles_are_those_that_the_law_was_fitted_with() -> None:
    assert [(rows, columns) for rows, columns, _ in TILES[:2]] == [(256, 128), (128, 256)]
