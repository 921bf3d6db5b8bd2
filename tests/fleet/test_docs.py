"""What docs/fleet.md shows is what runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from dse.fleet.answers import answer
from dse.fleet.document import plain
from dse.fleet.reader import read_fleet
from tests.fleet.small import written

DOCS = (Path(__file__).parents[2] / "docs" / "fleet.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", DOCS, re.DOTALL | re.MULTILINE)
    return str(found)


def evaluated(folder: Path, study: str) -> dict[str, Any]:
    return plain(answer(read_fleet(written(folder, study, block("csv")))))


def test_the_study_and_the_table_that_are_shown_run_together(tmp_path: Path) -> None:
    found = evaluated(tmp_path, block("yaml"))
    rows = block("csv").splitlines()[1:]
    assert found["population"]["jobs"] == len(rows) == 3
    assert found["population"]["counted_by"] == "GPU-hours"
    assert {port["to"] for port in found["ports"]} == {
        "allreduce-local",
        "allreduce-cluster",
        "pearl",
    }
    assert found["hardware"]["gpu_memory_bytes"] == 16e9
    assert found["ports"][0]["cannot"] == 0
    assert found["money"]["gpus"] == 10_000


def test_efficiency_does_what_is_said_of_it(tmp_path: Path) -> None:
    study = block("yaml")
    assert "efficiency: 0.7 " in study
    full = evaluated(tmp_path, study)
    half = evaluated(tmp_path, study.replace("efficiency: 0.7 ", "efficiency: 35 % "))
    assert half["hardware"]["efficiency"] == 0.35
    for key in ("upgrades", "ports", "sensitivity"):
        assert flat(half[key]) == pytest.approx(flat(full[key])), key
    for before, after in zip(full["classes"], half["classes"], strict=True):
        for level in ("job", "cnode"):
            shares = before["levels"][level]["mean"]
            assert after["levels"][level]["mean"] == pytest.approx(shares)
    assert flat(half["money"]) == pytest.approx(flat(full["money"]))


def flat(part: Any) -> list[float]:
    """Every number in it, in order."""
    if isinstance(part, dict):
        return [number for value in part.values() for number in flat(value)]
    if isinstance(part, list):
        return [number for value in part for number in flat(value)]
    return [float(part)] if isinstance(part, (int, float)) else []
