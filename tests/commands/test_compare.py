"""What `dse compare` says of two finished runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from dse.report.document_files import sealed
from tests.commands.command import dse
from tests.commands.reports import document
from tests.pricing.studies import SMALL
from tests.report.brief import briefly

QUOTE = "prices: {accelerators: {p100-sxm2-16gb: {purchase: 20000 USD}}}\n"
OTHERS = {
    "quote": SMALL + QUOTE,
    "other": SMALL.replace("workload: resnet50", "workload: vgg16"),
    "rent": SMALL.replace("minimize: capital", "minimize: hourly"),
    "spares": SMALL + "prices: {host: 9000 USD, extras: {spares: 3 %}}\n",
    "more-spares": SMALL
    + "prices: {currencies: {EUR: 1.08 USD}, host: {value: 9000 EUR, discount: 10 %, "
    "quote: Q-1}, extras: {spares: 5 %, installation: 1000 EUR}}\n",
    "cheap-ports": SMALL + "prices: {fabrics: {10gbe: {switch_port: 50 USD}}}\n",
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


def test_another_quote_is_named_with_both_prices_and_what_it_changes(runs: Path) -> None:
    found, text = compared(runs, "plain", "quote")
    then, now = document(runs / "plain"), document(runs / "quote")
    assert found["same_point"] == (then["recommended"]["config"] == now["recommended"]["config"])
    measures = {one["name"]: one for one in found["measures"]}
    for name, of in (("speedup", "speedup"), ("capital", "capital")):
        assert measures[name]["a"] == then["recommended"][of]
        assert measures[name]["b"] == now["recommended"][of]
    assert measures["points of the front"]["b"] == len(now["front"])
    (price,) = (one for one in found["prices"] if "P100" in one["item"])
    assert price["b_usd"] == 20000.0
    assert (price["a_class"], price["b_class"]) == ("estimate", "quote")
    assert price["a_date"] == "2018-07-01"
    assert "(estimate, 2018-07-01) in A, USD 20,000.00 (quote, no date) in B" in text
    assert any(QUOTE.strip() in line for line in found["study"])
    assert f"  +{QUOTE.strip()}" in text
    assert "the prices, or the workload's layers (quote.yaml in B)" in found["inputs"]
    (fact,) = (one for one in found["facts"] if "p100" in one["fact"])
    assert (fact["item"], fact["fact"]) == ("prices", "p100-sxm2-16gb")
    assert (fact["a"], fact["b"]) == ("7400 USD", "20000 USD")


def test_prices_of_what_is_not_recommended_are_compared_and_switches_by_part(runs: Path) -> None:
    found, text = compared(runs, "plain", "cheap-ports")
    ports = [one for one in found["prices"] if "witch" in one["item"]]
    assert ports
    assert len({one["item"] for one in ports}) == len(ports)
    for one in ports:
        assert one["item"].startswith("Switch of ")
        assert one["a_usd"] is not None
        assert one["b_usd"] is not None
        assert one["a_usd"] != one["b_usd"]
    assert "no price" not in text


def test_the_price_of_the_hosts_of_one_accelerator_is_compared_by_its_name(runs: Path) -> None:
    found, text = compared(runs, "own-host", "dearer-host")
    (price,) = found["prices"]
    assert price["item"] == "Host for NVIDIA Tesla P100 SXM2 16 GB"
    assert (price["a_usd"], price["b_usd"]) == (15_000.0, 18_000.0)
    assert "prices, p100-sxm2-16gb host: 15 kUSD in A, 18 kUSD in B" in text


def test_extras_are_compared_by_their_rates_and_prices_with_their_currency(runs: Path) -> None:
    found, text = compared(runs, "spares", "more-spares")
    assert found["extras"] == [
        {"name": "Spares", "a": "3 % of the hardware", "b": "5 % of the hardware",
         "a_usd": extra(runs / "spares", "Spares"), "b_usd": extra(runs / "more-spares", "Spares")},
        {"name": "Installation", "a": "", "b": "USD 1,080.00", "a_usd": None, "b_usd": 1080.0},
    ]  # fmt: skip
    assert "  Spares: 3 % of the hardware (USD " in text
    assert "  Installation: none in A, USD 1,080.00 in B" in text
    assert not any("Spares" in one["item"] for one in found["prices"])
    (host,) = (one for one in found["prices"] if one["item"].startswith("Host"))
    assert (host["a_terms"], host["b_terms"]) == ("", "quotation Q-1, 10 % off, EUR at USD 1.08")
    assert (host["a_usd"], host["b_usd"]) == (9000.0, 8748.0)
    (fact,) = (one for one in found["facts"] if one["fact"] == "host")
    assert (fact["a"], fact["b"]) == ("9000 USD", "9000 EUR, 10 % off (EUR at USD 1.08)")


def extra(run: Path, name: str) -> float:
    """What an extra comes to in the recommended point's bill."""
    bill = document(run)["bills"]["recommended"]
    (usd,) = (float(item["usd"]) for item in bill if item["item"].startswith(name))
    return usd


def test_the_point_of_one_run_is_looked_up_in_the_other(runs: Path) -> None:
    found, text = compared(runs, "plain", "few")
    assert not found["same_point"]
    then, now = document(runs / "plain"), document(runs / "few")
    gpus = then["recommended"]["config"]["gpus"]
    assert found["of_a"]["where"] == "absent"
    assert f"its space does not have gpus {gpus}" in found["of_a"]["instead"]
    assert f"A's recommended point in B: not on its front; its space does not have gpus {gpus}" in (
        text
    )
    mine = now["recommended"]["config"]
    rows = [at for at, point in enumerate(then["front"], 1) if point["config"] == mine]
    assert found["of_b"]["row"] == (rows[0] if rows else None)


