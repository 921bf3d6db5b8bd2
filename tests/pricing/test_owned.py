"""Owned hardware: bills by hand, what points can use of it, and its draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.catalog.facts import LIST
from dse.pricing.bill_of_materials import OF_SITE, OWNED, Item, bill_of_materials
from dse.pricing.costs import Costs
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import priced, studies

V100, A100, HOST, NIC, SWITCH, CABLE = 10_664, 15_000, 85_000, 429, 32 * 375, 257
GROW = """\
study: grow
workload: resnet50
space:
  accelerator: [v100-sxm2-16gb, a100-sxm4-80gb]
  gpus: [32, 64, 128, 512]
  gpus_per_node: [4, 8, 16]
  inter_node: [100gbe, ib-ndr]
  batch_per_gpu: [64, 128]
  precision: fp16
  aggregation: [ring-nccl, ps-grpc]
when:
  - {axis: ps_servers, values: [1, 4], if: {aggregation: ps-grpc}}
  - {axis: ps_placement, values: [dedicated, colocated], if: {aggregation: ps-grpc}}
baseline: {accelerator: v100-sxm2-16gb, gpus: 64, gpus_per_node: 8, inter_node: 100gbe,
           aggregation: ring-nccl}
objectives: {maximize: speedup, minimize: capital}
"""
OURS = """\
owned:
  - {accelerator: v100-sxm2-16gb, gpus: 64, gpus_per_node: 8, inter_node: 100gbe}
"""
# values that differ from the baseline, and the sum as a buyer adds it up
BILLS: tuple[tuple[dict[str, Any], float], ...] = (
    ({}, 0.0),
    ({"gpus": 32}, 0.0),
    # 64 V100 and 8 nodes more; the switch of 32 ports has room for all 16
    ({"gpus": 128}, 64 * V100 + 8 * (HOST + NIC + CABLE)),
    # on another network everything of it is new
    ({"inter_node": "ib-ndr"}, 8 * 1_893.5 + 64 * 513.6 + 8 * 1_267.5),
    # other accelerators need their own hosts; 8 cards, 8 cables and the switch stand there
    ({"accelerator": "a100-sxm4-80gb", "gpus": 128},
     128 * A100 + 16 * HOST + 8 * (NIC + CABLE)),
    # hosts hold 8 and take 4, 16 of them are needed
    ({"gpus_per_node": 4}, 8 * (HOST + NIC + CABLE)),
    # but do not hold 16, so that 4 new ones are needed
    ({"gpus_per_node": 16}, 4 * HOST),
    # 64 nodes on 32 ports: 4 leaves with 16 up each and 2 spines, one of these stands there
    ({"gpus": 512}, 448 * V100 + 56 * (HOST + NIC) + 5 * SWITCH + (128 - 8) * CABLE),
    # 4 of the 8 hosts train, the others serve; 8 endpoints as now
    ({"gpus": 32, "aggregation": "ps-grpc", "ps_servers": 4, "ps_placement": "dedicated"}, 0.0),
    # all hosts train: 4 servers with a card and a cable each
    ({"aggregation": "ps-grpc", "ps_servers": 4, "ps_placement": "dedicated"},
     4 * (HOST + NIC + CABLE)),
)  # fmt: skip


def problem_of(folder: Path, *more: str) -> Problem:
    return load(studies.written(folder, "".join((GROW, *(more or (OURS,))))))


def bill(problem: Problem, **values: Any) -> tuple[Item, ...]:
    return bill_of_materials(problem.points_at(priced.point(problem, **values)))


def capital(problem: Problem, **values: Any) -> float:
    return float(np.ravel(problem.point(priced.point(problem, **values))["capital"])[0])


@pytest.mark.parametrize(("values", "usd"), BILLS)
def test_the_bill_is_of_what_must_be_added(
    tmp_path: Path, values: dict[str, Any], usd: float
) -> None:
    problem = problem_of(tmp_path)
    items = bill(problem, **values)
    assert sum(np.nan if item.usd is None else item.usd for item in items) == usd
    assert capital(problem, **values) == usd
    for item in items:
        assert item.usd == item.to_buy * (item.unit_usd or 0.0)
        assert item.to_buy + (item.owned or 0) == item.quantity
        assert (item.price_class == OWNED) == (item.owned == item.quantity)


def test_a_bill_says_how_many_are_needed_owned_and_bought(tmp_path: Path) -> None:
    devices, hosts, cards, switch, cables, racks = bill(problem_of(tmp_path), gpus=128)
    assert (devices.quantity, devices.owned, devices.to_buy) == (128, 64, 64)
    assert devices.usd == 64 * V100
    assert (devices.price_class, devices.remark) == (LIST, "no longer sold new (until 2022)")
    assert [(line.quantity, line.owned, line.to_buy) for line in (hosts, cards, cables)] == [
        (16, 8, 8)
    ] * 3
    assert (switch.quantity, switch.owned, switch.usd, switch.unit_usd) == (1, 1, 0.0, None)
    assert (racks.price_class, racks.owned) == (OF_SITE, None)
    stands, *_ = bill(problem_of(tmp_path))
    assert (stands.price_class, stands.remark, stands.price_date) == (OWNED, None, "")


def test_power_and_rent_are_of_the_whole_cluster(tmp_path: Path) -> None:
    plain, ours = (problem_of(tmp_path, more) for more in ("", OURS))
    values = priced.point(ours, gpus=128)
    before, after = plain.point(values), ours.point(values)
    for name in ("power", "hourly", "speedup", "racks"):
        assert after[name] == before[name]
    hours = 4 * 8760
    saved = float(np.ravel(before["capital"] - after["capital"])[0])
    assert saved == 64 * V100 + 8 * (HOST + NIC + CABLE) + SWITCH
    assert float(np.ravel(before["tco"] - after["tco"])[0]) == pytest.approx(saved * 1.4 / hours), (
        "with 10 % a year for operation"
    )


def test_of_an_unknown_network_nothing_counts(tmp_path: Path) -> None:
    unjoined = OURS.replace(", inter_node: 100gbe", "")
    assert capital(problem_of(tmp_path, unjoined)) == 8 * (NIC + CABLE) + SWITCH


def test_machines_sold_whole(tmp_path: Path) -> None:
    text = """\
