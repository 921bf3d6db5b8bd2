"""Questions on the command line: what they limit, and that no run is mixed with another's."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import dse as package
from dse.pricing.load import load
from dse.report.words import shown
from dse.search.fingerprint import difference, fingerprint
from dse.study.questions import Questions
from tests.commands.command import dse
from tests.commands.reports import document
from tests.pricing.studies import SMALL

TARGET = SMALL.replace("search: ", "target: {samples: 1e8}\nsearch: ").replace("200 kUSD", "5 MUSD")


def put(folder: Path, text: str = TARGET) -> None:
    (folder / "study.yaml").write_text(text, encoding="utf-8")


def test_each_question_limits_the_front_and_stands_in_the_document(tmp_path: Path) -> None:
    put(tmp_path)
    asked = ("--deadline", "12 h", "--budget", "150 kUSD", "--power", "20 kW")
    done = dse("run", "study.yaml", *asked, "--confidence", "60%", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = document(tmp_path / "out")
    assert found["questions"] == {
        "deadline": "12 h", "budget": "150 kUSD", "power": "20 kW", "confidence": "0.6"
    }  # fmt: skip
    assert {"time_to_target <= 12 h", "capital <= 150 kUSD", "power <= 20 kW"} <= set(
        found["constraints"]
    )
    assert "capital <= 5 MUSD" not in found["constraints"]
    for point in found["front"]:
        assert point["costs"]["capital"] <= 150e3
        assert point["costs"]["power"] <= 20e3
        assert 1e8 / point["throughput_samples_per_s"] <= 12 * 3600
    assert len(found["confidence"]["front"]) == len(found["front"])
    assert found["recommended"]["rule"] == "cheapest"
    with (tmp_path / "out" / "front.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    chances = [float(row["limits_probability"]) for row in rows]
    assert chances == found["confidence"]["front"]
    again = package.run(
        tmp_path / "study.yaml", out=tmp_path / "python", deadline="12 h", budget="150 kUSD",
        power="20 kW", confidence=0.6,
    )  # fmt: skip
    assert again["recommended"]["config"] == found["recommended"]["config"]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("--budget", "2000"), "--budget: 2000 has no unit; write an amount of money"),
        (("--budget", "-1 MUSD"), "--budget: must be positive"),
        (("--deadline", "0 d"), "--deadline: must be positive"),
        (("--deadline", "7"), "--deadline: 7 has no unit"),
        (("--power", "7"), "--power: 7 has no unit"),
        (("--confidence", "90"), "--confidence: must be a probability between 0 and 1"),
        (("--confidence", "0"), "--confidence: must be a probability between 0 and 1"),
    ],
)
def test_what_is_no_question_is_one_line(asked: tuple[str, ...], said: str, tmp_path: Path) -> None:
    put(tmp_path)
    done = dse("run", "study.yaml", *asked, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"dse: {said}")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "reports").exists()


def test_a_deadline_without_a_target_is_one_line(tmp_path: Path) -> None:
    put(tmp_path, SMALL)
    done = dse("run", "study.yaml", "--deadline", "7 d", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--deadline: study.yaml does not say how long a run is; add target:" in done.stderr


def test_nobody_is_left_in_doubt_where_nothing_meets_a_question(tmp_path: Path) -> None:
    put(tmp_path)
    done = dse("run", "study.yaml", "--deadline", "1 s", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "misses 'time_to_target <= 1 s'" in done.stderr


def test_a_run_is_not_resumed_with_another_question(tmp_path: Path) -> None:
    put(tmp_path)
    path = tmp_path / "study.yaml"
    plain = fingerprint(load(path), "exhaustive")
    asked = fingerprint(load(path, Questions(deadline="7 d")), "exhaustive")
    later = fingerprint(load(path, Questions(deadline="8 d")), "exhaustive")
    assert "question --deadline of the study was absent, is 7 d" in difference(plain, asked)
    assert "question --deadline of the study was 7 d, is 8 d" in difference(asked, later)
    sure = fingerprint(load(path, Questions(deadline="7 d", confidence=0.9)), "exhaustive")
    assert difference(asked, sure) == ""  # it decides what is recommended, not what is searched


@pytest.mark.usefixtures("brief")
def test_a_finished_run_is_not_taken_for_the_answer_to_another_question(tmp_path: Path) -> None:
    put(tmp_path)
    assert dse("run", "study.yaml", "--out", "out", cwd=tmp_path).returncode == 0
    done = dse("run", "study.yaml", "--out", "out", "--resume", cwd=tmp_path)
    assert "this search was finished before" in done.stdout
    asked = ("--resume", "--budget", "150 kUSD")
    done = dse("run", "study.yaml", "--out", "out", *asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "this search was finished before" not in done.stdout
    assert "kept in out.1" in done.stdout
    assert json.loads((tmp_path / "out" / "run.json").read_text())["questions"] == {
        "budget": "150 kUSD"
    }


@pytest.mark.usefixtures("brief")
def test_a_folder_of_studies_has_one_table(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    for name in ("one", "two"):
        text = TARGET.replace("study: small", f"study: {name}")
        (tmp_path / "studies" / f"{name}.yaml").write_text(text)
    done = dse("run", "studies", "--out", "out", "--budget", "150 kUSD", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = done.stdout.partition("\nstudy ")[2]
    for name in ("one", "two"):
        (row,) = (line for line in table.splitlines() if line.startswith(f"{name} "))
        best = document(tmp_path / "out" / name)["recommended"]
        assert shown(best["speedup"], "x") in row
        assert shown(best["throughput_samples_per_s"], "") in row
