"""dse.pricing.power: what clusters of the catalogue draw, by hand, and where they stand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse import catalog
from dse.errors import StudyError
from dse.pricing import hardware, power
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import DRAWS, Variation, normal
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
        (
            "prices: {pue: 0.9}\n",
            r"pue 0.9 is too small: it must be at least 1; PUE is",
        ),
        ("prices: {idle_power_share: 1.5}\n", "idle_power_share"),
        ("prices: {carbon: 3 kg}\n", "13:18: '3 kg' has the wrong unit; write for example"),
    ],
)
def test_bad_input_is_one_clear_line(more: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(StudyError, match=said) as caught:
        load(studies.written(tmp_path, CARDS + more))
    assert "\n" not in str(caught.value)
    assert "study.yaml:13:" in str(caught.value)


def test_carbon_needs_a_target(tmp_path: Path) -> None:
    aimed = CARDS.replace("minimize: power", "minimize: carbon")
    with pytest.raises(StudyError, match="objective carbon needs a target"):
        load(studies.written(tmp_path, aimed))
    limited = CARDS + TARGET + 'constraints: ["carbon <= 2 t", "racks <= 1"]\n'
    problem = load(studies.written(tmp_path, limited))
    assert len(problem.study.constraints) == 2
    with pytest.raises(StudyError, match="in kg"):
        load(studies.written(tmp_path, CARDS + TARGET + 'constraints: ["carbon <= 2 kW"]\n'))


# -- how sure --------------------------------------------------------------------------------------


def drawn(problem: Problem, names: tuple[str, ...], how: Variation, **values: Any) -> Any:
    return drawn_quantities(problem, [priced.point(problem, **values)], names, how)


def test_draws_of_a_cluster_by_hand(cards: Problem) -> None:
    """Two nodes of 8 T4 of 70 W on 25 GbE, draw by draw."""
    spread = catalog.power_spread()
    z = {name: normal(name, DRAWS) for name in (power.ACCELERATORS, power.HOSTS, power.NETWORK,
                                                power.PUE)}  # fmt: skip
    gpus = 16 * 70 * np.exp(-spread.accelerators * np.abs(z[power.ACCELERATORS]))
    hosts = 2 * 500 * np.exp(spread.hosts * z[power.HOSTS]) + 0.25 * gpus
    network = (2 * 9 + 64 * 3 + 2 * 2) * np.exp(spread.network * z[power.NETWORK])
    pue = 1 + 0.54 * np.exp(spread.pue * z[power.PUE])
    found = drawn(cards, ("power",), Variation(), gpus=16)
    np.testing.assert_allclose(found["power"][:, 0], (gpus + hosts + network) * pue, rtol=1e-12)


def test_a_machine_sold_whole_draws_no_more_than_its_maker_says(machines: Problem) -> None:
    only_watts = Variation(alone=frozenset({power.ACCELERATORS, power.HOSTS}))
    found = drawn(machines, ("power",), only_watts, node="dgx-h100", gpus=8)["power"][:, 0] / 1.54
    assert found.max() <= 10_200 * (1 + 1e-12)
    assert 0.7 * 10_200 < np.percentile(found, 5) < 0.85 * 10_200


def test_electricity_is_surer_in_a_region_and_certain_where_the_user_states_it(
    tmp_path: Path,
) -> None:
    def width(more: str) -> float:
        problem = load(studies.written(tmp_path, CARDS + more))
        only = Variation(alone=frozenset({"price: electricity"}))
        found = drawn(problem, ("tco", "capital", "power"), only)
        fixed = found["capital"][:, 0] * 1.4 / (4 * 8760)  # with operation
        per_kwh = (found["tco"][:, 0] - fixed) / found["power"][:, 0] * 1000
        return float(np.std(np.log(per_kwh)))

    spread = catalog.power_spread()
    assert width("") == pytest.approx(
        np.hypot(spread.electricity_site, spread.electricity_region), rel=0.05
    )
    assert width("region: iowa\n") == pytest.approx(spread.electricity_site, rel=0.05)
    assert width("region: france\n") > 1.5 * width("region: iowa\n"), "no price of France is known"
    assert width("prices: {electricity: 0.1 USD/kWh}\n") == pytest.approx(0.0, abs=1e-9)


def test_a_pue_that_is_stated_is_certain_and_no_site_draws_less_than_its_machines(
    tmp_path: Path, cards: Problem
) -> None:
    only = Variation(alone=frozenset({power.PUE}))
    usual = drawn(cards, ("power",), only)["power"][:, 0]
    best = float(np.ravel(cards.point(priced.point(cards))["power"])[0])
    assert usual.min() > best / 1.54
    assert np.percentile(usual / best * 1.54, (5, 95)) == pytest.approx([1.24, 2.23], abs=0.1)
    own = load(studies.written(tmp_path, CARDS + "prices: {pue: 1.2, host_power: 500 W}\n"))
    assert np.ptp(drawn(own, ("power",), only)["power"]) == 0
    hosts = Variation(alone=frozenset({power.HOSTS}))
    assert np.ptp(drawn(own, ("power",), hosts)["power"]) == 0
    assert np.ptp(drawn(cards, ("power",), hosts)["power"]) > 0


def test_a_limit_on_power_is_met_with_a_probability(tmp_path: Path) -> None:
    limited = load(studies.written(tmp_path, CARDS + 'constraints: ["power <= 2 kW"]\n'))
    found = drawn(limited, ("power",), Variation())  # 1.85 kW by the best estimate
    (share,) = found.met["power <= 2 kW"].mean(axis=0)
    assert 0.5 < share < 0.95
    assert share == np.mean(found["power"][:, 0] <= 2000)


def test_energy_of_a_run_has_the_spread_of_its_power(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, CARDS + TARGET))
    only = Variation(alone=frozenset({power.PUE, power.ACCELERATORS, power.HOSTS}))
    found = drawn(problem, ("power", "energy", "time_to_target"), only)
    assert np.ptp(found["time_to_target"]) == 0
    np.testing.assert_allclose(found["energy"], found["power"] * found["time_to_target"])
    assert np.ptp(found["power"]) > 0