study: machines
workload: resnet50
space:
  node: [dgx-1-v100, dgx-a100-80gb]
  gpus: [16, 32]
  batch_per_gpu: 64
  precision: fp16
  aggregation: ring-nccl
baseline: {node: dgx-1-v100, gpus: 16}
objectives: {maximize: speedup, minimize: capital}
prices: {nodes: {dgx-1-v100: {purchase: 100 kUSD}}}
owned: {node: dgx-1-v100, nodes: 3, inter_node: ib-edr}
"""
    problem = load(studies.written(tmp_path, text))
    assert capital(problem) == 0.0
    machines, *network = bill(problem, gpus=32)
    assert (machines.quantity, machines.owned, machines.usd) == (4, 3, 100_000.0)
    cables = next(item for item in network if item.item.startswith("Cable"))
    assert (cables.quantity, cables.owned) == (16, 12), "four cards to a machine"
    replaced, *_ = bill(problem, node="dgx-a100-80gb", gpus=16)
    assert replaced.owned == 0


def test_draws_of_what_stands_there_cost_nothing(tmp_path: Path) -> None:
    problem = problem_of(tmp_path)
    point = priced.at(problem)
    assert point.interval is not None
    assert point.interval.costs["capital"] == (0.0, 0.0)
    more = priced.at(problem, gpus=128).interval
    assert more is not None
    low, high = more.costs["capital"]
    assert low < 64 * V100 + 8 * (HOST + NIC + CABLE) < high


def test_grids_are_their_points_one_by_one(tmp_path: Path) -> None:
    problem = problem_of(tmp_path, OURS, "  - {accelerator: a100-sxm4-80gb, gpus: 8}\n")
    for box in problem.space.boxes(10_000):
        grid = problem.box(box)
        costs = np.broadcast_to(grid["capital"], box.shape).ravel()
        points = [problem.space.point(box.first + at) for at in range(box.size)]
        alone = np.empty(len(points))
        for where, evaluation in problem.rows(points):
            alone[where] = evaluation["capital"]
        assert costs.tolist() == alone.tolist()


def test_what_stands_there_is_no_matter_of_draws(tmp_path: Path) -> None:
    """Racks are planned by rated watts, so that hardware stays in the racks that it stands in."""
    problem = load(studies.written(tmp_path, GROW + OURS + "prices: {rack: 3000 USD}\n"))
    sampled = problem.sampled
    assert sampled.standing == problem.standing
    assert problem.standing[0].racks > 1
    baseline = problem.study.baseline.values
    assert float(np.ravel(problem.point(baseline)["capital"])[0]) == 0
    assert not np.any(Costs(sampled.points_at(baseline)).cost().capital_usd)


def test_a_machine_comes_with_its_own_network(tmp_path: Path) -> None:
    text = """\
study: ours
workload: resnet50
space:
  node: [dgx-h100]
  gpus: [32, 64]
  batch_per_gpu: 64
  precision: fp16
  aggregation: ring-nccl
baseline: {gpus: 32}
objectives: {maximize: speedup, minimize: capital}
owned: {node: dgx-h100, nodes: 4}
"""
    problem = load(studies.written(tmp_path, text))
    assert float(np.ravel(problem.point(problem.study.baseline.values)["capital"])[0]) == 0
