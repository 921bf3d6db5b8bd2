"""dse run --within: the runners-up of the front."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.commands.command import dse, refused
from tests.pricing.studies import CONTINUOUS, written


@pytest.mark.usefixtures("brief")
def test_runners_up_are_listed_on_request(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("run", "study.yaml", "--out", "out", "--within", "5%", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads((tmp_path / "out" / "run.json").read_text())
    with (tmp_path / "out" / "near.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(document["runners_up"]["rows"]) > 0
    assert document["runners_up"]["points"] >= len(rows)
    for row in rows:
        best = document["front"][int(row["front_row"]) - 1]
        behind = float(row["behind"])
        assert 0 < behind <= 0.05
        assert float(row["speedup"]) >= best["speedup"] * (1 - behind) * (1 - 1e-12)
        assert float(row["capital"]) <= best["capital"] * (1 + behind) * (1 + 1e-12)


@pytest.mark.usefixtures("brief")
def test_a_run_that_does_not_ask_leaves_no_old_list(tmp_path: Path) -> None:
    written(tmp_path)
    near = tmp_path / "out" / "near.csv"
    assert dse("run", "study.yaml", "--out", "out", "--within", "0.1", cwd=tmp_path).returncode == 0
    assert near.is_file()
    assert dse("run", "study.yaml", "--out", "out", cwd=tmp_path).returncode == 0
    assert not near.exists()


@pytest.mark.parametrize("text", ["5", "0", "-1%", "100%", "five", "nan", "inf"])
def test_what_is_no_share_is_refused(tmp_path: Path, text: str) -> None:
    written(tmp_path)
    line = refused(dse("run", "study.yaml", f"--within={text}", cwd=tmp_path))
    assert line == (
        f"dse: --within: '{text}' is not a percentage between 0 and 100; write for example 5%"
    )


def test_a_guided_search_knows_no_runners_up(tmp_path: Path) -> None:
    written(tmp_path, CONTINUOUS)
    line = refused(dse("run", "study.yaml", "--within", "5%", cwd=tmp_path))
    assert line == (
        "dse: --within: needs the exhaustive engine, and this search is guided; leave it out, or "
        "add --engine exhaustive"
    )
