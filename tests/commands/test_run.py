"""A study from its file to its report, through the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dse import catalog
from dse.report.answer import LONG, answer, every_remark
from dse.report.document_files import read_document
from tests.commands.command import dse, files, refused
from tests.commands.reports import REPORT, document
from tests.pricing.studies import IMPOSSIBLE, SMALL, written
from tests.report.brief import briefly


def test_a_run_writes_its_report_and_nothing_else(ran: tuple[Path, str]) -> None:
    assert set(files(ran[0])) == REPORT
    assert set(files(ran[0].parents[1])) - {f"reports/small/{name}" for name in REPORT} == {
        "study.yaml", "reports", "reports/small"}  # fmt: skip


def test_a_run_ends_with_the_answer(ran: tuple[Path, str]) -> None:
    folder, printed = ran
    run = read_document(folder)
    *_, last = lines = printed.split("\n\n")[-1].splitlines()
    assert lines[:-1] == answer(run)
    assert last.startswith("Report: reports/small/report.html ")
    assert last.endswith(LONG)
    best = run.recommended
    title = catalog.accelerator(best.config["accelerator"]).title
    assert f"{best.gpus} x {title}" in lines[0]


def test_all_remarks_are_printed_on_request(ran: tuple[Path, str], tmp_path: Path) -> None:
    written(tmp_path)
    with briefly():
        done = dse("run", "study.yaml", "--seed", "7", "--long", cwd=tmp_path)
    run = read_document(tmp_path / "reports" / "small")
    remaining = every_remark(run)
    assert len(remaining) == len(run.remarks) > 3
    assert done.stdout.splitlines()[-len(remaining) - 1 : -1] == remaining
    assert not any(line in ran[1].splitlines() for line in remaining), "only then"


def test_the_document_has_what_a_reader_relies_on(ran: tuple[Path, str]) -> None:
    found = document(ran[0])
    assert found["schema_version"] == 5
    assert found["study"]["name"] == "small"
    assert found["command"] == "dse run study.yaml --seed 7"
    assert found["seed"] == 7
    assert found["engine"] == "exhaustive"
    assert found["executor"] == "local"
    assert {"dse", "python", "numpy"} <= set(found["versions"])
    assert {"study", "catalogue", "calibration"} == set(found["hashes"])
    assert len(found["hashes"]["study"]) == len(found["hashes"]["catalogue"]) == 64
    assert found["counts"]["points"] == 2304
    assert 0 < found["counts"]["front"] < found["counts"]["feasible"] < 2304
    assert found["counts"]["ties"] == sum(point["ties"] for point in found["front"])
    assert 0 < found["timings"]["search_s"] < found["timings"]["total_s"]
    assert found["baseline"]["speedup"] == pytest.approx(1, rel=1e-12)
    assert found["recommended"]["config"] in [point["config"] for point in found["front"]]


def test_the_same_again_gives_the_same_front(ran: tuple[Path, str], tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("run", "study.yaml", "--out", "here/or there", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    printed = json.loads(done.stdout)
    again = tmp_path / "here" / "or there"
    assert printed == document(again)
    assert printed["command"] == "dse run study.yaml --out 'here/or there' --json"
    assert (again / "front.csv").read_bytes() == (ran[0] / "front.csv").read_bytes()
    assert not (tmp_path / "reports").exists()


@pytest.mark.evidence
def test_the_report_of_another_study_is_kept_under_another_name(tmp_path: Path) -> None:
    """Of its name in another file, or of another version; of the same it is replaced."""
    written(tmp_path)
    folder, kept = tmp_path / "reports" / "small", tmp_path / "reports" / "small.1"
    assert dse("run", "study.yaml", cwd=tmp_path).returncode == 0
    assert "is kept" not in dse("run", "study.yaml", "--seed", "3", cwd=tmp_path).stdout
    assert not kept.exists()
    before = files(folder)
    (tmp_path / "other.yaml").write_text(SMALL.replace("350 kUSD", "150 kUSD"))
    done = dse("run", "other.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "it is kept in reports/small.1." in done.stdout
    assert files(kept) == before
    assert document(folder)["study"]["path"] == "other.yaml"
    assert dse("report", kept, cwd=tmp_path).returncode == 0
    assert files(kept) == before
    assert dse("run", "study.yaml", "--json", cwd=tmp_path).returncode == 0
    assert (tmp_path / "reports" / "small.2" / "front.csv").exists()
    assert set(files(tmp_path / "reports")) == {
        name + file for name in ("small", "small.1", "small.2")
        for file in ("", *(f"/{report}" for report in REPORT))}  # fmt: skip


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_nothing_feasible_says_what_rejects_and_what_is_nearest(
    engine: str, tmp_path: Path
) -> None:
    written(tmp_path, IMPOSSIBLE.replace("budget: 6000", "budget: 300"))
    line = refused(dse("run", "study.yaml", "--engine", engine, cwd=tmp_path), status=3)
    assert "none of" in line
    assert "nearest is" in line
    assert "optimizer=" not in line  # what all points have is not told
    assert line.endswith("; loosen capital <= 1 USD to 114,600 USD")
    # One to four accelerators cost the same: they are sold in fours.
    assert re.search(r"gpus=[1-4],", f"{line},")
    assert "p100-sxm2-16gb" in line
    assert not any(path.is_file() for path in (tmp_path / "reports").rglob("*"))


def test_a_calibrated_study_says_so(calibrated: Path) -> None:
    renamed = calibrated / "calibrations" / "other-name.yaml"
    (calibrated / "calibrations" / "this-machine.yaml").rename(renamed)
    measured = SMALL.replace("ps-grpc", "ps-mpi")  # the baseline's transport too
    written(calibrated, measured + "calibration: [other-name]\n")
    done = dse("run", "study.yaml", "--json", cwd=calibrated)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (profile,) = found["calibration"]
    assert profile["path"] == "calibrations/other-name.yaml"
    assert profile["hash"] == found["hashes"]["calibration"]
    assert set(profile["algorithms"]) >= {"ring", "recursive-doubling", "halving-doubling"}
    at = ["--set", "aggregation=ring-mpi", "--set", "gpus=4", "--set", "bucket=4 MiB", "--set"]
    for per_node, outside in ("4", False), ("2", True):  # it was measured in one node
        chosen = [*at, f"gpus_per_node={per_node}"]
        point = json.loads(dse("explain", "study.yaml", *chosen, "--json", cwd=calibrated).stdout)
        assert point["extrapolated"] is outside
        low, high = point["interval"]["step_s"]
        assert low <= point["step_s"] <= high


def test_an_example_without_its_profile_says_how_to_make_it(tmp_path: Path) -> None:
    line = refused(dse("run", "example", cwd=tmp_path))
    assert "example.yaml:" in line
    assert "dse calibrate run" in line
    assert files(tmp_path) == {}


@pytest.mark.parametrize("command", [("run", "study.yaml"), ("fleet", "pai-fleet")])
def test_a_folder_has_a_name(command: tuple[str, str], tmp_path: Path) -> None:
    written(tmp_path, SMALL)
    line = refused(dse(*command, "--out", "", cwd=tmp_path))
    assert line == "dse: --out: is empty; name a folder, or . for this one"
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]
