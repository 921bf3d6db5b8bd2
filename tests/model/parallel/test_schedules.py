"""Pipelines: formulas against an event by event simulation, and layers of stages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.parallel.schedules import RULES, SCHEDULES, Pipeline, Times, in_order, slots, stages
from tests.model.parallel import shapes


def one_forward_one_backward(passes: int, forward: list[float], backward: list[float]) -> float:
    """Seconds of 1F1B: every stage runs its own order as soon as what it waits for is there."""
    p = len(forward)
    orders = []
    for stage in range(p):
        warm = min(passes, p - stage)
        order = [("F", k) for k in range(warm)]
        for k in range(passes):
            order.append(("B", k))
            if warm + k < passes:
                order.append(("F", warm + k))
        orders.append(order)
    done: dict[tuple[str, int, int], float] = {}
    free, at = [0.0] * p, [0] * p
    while any(at[s] < len(orders[s]) for s in range(p)):
        for stage in range(p):
            while at[stage] < len(orders[stage]):
                kind, k = orders[stage][at[stage]]
                before = ("F", k, stage - 1) if kind == "F" else ("B", k, stage + 1)
                if kind == "B" and stage == p - 1:
                    before = ("F", k, stage)
                if before not in done and not (kind == "F" and stage == 0):
                    break
                start = max(free[stage], done.get(before, 0.0))
                free[stage] = start + (forward if kind == "F" else backward)[stage]
                done[kind, k, stage] = free[stage]
                at[stage] += 1
    return max(free)


def line(passes: float, count: float, virtual: float = 1) -> Pipeline:
    return Pipeline(np.array(passes), np.array(count), np.array(virtual))


def times(busy: list[float], weights: float = 0.0) -> Times:
    return Times(np.array(sum(busy)), np.array(max(busy)), np.array(weights))


@given(st.integers(1, 6), st.integers(0, 12))
def test_even_stages_in_turn(count: int, more: int) -> None:
    passes = count + more
    simulated = one_forward_one_backward(passes, [1.0] * count, [2.0] * count)
    formula = SCHEDULES["1f1b"].step_s(line(passes, count), times([3.0] * count))
    assert formula == pytest.approx(simulated)


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5), st.integers(6, 20))
def test_the_longest_stage_sets_the_pace(busy: list[int], passes: int) -> None:
    """Uneven stages take no longer than the formula, nor much less; exactly that if they end with
    the longest."""
    for stages_s in (busy, sorted(busy)):
        parts = [b / 3 for b in stages_s], [2 * b / 3 for b in stages_s]
        simulated = one_forward_one_backward(passes, *parts)
        formula = float(
            SCHEDULES["1f1b"].step_s(line(passes, len(busy)), times(list(map(float, stages_s))))
        )
        assert 0.8 * formula < simulated < formula * (1 + 1e-9)
    assert simulated == pytest.approx(formula)


@pytest.mark.parametrize(
    ("count", "layers"),
    [(1, [(24, 24)]), (2, [(24, 0), (0, 24)]), (3, [(12, 0), (12, 0), (0, 24)]),
     (6, [(8, 0)] * 3 + [(0, 8)] * 3), (48, [(1, 0)] * 24 + [(0, 1)] * 24)],
)  # fmt: skip
def test_an_encoder_and_its_decoder_have_stages_of_their_own(
    count: int, layers: list[tuple[int, int]]
) -> None:
    found = in_order(stages(shapes.T5_LARGE, count))
    assert [stage.layers for stage in found] == layers
    first = next(at for at, stage in enumerate(found) if stage.layers[1])
    assert [at for at, stage in enumerate(found) if stage.embedding] == sorted({0, first})
    assert [stage.head for stage in found] == [False] * (count - 1) + [True]


def test_idle_times() -> None:
    """Of four stages and ten micro-batches with F = B = W = 1 (Qi et al., table 1)."""
    even = times([3.0] * 4, weights=1.0)
    idle = {name: float(SCHEDULES[name].step_s(line(10, 4, v), even)) - 30.0 for name, v in (
        ("gpipe", 1), ("1f1b", 1), ("interleaved", 3), ("zb-h1", 1), ("zb-h2", 1), ("zb-v", 2),
    )}  # fmt: skip
    assert idle == {
        "gpipe": 9.0, "1f1b": 9.0, "interleaved": 3.0, "zb-h1": 3.0, "zb-h2": 0.0, "zb-v": 0.0,
    }  # fmt: skip


def test_micro_batches_kept() -> None:
    def kept(name: str, stage: int, virtual: float = 1) -> float:
        return float(SCHEDULES[name].kept(line(16, 4, virtual), stage))

    assert [kept("1f1b", stage) for stage in range(4)] == [4, 3, 2, 1]
    assert kept("gpipe", 0) == 16
    assert kept("interleaved", 0, 3) == 5
    assert kept("interleaved", 3, 3) == 3  # of parts (3 - 1) 4 + 1 in the warm-up
    assert (kept("zb-h2", 0), kept("zb-v", 3)) == (7, 4)
    assert float(SCHEDULES["1f1b"].kept(line(2, 4), 0)) == 2  # no more than there are


@given(st.integers(1, 100), st.integers(1, 12), st.integers(1, 3), st.sampled_from(sorted(RULES)))
def test_each_layer_has_one_stage(layers: int, count: int, virtual: int, rule: str) -> None:
    model = shapes.llama(1024, layers, 8, 8, 4096)
    found = stages(model, count, virtual, rule)
    assert sum(stage.count for stage in found) == count
    assert sum(stage.count * sum(stage.layers) for stage in found) == layers
    for name in ("embedding", "head"):
        assert sum(stage.count * getattr(stage, name) for stage in found) == 1


def test_layers_by_cost() -> None:
    """Of a head as heavy as four layers (nanotron's 1.34B over eight stages)."""
    block = shapes.Block(2048, 32, 64, 32, 8192)
    model = shapes.Transformer("1.34b", ((block, 16),), 131_072, True)
    spread = [(len(span), head) for span, head in RULES["by-cost"](model, 8)]
    assert spread == [
        (3, False), (3, False), (2, False), (3, False), (2, False), (3, False), (0, True),
        (0, False),
    ]  # fmt: skip


def test_folded_stages_have_both_ends() -> None:
    found = stages(shapes.LLAMA_8B, 4, 2, "even", SCHEDULES["zb-v"].placed)
    first = next(stage for stage in found if stage.first == 0)
    assert (first.embedding, first.head) == (True, True)
    assert sum(stage.count * sum(stage.layers) for stage in found) == 32


@pytest.mark.parametrize(("name", "virtual"), [
    ("gpipe", 1), ("1f1b", 1), ("interleaved", 2), ("interleaved", 3), ("zb-h1", 1), ("zb-h2", 1),
    ("zb-v", 2),
])  # fmt: skip
@pytest.mark.parametrize(("count", "passes"), [(1, 2), (2, 4), (4, 12), (8, 16)])
def test_the_timeline_takes_what_the_formula_says(
    name: str, virtual: int, count: int, passes: int
) -> None:
    """Of stages alike; no stage does two things at once, nor anything before what it needs."""
    found = slots(name, count, passes, virtual)
    ends = {(slot.kind, slot.micro_batch, slot.part): slot.end for slot in found}
    longest = 0.0
    for stage in range(count):
        mine = [slot for slot in found if slot.stage == stage]
        assert all(one.end <= two.start for one, two in itertools.pairwise(mine))
        assert sum(slot.end - slot.start for slot in mine) == pytest.approx(3 * passes)
        longest = max(longest, mine[-1].end - mine[0].start)
    for slot in found:
        if slot.kind == "F" and slot.part:
            assert ends["F", slot.micro_batch, slot.part - 1] <= slot.start
        if slot.kind == "B":
            assert ends["F", slot.micro_batch, slot.part] <= slot.start
            later = ends.get(("B", slot.micro_batch, slot.part + 1), 0.0)
            assert later <= slot.start
    even = times([3.0] * count, weights=1.0)
    assert longest == pytest.approx(
        float(SCHEDULES[name].step_s(line(passes, count, virtual), even))
    )


@given(st.sampled_from([("zb-h1", 1), ("zb-h2", 1), ("zb-v", 2)]), st.integers(1, 9), st.data())
@settings(max_examples=60, deadline=None)
def test_few_micro_batches_fill_as_much_as_the_timeline_has(
    schedule: tuple[str, int], count: int, data: st.DataObject
) -> None:
    (name, virtual), passes = schedule, data.draw(st.integers(1, 3 * count))
    found = slots(name, count, passes, virtual)
    spans = []
    for stage in range(count):
        mine = [slot for slot in found if slot.stage == stage]
        spans.append(mine[-1].end - mine[0].start)
    even = times([3.0] * count, weights=1.0)
    formula = SCHEDULES[name].step_s(line(passes, count, virtual), even)
    assert formula == pytest.approx(max(spans))


@given(
    st.integers(1, 16), st.integers(1, 64), st.lists(st.floats(0.5, 2.0), min_size=3, max_size=3)
)
def test_apart_gradients_of_weights_never_slow_a_step(
    count: int, passes: int, each: list[float]
) -> None:
    """Of one micro-batch only its own are left at the end; half of them where stages are folded."""
    even = times([sum(each)] * count, weights=each[2])
    found = {
        name: float(SCHEDULES[name].step_s(line(passes, count), even))
        for name in ("1f1b", "zb-h1", "zb-h2", "zb-v")
    }
    more = 1 + 1e-12
    assert found["zb-h2"] <= found["zb-h1"] * more <= found["1f1b"] * more**2
    assert found["zb-v"] <= found["1f1b"] * more
    assert min(found.values()) * more >= passes * sum(each)
    if passes == 1 and count > 1:
        both = count * (each[0] + each[1])
        assert found["zb-h1"] == found["zb-h2"] == pytest.approx(both + each[2])
        assert found["zb-v"] == pytest.approx(max(both + each[2] / 2, sum(each)))


@given(st.sampled_from(["1f1b", "zb-h1", "zb-h2"]), st.integers(1, 5), st.integers(1, 12))
def test_no_stage_keeps_more_than_it_may(name: str, count: int, passes: int) -> None:
    for stage in range(count):
        kept, most = 0, 0
        for slot in slots(name, count, passes):
            if slot.stage == stage:
                kept += {"F": 1, "B": -1, "W": 0}[slot.kind]
                most = max(most, kept)
        assert most <= SCHEDULES[name].kept(line(passes, count), stage)


def test_parts_that_take_turns_need_whole_rounds() -> None:
    with pytest.raises(ValueError, match="4 stages do not divide 6"):
        slots("interleaved", 4, 6, 2)


def test_uneven_layers_go_to_the_middle() -> None:
    """The even rule: 94 layers over 32 stages, three each but for both ends."""
    counts = [len(span) for span, _ in RULES["even"](shapes.llama(1024, 94, 8, 8, 4096), 32)]
    assert counts == [2, *[3] * 30, 2]


def test_kinds_of_stages_in_the_order_of_the_pipeline() -> None:
    found = stages(shapes.llama(1024, 14, 8, 8, 4096), 4)
    assert [stage.layers for stage in in_order(found)] == [(3,), (4,), (4,), (3,)]
