"""An axis is one row of study/axes.py: whatever else names axes follows from the rows."""

from __future__ import annotations

import ast
import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dse.model.aggregation.base import HARDWARE_AXES
from dse.study.axes import AXES, DATA, HARDWARE, LOOPED, SOFTWARE, axes_table
from tests.architecture.test_imports import MODULES, PACKAGE

FILE = PACKAGE / "study" / "axes.py"
FIRST = "ROWS: tuple[AxisRow, ...] = (\n"
ROW = """\
    AxisRow(
        name="made_up", kind="choice", choices=("calm", "wild"), example="[calm, wild]",
        doc="temper of a test", default="calm", grid=245, effort=65,
        phrase="in a {} mood", meaning="The temper that a test invents.",
    ),
"""
STUDY = """\
study: small
workload: resnet50
space:
  accelerator: [v100-sxm2-16gb, h100-sxm]
  gpus: [1, 8]
  gpus_per_node: 8
  batch_per_gpu: [32, 64]
  aggregation: ring-nccl
  made_up: [calm, wild]
objectives: {maximize: speedup, minimize: capital}
"""
# Runs a command with another file in the place of study/axes.py.
COMMAND = """\
import importlib.util, sys
spec = importlib.util.spec_from_file_location("dse.study.axes", sys.argv.pop(1))
sys.modules["dse.study.axes"] = module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
from dse.commands.main import main
sys.argv[0] = "dse"
main()
"""


class Extended:
    """The commands, with one more row; ``folder`` has a study of the axis, and its report."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.axes = folder, folder / "axes_and_one.py"
        text = FILE.read_text(encoding="utf-8")
        assert text.count(FIRST) == 1
        self.axes.write_text(text.replace(FIRST, FIRST + ROW), encoding="utf-8")
        (folder / "small.yaml").write_text(STUDY, encoding="utf-8")
        self.answer = self("run", "small.yaml")

    def __call__(self, *arguments: str) -> str:
        command = [sys.executable, "-c", COMMAND, str(self.axes), *arguments]
        done = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def report(self, name: str) -> str:
        return (self.folder / "reports" / "small" / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    return Extended(tmp_path_factory.mktemp("extended"))


def test_a_new_row_is_in_the_schema_and_in_the_table_of_the_docs(extended: Extended) -> None:
    parts = json.loads(extended("schema"))["$defs"]
    assert parts["Baseline"]["properties"]["made_up"]["enum"] == ["calm", "wild"]
    assert "temper of a test" in parts["Space"]["properties"]["made_up"]["description"]
    assert "| `made_up` | temper of a test | `calm`, `wild` | calm |" in extended(
        "schema", "--axes"
    )


def test_a_new_row_is_explained(extended: Extended) -> None:
    lines = extended("explain", "small.yaml", "--set", "made_up=wild").splitlines()
    assert ["made_up", "wild"] in [line.split() for line in lines]
    told = json.loads(extended("explain", "small.yaml", "--set", "made_up=wild", "--json"))
    assert told["config"]["made_up"] == "wild"


def test_a_new_row_is_in_the_answer_and_a_column_of_the_front(extended: Extended) -> None:
    assert "in a calm mood" in extended.answer
    front = [*csv.DictReader(extended.report("front.csv").splitlines())]
    assert {row["made_up"] for row in front} == {"calm"}, "the first of those that are as good"
    assert {row["equals"] for row in front} == {"1"}


def test_a_new_row_is_on_the_page_and_in_its_glossary(extended: Extended) -> None:
    page = re.sub("<[^>]+>", "", extended.report("report.html"))
    assert "The temper that a test invents." in page
    assert "made up any of calm, wild" in page
    for text in (page, extended.report("report.md")):
        assert "in a calm mood" in text


def test_the_page_has_the_table_of_axes() -> None:
    page = PACKAGE.parent / "docs" / "study.md"
    assert axes_table() in page.read_text(encoding="utf-8"), "refresh: dse schema --axes"


def test_no_two_axes_have_the_same_place() -> None:
    assert sorted((*LOOPED, *DATA)) == sorted((*SOFTWARE, *HARDWARE)) == sorted(AXES)
    for order in ("grid", "effort"):
        assert len({getattr(row, order) for row in AXES.values()}) == len(AXES), order


def test_the_model_names_the_hardware_that_the_rows_have() -> None:
    joins = {name for name in HARDWARE if "communication" in AXES[name].changes}
    assert joins == HARDWARE_AXES


MANY = 3
# What names several axes beside the rows, and why that is no list of axes.
OTHERS = {
    "calibration/importers/throughput.py": "columns of a table of measured rates",
    "calibration/profile_tables.py": "columns of a printed table of measured rates",
    "draft.py": "points that a draft tries and writes",
    "errors.py": "names of options, some of which are called as axes are",
    "model/aggregation/base.py": "the model imports nothing; compared with the rows above",
    "model/parallel/enumeration.py": "columns of a table of layouts; the model imports nothing",
    "pricing/laid_out.py": "axes that decide machines and links, so that points share a model",
    "pricing/layout_tables.py": "axes to columns of a table of layouts; compared with the rows",
    "pricing/memory_remedies.py": "axes of which other values are tried than those of the study",
    "report/launch.py": "options of launchers for each axis, and names of what a template is given",
    "study/definition.py": "the factors of the global batch",
    "study/owned.py": "keys of owned hardware",
    "study/reader.py": "what a study of layouts has by default",
}


def collections(path: Path) -> Iterator[set[str]]:
    """The axes that each tuple, list, set and mapping of a file names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            items: list[ast.expr | None] = [*node.elts]
        elif isinstance(node, ast.Dict):
            items = [*node.keys]
        else:
            continue
        words = {item.value for item in items if isinstance(item, ast.Constant)}
        yield {str(word) for word in words} & set(AXES)


def test_no_other_file_lists_axes() -> None:
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if path != FILE and any(len(axes) >= MANY for axes in collections(path))
    }
    assert found == set(OTHERS)
