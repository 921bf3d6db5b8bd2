"""The public face: the names it gives, and that importing it is cheap."""

from __future__ import annotations

import subprocess
import sys

import pytest

import dse.calibration


def test_every_public_name_exists() -> None:
    assert all(hasattr(dse.calibration, name) for name in dse.calibration.__all__)
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = dse.calibration.nothing_here


def test_reading_a_profile_does_not_import_scipy() -> None:
    code = "import sys; from dse.calibration import read_profile; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
