"""Steps of layouts, against published iteration times and by what must hold of any."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.model.compute import Device
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.layouts import FULL, SELECTIVE
from dse.model.parallel.sharding import Product, attention_s, products_s
from dse.model.parallel.step import ParallelStep, Runtime
from dse.model.precision import PRECISIONS
from dse.model.products import ProductLaw
from tests.model.parallel import shapes
from tests.model.parallel.shapes import layout

A100 = Device(
    ProductLaw(312e12, 2.039e12, 0.8956, 182.6, 3.57e-6, 0.609, 0.862, 108, 1.05),
    2.039e12, 80e9, 6e10, 0.8, 0.5 * 312e12,
)  # fmt: skip
MEGATRON_2022 = Runtime(fused_attention=False, hides_sends=False, sum_bytes=4.0)
SELENE = Tiers(300e9, 200e9, all_reduce=0.78, halves=0.76)


def step(model: shapes.Transformer, runtime: Runtime = MEGATRON_2022) -> ParallelStep:
    return ParallelStep(model, A100, PRECISIONS["fp16"], SELENE, runtime)


KORTHIKANTI = (
    # hidden, layers, heads, pipeline, virtual, batch, micro-batch, full, selective (s)
    (6144, 48, 64, 1, 1, 4, 4, 1.42, 1.10),
    (12_288, 96, 96, 8, 3, 64, 1, 18.13, 13.75),
    (20_480, 105, 128, 35, 3, 280, 1, 49.05, 37.83),
    (25_600, 128, 160, 64, 2, 512, 1, 94.42, 71.49),
)


def test_published_iteration_times() -> None:
    """Korthikanti et al., arXiv 2205.05198, table 5; nothing is fitted on them."""
    errors = []
    for hidden, layers, heads, p, v, batch, micro, full, selective in KORTHIKANTI:
        for recompute, split, measured in ((FULL, False, full), (SELECTIVE, True, selective)):
            at = layout(
                tensor=8, pipeline=p, virtual=v, micro_batch=micro, passes=batch / micro,
                sequence=2048, sequence_parallel=split, recompute=recompute,
                schedule="interleaved",
            )  # fmt: skip
            found = step(shapes.gpt(hidden, layers, heads)).step(at).step_s[0]
            errors.append(found / measured - 1)
    assert np.abs(errors).mean() < 0.025
    assert np.abs(errors).max() < 0.05


def test_tensor_exchanges_hide_behind_no_more_than_computing() -> None:
    """Half of them hide inside a node, and of those over slow cards less than products take."""
    at = layout(tensor=16, micro_batch=1, passes=1, sequence=4096, sequence_parallel=True)
    shown, half = (step(shapes.LLAMA_8B, replace(MEGATRON_2022, hides_tensor=h)) for h in (0, 0.5))
    quick, slow = replace(SELENE, cards_bytes_per_s=1e13), replace(SELENE, cards_bytes_per_s=1e8)
    for tiers, hidden in ((quick, True), (slow, False)):
        whole, left = (float(replace(m, tiers=tiers).step(at).tensor_s[0]) for m in (shown, half))
        assert (left == pytest.approx(whole / 2)) is hidden
        assert left < whole


def test_what_is_gathered_in_8_bits_is_half_of_it() -> None:
    """Of ten halves a layer six gather: 14 bytes an element where 16 bits have 20."""
    at = layout(tensor=8, micro_batch=1, passes=1, sequence=65536, sequence_parallel=True)
    model = replace(step(shapes.LLAMA_8B), tiers=replace(SELENE, call_s=0.0))
    block, free = model.model.runs[0][0], np.zeros(())
    wide, narrow = (
        float(replace(model, precision=PRECISIONS[p]).tensor_s(block, at, 0.0, free)[0])
        for p in ("bf16", "fp8")
    )
    assert narrow / wide == pytest.approx(0.7)


DEGREE = st.sampled_from([1, 2, 4, 8])


@given(DEGREE, DEGREE, DEGREE, DEGREE, st.sampled_from([0, 1, 2, 3, 4]), st.integers(0, 2))
def test_terms_sum_up_and_none_is_negative(
    tensor: int, context: int, pipeline: int, data: int, zero: int, recompute: int
) -> None:
    at = layout(tensor, context, pipeline, data, zero=zero, recompute=recompute, passes=16)
    found = step(shapes.LLAMA_8B, Runtime()).step(at)
    assert sum(float(term[0]) for term in found[1:]) == pytest.approx(float(found.step_s[0]))
    assert all(term[0] >= -1e-12 for term in found)
    for name, degree in (("tensor_s", tensor), ("bubble_s", pipeline), ("pipeline_s", pipeline)):
        if degree == 1:
            assert getattr(found, name) == pytest.approx(0.0, abs=1e-12)
    if data * context == 1:
        assert found.data_s == 0


@given(DEGREE, DEGREE, DEGREE)
def test_no_layout_beats_its_products(tensor: int, pipeline: int, data: int) -> None:
    """A step takes at least its model FLOPs at the peak of all accelerators."""
    at, model = layout(tensor, 1, pipeline, data), shapes.LLAMA_8B
    tokens = 8 * data * 4096
    least = 3 * model.forward_flops(4096) * tokens / (312e12 * tensor * pipeline * data)
    assert float(step(model, Runtime()).step(at).step_s[0]) > least


def test_points_at_once_or_one_by_one() -> None:
    model = step(shapes.MIXTRAL, Runtime())
    many = [
        layout(t, 1, p, d, expert=min(e, t * d), zero=z)
        for t in (1, 2) for p in (1, 4) for d in (2, 8) for e in (1, 8) for z in (0, 1)
    ]  # fmt: skip
    mesh = {
        name: np.concatenate([getattr(one.mesh, name) for one in many])
        for name in vars(many[0].mesh)
    }
    rest = {
        name: np.concatenate([getattr(one, name) for one in many])
        for name, value in vars(many[0]).items()
        if isinstance(value, np.ndarray)
    }
    together = model.step(replace(many[0], mesh=type(many[0].mesh)(**mesh), **rest)).step_s
    alone = [float(model.step(one).step_s[0]) for one in many]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_the_host_is_a_floor() -> None:
    """Small micro-batches of a split layer take as long as their launches."""
    slow = Runtime(host_s=2.5e-3, host_tensor_s=1.8e-3)
    model = shapes.llama(1024, 16, 8, 8, 4096)
    found = [step(model, slow).step(layout(tensor=t, passes=4)).step_s[0] for t in (2, 4, 8)]
    assert min(found) > 4 * 16 * 4.3e-3
    np.testing.assert_allclose(found, found[0], rtol=0.1)


def test_a_tensor_group_over_two_nodes_costs_more() -> None:
    inside, across = (
        float(step(shapes.LLAMA_70B, Runtime()).step(layout(tensor=t, node=8)).tensor_s[0])
        for t in (8, 16)
    )
    assert across > 1.5 * inside


def test_gradients_hide_where_the_stack_lets_them() -> None:
    at = layout(data=64, zero=1, passes=4)
    hidden, apart = (
        float(step(shapes.LLAMA_8B, Runtime(hides_gradients=h, hides_weights=h)).step(at).data_s[0])
        for h in (True, False)
    )
    assert hidden < apart / 2


def test_full_recomputation_takes_a_third_more() -> None:
    none, full = (
        step(shapes.LLAMA_8B, Runtime()).step(layout(tensor=2, recompute=r)) for r in (0, FULL)
    )
    assert float(full.compute_s[0] / none.compute_s[0]) == pytest.approx(4 / 3, rel=0.1)
    assert float(full.tensor_s[0] / none.tensor_s[0]) == pytest.approx(14 / 10)


def test_without_a_network_one_node_trains() -> None:
    alone = replace(step(shapes.LLAMA_8B, Runtime()), tiers=Tiers(300e9, 0.0))
    assert np.isfinite(alone.step(layout(data=8)).step_s[0])
    assert np.isinf(alone.step(layout(data=16)).step_s[0])


def test_each_layout_has_its_own_imbalance() -> None:
    model = step(shapes.MIXTRAL, Runtime())
    even, uneven = (
        model.step(replace(layout(data=8, expert=8), imbalance=x * np.ones(1))).step_s[0]
        for x in (1.0, 2.0)
    )
    at = layout(data=8, expert=8)
    mesh = type(at.mesh)(**{name: np.repeat(v, 2) for name, v in vars(at.mesh).items()})
    columns = {name: np.repeat(v, 2) for name, v in vars(at).items() if isinstance(v, np.ndarray)}
    both = replace(at, **columns, mesh=mesh, imbalance=np.array([1.0, 2.0]))
    np.testing.assert_allclose(model.step(both).step_s, [even, uneven])
    assert uneven > 1.2 * even


@pytest.mark.parametrize("name", ["zb-h1", "zb-h2"])
def test_few_micro_batches_fill_less_of_a_pipeline(name: str) -> None:
    """No step is shorter for a micro-batch more, none longer than 1F1B's, and the timeline is near
    it."""
    model = step(shapes.LLAMA_8B, Runtime())
    took, plain = (
        np.array([float(model.step(layout(pipeline=8, passes=m, schedule=way)).step_s[0])
                  for m in range(1, 24)])
        for way in (name, "1f1b")
    )  # fmt: skip
    assert (np.diff(took) > 0).all()
    assert (took <= plain).all()


def test_one_rank_of_a_node_reaches_one_of_its_cards() -> None:
    """Sixteen stages of one rank: a message leaves by one card of eight."""
    tiers = Tiers(450e9, 400e9, rails=8.0)
    alone, all_ranks = (
        float(tiers.send_s(layout(pipeline=16, data=n, node=8).mesh.stages, 1e9)[0]) for n in (1, 8)
    )
    assert alone == pytest.approx(1e9 / (50e9 * tiers.cards), rel=1e-2)
    assert all_ranks == pytest.approx(alone, rel=1e-2)


def test_wide_activations_are_kept_and_sent_whole() -> None:
    at = layout(tensor=4)
    half = step(shapes.LLAMA_8B, Runtime())
    wide = replace(half, precision=PRECISIONS["fp32"])
    assert float(wide.step(at).tensor_s[0]) > 1.9 * float(half.step(at).tensor_s[0])


def test_ways_to_share_a_context_differ() -> None:
    model = step(shapes.LLAMA_8B, Runtime())
    at = layout(context=8, sequence=32_768, node=4)
    found = [model.step(replace(at, exchange=kind * np.ones(1))).context_s[0] for kind in range(3)]
    assert len(set(found)) == 3


def test_what_fp8_leaves_in_16_bits_takes_their_law() -> None:
    """Head and router; nothing else of a dense layer."""
    narrow = replace(A100, law=replace(A100.law, flops_per_s=624e12))
    model = shapes.llama(4096, 1, 32, 8, 14_336)
    eight = ParallelStep(model, narrow, PRECISIONS["fp8"], SELENE, Runtime())
    both = replace(eight, wide=A100)
    at = layout(micro_batch=4)
    head = 6 * 4 * 4096 * 4096 * 128_256 * (1 / 312e12 - 1 / 624e12) * 1.05 / 0.8956
    found = both.head_s(at) - eight.head_s(at)
    assert float(found[0]) == pytest.approx(head, rel=0.15)


def test_grouped_products_of_few_rows_are_slower() -> None:
    """Where a group has as many rows as the device says, those for its weights take twice the
    law's time."""
    one = Product(*(np.full(1, v) for v in (450.0, 4096.0, 4096.0)), np.asarray(8.0))
    slow = replace(A100, grouped_rows=450.0)
    alone, grouped = (
        products_s(iter([replace(one, grouped=g)]), slow, PRECISIONS["bf16"], slow)
        for g in (False, True)
    )
    assert float(grouped[0][0] / alone[0][0]) == pytest.approx(4 / 3)
    assert float(grouped[2][0] / alone[2][0]) >= 2 - 1e-9


