"""`dse fleet` as a user has it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dse.report.document_files import sealed
from tests.commands.command import dse, files, refused
from tests.commands.reports import document
from tests.fleet import logs
from tests.fleet.small import STUDY, TABLE, written
from tests.pricing import studies
from tests.report.pages import Page

ROOT = Path(__file__).parents[2]
REPORT = {"fleet.json", "report.html", "report.md"}


def test_a_table_of_jobs_is_answered(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("fleet", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("Upgrade to both: it saves USD ")
    assert len(lines) <= 12
    assert lines[-1] == "Report: reports/small/report.html"
    assert set(files(tmp_path / "reports" / "small")) == REPORT
    document = json.loads((tmp_path / "reports" / "small" / "fleet.json").read_text())
    assert document["population"]["jobs"] == 5
    assert "log" not in document
    assert Page((tmp_path / "reports" / "small" / "report.html").read_text()).loads == []


@pytest.mark.parametrize("study", ["pai-fleet", "pai-ps-worker", "pai-case-studies"])
def test_the_studies_that_ship_run_as_they_are(study: str, tmp_path: Path) -> None:
    done = dse("fleet", study, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(files(tmp_path / "reports" / study)) == REPORT
    assert len(done.stdout.split()) <= 150
    assert len((tmp_path / "reports" / study / "report.md").read_text().split()) <= 4000


def test_a_log_is_read_and_a_log_of_another_kind_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text(logs.STUDY.format(log="log.txt"))
    (tmp_path / "log.txt").write_text(logs.SACCT)
    done = dse("fleet", "study.yaml", cwd=tmp_path)
    assert "3 jobs that held 41 GPUs, for 3,394.0 GPU-hours" in done.stdout
    (tmp_path / "log.txt").write_text("JobId=101 JobName=x\n")
    said = refused(dse("fleet", "study.yaml", cwd=tmp_path))
    assert said.startswith("log.txt:1:1: is what scontrol of Slurm prints, which is not read")


@pytest.mark.parametrize("changed", ["jobs.csv", "prices.yaml"])
def test_the_report_of_the_same_study_on_other_jobs_or_prices_is_kept(
    changed: str, tmp_path: Path
) -> None:
    shipped = (ROOT / "models" / "prices" / "list-prices.yaml").read_text()
    (tmp_path / "prices.yaml").write_text(shipped)
    written(tmp_path, STUDY.replace("gpus: 100,", "gpus: 100, prices: prices.yaml,"))
    dse("fleet", "study.yaml", cwd=tmp_path)
    folder = tmp_path / "reports"
    before = (folder / "small" / "fleet.json").read_bytes()
    (tmp_path / changed).touch()
    again = dse("fleet", "study.yaml", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert "kept" not in again.stdout, "the same content"
    before = (folder / "small" / "fleet.json").read_bytes()
    text = (tmp_path / changed).read_text()
    text = text.replace("16,1e12", "16,2e12") if changed == "jobs.csv" else f"{text}# later\n"
    assert text != (tmp_path / changed).read_text()
    (tmp_path / changed).write_text(text)
    other = dse("fleet", "study.yaml", cwd=tmp_path)
    said = "was of another study, version or population; it is kept in reports/small.1"
    assert said in other.stdout
    assert (folder / "small.1" / "fleet.json").read_bytes() == before
    hashes = [json.loads((folder / name / "fleet.json").read_text())["hashes"]
              for name in ("small", "small.1")]  # fmt: skip
    assert hashes[0]["study"] == hashes[1]["study"]
    differ = {key for key in hashes[0] if hashes[0][key] != hashes[1][key]}
    assert differ == {"population" if changed == "jobs.csv" else "prices"}


def test_json_is_the_document_and_nothing_else(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("fleet", "study.yaml", "--json", cwd=tmp_path)
    assert json.loads(done.stdout) == document(tmp_path / "reports" / "small", "fleet.json")


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


def test_a_run_and_a_fleet_do_not_share_a_folder(tmp_path: Path) -> None:
    written(tmp_path).rename(tmp_path / "fleet.yaml")
    studies.written(tmp_path)
    assert dse("run", "study.yaml", "--out", "one", cwd=tmp_path).returncode == 0
    before = files(tmp_path / "one")
    said = refused(dse("fleet", "fleet.yaml", "--out", "one", cwd=tmp_path))
    assert said == "dse: one has the report of a run; name another folder by --out"
    assert files(tmp_path / "one") == before
    assert dse("fleet", "fleet.yaml", "--out", "two", cwd=tmp_path).returncode == 0
    said = refused(dse("run", "study.yaml", "--out", "two", cwd=tmp_path))
    assert "has the report of a fleet" in said


def test_a_report_is_rebuilt_from_its_document(tmp_path: Path) -> None:
    written(tmp_path)
    dse("fleet", "study.yaml", cwd=tmp_path)
    folder = tmp_path / "reports" / "small"
    before = {name: (folder / name).read_bytes() for name in REPORT}
    for name in ("report.html", "report.md"):
        (folder / name).unlink()
    done = dse("report", "reports/small", cwd=tmp_path)
    assert done.stdout == "wrote reports/small/report.html\n", done.stderr
    assert {name: (folder / name).read_bytes() for name in REPORT} == before
    assert dse("report", "reports/small/fleet.json", cwd=tmp_path).returncode == 0
    assert set(files(tmp_path / "reports")) == {"small", *(f"small/{name}" for name in REPORT)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not JSON", "is not the document of a fleet; run dse fleet on its study again"),
        (
            "{}",
            "is of another format: its format is None, and not 'dse-fleet-4'; run the study again",
        ),
        (sealed({"format": "dse-fleet-4"}), "has no 'fleet'; run the study again"),
    ],
)
def test_a_document_that_is_none_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text(text)
    assert refused(dse("report", ".", cwd=tmp_path)) == f"dse: fleet.json: {message}"
    assert set(files(tmp_path)) == {"fleet.json"}


def test_the_schema_of_fleets_is_printed(tmp_path: Path) -> None:
    done = dse("schema", "--fleet", cwd=tmp_path)
    stored = (ROOT / "docs" / "fleet.schema.json").read_text()
    assert done.stdout == stored, "refresh: dse schema --fleet > docs/fleet.schema.json"
