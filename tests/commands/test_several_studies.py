"""Several studies given to one `dse run`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dse.report.words import title
from tests.commands.command import dse, dse_process, files, refused, said
from tests.commands.reports import REPORT, document
from tests.pricing.studies import IMPOSSIBLE, SMALL, written


def several(folder: Path) -> None:
    """Study files: two that run, one without a feasible point, one with a mistake."""
    (folder / "studies").mkdir()
    written(folder / "studies", name="a.yaml")
    written(folder / "studies", SMALL.replace("study: small", "study: other"), "b.yaml")
    written(folder / "studies", IMPOSSIBLE, "c.yml")
    written(folder / "studies", SMALL.replace("gpus:", "gpsu:"), "d.yaml")
    (folder / "studies" / "notes.txt").write_text("no study")


def test_many_studies_are_run_whatever_becomes_of_one(
    ran: tuple[Path, str], tmp_path: Path
) -> None:
    several(tmp_path)
    done = dse("run", "studies", "ps-vs-allreduce", "--out", "out", cwd=tmp_path)
    assert done.returncode == 2
    wrong, also_wrong, infeasible = said(done)
    assert wrong.startswith("studies/d.yaml:5:3: unknown key 'gpsu'")
    assert also_wrong.startswith("studies/d.yaml:16:41: unknown key 'gpsu'")
    assert infeasible.startswith("studies/c.yml: none of 2,304 points meets every constraint")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "small", "other", "ps-vs-allreduce"}  # fmt: skip
    for name in ("small", "other"):
        assert set(files(tmp_path / "out" / name)) == REPORT
        front = (tmp_path / "out" / name / "front.csv").read_bytes()
        assert front == (ran[0] / "front.csv").read_bytes()
    assert "[1/5] small: exhaustive search" in done.stdout
    table = done.stdout.partition("\nstudy ")[2]
    best = title("accelerator", document(ran[0])["recommended"]["config"]["accelerator"])
    assert re.search(rf"\nsmall +resnet50 +\d+ x {best}.*out/small/report.html", table)
    assert re.search(r"\nstudies/c.yml +failed: none of 2,304 points", table)
    assert re.search(r"\nstudies/d.yaml +failed: .*unknown key 'gpsu'", table)


@pytest.mark.usefixtures("brief")
def test_many_studies_as_json_are_a_list(tmp_path: Path) -> None:
    several(tmp_path)
    (tmp_path / "studies" / "d.yaml").unlink()
    done = dse("run", "studies", "--json", cwd=tmp_path)
    assert done.returncode == 3  # no feasible point, and nothing worse
    small, other, infeasible = json.loads(done.stdout)
    assert small == document(tmp_path / "reports" / "small")
    assert other == document(tmp_path / "reports" / "other")
    assert infeasible["study"] == {"path": "studies/c.yml"}
    assert [infeasible["error"]] == said(done)
    assert infeasible["exit_status"] == 3


@pytest.mark.usefixtures("brief")
def test_many_studies_are_resumed_without_doing_one_twice(tmp_path: Path) -> None:
    several(tmp_path)
    studies = ("studies/a.yaml", "studies/b.yaml")
    assert dse("run", studies[0], "--resume", cwd=tmp_path).returncode == 0
    before = files(tmp_path / "reports" / "small")
    done = dse("run", *studies, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("this search was finished before") == 1
    assert files(tmp_path / "reports" / "small") == before
    assert set(files(tmp_path / "reports" / "other")) == REPORT
    written(tmp_path / "studies", SMALL.replace("200 kUSD", "100 kUSD"), "a.yaml")
    done = dse("run", *studies, "--resume", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("this search was finished before") == 1  # the other one
    assert "is kept in reports/small.1" in done.stdout


@pytest.mark.usefixtures("brief")
def test_studies_of_one_name_are_refused(tmp_path: Path) -> None:
    written(tmp_path, name="a.yaml")
    written(tmp_path, name="b.yaml")
    done = dse("run", "a.yaml", "b.yaml", cwd=tmp_path)
    assert done.returncode == 2
    problem = "b.yaml:1:8: study 'small' has the same name as a.yaml; rename one"
    assert said(done)[0].startswith(problem)
    assert set(files(tmp_path / "reports" / "small")) == REPORT


def test_a_folder_without_studies_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    line = refused(dse("run", "empty", cwd=tmp_path))
    assert line == "dse: empty: no .yaml file is in this folder; name a folder with study files"


@pytest.mark.evidence
@pytest.mark.slow
def test_many_studies_share_one_ray(ran: tuple[Path, str], tmp_path: Path) -> None:
    several(tmp_path)
    studies = ("studies/a.yaml", "studies/b.yaml")
    done = dse_process("run", *studies, "--executor", "ray", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for name in ("small", "other"):
        folder = tmp_path / "reports" / name
        assert document(folder)["executor"] == "ray"
        assert (folder / "front.csv").read_bytes() == (ran[0] / "front.csv").read_bytes()
