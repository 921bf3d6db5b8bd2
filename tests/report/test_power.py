"""dse.report.power"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.pricing.draws import normal
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import power
from dse.report.points import explained
from tests.pricing import studies
from tests.pricing.test_power import CARDS, TARGET


def problem(folder: Path, more: str = "") -> Problem:
    return load(studies.written(folder, CARDS + more))


def test_explain_says_what_draws_the_power_and_how_many_racks_it_fills(tmp_path: Path) -> None:
    found = problem(tmp_path)
    point = explained(found, found.study.baseline.values)
    assert point.intervals["power"] == pytest.approx((1_300, 2_700), rel=0.02)
    assert point.power is not None
    parts = [line.split() for line in power.lines(point.power)]
    assert [part[-3] for part in parts[:4]] == ["560", "640", "0", "648"]
    assert [part[-1] for part in parts[:4]] == ["30.3%", "34.6%", "0.0%", "35.1%"]
    assert point.power.racks == 1
    assert point.power.run_energy_j is None, "no run without a target"


def test_the_parts_sum_to_the_power_and_a_run_is_told_with_a_target(tmp_path: Path) -> None:
    found = problem(tmp_path, TARGET + "region: iowa\n")
    point = explained(found, {**found.study.baseline.values, "gpus_per_node": 1})
    said = point.power
    assert said is not None
    parts = (said.accelerators_w, said.hosts_w, said.servers_w, said.network_w, said.cooling_w)
    assert sum(part or 0.0 for part in parts) == pytest.approx(point.costs["power"])
    assert said.run_energy_j is not None
    assert said.run_carbon_kg == pytest.approx(said.run_energy_j / 3.6e6 * 0.4526)
    assert (said.racks, said.region) == (1, "iowa")
    (run,) = (line for line in power.lines(said) if "a run" in line)
    assert run.endswith("kg CO2e in Iowa, US)")


def test_the_spreads_told_are_those_of_nine_in_ten_draws(tmp_path: Path) -> None:
    *_, said = power.assumptions(problem(tmp_path))
    spread = catalog.power_spread()
    drawn = np.exp(-spread.accelerators * np.abs(normal("x", 100_000)))
    low, high = np.percentile(drawn, (5, 95))
    assert f"{low:.0%} to {high:.0%} of the rated".replace("%", " %") in said
    low, high = 1 + 0.54 * np.exp(spread.pue * np.percentile(normal("y", 100_000), (5, 95)))
    told = re.search(r"a PUE of ([\d.]+) to ([\d.]+)", said)
    assert told is not None
    assert [float(end) for end in told.groups()] == pytest.approx([low, high], rel=0.01)


def test_what_the_user_states_has_no_spread(tmp_path: Path) -> None:
    own = "prices: {electricity: 0.1 USD/kWh, host_power: 300 W, pue: 1.2}\n"
    load_of, said = power.assumptions(problem(tmp_path, own))
    assert "a PUE of 1.2." in load_of
    assert not any(name in said for name in ("electricity", "a PUE of", "hosts"))
    assert "accelerators" in said
