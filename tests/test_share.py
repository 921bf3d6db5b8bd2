"""What is left out of a process of pytest is run by another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MARKED = "import pytest\n\n\n@pytest.mark.slow\ndef test_it():\n    pass\n"
OFTEN = "def test_it():\n    pass\n"
FAILING = "raise RuntimeError('imported')\n"


def pytest_in(folder: Path, *arguments: str, fails: bool = False) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.share", "-p", "no:cacheprovider", "-c",
         os.devnull, "--rootdir", str(folder), "-o", "markers=slow", "-v", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert bool(done.returncode) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def passed(said: str) -> list[str]:
    return [line.split("::")[0] for line in said.splitlines() if line.endswith("%]")]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Five files of tests, two of them slow."""
    for number, text in enumerate([OFTEN, MARKED, OFTEN, OFTEN, MARKED]):
        (tmp_path / f"test_{number}.py").write_text(text)
    return tmp_path


def test_shares_have_every_test_once(files: Path) -> None:
    one, other = (pytest_in(files, "--share", f"{number}/2", "-m", "not slow") for number in (1, 2))
    assert Counter(passed(one) + passed(other)) == Counter(f"test_{n}.py" for n in (0, 2, 3))


def test_files_without_the_mark_are_not_even_imported(files: Path) -> None:
    (files / "test_2.py").write_text(FAILING)
    assert passed(pytest_in(files, "--marked", "slow", "-m", "slow")) == ["test_1.py", "test_4.py"]
    assert "imported" in pytest_in(files, "-m", "slow", fails=True)


def test_tests_marked_from_elsewhere_are_refused_and_not_missed(files: Path) -> None:
    marks = "import pytest\n\nit_takes_long = pytest.mark.slow\n"
    (files / "marks.py").write_text(marks)
    (files / "test_0.py").write_text("import marks\n\n\n@marks.it_takes_long\n" + OFTEN)
    said = pytest_in(files, "-m", "not slow", fails=True)
    assert "test_0.py: test_it is marked slow by another file" in said
    (files / "conftest.py").write_text(marks)  # one beside it counts
    assert len(passed(pytest_in(files, "--marked", "slow", "-m", "slow"))) == 3
