"""A transformer that is laid out: the answer's words, the section of the page, explain, columns."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dse.report import layout as layouts
from dse.report import words
from dse.report.answer import answer
from dse.report.assumptions import HIDDEN_LOADING
from dse.report.design_point import Explained, Layout, PipelineStage, Point
from dse.report.document import RunDocument
from dse.report.explain import lines
from dse.report.front_columns import front_columns
from dse.report.json_form import parsed, plain
from dse.report.layout import layout_figures, memory_figure, timeline_figure
from dse.report.page import MOST_BYTES, render_markdown, render_page
from tests.report.documents import document, front_rows
from tests.report.laid_out import Searched, baseline_at, laid_out

QUANTITIES = ("tokens_per_s", "tokens_per_s_per_gpu", "mfu", "memory_bytes", "step_s", "bubble_s",
              "tensor_s", "pipeline_s", "expert_s", "context_s", "data_s")  # fmt: skip
AXES = ("tensor_parallel", "pipeline_parallel", "virtual_stages", "schedule", "context_parallel",
        "context_exchange", "expert_parallel", "expert_tensor_parallel", "zero", "micro_batch",
        "batch_per_gpu", "global_batch", "recompute", "precision", "data_parallel")  # fmt: skip


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Searched:
    return laid_out(tmp_path_factory.mktemp("study"))


@pytest.fixture(scope="module")
def run(found: Searched) -> RunDocument:
    return found.document


@pytest.fixture(scope="module")
def base(found: Searched) -> Explained:
    """TP 4, PP 4, DP 1 on two nodes, interleaved, all of it explained."""
    return baseline_at(found)


def test_degrees_of_experts_change_nothing_without_experts(
    found: Searched, base: Explained
) -> None:
    """Nor do they warn, which is an error in tests."""
    for axis in ("expert_parallel", "expert_tensor_parallel"):
        other = baseline_at(found, **{axis: 4})
        assert axis in other.immaterial
        assert (other.step_s, other.layout) == (base.step_s, base.layout)


# -- words -----------------------------------------------------------------------------------------


def of(run: RunDocument, immaterial: tuple[str, ...] = (), **labels: str) -> Point:
    config = {"tensor_parallel": "4", "pipeline_parallel": "2", "context_parallel": "1",
              "zero": "1", "batch_per_gpu": "1", "recompute": "selective", "virtual_stages": "1",
              "schedule": "1f1b", "stack": "megatron", "accumulation": "8"}  # fmt: skip
    point = replace(run.recommended, gpus=128, nodes=16, immaterial=immaterial)
    return replace(point, config={**config, **labels})


def test_tp_pp_and_dp_are_always_said_and_others_where_they_do_anything(run: RunDocument) -> None:
    said = ", ".join(words.layout(of(run)))
    assert said == "TP 4, PP 2, DP 16, ZeRO-1, micro-batch 1, selective recomputation"
    alone = of(run, ("zero", "schedule"), tensor_parallel="1", pipeline_parallel="1",
               recompute="none", schedule="interleaved")  # fmt: skip
    assert ", ".join(words.layout(alone)) == "TP 1, PP 1, DP 128, micro-batch 1"
    split = words.layout(of(run, expert_parallel="8", context_parallel="2", zero="hsdp"))
    assert {"EP 8", "CP 2", "DP 8", "HSDP"} <= set(split)


def test_the_software_of_layouts_goes_without_saying_and_passes_too(run: RunDocument) -> None:
    said = " ".join(words.settings(of(run, precision="bf16")))
    assert "megatron" not in said
    assert "passes" not in said
    assert "fsdp2 software" in " ".join(words.settings(of(run, stack="fsdp2")))


def test_the_answer_is_short_and_tells_the_layout_its_rate_and_the_run(run: RunDocument) -> None:
    told = answer(run)
    text = "\n".join(told)
    assert len(told) <= 12
    assert len(text.split()) <= 150
    assert f"DP {words.replicas(run.recommended)}," in text
    assert f"{words.count(run.recommended.quantity('tokens_per_s_per_gpu') or 0)} tokens/s" in text
    assert "MFU" in text
    assert "1 T tokens in" in text


# -- columns and files -----------------------------------------------------------------------------


def test_front_csv_has_the_axes_and_quantities_of_layouts_with_intervals(run: RunDocument) -> None:
    names, rows = front_rows(run)
    assert {*AXES, *QUANTITIES} <= set(names)
    assert {f"{name}_{end}" for name in QUANTITIES for end in ("low", "high")} <= set(names)
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        assert cells["micro_batch"] == cells["batch_per_gpu"]
        for name in QUANTITIES:
            assert cells[f"{name}_low"] <= cells[name] <= cells[f"{name}_high"], name
        product = (cells["tensor_parallel"] * cells["pipeline_parallel"]
                   * cells["context_parallel"] * cells["data_parallel"])  # fmt: skip
        assert product == cells["gpus"]
        assert cells["tokens_per_s"] == pytest.approx(cells["gpus"] * cells["tokens_per_s_per_gpu"])


def test_what_is_maximized_has_its_own_interval(run: RunDocument) -> None:
    for name in ("mfu", "tokens_per_s"):
        aims = replace(run.objectives, maximize=name)
        bounds = words.gain_interval(replace(run, objectives=aims), run.recommended)
        value = run.recommended.quantity(name)
        assert bounds is not None
        assert value is not None
        assert bounds[0] < value < bounds[1]


def test_run_json_has_the_quantities_by_their_names_and_reads_back(run: RunDocument) -> None:
    written = plain(run)
    for point in (written["recommended"], written["baseline"], *written["front"]):
        assert set(QUANTITIES) - {"step_s"} <= set(point)
    assert plain(parsed(RunDocument, written)) == written


def test_a_study_without_layouts_has_none_of_it() -> None:
    plainly = document()
    assert not {*QUANTITIES, "micro_batch"} - {"step_s"} & {c.name for c in front_columns(plainly)}
    assert layouts.facts(plainly) is None
    assert "The layout" not in render_markdown(plainly)


# -- the layout of a point -------------------------------------------------------------------------


def test_the_heaviest_of_all_stages_is_the_memory_of_the_point(
    base: Explained,
) -> None:
    layout = base.layout
    assert layout is not None
    assert sum(stage.layers for stage in layout.stages) == 32
    assert [stage.embedding for stage in layout.stages] == [True, False, False, False]
    assert [stage.head for stage in layout.stages] == [False, False, False, True]
    kept = [stage.memory["activations_bytes"] for stage in layout.stages]
    assert kept == sorted(kept, reverse=True)
    assert len(set(kept)) == len(kept)  # of fewer micro-batches, the later a stage is
    heaviest = layout.stages[layout.heaviest].memory
    assert {name: size for name, size in heaviest.items() if size} == pytest.approx(
        {name: size for name, size in base.memory.items() if size}
    )
    free = layout.memory_bytes - sum(heaviest.values())
    assert base.memory_slack_bytes == pytest.approx(free)


def test_seconds_of_stages_make_the_pipeline_of_the_step(base: Explained) -> None:
    """``m max c_i + (sum c_i - max c_i) / v`` without sends is what computing, tensor exchanges
    and the bubble take."""
    layout, terms = base.layout, base.terms
    assert layout is not None
    each = [stage.seconds for stage in layout.stages]
    filled = layout.micro_batches * max(each)
    drained = (sum(each) - max(each)) / layout.virtual
    assert filled == pytest.approx((terms["computing_s"] or 0) + (terms["tensor_s"] or 0))
    assert (terms["bubble_s"] or 0) == pytest.approx(drained, rel=0.05)


def test_groups_tell_which_link_they_cross(base: Explained) -> None:
    assert base.layout is not None
    groups = {group.name: group for group in base.layout.groups}
    assert (groups["products"].ranks, groups["products"].stride, groups["products"].nodes) == (
        4, 1, 1,
    )  # fmt: skip
    assert groups["products"].link.startswith("links of a node")
    assert (groups["layers"].ranks, groups["layers"].stride) == (4, 4)
    assert "InfiniBand NDR" in groups["layers"].link
    assert groups["batches"].link == ""  # one data rank
    assert "experts" not in groups


def test_an_axis_without_effect_is_said_to_have_none(base: Explained) -> None:
    assert {"zero", "aggregation", "accumulation"} <= set(base.immaterial)
    assert not {"schedule", "virtual_stages", "recompute", "precision"} & set(base.immaterial)
    assert base.library_choice is None
    assert base.not_searched == ()


def test_recomputation_of_scores_that_nobody_keeps_is_said_to_do_nothing(found: Searched) -> None:
    fused = baseline_at(found, recompute="selective")
    whole = baseline_at(found, recompute="full")
    assert "recompute" in fused.immaterial
    assert "recompute" not in whole.immaterial
    assert fused.step_s == baseline_at(found).step_s


def test_explain_shows_groups_stages_and_both_times_of_the_run(base: Explained) -> None:
    text = "\n".join(lines(base))
    for told in ("products (TP)", "layers (PP)", "8 + embedding", "8 + head", "bubble of the",
                 "% of the time trains", "without failures and checkpoints"):  # fmt: skip
        assert told in text
    assert json.loads(json.dumps(plain(base)))["layout"]["stages"][0]["layers"] == 8


def test_data_loading_is_said_to_be_hidden_once(run: RunDocument) -> None:
    assert run.assumptions.count(HIDDEN_LOADING) == 1
    assert not any("waits for the slowest" in text for text in run.assumptions)


# -- drawings --------------------------------------------------------------------------------------


def made(tensor: int, stages: int, replicas: int, node: int = 8, context: int = 1) -> Layout:
    memory = {"weights_bytes": 1e9, "activations_bytes": 2e9, "allocator_bytes": 1e8}
    stage = PipelineStage(layers=4, embedding=False, head=False, seconds=0.1, memory=memory)
    return Layout(
        replicas=replicas, tensor=tensor, context=context, node=node, micro_batches=64,
        schedule="1f1b", virtual=1, memory_bytes=80e9, groups=(), stages=(stage,) * stages,
    )  # fmt: skip


def test_ranks_stand_tensor_first_then_replicas_then_stages() -> None:
    nodes = layouts.drawn_nodes(made(4, 2, 4))
    assert [(node.name, node.more) for node in nodes] == [
        ("Node 1", 0), ("Node 2", 0), ("Node 3", 0), ("Node 4", 0),
    ]  # fmt: skip
    assert [rank.text for rank in nodes[0].ranks] == ["1"] * 4 + ["2"] * 4
    assert {rank.stage for rank in nodes[1].ranks} == {0}
    assert {rank.stage for rank in nodes[2].ranks} == {1}
    assert nodes[1].ranks[1].title == "Rank 9, tensor rank 2 of 4, replica 3 of 4, stage 1 of 2"


def test_a_node_may_have_several_stages_and_not_be_full() -> None:
    (node,) = layouts.drawn_nodes(made(1, 4, 1, node=4))
    assert [rank.stage for rank in node.ranks] == [0, 1, 2, 3]


@pytest.mark.parametrize(("stages", "replicas"), [(4, 128), (64, 4), (1, 512)])
def test_a_drawing_is_small_whatever_the_cluster(stages: int, replicas: int) -> None:
    nodes = layouts.drawn_nodes(made(8, stages, replicas))
    assert len(nodes) <= layouts.SHOWN_NODES
    if stages <= 4:
        assert sum(1 + node.more for node in nodes) == stages * replicas


def test_a_single_stage_has_no_timeline() -> None:
    assert set(layout_figures(made(8, 1, 4))) == {"memory"}
    assert set(layout_figures(made(8, 2, 4))) == {"memory", "timeline"}


def test_charts_have_a_row_for_every_stage_and_readable_micro_batches() -> None:
    layout = made(8, 16, 4)
    bars = json.loads(memory_figure(layout))["data"]
    assert all(len(bar["y"]) == 16 for bar in bars)
    drawn = json.loads(timeline_figure(layout))["data"]
    count = sum(len(bar["y"]) for bar in drawn)
    assert count == 2 * 16 * layouts.drawn_passes(layout)
    assert count <= layouts.MOST_SLOTS


def test_the_page_draws_the_layout_and_stays_small(run: RunDocument) -> None:
    page = render_page(run)
    assert len(page.encode()) <= MOST_BYTES
    assert run.layout is not None
    assert page.count('class="rank stage-') == sum(
        len(node.ranks) for node in layouts.drawn_nodes(run.layout)
    )
    text = render_markdown(run)
    assert "## The layout" in text
    assert "products (TP)" in text


def test_the_backdrop_of_the_front_is_by_tensor_degree(run: RunDocument) -> None:
    assert set(run.sample.aggregation) <= {"TP 1", "TP 2", "TP 4"}
    assert np.isfinite(run.sample.cost).all()
