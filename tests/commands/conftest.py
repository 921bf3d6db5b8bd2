"""A finished run, and a profile of a made-up machine: studies that need one run without MPI."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.calibration import synthetic
from tests.commands.command import dse
from tests.pricing.studies import written
from tests.report.brief import briefly


@pytest.fixture(scope="session")
def profile_text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A profile file called this-machine."""
    return synthetic.profile_text(tmp_path_factory.mktemp("profile"))


@pytest.fixture
def calibrated(tmp_path: Path, profile_text: str) -> Path:
    """A folder in which `dse calibrate run` seems to have been run."""
    (tmp_path / "calibrations").mkdir()
    (tmp_path / "calibrations" / "this-machine.yaml").write_text(profile_text, encoding="utf-8")
    return tmp_path


@pytest.fixture(scope="package")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a finished run of the small study, and what it printed."""
    folder = tmp_path_factory.mktemp("ran")
    written(folder)
    done = dse("run", "study.yaml", "--seed", "7", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return folder / "reports" / "small", done.stdout


@pytest.fixture
def brief() -> Iterator[None]:
    """Runs in this process leave out of their reports what takes longest."""
    with briefly():
        yield
