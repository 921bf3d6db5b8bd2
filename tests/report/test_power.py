"""dse.report.power"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse import catalog
from dse.pricing.draws import normal
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import explain, power
from dse.report.points import explained
from tests.pricing import studies
from tests.pricing.test_power import CARDS, TARGET


def problem(folder: Path, more: str = "") -> Problem:
    return load(studies.written(folder, CARDS + more))


def test_explain_says_what_draws_the_power_and_how_many_racks_it_fills(tmp_path: Path) -> None:
    found = problem(tmp_path)
    text = explain.lines(explained(found, found.study.baseline.values))
    at = next(n for n, line in enumerate(text) if line.startswith("power "))
    low, high = explained(found, found.study.baseline.values).intervals["power"]
    assert (low, high) == pytest.approx((1_300, 2_700), rel=0.02)
    assert text[at].split("  ")[-2:] == [
        "1,848.00 W", f"(90 % interval {low:,.2f} to {high:,.2f} W)",
    ]  # fmt: skip
    assert [line.split() for line in text[at + 1 : at + 5]] == [
        ["accelerators", "560", "W", "30.3%"],
        ["hosts", "640", "W", "34.6%"],
        ["network", "0", "W", "0.0%"],
        ["cooling", "(PUE", "1.54)", "648", "W", "35.1%"],
    ]
    assert text[at + 5] == "  (at full load; fills 1 rack of 12 kW)"
    assert "kWh" not in text[at + 6], "no run without a target"


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


def test_servers_are_a_line_where_there_are_some_and_unknown_watts_are_said(tmp_path: Path) -> None:
    found = problem(tmp_path)
    said = explained(found, found.study.baseline.values).power
    assert said is not None
    lines = list(power.lines(replace(said, servers_w=500.0, accelerators_w=None, racks=None)))
    assert lines[0].split() == ["accelerators", "unknown"]
    assert lines[2].split()[:2] == ["parameter", "servers"]
    assert not any("rack" in line for line in lines)


def test_the_report_says_where_electricity_is_from(tmp_path: Path) -> None:
    usual = " ".join(power.assumptions(problem(tmp_path)))
    assert "Electricity costs 0.0929 USD per kWh (2026-01) and emits 0.48 kg CO2e" in usual
    assert "no price of electricity" not in usual
    assert "taken to be the site's" in usual
    france = " ".join(power.assumptions(problem(tmp_path, "region: france\n")))
    assert "The catalogue has no price of electricity in France: that of the price list" in france
    bought = " ".join(power.assumptions(problem(tmp_path, "prices: {rack: 3000 USD, pue: 1.2}\n")))
    assert "taken to be the site's" not in bought
    assert "a PUE of 1.2." in bought


def spread_of(folder: Path, more: str = "") -> str:
    (said,) = (one for one in power.assumptions(problem(folder, more)) if "Nine of ten" in one)
    return said


def test_it_is_said_how_far_watts_and_electricity_are_off(tmp_path: Path) -> None:
    assert spread_of(tmp_path) == (
        "Nine of ten simulated outcomes are within: a factor 1.7 either way for the price of "
        "electricity; a PUE of 1.24 to 2.23; 75 % to 99 % of the rated power of accelerators; "
        "75 % to 99 % of the maximum of machines whose maker states one; a factor 1.5 either "
        "way for other hosts; a factor 1.5 either way for the network (all but the first is "
        "judged, not measured)."
    )


def test_what_is_certain_is_not_told_as_true_nine_times_in_ten(tmp_path: Path) -> None:
    own = "prices: {electricity: 0.1 USD/kWh, pue: 1.2}\n"
    certain, drawn = spread_of(tmp_path, own).split(". ")
    assert certain == "Taken as certain, since you state it: the price of electricity and the PUE"
    assert "electricity" not in drawn
    assert "PUE" not in drawn
    assert drawn.startswith("Nine of ten simulated outcomes are within: 75 % to 99 %")
    assert drawn.endswith("(all of this is judged, not measured).")
    certain, drawn = spread_of(tmp_path, own.replace("pue", "host_power: 300 W, pue")).split(". ")
    assert certain.endswith("the price of electricity, the PUE and the watts of other hosts")
    assert "hosts" not in drawn
    (alone, _) = spread_of(tmp_path, "prices: {host_power: 300 W}\n").split(". ")
    assert alone == "Taken as certain, since you state it: the watts of other hosts"


def test_the_ends_told_are_those_of_nine_in_ten_draws(tmp_path: Path) -> None:
    """Of the draws themselves, by what the pricing draws."""
    drawn = np.exp(-catalog.power_spread().accelerators * np.abs(normal("x", 100_000)))
    low, high = np.percentile(drawn, (5, 95))
    assert f"{low:.0%} to {high:.0%} of the rated".replace("%", " %") in spread_of(tmp_path)
