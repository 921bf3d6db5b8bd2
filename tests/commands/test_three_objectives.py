"""A study that minimises two quantities, from its file to its report."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.commands.command import dse
from tests.commands.reports import document as read
from tests.pricing.studies import SMALL, written

TWO = "minimize: [capital, power]"
THREE = SMALL.replace("minimize: capital", TWO)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with study.yaml and its finished report."""
    folder = tmp_path_factory.mktemp("three")
    written(folder, THREE)
    done = dse("run", "study.yaml", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_front_has_a_column_for_each_objective(ran: Path) -> None:
    rows = table(ran / "out" / "front.csv")
    document = read(ran / "out")
    assert document["objectives"] == {
        "maximize": "speedup", "minimize": "capital", "minimize_also": "power"
    }  # fmt: skip
    assert len(rows) == len(document["front"]) == document["counts"]["front"] > 5
    losses = [(-float(r["speedup"]), float(r["capital_usd"]), float(r["power_w"])) for r in rows]
    assert [row[1:] for row in losses] == sorted(row[1:] for row in losses)
    for mine in losses:
        better = [its for its in losses if all(a <= b for a, b in zip(its, mine, strict=True))]
        assert better == [mine]
    assert float(rows[-1]["speedup"]) <= document["fastest"]["speedup"]
    assert document["fastest"]["speedup"] == max(float(row["speedup"]) for row in rows)


@pytest.mark.usefixtures("brief")
def test_two_of_its_objectives_have_no_better_front(ran: Path, tmp_path: Path) -> None:
    """Whatever is on the front of speedup and one cost is as good on that of all three."""
    three = table(ran / "out" / "front.csv")
    for least, column in (("capital", "capital_usd"), ("power", "power_w")):
        written(tmp_path, SMALL.replace("minimize: capital", f"minimize: {least}"))
        assert dse("run", "study.yaml", "--out", least, cwd=tmp_path).returncode == 0
        known = {(row["speedup"], row[column]) for row in three}
        rows = table(tmp_path / least / "front.csv")
        assert {(row["speedup"], row[column]) for row in rows} <= known
