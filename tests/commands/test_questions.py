"""Questions on the command line: what they limit, and that no run is mixed with another's."""

from __future__ import annotations

import csv
from pathlib import Path

import dse as package
from dse.pricing.load import load
from dse.search.fingerprint import difference, fingerprint
from dse.study.questions import Questions
from tests.commands.command import dse
from tests.commands.reports import document
from tests.pricing.studies import SMALL

TARGET = SMALL.replace("search: ", "target: {samples: 1e8}\nsearch: ").replace("350 kUSD", "5 MUSD")


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
