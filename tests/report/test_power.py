"""dse.report.power"""

from __future__ import annotations

from pathlib import Path

import pytest

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
