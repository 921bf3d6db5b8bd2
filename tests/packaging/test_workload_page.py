"""What docs/workload.md shows: files that it says to save, commands that run in order, Python."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from dse.catalog import workload_of_config
from dse.catalog.model_config import MODEL_TYPES
from tests.commands.command import dse

PAGE = (Path(__file__).parents[2] / "docs" / "workload.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page says to save."""
    names = ("config.json", "study.yaml", "three.yaml")
    for name, text in zip(names, blocks("json") + blocks("yaml"), strict=True):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_the_commands_run_and_print_what_is_quoted(folder: Path) -> None:
    commands = [line for block in blocks("bash") for line in block.splitlines()]
    assert len(commands) == 3
    for command in commands:
        words, _, out = command.partition(" > ")
        done = dse(*words.split()[1:], cwd=folder)
        assert done.returncode == 0, (command, done.stderr)
        if out:
            (quoted,) = blocks("text")
            assert done.stdout.startswith(quoted)
            (folder / out).write_text(done.stdout, encoding="utf-8")
    study = folder / "study.yaml"
    text = study.read_text(encoding="utf-8")
    study.write_text(re.sub("workload: .*", "workload: mine.yaml", text), encoding="utf-8")
    assert dse("check", "study.yaml", cwd=folder).returncode == 0


def test_the_python_runs(folder: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed (make torch)")
    (block,) = blocks("python")
    with contextlib.chdir(folder):
        exec(compile(block, "workload.md", "exec"), {"__name__": "page"})
    text = (folder / "three.yaml").read_text(encoding="utf-8")
    own = re.sub("workload: .*", "workload: small.yaml", text)
    (folder / "three.yaml").write_text(own, encoding="utf-8")
    done = dse("check", "three.yaml", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_it_names_every_kind_of_model(folder: Path) -> None:
    said = PAGE.partition("Kinds that are known")[2].partition("Save, for example")[0]
    assert set(re.findall("`([a-z0-9_-]+)`", said)) - {"model_type"} == set(MODEL_TYPES)
    assert workload_of_config(folder / "config.json").params == 494_032_768
