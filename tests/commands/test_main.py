"""The command line's ways in: `python -m dse`, the script that is installed, and this process."""

from __future__ import annotations

import re
import shutil
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from dse.version import __version__
from tests.commands.command import dse, dse_process, files, said
from tests.evidence import beyond
from tests.fleet import small
from tests.pricing.studies import SMALL, written

ROOT = Path(__file__).parents[2]
TIME = re.compile(r" +[\d.]+ (s|ms|points/s|[Mk]/s)\b")  # as taken, and with its column's width

# What a user may ask for: every command, in words or as JSON, and every exit status but Ctrl-C's.
ASKED = (
    "--version",
    "--help",
    "run study.yaml --seed 7",
    "run study.yaml other.yaml",
    "run nothing.yaml",
    "run --budget",
    "run impossible.yaml",
    "check study.yaml",
    "explain study.yaml --set gpus=16 --json",
    "report reports/small",
    "export reports/small sqlite:///points.db",
    "fleet fleet.yaml",
    "catalog accelerators h100-sxm",
    "schema",
    "calibrate show this-machine",
    "calibrate predict this-machine --ranks 2,64 --bytes 1MiB",
    "calibrate import study.yaml --out made.json",
    "calibrate run --budget 0",
)
OFTEN = ("--help", "run nothing.yaml", "run study.yaml --seed 7", "fleet fleet.yaml")


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = dse("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dse {__version__}\n", "")


def test_the_script_that_is_installed_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["dse"].partition(":")
    assert callable(getattr(import_module(module), name))


@pytest.fixture
def folder(calibrated: Path, ran: tuple[Path, str]) -> Path:
    """Studies, a fleet, a profile and a finished run."""
    small.written(calibrated).rename(calibrated / "fleet.yaml")
    written(calibrated)
    written(calibrated, SMALL.replace("study: small", "study: other"), "other.yaml")
    written(calibrated, SMALL.replace("350 kUSD", "1 USD"), "impossible.yaml")
    shutil.copytree(ran[0], calibrated / "reports" / "small")
    return calibrated


@pytest.mark.parametrize("asked", beyond(OFTEN, ASKED))
def test_another_process_says_and_writes_the_same(asked: str, folder: Path) -> None:
    """Most tests here call the command line in their own process: see tests.commands.command."""
    twin = folder.with_name(f"{folder.name}-twin")
    shutil.copytree(folder, twin)
    here, there = dse(*asked.split(), cwd=folder), dse_process(*asked.split(), cwd=twin)
    assert here.returncode == there.returncode
    assert TIME.sub("TIME", here.stdout) == TIME.sub("TIME", there.stdout)
    assert said(here) == said(there)
    written_here, written_there = files(folder), files(twin)
    assert written_here.keys() == written_there.keys()
    for name, content in written_here.items():
        if name.endswith((".csv", ".yaml")):  # others have the time in them
            assert content == written_there[name]
