"""What `dse compare` says of two finished runs."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from dse.report.document_files import sealed
from tests.commands.command import dse, refused
from tests.commands.reports import document
from tests.pricing.studies import SMALL
from tests.report.brief import briefly

QUOTE = "prices: {accelerators: {p100-sxm2-16gb: {purchase: 20000 USD}}}\n"
OTHERS = {
    "quote": SMALL + QUOTE,
    "other": SMALL.replace("workload: resnet50", "workload: vgg16"),
    "rent": SMALL.replace("minimize: capital", "minimize: hourly"),
    "spares": SMALL + "prices: {host: 9000 USD, extras: {spares: 3 %}}\n",
    "more-spares": SMALL + "prices: {currencies: {EUR: 1.08 USD}, host: {value: 9000 EUR, "
    "quote: Q-1}, extras: {spares: 5 %, installation: 1000 EUR}}\n",
    "own-host": SMALL + "prices: {accelerators: {p100-sxm2-16gb: {host: 15 kUSD}}}\n",
    "dearer-host": SMALL + "prices: {accelerators: {p100-sxm2-16gb: {host: 18 kUSD}}}\n",
    "few": SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [1, 4]"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    for name, text in {"plain": SMALL, **OTHERS}.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
        with briefly():
            done = dse("run", f"{name}.yaml", "--out", name, cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder


def compared(runs: Path, a: str, b: str) -> tuple[dict[str, Any], str]:
    """The comparison as JSON and as text."""
    done = dse("compare", a, b, "--json", cwd=runs)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, Any] = json.loads(done.stdout)
    return found, dse("compare", a, b, cwd=runs).stdout


def by_name(lines: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in lines}


def test_another_quote_is_named_with_both_prices_and_what_it_changes(runs: Path) -> None:
    found, text = compared(runs, "plain", "quote")
    then, now = (document(runs / name)["recommended"] for name in ("plain", "quote"))
    answer, inputs = by_name(found["answer"]), by_name(found["inputs"])
    for name in ("speedup", "capital"):
        assert (answer[name]["value"], answer[name]["against"]) == (then[name], now[name])
        assert answer[name]["interval"] == (
            then["interval"]["costs"].get(name) or then["interval"]["speedup"]
        )
    assert {name for name, line in answer.items() if line["value"] == line["against"]} == set()
    price = inputs["Price, p100-sxm2-16gb"]
    assert (price["value"], price["against"]) == ("7400 USD (2018-07-01)", "20000 USD")
    assert (inputs["study"]["value"], inputs["study"]["against"]) == (None, QUOTE.strip())
    assert "workload or prices" not in inputs  # a fact of it is told
    (row,) = (line for line in text.splitlines() if line.startswith("Price, p100-sxm2-16gb"))
    assert row.split()[2:] == ["7400", "USD", "(2018-07-01)", "20000", "USD"]


def test_the_number_that_changed_most_is_named_first(runs: Path) -> None:
    """By its ratio, of those that mean the same in both."""
    for pair in (("plain", "quote"), ("plain", "few"), ("plain", "rent")):
        found, text = compared(runs, *pair)
        aims = [line for line in found["answer"] if line["comparable"] and line["unit"]
                and isinstance(line["value"], float) and line["unit"] not in ("B", "share")
                and isinstance(line["against"], float)]  # fmt: skip
        ratios = [abs(math.log(line["against"] / line["value"])) for line in aims]
        most = max(zip(ratios, aims, strict=True), key=lambda one: one[0], default=None)
        third = text.splitlines()[2]
        assert third == found["most"]
        assert third.startswith(f"{most[1]['title']} changed most" if most else "No number of the")


def test_hosts_and_extras_are_compared_as_their_prices_are_written(runs: Path) -> None:
    inputs = by_name(compared(runs, "own-host", "dearer-host")[0]["inputs"])
    host = inputs["Price, p100-sxm2-16gb.host"]
    assert (host["value"], host["against"]) == ("15 kUSD", "18 kUSD")
    inputs = by_name(compared(runs, "spares", "more-spares")[0]["inputs"])
    assert inputs["Price, extras.spares"]["against"].startswith("5 %")
    assert inputs["Price, extras.installation"]["value"] is None
    assert inputs["Price, host"]["against"] == "9000 EUR (EUR at USD 1.08)"


def test_a_run_is_the_same_as_itself(runs: Path) -> None:
    found, text = compared(runs, "plain", "plain")
    assert found["inputs"] == found["answer"] == []
    assert text.splitlines()[2:] == ["Nothing differs."]


def test_speeds_of_other_workloads_are_not_comparable_and_prices_are(runs: Path) -> None:
    answer = by_name(compared(runs, "plain", "other")[0]["answer"])
    assert not answer["speedup"]["comparable"]
    assert not answer["throughput"]["comparable"]
    assert all(line["comparable"] for name, line in answer.items() if name == "capital")


def test_another_catalogue_is_told_fact_by_fact(runs: Path, tmp_path: Path) -> None:
    for name in ("plain", "old"):
        shutil.copytree(runs / "plain", tmp_path / name)
    path = tmp_path / "old" / "run.json"
    old = document(path.parent)
    old["hashes"]["catalogue"] = "another"
    path.write_text(sealed(old))
    inputs = by_name(compared(tmp_path, "old", "plain")[0]["inputs"])
    assert inputs["catalogue"]["value"] == "another"  # nothing else tells
    old["versions"]["dse"] = "0.0.9"
    row = next(one for one in old["sources"] if one["date"])
    value, row["value"], row["date"] = f"{row['value']} ({row['date']})", "1 USD", "2001-02-03"
    old["baseline"]["throughput_samples_per_s"] *= 2
    old["recommended"]["speedup"] /= 2
    path.write_text(sealed(old))
    found, text = compared(tmp_path, "old", "plain")
    (fact,) = (one for one in found["inputs"] if one["value"] == "1 USD (2001-02-03)")
    assert fact["against"] == value
    assert by_name(found["inputs"])["dse"]["value"] == "0.0.9"
    assert not by_name(found["answer"])["speedup"]["comparable"]
    assert "not comparable" in text


def test_a_profile_measured_anew_is_named(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "plain", tmp_path / "a")
    found = document(tmp_path / "a")
    row = {
        "name": "mine", "transport": "mpi", "library": "Open MPI 5", "machine": {}, "path": "x",
        "date": "2026-01-01", "link": "", "ranks": [2, 8], "message_bytes": [1.0, 2.0],
        "split": "assumed", "algorithms": {}, "hash": "one",
    }  # fmt: skip
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for name, date, digest in (("a", "2026-01-01", "one"), ("b", "2026-05-01", "two")):
        found["calibration"] = [{**row, "date": date, "hash": digest}]
        (tmp_path / name / "run.json").write_text(sealed(found))
    line = by_name(compared(tmp_path, "a", "b")[0]["inputs"])["mine"]
    assert ("2026-01-01" in line["value"], "2026-05-01" in line["against"]) == (True, True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("plain",), "dse: missing argument"),
        (("plain", "nowhere"), "dse: nowhere: no such folder; name the folder of a finished run"),
    ],
)
def test_a_folder_without_a_run_is_one_line(given: tuple[str, ...], said: str, runs: Path) -> None:
    assert refused(dse("compare", *given, cwd=runs)).startswith(said)
