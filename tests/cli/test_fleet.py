"""`dse fleet` as a user has it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dse.batch import study_files
from tests.cli.command import dse, files, refused
from tests.fleet.small import STUDY, TABLE, written
from tests.report.test_fleet import Page

ROOT = Path(__file__).parents[2]
REPORT = {"fleet.json", "index.html", "report.md"}


def test_a_table_of_jobs_is_answered(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("fleet", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.match(r"Counted by cNodes, .* % of the fleet's time goes to", lines[0])
    assert lines[-1] == "Report: reports/small/index.html"
    assert set(files(tmp_path / "reports" / "small")) == REPORT
    document = json.loads((tmp_path / "reports" / "small" / "fleet.json").read_text())
    assert document["population"]["jobs"] == 5
    assert "facts" not in document
    assert Page((tmp_path / "reports" / "small" / "index.html").read_text()).loads == []


@pytest.mark.parametrize("study", ["pai-fleet", "pai-ps-worker", "pai-case-studies"])
def test_the_studies_that_ship_run_as_they_are(study: str, tmp_path: Path) -> None:
    done = dse("fleet", study, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(files(tmp_path / "reports" / study)) == REPORT


def test_the_paper_is_put_beside_on_request(tmp_path: Path) -> None:
    study = "fleet: mine\npopulation: pai-ps-worker\njobs: 50000\n"
    written(tmp_path, study)
    done = dse("fleet", "study.yaml", "--facts", "--out", "here", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"PS/Worker jobs that gain from AllReduce-Local +0\.6 +0\.6\d+ .*check +yes",
                     done.stdout)  # fmt: skip
    assert re.search(r"do not share PCIe .* 7\d %", done.stdout)
    document = json.loads((tmp_path / "here" / "fleet.json").read_text())
    assert {fact["role"] for fact in document["facts"]} == {"fitted", "check"}
    assert len(document["assumptions"]) == 12


def test_other_jobs_than_the_papers_are_no_check_of_it(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("fleet", "study.yaml", "--facts", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "reports" / "small" / "fleet.json").read_text())
    assert {(fact["role"], fact["ok"]) for fact in document["facts"]} == {("", None)}
    assert document["assumptions"] == []
    assert "fitted" not in done.stdout


def test_the_report_of_another_version_is_kept(tmp_path: Path) -> None:
    written(tmp_path)
    dse("fleet", "study.yaml", cwd=tmp_path)
    same = dse("fleet", "study.yaml", cwd=tmp_path)
    assert "kept" not in same.stdout
    before = (tmp_path / "reports" / "small" / "fleet.json").read_bytes()
    written(tmp_path, STUDY + "overlap: ideal\n")
    other = dse("fleet", "study.yaml", cwd=tmp_path)
    assert "it is kept in reports/small.1" in other.stdout
    assert (tmp_path / "reports" / "small.1" / "fleet.json").read_bytes() == before
    assert set(files(tmp_path / "reports" / "small.1")) == REPORT


def test_json_is_the_document_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("fleet", "study.yaml", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == json.loads(
        (tmp_path / "reports" / "small" / "fleet.json").read_text()
    )


@pytest.mark.parametrize(
    ("study", "table", "place", "message"),
    [
        (STUDY.replace("upgrades", "upgrade"), TABLE, "study.yaml:11:1", "did you mean upgrades?"),
        (STUDY, TABLE.replace("16,1e12", "sixteen,1e12"), "jobs.csv:4:11", "is not a number"),
        ("study: mine\n", TABLE, "study.yaml:1:1", "use dse run"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(
    study: str, table: str, place: str, message: str, tmp_path: Path
) -> None:
    written(tmp_path, study, table)
    line = refused(dse("fleet", "study.yaml", cwd=tmp_path))
    assert line.startswith(place), line
    assert message in line
    assert set(files(tmp_path)) == {"jobs.csv", "study.yaml"}


def test_a_study_that_is_not_there(tmp_path: Path) -> None:
    assert "did you mean pai-fleet?" in refused(dse("fleet", "pai-flet", cwd=tmp_path))
    assert "pai-case-studies" in refused(dse("fleet", "nothing", cwd=tmp_path))


def test_run_says_which_command_a_fleet_needs(tmp_path: Path) -> None:
    assert "use dse fleet" in refused(dse("run", "pai-fleet", cwd=tmp_path))


def test_a_folder_of_studies_leaves_fleets_to_their_own_command() -> None:
    found = {Path(name).stem for name in study_files([str(ROOT / "search_spaces")])}
    assert "ethernet-upgrade" in found
    assert not found & {"pai-fleet", "pai-ps-worker", "pai-case-studies"}