def test_few_heads_fill_no_accelerator() -> None:
    """Attention of a rank with an eighth of the heads takes more than an eighth of the time."""
    block = shapes.LLAMA_70B.runs[0][0]
    one, eight = (
        sum(attention_s(block, layout(tensor=t).cut, A100, PRECISIONS["bf16"], 0.1, True))
        for t in (1, 8)
    )
    assert float(eight[0]) > 1.2 * float(one[0]) / 8


def test_a_tied_head_on_another_stage_sums_its_gradients() -> None:
    tied = shapes.gpt(4096, 16, 32)
    found = [
        step(replace(tied, tied=t)).step(layout(pipeline=4, passes=16)).data_s[0]
        for t in (False, True)
    ]
    words = SELENE.all_reduce_s(layout(pipeline=4).mesh.stages, np.array(4.0 * 51_200 * 4096))
    assert float(found[1] - found[0]) == pytest.approx(float(words[0]))


def test_the_host_launches_experts() -> None:
    """Routing is a floor of a mixture's layer, and so is each expert that is no part of a group."""
    none, routing, each = (
        step(shapes.MIXTRAL, runtime).step(layout(tensor=8, data=1, passes=4)).step_s[0]
        for runtime in (
            Runtime(), Runtime(host_routing_s=20e-3), Runtime(host_expert_s=20e-3 / 8)
        )
    )  # fmt: skip
    assert routing == each > none
    assert routing > 4 * 32 * 20e-3


