"""Every command and every study that README.md shows works."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.command import dse

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEADLINE_S = 400.0


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


def commands() -> list[str]:
    """The lines of all bash blocks, without remarks; continued lines joined."""
    lines = "\n".join(blocks("bash")).replace("\\\n", " ").splitlines()
    return [line for line in (line.split(" #")[0].strip() for line in lines)
            if line and not line.startswith("#")]  # fmt: skip


COMMANDS = commands()
MADE = [line for line in COMMANDS if line.startswith("make ")]
RUN = [line for line in COMMANDS if line not in MADE and line != ". .venv/bin/activate"]
# A study that names a profile needs it first, in whatever order the page shows them.
RUN.sort(key=lambda line: not line.startswith("dse calibrate run"))
MENTIONED = sorted(set(re.findall(r"`(make [a-z]+)`", README)))


@pytest.mark.parametrize("command", sorted({*MADE, *MENTIONED}))
def test_what_is_made_exists(command: str) -> None:
    done = subprocess.run(
        ["make", "--dry-run", *shlex.split(command)[1:]], cwd=ROOT, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_commands_run_one_after_the_other(tmp_path: Path) -> None:
    """In a folder that has what a clone has, with `dse` on the path as in the environment."""
    for name in ("search_spaces", "models", "docs"):
        (tmp_path / name).symlink_to(ROOT / name)
    bin_ = Path(sys.executable).parent
    path = {"PATH": f"{bin_}{os.pathsep}{os.environ['PATH']}"}
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DSE_")} | path
    for command in RUN:
        done = subprocess.run(
            ["bash", "-ec", command], cwd=tmp_path, env=environment, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout[-2000:], done.stderr[-2000:])
        assert done.stdout
        if command.startswith("dse calibrate run"):  # `make demo`, further up, leaves one as well
            folder = tmp_path / "calibrations"
            (profile,) = folder.glob("*.yaml")
            shutil.copy(profile, folder / "this-machine.yaml")


@pytest.mark.parametrize("number", range(len(blocks("yaml"))))
def test_the_studies_shown_run(number: int, tmp_path: Path) -> None:
    """Those that are whole, and parts of one in the first."""
    first, shown = blocks("yaml")[0], blocks("yaml")[number]
    text = shown if "study:" in shown else first + shown
    (tmp_path / "study.yaml").write_text(text, encoding="utf-8")
    done = dse("run", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert " your baseline" in done.stdout
