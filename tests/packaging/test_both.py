"""``make test`` runs four processes of pytest: it fails where any does, and shows all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Seventeen times pytest is started here; hypothesis is what it takes most of its time for.
TESTS = [sys.executable, "-m", "tests", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
TEXT = """\
import pytest

@pytest.mark.slow
def test_slow():
    assert {slow}

def test_other():
    assert {other}
"""


def both(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [*TESTS, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


@pytest.mark.evidence
@pytest.mark.parametrize(
    ("slow", "other", "status"), [(True, True, 0), (False, True, 1), (True, False, 1)]
)
def test_one_that_fails_is_enough(tmp_path: Path, slow: bool, other: bool, status: int) -> None:
    file = tmp_path / "test_given.py"
    file.write_text(TEXT.format(slow=slow, other=other), encoding="utf-8")
    more = tmp_path / "test_more.py"  # of two files each process of the others has one
    more.write_text("def test_more():\n    pass\n", encoding="utf-8")
    done = both(str(file), str(more))
    assert done.returncode == status, done.stdout
    assert done.stdout.count("1 passed") == slow + other + 1
    assert done.stdout.count("1 failed") == 2 - slow - other


@pytest.mark.evidence
def test_no_test_at_all_is_no_success(tmp_path: Path) -> None:
    assert both(str(tmp_path)).returncode == 5  # as pytest has it
