"""``make test`` runs two processes of pytest: it fails where either does, and shows both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = """\
import pytest

@pytest.mark.slow
def test_slow():
    assert {slow}

def test_other():
    assert {other}
"""


@pytest.mark.parametrize(
    ("slow", "other", "status"), [(True, True, 0), (False, True, 1), (True, False, 1)]
)
def test_one_that_fails_is_enough(tmp_path: Path, slow: bool, other: bool, status: int) -> None:
    file = tmp_path / "test_given.py"
    file.write_text(TEXT.format(slow=slow, other=other), encoding="utf-8")
    command = [sys.executable, "-m", "tests", "-p", "no:cacheprovider", str(file)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout
    assert done.stdout.count("1 passed") == slow + other
    assert done.stdout.count("1 failed") == 2 - slow - other


def test_no_test_at_all_is_no_success(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode != 0
