"""dse.model.compute: passes from rows of work, against loops over the rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model import compute
from dse.model.compute import Device, Layers
from dse.model.kept import Kept
from dse.model.precision import PRECISIONS
from dse.model.products import ProductLaw, product_s
from dse.model.stack import FUSED, Stack
from dse.model.work import Attention, Moved, Products, Work, equivalent_products

WORK = Work(
    Products(
        layer=np.array([0, 1, 2, 2]),
        m=np.array([128.0, 3136.0, 1.0, 128.0]),
        n=np.array([256.0, 64.0, 512.0, 256.0]),
        k=np.array([64.0, 576.0, 128.0, 64.0]),
        groups=np.array([1.0, 2.0, 1.0, 1.0]),
        steps=np.array([1.0, 1.0, 30.0, 1.0]),
        input_elems=np.array([128.0 * 64, 401408.0, 128.0, 128.0 * 64]),
        output_elems=np.array([128.0 * 256, 401408.0, 512.0, 128.0 * 256]),
        convolution=np.array([False, True, False, False]),
    ),
    Attention(
        layer=np.array([0]), queries=np.array([128.0]), keys=np.array([96.0]),
        heads=np.array([12.0]), head_size=np.array([64.0]), unmasked=np.array([0.5]),
    ),
    Moved(
        layer=np.array([0, 1]), fused_elems=np.array([1e6, 2e6]), eager_elems=np.array([3e6, 2e6]),
        kernels=np.array([4.0, 6.0]),
    ),
)  # fmt: skip
PARAMS = np.array([16384.0, 73728.0, 65536.0])
LAYERS = Layers(
    PARAMS,
    np.array([2e6, 4e8, 4e6]),
    np.zeros(3),
    1e6,
    1e3,
    WORK,
    "decoder",
)
PLAIN = Stack("plain", 0.7, 5e-6, frozenset({"decoder"}))


def device(fused: bool, factor: float = 1.0) -> Device:
    law = ProductLaw(
        312e12, 2e12, 0.9, 180.0, 3e-6, 0.6, 0.86, 108.0, slowdown=1.05, convolution=1.2,
        winograd=1.9,
    )  # fmt: skip
    return Device(law, 2e12, 80e9, 2e10, 0.8, 1.2e14 if fused else np.nan, factor)


def scalar(batch: float, precision: str, stack: Stack, fused: bool) -> tuple[float, list[float]]:
    """Forward pass, and backward pass of each layer, row by row, before host and factor."""
    chip, p = device(fused), PRECISIONS[precision]
    law, rate, bandwidth = chip.law, chip.reached_flops_per_s, float(chip.reached_bytes_per_s)
    del rate
    forward, backward = [0.0] * 3, [0.0] * 3

    def took(m: float, n: float, k: float, groups: float, moved: float, split: bool) -> float:
        sizes = (np.array(v) for v in (m, n, k, groups, moved))
        return float(product_s(*sizes, law, split))

    rows = WORK.products
    for at in range(len(rows.layer)):
        layer, m, n, k = (
            rows.layer[at], float(rows.m[at]) * batch, float(rows.n[at]), float(rows.k[at])
        )  # fmt: skip
        groups, steps = float(rows.groups[at]), float(rows.steps[at])
        reads = 401408.0 * batch if rows.convolution[at] else m * k
        moved = (reads + groups * (k * n + m * n)) * p.operand_bytes
        slower = 1.2 / 1.9 if rows.convolution[at] else 1.0  # 3x3, stride 1: 9 inputs = m k groups
        forward[layer] += steps * took(m, n, k, groups, moved, steps > 1) * slower
        backward[layer] += steps * took(m, k, n, groups, moved, True) * slower
        if steps > 1:
            moved = (steps * m * (k + n) + k * n) * p.operand_bytes
        backward[layer] += took(k, n, steps * m, groups, moved, True) * slower
        if p.name == "fp8":
            cast = groups * steps * m * (k + n) * compute.FP8_CAST_BYTES / bandwidth
            forward[layer] += cast / 3
            backward[layer] += cast * 2 / 3
    queries, keys, heads, size = 128.0, 96.0, 12.0 * batch, 64.0
    if fused:
        flops = 4 * queries * keys * heads * size * 0.5
        kernel = flops / (1.2e14 * 1.25 * 64 / 96 * 128 / 384)
        forward[0] += 3e-6 + kernel
        backward[0] += 3e-6 + 2.5 * kernel
    else:
        moved = heads * (queries * keys + (queries + keys) * size) * p.activation_bytes
        both = took(queries, keys, size, heads, moved, False)
        both += took(queries, size, keys, heads, moved, False)
        elems = 7 + stack.eager * 12
        between = elems * heads * queries * keys * p.activation_bytes / bandwidth
        forward[0] += both + between / 3
        backward[0] += 2 * both + between * 2 / 3
    for layer, few, many, kernels in ((0, 1e6, 3e6, 4.0), (1, 2e6, 2e6, 6.0)):
        elems = few + stack.eager * (many - few)
        launches = kernels * (0.4 + 0.6 * stack.eager)
        seconds = elems * batch * p.activation_bytes / bandwidth + launches * 3e-6
        forward[layer] += seconds / 3
        backward[layer] += seconds * 2 / 3
    if p.master_bytes:
        forward[0] += PARAMS.sum() * 6 * stack.eager / bandwidth
    return sum(forward), backward


@settings(max_examples=60)
@given(
    batch=st.integers(1, 300),
    precision=st.sampled_from(sorted(PRECISIONS)),
    fused=st.booleans(),
    eager=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_passes_match_the_loops(batch: int, precision: str, fused: bool, eager: float) -> None:
    stack = Stack("some", eager, 0.0, frozenset({"decoder"}))
    forward, backward = scalar(batch, precision, stack, fused)
    found = compute.forward_backward(LAYERS, device(fused), batch, PRECISIONS[precision], stack)
    assert float(found.forward_s) == pytest.approx(forward, rel=1e-9)
    assert float(found.backward_s) == pytest.approx(sum(backward), rel=1e-9)
    assert float(found.layer_done_s[2]) == pytest.approx(backward[2], rel=1e-9)


def test_arrays_hold_the_same_numbers_as_single_points() -> None:
    batches = np.array([1.0, 7.0, 64.0])
    together = compute.forward_backward(LAYERS, device(True), batches, PRECISIONS["bf16"], PLAIN)
    for at, batch in enumerate(batches):
        one = compute.forward_backward(LAYERS, device(True), batch, PRECISIONS["bf16"], PLAIN)
        assert float(one.forward_s) == together.forward_s[at]
        np.testing.assert_array_equal(one.layer_done_s, np.asarray(together.layer_done_s)[:, at])


def test_another_family_stores_its_scores() -> None:
    encoder = Layers(*(vars(LAYERS)[name] for name in (
        "params", "forward_flops", "traffic_elems", "kept", "input_bytes", "work",
    )), family="encoder")  # fmt: skip
    fp16 = PRECISIONS["fp16"]
    chip = device(True)
    slower = compute.forward_backward(
        encoder, chip, 64, fp16, Stack("s", 0, 0, PLAIN.fuses_attention)
    )
    faster = compute.forward_backward(
        LAYERS, chip, 64, fp16, Stack("s", 0, 0, PLAIN.fuses_attention)
    )
    same = compute.forward_backward(encoder, chip, 64, fp16, FUSED)
    assert slower.backward_s > faster.backward_s == same.backward_s


def test_a_slow_host_decides_small_batches() -> None:
    fp16 = PRECISIONS["fp16"]
    slow = Stack("slow", 0.0, 1e-3, None)
    small, large = (
        compute.forward_backward(LAYERS, device(True), batch, fp16, slow) for batch in (1, 2)
    )
    assert float(small.forward_s + small.backward_s) == pytest.approx(
        float(large.forward_s + large.backward_s)
    )
    free = compute.forward_backward(LAYERS, device(True), 1, fp16, FUSED)
    assert small.backward_s > free.backward_s
    # The factor is the accelerator's: one that is slower keeps up with the host all the same.
    slower = compute.forward_backward(LAYERS, device(True, 1.5), 1, fp16, slow)
    assert float(slower.backward_s) == pytest.approx(float(small.backward_s))


def test_factors_and_launches_may_be_drawn() -> None:
    """An axis of draws before those of the points, each draw as if it were alone."""
    fp16, batches = PRECISIONS["fp16"], np.array([1.0, 4096.0])
    factors, launches = np.array([0.5, 1.0, 2.0]), np.array([1e-3, 2e-3, 0.0])
    column = (-1, 1)
    drawn = compute.forward_backward(
        LAYERS,
        replace(device(True), factor=factors.reshape(column)),
        batches,
        fp16,
        Stack("drawn", 0.0, launches.reshape(column), None),
    )
    assert drawn.forward_s.shape == (3, 2)
    assert np.shape(drawn.layer_done_s[:]) == (3, 3, 2)
    for at, (factor, launch) in enumerate(zip(factors, launches, strict=True)):
        alone = compute.forward_backward(
            LAYERS, device(True, float(factor)), batches, fp16, Stack("one", 0.0, launch, None)
        )
        assert drawn.forward_s[at] == pytest.approx(alone.forward_s)
        assert drawn.layer_done_s[:][:, at] == pytest.approx(np.asarray(alone.layer_done_s))


def test_a_factor_below_one_beats_no_peak() -> None:
    fp16, batch = PRECISIONS["fp16"], 4096.0
    attention = LAYERS.rows.attention
    masked = (attention.forward_flops * (1 - attention.unmasked)).sum()
    flops = 3 * (LAYERS.forward_flops.sum() - masked) * batch
    peak = float(device(True).reached_flops_per_s) * 1.9
    fast = compute.forward_backward(LAYERS, device(True, 1e-6), batch, fp16, FUSED)
    assert float(fast.forward_s + fast.backward_s) >= flops / peak * (1 - 1e-12)
    twice = compute.forward_backward(LAYERS, device(True, 2.0), batch, fp16, FUSED)
    once = compute.forward_backward(LAYERS, device(True), batch, fp16, FUSED)
    assert float(twice.backward_s) == pytest.approx(2 * float(once.backward_s))


def test_a_depthwise_convolution_takes_what_its_bytes_take() -> None:
    """Each output reads one channel: as a matrix product it would fill a column of 64."""
    batch, pixels, channels, weights = 32, 56.0 * 56, 128.0, 9.0
    one, elems = np.ones(1), np.array([pixels * channels])
    products = Products(
        np.array([0]), pixels * one, one, weights * one, channels * one, one, elems, elems,
        np.array([True]),
    )  # fmt: skip
    none = np.zeros(0)
    no_row = np.zeros(0, dtype=np.intp)
    work = Work(
        products,
        Attention(no_row, none, none, none, none, none),
        Moved(no_row, none, none, none),
    )
    flops = products.forward_flops
    layers = Layers(channels * weights * one, flops, elems, Kept(1e6), 1e3, work, "convolutional")
    chip, bf16 = device(fused=False), PRECISIONS["bf16"]
    found = compute.forward_backward(layers, chip, batch, bf16, FUSED)
    moved = (2 * pixels * channels * batch + channels * weights) * bf16.operand_bytes
    seconds = 3e-6 + moved / float(chip.law.reached_bytes_per_s)
    assert float(found.forward_s) == pytest.approx(seconds)
    assert float(found.backward_s) == pytest.approx(2 * seconds)


def test_layers_without_rows_are_one_product_each() -> None:
    params, flops = np.array([1e6, 0.0, 4e6]), np.array([2e9, 3e6, 0.0])
    rows = equivalent_products(params, flops)
    np.testing.assert_array_equal(rows.layer, [0, 1])
    np.testing.assert_allclose(rows.forward_flops, flops[:2])
    assert rows.n[0] * rows.k[0] == pytest.approx(1e6)
    known = Layers(PARAMS, np.array([2e6, 4e8, 4e6]), np.zeros(3), 1.0, 1.0, WORK)
    assert known.rows is WORK
    more = Layers(
        np.append(PARAMS, 1e6), np.array([2e6, 4e8, 4e6, 2e9]), np.zeros(4), 1.0, 1.0, WORK
    )
    assert list(more.rows.products.layer) == [0, 1, 2, 2, 3]
