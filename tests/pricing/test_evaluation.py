"""dse.pricing.evaluation: quantities that follow from others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing.load import load
from tests.pricing import studies


def test_energy_is_power_over_the_whole_run(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, f"{studies.SMALL}target: {{samples: 1e7}}\n"))
    found = problem.point(problem.study.baseline.values)
    seconds = 1e7 / float(found["throughput"][0]) / float(found["goodput"][0])
    joules = float(np.ravel(found["power"])[0]) * seconds
    assert float(found["energy"][0]) == pytest.approx(joules, rel=1e-12)
    kilowatt_hours = joules / 3.6e6
    price = problem.prices.electricity_usd_per_kwh.value
    # Ownership is purchase, operation at 10 % a year, and the same electricity: cooling is in the
    # power already.
    hours = seconds / 3600
    years = problem.prices.amortisation_years.value
    bought = float(np.ravel(found["capital"])[0]) * (1 + 0.1 * years) / (years * 8760) * hours
    assert float(np.ravel(found["tco"])[0]) * hours == pytest.approx(
        bought + kilowatt_hours * price, rel=1e-9
    )


def test_energy_is_unknown_without_a_target(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    assert np.isnan(problem.point(problem.study.baseline.values)["energy"]).all()
