"""``make test`` runs four processes of pytest: it fails where any does, and shows all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.lab.waiting import until

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

WAITING = """\
import pathlib, signal, time
import pytest

HERE = pathlib.Path(__file__).parent

@pytest.fixture
def cluster(request):
    (HERE / f"begun-{request.node.name}").touch()
    yield
    time.sleep(1)  # cleaning up takes longer than subprocess.call waits on Ctrl-C: 0.25 s
    (HERE / f"cleaned-{request.node.name}").touch()

@pytest.mark.slow
def test_slow(cluster):
    signal.pause()

def test_other(cluster):
    signal.pause()
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


def test_a_choice_of_ones_own_is_for_pytest(tmp_path: Path) -> None:
    done = both("-m", "slow", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("-m is for one process: python -m pytest -p no:cacheprovider")
    assert done.stderr.endswith(f" -m slow {tmp_path}\n")


@pytest.mark.evidence
def test_an_interrupt_lets_both_clean_up(tmp_path: Path) -> None:
    (tmp_path / "test_given.py").write_text(WAITING, encoding="utf-8")
    command = [*TESTS, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True,
                          start_new_session=True) as running:  # fmt: skip
        until(lambda: len(list(tmp_path.glob("begun-*"))) == 2, 60.0, "both have begun")
        os.killpg(running.pid, signal.SIGINT)
        said = running.communicate(timeout=60)[0]
    assert running.returncode == 130, said
    assert len(list(tmp_path.glob("cleaned-*"))) == 2, said
