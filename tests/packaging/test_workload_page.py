"""What docs/workload.md says beside its commands: Python that runs, kinds of models, files that
stand for one another."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from dse.catalog import workload_of_config
from dse.catalog.model_config import MODEL_TYPES
from tests.commands.command import dse
from tests.packaging.pages import DOCS
from tests.packaging.test_pages import with_a_model

PAGE = (DOCS / "workload.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files that the page says to save."""
    with_a_model(tmp_path)
    return tmp_path


def check_with(workload: str, study: Path) -> None:
    """That ``dse check`` takes a study of the page with another workload in it."""
    text = study.read_text(encoding="utf-8")
    study.write_text(re.sub("workload: .*", f"workload: {workload}", text), encoding="utf-8")
    done = dse("check", study.name, cwd=study.parent)
    assert done.returncode == 0, done.stderr


def test_a_file_that_is_written_stands_for_the_config(folder: Path) -> None:
    written = dse("workload", "from-hf", "config.json", "--sequence", "2048", cwd=folder)
    (folder / "mine.yaml").write_text(written.stdout, encoding="utf-8")
    check_with("mine.yaml", folder / "study.yaml")


def test_the_python_runs(folder: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed (make torch)")
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    with contextlib.chdir(folder):
        exec(compile(block, "workload.md", "exec"), {"__name__": "page"})
    check_with("small.yaml", folder / "three.yaml")


def test_it_names_every_kind_of_model(folder: Path) -> None:
    said = PAGE.partition("Kinds that are known")[2].partition("Save, for example")[0]
    assert set(re.findall("`([a-z0-9_-]+)`", said)) - {"model_type", "text_config"} == set(
        MODEL_TYPES
    )
    assert workload_of_config(folder / "config.json").params == 494_032_768
