"""Nodes whose accelerators share fast links with those of others: trays of a rack."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.model.arrays import ArrayLike
from dse.pricing import shapes as structures
from dse.pricing.bill_of_materials import bill_of_materials
from dse.pricing.costs import Costs
from dse.pricing.load import load
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from tests.model.parallel.shapes import LLAMA_8B
from tests.pricing import priced

TRAY = "gb200-nvl72-tray"
STUDY = f"""\
study: racks
workload: bert-large-s512
space:
  node: [{TRAY}, dgx-h100]
  gpus: [4, 8, 72, 76, 128, 144]
  inter_node: [ib-ndr, 25gbe]
  batch_per_gpu: [8]
  precision: [bf16]
  aggregation: [ring-nccl, tree-nccl, auto-nccl, ps-grpc]
  oversubscription: [1, 4]
when:
  - {{axis: ps_servers, values: [2], if: {{aggregation: ps-grpc}}}}
  - {{axis: intra_node, values: [pcie5-x16], if: {{aggregation: tree-nccl}}}}
baseline: {{node: {TRAY}, gpus: 8, inter_node: ib-ndr, batch_per_gpu: 8, precision: bf16,
           aggregation: ring-nccl}}
objectives: {{maximize: speedup, minimize: power}}
"""


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    path: Path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(STUDY)
    return load(path)


def at(problem: Problem, **values: Any) -> Points:
    """The baseline with other values, also of axes that the study lacks."""
    found = {**priced.point(problem), "overlap": "none", **values}
    return problem.points_at(found | {
        "aggregation": priced.AGGREGATIONS[str(found["aggregation"])]
    })  # fmt: skip


def one(value: ArrayLike) -> float:
    (found,) = np.unique(value)
    return float(found)


def summing_s(problem: Problem, **values: Any) -> float:
    """Seconds to sum the gradients."""
    return one(at(problem, **values).summed().busy_s)


def test_trays_of_a_rack_sum_faster_than_their_network_cards_could(problem: Problem) -> None:
    points = at(problem, gpus=8)
    cards = one(points.across.bytes_per_s) * one(points.rails)
    # Of two nodes each sends half of the sum and half of the result.
    least = one(np.sum(points.gradients.message_bytes)) / cards
    assert one(points.summed().busy_s) < least
    assert summing_s(problem, gpus=8) == summing_s(problem, gpus=8, gpus_per_node=8)


@pytest.mark.parametrize(("gpus", "crosses"), [(8, False), (72, False), (76, True), (144, True)])
def test_only_what_leaves_the_domain_needs_the_network(
    problem: Problem, gpus: int, crosses: bool
) -> None:
    fast, slow = (summing_s(problem, gpus=gpus, inter_node=n) for n in ("ib-ndr", "25gbe"))
    assert (slow > fast) == crosses


@pytest.mark.parametrize(
    ("gpus", "inside", "cards"),
    [(4, 4, 4), (8, 8, 8), (72, 72, 72), (76, 40, 36), (88, 48, 44), (128, 64, 64)],
)
def test_trays_are_dealt_out_evenly_to_as_few_domains_as_hold_them(
    problem: Problem, gpus: int, inside: int, cards: int
) -> None:
    """19 trays are 10 and 9, whose cards set the pace; 22 are 12 and 10."""
    layout = at(problem, gpus=gpus).layout
    assert (one(layout.gpus_per_node), one(layout.rails)) == (inside, cards)
    assert layout.layout is layout


@pytest.mark.parametrize(("gpus", "trays", "cards"), [(4, 1, 0), (8, 2, 8), (144, 36, 144)])
def test_what_is_bought_are_trays(problem: Problem, gpus: int, trays: int, cards: int) -> None:
    points = at(problem, gpus=gpus)
    assert (one(points.bill.nodes), one(points.bill.endpoints)) == (trays, cards)
    assert one(points.gpus_per_node) == one(points.rails) == 4


@pytest.mark.parametrize(
    ("gpus", "trays", "bought"), [(4, 1, 18), (64, 16, 18), (72, 18, 18), (76, 19, 36)]
)
def test_trays_are_bought_by_the_rack_and_rented_one_by_one(
    problem: Problem, gpus: int, trays: int, bought: int
) -> None:
    points = at(problem, gpus=gpus)
    (tray,) = (item for item in bill_of_materials(points) if "tray" in item.item)
    assert (tray.quantity, tray.idle) == (bought, bought - trays)
    assert tray.item.endswith(f", {bought // 18} rack{'s' * (bought > 18)} of 72")
    assert tray.usd == bought * 188_889
    cost = Costs(points).cost()
    assert one(cost.capital_usd) == sum(item.usd or 0 for item in bill_of_materials(points))
    assert one(cost.racks) == (1 if gpus > 4 else 0), "for switches alone"
    assert one(points.bill.nodes) == trays


def test_accelerators_of_a_tray_may_be_left_idle(problem: Problem) -> None:
    points = at(problem, gpus=72, gpus_per_node=2)
    assert (one(points.layout.gpus_per_node), one(points.layout.rails)) == (36, 72)
    assert (one(points.bill.nodes), one(points.bill.accelerators)) == (36, 144)


def test_a_node_is_its_own_domain_unless_its_file_says_more(problem: Problem) -> None:
    points = at(problem, node="dgx-h100", gpus=16)
    assert points.layout is points
    assert one(points.domain) == 8


def test_the_fast_links_end_with_the_node_where_a_study_has_others(problem: Problem) -> None:
    layout = at(problem, gpus=8, aggregation="tree-nccl", intra_node="pcie5-x16").layout
    assert (one(layout.gpus_per_node), one(layout.rails)) == (4, 4)


@pytest.mark.parametrize(("gpus", "servers"), [(72, 0), (144, 2)])
def test_one_domain_needs_no_servers(problem: Problem, gpus: int, servers: int) -> None:
    points = at(problem, gpus=gpus, aggregation="ps-grpc", ps_servers=2, ps_placement="dedicated")
    assert one(points.bill.servers) == servers
    assert (points.serving() or 0) == servers


def test_cards_of_a_domain_share_the_links_up_of_all_its_leaves(problem: Problem) -> None:
    """64 ports at 4 to 1: 51 down and 13 up."""
    leaf = at(problem, gpus=144, oversubscription=4).layout.leaf
    assert leaf is not None
    assert one(leaf.nodes) == 1
    assert one(leaf.slower(1)) == pytest.approx(51 / 13)


def test_points_of_several_node_types_cost_what_each_does_alone(problem: Problem) -> None:
    rows = [
        {**priced.point(problem), "node": node, "gpus": gpus}
        for node in (TRAY, "dgx-h100")
        for gpus in (8, 76, 144)
    ]
    together = np.empty(len(rows))
    for where, evaluation in problem.rows(rows):
        together[where] = evaluation["step"]
    assert together.tolist() == [one(problem.point(row)["step"]) for row in rows]


LAID_OUT = f"""\
study: layouts
workload: llama3-8b
stack: megatron
space:
  node: [{TRAY}, dgx-h100]
  gpus: [8, 16, 32, 72, 88, 128, 144, 200]
  inter_node: [ib-ndr, 25gbe]
  tensor_parallel: [8]
  micro_batch: [1]
  global_batch: [39600]
  precision: [bf16]
baseline: {{node: {TRAY}, gpus: 8, inter_node: ib-ndr, tensor_parallel: 8,
           micro_batch: 1, global_batch: 39600, precision: bf16}}
objectives: {{maximize: speedup, minimize: power}}
"""


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Problem]:
    path: Path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(LAID_OUT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(structures, "transformer", lambda *_: LLAMA_8B)
        yield load(path)


@pytest.mark.parametrize("gpus", [8, 72, 88, 128, 144, 200])
def test_eight_tensor_ranks_never_cross_the_network(laid_out: Problem, gpus: int) -> None:
    baseline = laid_out.study.baseline.values
    fast, slow = (
        laid_out.points_at({**baseline, "gpus": gpus, "inter_node": network}).step_time()
        for network in ("ib-ndr", "25gbe")
    )
    assert one(fast["tensor_s"]) == one(slow["tensor_s"]) > 0
    assert (one(fast["gradients_s"]) < one(slow["gradients_s"])) == (gpus > 72)
