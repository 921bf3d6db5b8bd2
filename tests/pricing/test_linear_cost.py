"""Costs at other prices: what the linear form makes of them is what the model prices."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing.linear_cost import linear_cost
from dse.pricing.load import load
from dse.pricing.problem import Problem
from tests.pricing import studies

PRICES = """\
  accelerators: {p100-sxm2-16gb: {purchase: 8100 USD, hourly: 0.31 USD/hour},
                 v100-sxm2-16gb: {purchase: 7300.5 USD, hourly: 2.9 USD/hour}}
  fabrics: {10gbe: {nic: 77 USD, switch_port: 33 USD, cable: 11 USD}}
  host: 4321 USD
  electricity: 0.31 USD/kWh
"""
EXTRAS = """\
  rack: 3000 USD
  extras: {support: 8 %/year, storage: 40 kUSD, management: 300 USD/node, power: 5 kUSD/year}
"""
OWNED = "owned: {accelerator: v100-sxm2-16gb, gpus: 4, gpus_per_node: 4, inter_node: 10gbe}\n"
CASES = [
    ("capital", ""), ("capital", OWNED), ("tco", OWNED),
    ("tco", "ownership: {residual_value: 0.2, utilisation: 0.7}\n"),
    ("hourly", ""), ("hourly", "rental: 1-year\n"), ("per_run", ""), ("per_run", "rental: spot\n"),
]  # fmt: skip


def study(folder: Path, minimize: str, more: str, prices: str) -> Problem:
    text = studies.SMALL.replace("minimize: capital", f"minimize: {minimize}")
    text += f"target: {{samples: 50e6}}\n{more}" + (f"prices:\n{prices}" if prices else "")
    return load(studies.written(folder, text, f"{len(prices)}.yaml"))


@pytest.mark.parametrize(("minimize", "more"), CASES)
@pytest.mark.parametrize("extras", ["", EXTRAS])
def test_costs_at_other_prices_are_those_of_the_model(
    tmp_path: Path, minimize: str, more: str, extras: str
) -> None:
    before = study(tmp_path, minimize, more, extras)
    anew = study(tmp_path, minimize, more, PRICES + extras)
    points = [before.space.point(at) for at in range(0, before.space.size, 37)]
    form, new = (linear_cost(problem, points, minimize) for problem in (before, anew))
    assert form is not None
    assert new is not None
    usd = {(price.part, price.unit): price.usd for price in new.prices}
    prices = [usd[price.part, price.unit] for price in form.prices]
    assert any(price.usd != now for price, now in zip(form.prices, prices, strict=True))
    exact = [anew.point(values)[minimize].item() for values in points]
    assert np.array(prices) @ form.quantities + form.constant == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("name", ["step", "power", "time_to_target"])
def test_what_no_unit_price_changes_has_no_form(tmp_path: Path, name: str) -> None:
    problem = study(tmp_path, "capital", "", "")
    assert linear_cost(problem, [problem.study.baseline.values], name) is None