def test_a_token_goes_once_to_each_rank_and_node() -> None:
    """Of eight experts over eight ranks of a node a token has 5.25 ranks."""
    mesh = layout(data=8, expert=8)
    once, copies = (
        step(shapes.QWEN_235B, Runtime(deduplicates=d)).step(mesh).expert_s[0]
        for d in (True, False)
    )
    assert float(once / copies) == pytest.approx((8 - 7**8 / 8**7) / 8, rel=0.01)


def test_experts_hide_behind_another_micro_batch() -> None:
    at = layout(data=8, expert=8)
    hidden, apart = (step(shapes.MIXTRAL, Runtime(hides_experts=h)).step(at) for h in (True, False))
    assert float(hidden.expert_s[0] / apart.expert_s[0]) == pytest.approx(0.1)
    assert hidden.compute_s == apart.compute_s


def test_interleaved_sends_show_where_a_pipeline_fills() -> None:
    """Full pipelines hide them; the bubble has those of its idle parts."""
    slow, fast = (
        replace(step(shapes.LLAMA_8B, Runtime()), tiers=replace(SELENE, call_s=c)).step(
            layout(pipeline=4, virtual=2, passes=16, schedule="interleaved")
        )
        for c in (1e-3, 0.0)
    )
    assert slow.pipeline_s[0] == fast.pipeline_s[0] == 0
    assert float(slow.bubble_s[0] - fast.bubble_s[0]) > 3e-3


