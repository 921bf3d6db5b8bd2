"""No damage to any file that dse reads ends in more than one clear line.

A few hundred trials here; `make fuzz` makes as many as there is time for, each time others.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.calibration import synthetic
from tests.commands.command import dse
from tests.evidence import beyond
from tests.fleet import small
from tests.fuzz.readers import NAMES, Reader, readers, trial
from tests.pricing.studies import written

FIRST = int(os.environ.get("FUZZ_SEED", "0"))
TRIALS = int(os.environ.get("FUZZ_TRIALS", "20"))  # of each reader


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reader]:
    """Every reader, with the report of a run and of a fleet."""
    profile = synthetic.profile_text(tmp_path_factory.mktemp("profile"))
    run, fleet = tmp_path_factory.mktemp("run"), tmp_path_factory.mktemp("fleet")
    written(run)
    small.written(fleet)
    assert dse("run", "study.yaml", cwd=run).returncode == 0
    assert dse("fleet", "study.yaml", cwd=fleet).returncode == 0
    return readers(profile, run / "reports" / "small", fleet / "reports" / "small")


def test_every_reader_is_tried(known: dict[str, Reader]) -> None:
    assert tuple(known) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_undamaged_files_are_taken(name: str, known: dict[str, Reader], tmp_path: Path) -> None:
    """Else no damage would be looked at."""
    for command in known[name].commands:
        folder = known[name].written(tmp_path / command[0])
        done = dse(*command, cwd=folder)
        assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", beyond(NAMES[::3], NAMES))
def test_damage_gets_one_line(name: str, known: dict[str, Reader]) -> None:
    wrong = {
        seed: said for seed in range(FIRST, FIRST + TRIALS) if (said := trial(known[name], seed))
    }
    assert not wrong
