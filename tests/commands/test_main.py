"""The command line's ways in: `python -m dse`, and the script that is installed."""

from __future__ import annotations

import tomllib
from importlib import import_module
from pathlib import Path

from dse.version import __version__
from tests.commands.command import dse

ROOT = Path(__file__).parents[2]


def test_the_version_is_that_of_the_package(tmp_path: Path) -> None:
    done = dse("--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"dse {__version__}\n", "")


def test_the_script_that_is_installed_exists() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, name = project["scripts"]["dse"].partition(":")
    assert callable(getattr(import_module(module), name))
