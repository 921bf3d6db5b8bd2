"""Layouts from divisors, against all combinations tried one by one."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.model.parallel.enumeration import AXES, Choices, layouts
from dse.model.parallel.layouts import ALL_TO_ALL, FULL, HSDP, NONE, RING, SELECTIVE
from dse.model.parallel.schedules import SCHEDULES
from dse.model.parallel.shape import Transformer
from tests.model.parallel import shapes

NAMES = tuple(SCHEDULES)
SMALL = shapes.llama(1024, 12, 8, 2, 4096)
MIXTURE = Transformer(
    "small", ((shapes.Block(1024, 8, 128, 2, 0, experts=4, chosen=2, expert_ffn=512), 6),), 32_000
)


def valid(model: Transformer, gpus: int, sequence: int, row: dict[str, int], most: int) -> bool:
    """Section by section as the rules are written, with no axis left out."""
    t, c, p, e, f = (row[k] for k in ("tensor", "context", "pipeline", "expert", "expert_tensor"))
    block, schedule = model.runs[0][0], NAMES[row["schedule"]]
    if gpus % (t * c * p) or block.heads % t or (block.kv_heads % t and t % block.kv_heads):
        return False
    if block.ffn % t or block.hidden % t or sequence % (t * c):
        return False
    n = gpus // (t * c * p)
    if block.experts and (block.experts % e or block.expert_ffn % f or (t * c * n) % (e * f)):
        return False
    if p > model.layers or row["global_batch"] % (row["micro_batch"] * n):
        return False
    if c > 1 and row["exchange"] == RING and sequence % (2 * c):
        return False
    if c > 1 and row["exchange"] == ALL_TO_ALL and (block.heads // t) % c:
        return False
    m, v = row["global_batch"] // (row["micro_batch"] * n), row["virtual"]
    if p > 1:
        parts = {"interleaved": v >= 2, "zb-v": v == 2}.get(schedule, v == 1)
        spare = 2 if schedule == "interleaved" else 0  # the embedding and the head may count
        if not parts or p * v > model.layers + spare:
            return False
        if schedule == "interleaved" and (m % p or -model.layers % (p * v) > 2):
            return False
    return p == 1 or n * c == 1 or row["zero"] <= most


def test_parts_of_an_encoder_and_its_decoder_do_not_take_turns() -> None:
    """Megatron-LM refuses them; a pipeline may have them one after the other."""
    choices = Choices(pipeline=(1, 2, 4), virtual=(1, 2), schedule=(1, NAMES.index("interleaved")))
    found = layouts(shapes.T5_LARGE, 4, 512, replace(choices, tensor=(1,)))
    assert set(found["pipeline"]) == {1, 2, 4}
    assert set(found["virtual"]) == {1}


def test_ranks_divide_the_tokens_of_an_encoder_and_of_its_decoder() -> None:
    """512 and 114 of a sample of T5; chunks of a ring are two a rank."""
    choices = Choices(tensor=(1, 2, 4), context=(1, 2), pipeline=(1,), exchange=(RING,))
    for split, wanted in ((True, {(1, 1), (2, 1)}), (False, {(1, 1), (2, 1), (4, 1)})):
        found = layouts(shapes.T5_LARGE, 8, 512, replace(choices, sequence_parallel=split))
        assert set(zip(found["tensor"].tolist(), found["context"].tolist(), strict=True)) == wanted
    for exchange, degrees in ((RING, {1}), (ALL_TO_ALL, {1, 2})):
        found = layouts(
            shapes.T5_LARGE, 8, 512, replace(choices, tensor=(1,), exchange=(exchange,))
        )
        assert set(found["context"].tolist()) == degrees


def test_software_with_the_whole_model_shares_batches_and_states() -> None:
    choices = Choices(tensor=(1, 2), pipeline=(1, 2), zero=(0, 3), recompute=(NONE, FULL))
    every = layouts(SMALL, 4, 512, choices)
    found = layouts(SMALL, 4, 512, replace(choices, whole=True))
    assert {(int(t), int(p)) for t, p in zip(found["tensor"], found["pipeline"], strict=True)} == {
        (1, 1)
    }
    assert set(found["zero"]) == {0, 3}
    assert set(found["recompute"]) == {NONE}
    assert len(found) + sum(found.removed.values()) == len(every) + sum(every.removed.values())
    assert not len(layouts(SMALL, 4, 512, replace(choices, sample=256, whole=True)))


@settings(max_examples=30)
@given(
    st.sampled_from([SMALL, MIXTURE]),
    st.sampled_from([1, 3, 4, 6, 16, 24]),
    st.sampled_from([96, 512, 4096]),
    st.sampled_from([1, 4]),
)
def test_brute_force(model: Transformer, gpus: int, sequence: int, most: int) -> None:
    """The same layouts, each once, and every raw combination is counted."""
    choices = Choices(
        context=(1, 2), expert=(1, 2, 4), expert_tensor=(1, 2), schedule=(1, 2, 5), virtual=(1, 2),
        exchange=(RING, ALL_TO_ALL), zero=(1, 3), micro_batch=(1, 2), global_batch=(48, 64),
        recompute=(NONE, SELECTIVE, FULL), most_sharded=most,
    )  # fmt: skip
    found = layouts(model, gpus, sequence, choices)
    given_values = {axis: choices.values(axis, gpus) for axis in AXES}
    wanted = set()
    for combination in itertools.product(*given_values.values()):
        row = dict(zip(AXES, combination, strict=True))
        if not valid(model, gpus, sequence, row, most):
            continue
        n = gpus // (row["tensor"] * row["context"] * row["pipeline"])
        if row["pipeline"] == 1:
            row |= {"schedule": 1, "virtual": 1}
        if row["context"] == 1:
            row["exchange"] = RING
        if n * row["context"] == 1:
            row["zero"] = 1
        if row["recompute"] == SELECTIVE:
            row["recompute"] = NONE
        if model is SMALL:
            row |= {"expert": 1, "expert_tensor": 1}
        wanted.add(tuple(row.values()))
    rows = list(zip(*(found[axis].tolist() for axis in AXES), strict=True))
    assert len(rows) == len(set(rows))
    assert set(rows) == wanted
    raw = math.prod(map(len, given_values.values()))
    assert sum(found.removed.values()) + len(found) == raw


def test_hsdp_counts_once_where_it_is_something_else() -> None:
    """Of a node it is ZeRO-3, and over nodes with one member each ZeRO-0."""
    several = Choices(pipeline=(1,), zero=(0, 3, HSDP), tensor=(1, 8), global_batch=(64,))
    for gpus, hybrid in ((8, 0), (16, 1)):
        found = layouts(SMALL, gpus, 512, replace(several, tensor=(1, 2)))
        of = found["zero"] == HSDP
        assert set(found["tensor"][of]) == ({1, 2} if hybrid else set())
    found = layouts(SMALL, 64, 512, several)
    assert set(found["tensor"][found["zero"] == HSDP]) == {1}


def test_interleaved_stages_are_even() -> None:
    """Of 94 layers 96 parts, of which the embedding and the head are two."""
    model = replace(SMALL, runs=((SMALL.runs[0][0], 94),))
    some = Choices(tensor=(1,), pipeline=(8, 16, 32), schedule=(2,), virtual=(2, 3, 4, 5),
                   global_batch=(4096,))  # fmt: skip
    found = layouts(model, 64, 512, some)
    pairs = {(int(p), int(v)) for p, v in zip(found["pipeline"], found["virtual"], strict=True)}
    assert pairs == {(8, 2), (8, 3), (8, 4), (16, 2), (16, 3), (32, 3)}


def test_a_replica_fills_the_pipeline() -> None:
    """nanotron needs p - 1 micro-batches."""
    found = layouts(SMALL, 8, 512, Choices(tensor=(1,), global_batch=(4,), fills=True))
    assert (found["passes"] >= found["pipeline"] - 1).all()
    assert found.removed["micro-batches fill the pipeline"] > 0


@pytest.mark.parametrize("gpus", [7, 11])
def test_no_layout_is_no_error(gpus: int) -> None:
    assert len(layouts(SMALL, gpus, 512, Choices(tensor=(2,)))) == 0
