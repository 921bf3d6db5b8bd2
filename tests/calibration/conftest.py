"""A planted machine, measured, fitted and written once for all tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.calibration import Profile, fit_measurements, write_profile
from dse.calibration.experiment import write_experiment
from tests.calibration import synthetic


@pytest.fixture(scope="session")
def measurements_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("planted") / "planted.measurements.json"
    write_experiment(synthetic.experiment(noise=0.02, runs=2), path)
    return path


@pytest.fixture(scope="session")
def profile(measurements_file: Path) -> Profile:
    return fit_measurements([measurements_file])


@pytest.fixture(scope="session")
def profile_file(profile: Profile, measurements_file: Path) -> Path:
    path = measurements_file.with_name("planted.yaml")
    write_profile(profile, path)
    return path
