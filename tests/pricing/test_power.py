"""dse.pricing.power: what clusters of the catalogue draw, by hand, and where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.pricing import hardware
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import priced, studies

NODES = """\
study: machines
workload: resnet50
space:
  node: [dgx-1-v100, dgx-2, dgx-a100-80gb, dgx-h100, dgx-b200]
  gpus: [4, 8, 16, 32]
  batch_per_gpu: 32
  precision: fp16
  aggregation: ring-nccl
baseline: {node: dgx-h100, gpus: 8}
objectives: {maximize: speedup, minimize: power}
"""
CARDS = """\
study: cards
workload: resnet50
space:
  accelerator: [t4, a100-sxm4-80gb]
  gpus: [1, 8, 16]
  gpus_per_node: [1, 8]
  inter_node: [25gbe, ib-ndr]
  batch_per_gpu: 32
  precision: fp16
  aggregation: ring-nccl
baseline: {accelerator: t4, gpus: 8, gpus_per_node: 8, inter_node: 25gbe}
objectives: {maximize: speedup, minimize: power}
"""
TARGET = "target: {samples: 1e8}\n"


def watts(problem: Problem, **values: Any) -> float:
    point = problem.point(priced.point(problem, **values))
    return float(np.ravel(point["power"])[0]) / (problem.prices.pue.value or 0.0)


@pytest.fixture(scope="module")
def cards(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return load(studies.written(tmp_path_factory.mktemp("cards"), CARDS))


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Problem:
    return load(studies.written(tmp_path_factory.mktemp("nodes"), NODES))


def test_eight_t4_in_one_node_and_on_eight(cards: Problem) -> None:
    # A host is 500 W and a quarter of its accelerators' 70 W; 25 GbE: 9 W a card, 64 ports of 3 W.
    assert watts(cards) == pytest.approx(8 * 70 * 1.25 + 500)
    apart = 8 * (70 * 1.25 + 500) + 8 * 9 + 64 * 3 + 8 * 2
    assert watts(cards, gpus_per_node=1) == pytest.approx(apart)


def test_a_switch_within_the_node_adds_to_its_host(cards: Problem) -> None:
    device = {"accelerator": "a100-sxm4-80gb", "inter_node": "ib-ndr"}
    node = 8 * 400 * 1.78 + 500
    assert watts(cards, **device) == pytest.approx(node)
    network = 2 * 25 + 64 * 11.7 + 2 * 17.5
    assert watts(cards, **device, gpus=16) == pytest.approx(2 * node + network)


def test_accelerators_that_are_not_sold_singly_stand_idle(cards: Problem) -> None:
    # One on a board of four: three idle at 12 %.
    one = watts(cards, accelerator="a100-sxm4-80gb", gpus=1, gpus_per_node=1)
    assert one == pytest.approx(400 * (1 + 3 * 0.12) * 1.78 + 500)


@pytest.mark.parametrize(
    ("node", "most"),
    [("dgx-1-v100", 3_500), ("dgx-2", 10_000), ("dgx-a100-80gb", 6_500), ("dgx-h100", 10_200),
     ("dgx-b200", 14_300)],
)  # fmt: skip
def test_a_machine_draws_what_its_maker_says(machines: Problem, node: str, most: float) -> None:
    whole = catalog.node(node).accelerators
    assert watts(machines, node=node, gpus=whole) == pytest.approx(most)
    device = catalog.accelerator(catalog.node(node).accelerator)
    assert watts(machines, node=node, gpus=4) == pytest.approx(
        most - (whole - 4) * (1 - 0.12) * (device.power_w or 0)
    )


@pytest.mark.parametrize("node", ["dgx-1-v100", "dgx-2", "dgx-a100-80gb", "dgx-h100", "dgx-b200"])
def test_any_host_is_like_those_that_makers_tell_of(node: str) -> None:
    known = catalog.node(node)
    prices = catalog.default_prices()
    (bare,) = hardware.machines("accelerator", [known.accelerator], prices)
    accelerators = known.accelerators * (bare.accelerator.power_w or 0.0)
    share = (
        0.78 if node == "dgx-2" else bare.host_share
    )  # its switch joins what links join in pairs
    assert accelerators * (1 + share) + bare.host_w == pytest.approx(known.power_w, rel=0.1)


def test_a_region_sets_price_and_carbon_of_electricity(tmp_path: Path) -> None:
    text = CARDS + TARGET
    usual = load(studies.written(tmp_path, text))
    iowa = load(studies.written(tmp_path, text + "region: iowa\n", "iowa.yaml"))
    assert iowa.prices.electricity_usd_per_kwh.value == 0.0604
    point, other = (one.point(priced.point(one)) for one in (iowa, usual))
    energy_kwh = np.ravel(point["energy"])[0] / 3.6e6
    assert np.ravel(point["carbon"])[0] == pytest.approx(energy_kwh * 0.4526)
    assert np.ravel(other["carbon"])[0] == pytest.approx(energy_kwh * 0.48)
    saved = np.ravel(other["tco"] - point["tco"])[0]
    assert saved == pytest.approx(np.ravel(point["power"])[0] / 1000 * (0.0929 - 0.0604))
    assert iowa.inputs_hash != usual.inputs_hash


def test_a_region_without_a_price_keeps_that_of_the_list(tmp_path: Path) -> None:
    france = load(studies.written(tmp_path, CARDS + "region: france\n"))
    assert france.prices.electricity_usd_per_kwh.value == 0.0929
    assert france.prices.carbon_kg_per_kwh.value == pytest.approx(0.056, abs=0.02)


def test_own_prices_go_before_the_region(tmp_path: Path) -> None:
    own = "prices: {electricity: 0.2 USD/kWh, carbon: 50 g/kWh}\nregion: iowa\n"
    problem = load(studies.written(tmp_path, CARDS + own))
    assert problem.prices.electricity_usd_per_kwh.value == 0.2
    assert problem.prices.carbon_kg_per_kwh.value == 0.05
    (tmp_path / "offer.yaml").write_text("electricity: 0.3 USD/kWh\n")
    listed = load(studies.written(tmp_path, CARDS + "prices: offer.yaml\nregion: iowa\n"))
    assert listed.prices.electricity_usd_per_kwh.value == 0.3
    assert listed.prices.carbon_kg_per_kwh.value == pytest.approx(0.4526)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("region: iowwa\n", "13:9: .*iowwa.*did you mean iowa"),
        ("prices: {pue: 0.9}\n", r"pue 0.9 is absurd; PUE is the power of the site over"),
        ("prices: {pue: -1}\n", "13:15: -1 is negative"),
        ("prices: {rack_power: 0 W}\n", "rack_power"),
        ("prices: {idle_power_share: 1.5}\n", "idle_power_share"),
        ("prices: {carbon: 3 kg}\n", "13:18: '3 kg' has the wrong unit; write for example"),
    ],
)
def test_bad_input_is_one_clear_line(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        load(studies.written(tmp_path, CARDS + more))
    assert "\n" not in str(caught.value)
    assert "study.yaml:13:" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("pue: 0.99\n", "offer.yaml:1:6: pue 0.99 is absurd"),
        ("rack_units: 0\n", "offer.yaml:1:13: rack_units 0 is absurd"),
        ("carbon: 0.1 USD/kWh\n", "wrong unit"),
        ("host_power_per_accelerator: 300 W\n", "did you mean host_power"),
    ],
)
def test_a_bad_price_list_is_one_clear_line(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "offer.yaml").write_text(text)
    with pytest.raises(StudyError, match=said):
        catalog.read_prices(tmp_path / "offer.yaml")


def test_carbon_needs_a_target(tmp_path: Path) -> None:
    aimed = CARDS.replace("minimize: power", "minimize: carbon")
    with pytest.raises(StudyError, match="objective carbon needs a target"):
        load(studies.written(tmp_path, aimed))
    limited = CARDS + TARGET + 'constraints: ["carbon <= 2 t", "racks <= 1"]\n'
    problem = load(studies.written(tmp_path, limited))
    assert len(problem.study.constraints) == 2
    with pytest.raises(StudyError, match="in kg"):
        load(studies.written(tmp_path, CARDS + TARGET + 'constraints: ["carbon <= 2 kW"]\n'))