def test_a_capacity_factor_pads_and_drops() -> None:
    """Experts compute so many rows, whether they share ranks or not."""
    one, two = (
        step(shapes.MIXTRAL, Runtime()).step(replace(layout(), capacity=c)).compute_s[0]
        for c in (1.0, 2.0)
    )
    assert two > 1.5 * one


def test_stages_in_order_make_the_step() -> None:
    """Of 1F1B: the sum over stages and the longest of them; the last has the head."""
    at = layout(pipeline=8, data=2, passes=32)
    model = step(shapes.LLAMA_8B, MEGATRON_2022)
    spent, send = model.by_stage(at)
    busy = spent.total_s + send
    assert busy.shape == (8, 1)
    found = model.step(at)
    assert float(busy.sum(axis=0)[0] + 31 * busy.max()) == pytest.approx(
        float(found.step_s[0] - found.data_s[0] - found.update_s[0])
    )
    assert int(spent.compute_s.argmax()) == 7


def test_a_decoder_attends_to_its_encoder() -> None:
    """Five halves more beside ten to exchange over tensor ranks, and three of what the encoder
    made: gathered for keys, again for their weights, and its gradient scattered."""
    model = shapes.llama(4096, 8, 32, 32, 16_384)
    crossed = replace(model, runs=((replace(model.runs[0][0], cross=True), 8),))
    one, two = (step(m, Runtime()).step(layout(tensor=4)) for m in (model, crossed))
    assert float(two.tensor_s[0] / one.tensor_s[0]) == pytest.approx(1.8)
    assert 1.2 < float(two.compute_s[0] / one.compute_s[0]) < 1.6


def test_frozen_weights_need_no_gradients() -> None:
    """A third of the products' computing falls away, and what gradients exchange."""
    at = layout(data=8, passes=8)
    one = step(shapes.LLAMA_8B, Runtime(host_s=0.0))
    few = replace(one, trained=shapes.LLAMA_8B.trained(16))
    whole, part = one.step(at), few.step(at)
    assert 0.6 < float(part.compute_s[0] / whole.compute_s[0]) < 0.8
    assert float(part.data_s[0]) < 0.05 * float(whole.data_s[0])