def test_values_under_a_condition_are_of_the_space(runs: Path, tmp_path: Path) -> None:
    """An axis under `when` has a row for each condition."""
    for name in ("a", "b"):
        shutil.copytree(runs / "plain", tmp_path / name)
    there, here = (document(tmp_path / name) for name in ("a", "b"))
    (row,) = (one for one in here["axes"] if one["name"] == "gpus")
    here["axes"].remove(row)
    here["axes"] += [{**row, "values": row["values"][:1]}, {**row, "values": row["values"][1:]}]
    there["recommended"]["config"] |= {"gpus": row["values"][-1], "aggregation": "ring-nccl"}
    for name, document_ in (("a", there), ("b", here)):
        (tmp_path / name / "run.json").write_text(sealed(document_))
    assert "gpus" not in compared(tmp_path, "a", "b")[0]["of_a"]["instead"]


def test_a_run_is_the_same_as_itself(runs: Path) -> None:
    found, text = compared(runs, "plain", "plain")
    assert found["identical"]
    assert found["inputs"] == found["prices"] == found["facts"] == found["study"] == []
    assert "Nothing that they follow from differs." in text
    assert "Both recommend" in text
    # What is the same in both is no row of a table.
    (same,) = (line for line in text.splitlines() if line.startswith("The same in both: "))
    assert f"feasible points {document(runs / 'plain')['counts']['feasible']:,}" in same
    assert "Recommended point  " not in text


def test_other_workloads_are_said_to_be_so_and_prices_still_compared(runs: Path) -> None:
    found, text = compared(runs, "plain", "other")
    assert "The workloads differ, resnet50 and vgg16: their speeds cannot be compared" in text
    measures = {one["name"]: one for one in found["measures"]}
    assert not measures["speedup"]["comparable"]
    assert not measures["throughput"]["comparable"]
    assert measures["capital"]["comparable"]
    assert "not comparable" in text
    assert found["of_a"] is None


def test_other_objectives_are_said_to_be_so(runs: Path) -> None:
    found, text = compared(runs, "plain", "rent")
    assert "They have different objectives" in text
    assert {"capital", "hourly"} <= {one["name"] for one in found["measures"]}


def test_another_catalogue_is_told_fact_by_fact(runs: Path, tmp_path: Path) -> None:
    for name in ("plain", "old"):
        shutil.copytree(runs / "plain", tmp_path / name)
    path = tmp_path / "old" / "run.json"
    old = document(path.parent)
    old["hashes"]["catalogue"] = "another"
    old["versions"]["dse"] = "0.0.9"
    row = next(one for one in old["sources"] if one["date"])
    value, row["value"], row["date"] = row["value"], "1 USD", "2001-02-03"
    old["baseline"]["throughput_samples_per_s"] *= 2
    path.write_text(sealed(old))
    found, text = compared(tmp_path, "old", "plain")
    (fact,) = found["facts"]
    assert (fact["a"], fact["a_date"], fact["b"]) == ("1 USD", "2001-02-03", value)
    part = row["fact"].split(".")[1]
    assert f"prices, {part}: 1 USD (2001-02-03) in A, {value}" in text
    assert "the catalogue" in found["inputs"]
    assert any(line.startswith("dse: 0.0.9 and ") for line in found["inputs"])
    assert "The same baseline trains" in text


def test_a_profile_measured_anew_is_named(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "plain", tmp_path / "a")
    path = tmp_path / "a" / "run.json"
    found = document(path.parent)
    row = {
        "name": "mine", "transport": "mpi", "library": "Open MPI 5", "machine": {}, "path": "x",
        "date": "2026-01-01", "link": "", "ranks": [2, 8], "message_bytes": [1.0, 2.0],
        "split": "assumed", "algorithms": {}, "hash": "one",
    }  # fmt: skip
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    for name, date, digest in (("a", "2026-01-01", "one"), ("b", "2026-05-01", "two")):
        found["calibration"] = [{**row, "date": date, "hash": digest}]
        found["hashes"]["calibration"] = digest
        (tmp_path / name / "run.json").write_text(sealed(found))
    answer, text = compared(tmp_path, "a", "b")
    assert answer["profiles"] == [
        "mine: measured 2026-01-01 in A and 2026-05-01 in B, or fitted anew"
    ]
    assert "the calibration profiles" in text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("plain",), "dse: missing argument"),
        (("plain", "nowhere"), "dse: nowhere: no such folder; name the folder of a finished run"),
        (("plain", "empty"), "dse: empty: the folder is empty; name the folder of a finished run"),
        (("plain", "older"), "its schema_version is 1, and not 3; run the study again"),
        (("plain", "broken"), "the document of a run breaks off here; run the study again"),
    ],
)
def test_a_folder_without_a_run_is_one_line(
    given: tuple[str, ...], said: str, runs: Path, tmp_path: Path
) -> None:
    for name in ("plain", "older", "broken"):
        shutil.copytree(runs / "plain", tmp_path / name)
    (tmp_path / "empty").mkdir()
    text = (tmp_path / "older" / "run.json").read_text()
    (tmp_path / "older" / "run.json").write_text(
        text.replace('"schema_version": 3', '"schema_version": 1')
    )
    (tmp_path / "broken" / "run.json").write_text(text[:1000])
    done = dse("compare", *given, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
