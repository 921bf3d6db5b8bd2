"""What `dse explain` says of one point."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.commands.command import dse, files
from tests.commands.reports import AXES, rows
from tests.pricing.studies import CONTINUOUS, SMALL, written


def test_explain_prices_one_point(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("explain", "study.yaml", "--set", "gpus=8", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    point = json.loads(done.stdout)
    assert point["config"]["gpus"] == "8"
    assert point["config"]["aggregation"] == "ps-grpc"  # the baseline's
    assert point["nodes"] == 2
    assert sum(point["terms"].values()) == pytest.approx(point["step_s"])
    assert {"fits_memory", "capital <= 350 kUSD"} <= set(point["constraints"])
    assert all(point["constraints"].values())
    printed = dse("explain", "study.yaml", "--set", "gpus=8,batch_per_gpu=32", cwd=tmp_path).stdout
    for number in (point["speedup"], *point["intervals"]["speedup"]):
        assert f"{number:.3f}" in printed
    for seconds in (point["step_s"], *point["intervals"]["step_s"]):
        assert f"{seconds * 1e3:,.3f}" in printed
    assert list(files(tmp_path)) == ["study.yaml"]


def test_explain_says_which_constraint_is_missed(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("explain", "study.yaml", "--set", "batch_per_gpu=1024", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "constraints      the accelerator has too little memory (" in done.stdout
    assert "global_batch <= 2048 is not met" in done.stdout
    assert re.search(r"^does not fit     with a probability of 100 %$", done.stdout, re.MULTILINE)
    assert "too little per GPU; what fits: batch_per_gpu " in done.stdout


def test_explain_says_why_a_point_was_not_measured(calibrated: Path) -> None:
    written(calibrated, SMALL + "calibration: [this-machine]\n")
    at = ["--set", "aggregation=ring-mpi", "--set", "gpus=16", "--set", "gpus_per_node=16"]
    done = dse("explain", "study.yaml", *at, cwd=calibrated)
    assert done.returncode == 0, done.stderr
    after = done.stdout.partition("calibration      far outside the measured range:\n")[2]
    assert "16 ranks (measured: 2-" in after
    point = json.loads(dse("explain", "study.yaml", *at, "--json", cwd=calibrated).stdout)
    assert all(f"                 {reason}\n" in after for reason in point["why_outside"])
    inside = json.loads(dse("explain", "study.yaml", "--set", "gpus=1", "--json", cwd=calibrated)
                        .stdout)  # fmt: skip
    assert inside["why_outside"] == []


def test_explain_takes_a_bandwidth_within_a_range_for_the_study_s_link(tmp_path: Path) -> None:
    """Its latency and prices are those of the range, as in the baseline."""
    written(tmp_path, CONTINUOUS)
    said = dse("explain", "study.yaml", "--set", "inter_node=20 Gbps", "--json", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    point = json.loads(said.stdout)
    assert point["not_searched"] == []
    assert point["step_s"] > 0
    assert point["costs"]["capital"] > 0
    outside = dse("explain", "study.yaml", "--set", "inter_node=200 Gbps", "--json", cwd=tmp_path)
    assert json.loads(outside.stdout)["not_searched"] == ["inter_node"]


def test_a_value_that_the_study_could_not_have_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    for given, said in (
        ("inter_node=40 Gbps", "40 Gbps has no latency; write {bandwidth: 40 Gbps, latency: 5 us}"),
        ("inter_node={bandwidth: 40 Gbps, latency: 5 us}",
         "40 Gbps has no known price of nic and switch_port and cable; give nic and "),
    ):  # fmt: skip
        done = dse("explain", "study.yaml", "--set", given, "--set", "gpus=16", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert f"--set: {said}" in line
    priced = "{bandwidth: 40 Gbps, latency: 5 us, fabric: 10gbe}"
    done = dse("explain", "study.yaml", "--set", f"inter_node={priced}", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_explain_of_the_front_agrees_with_the_run(ran: tuple[Path, str]) -> None:
    row = rows(ran[0])[-1]
    chosen = [word for name in AXES if row[name] for word in ("--set", f"{name}={row[name]}")]
    done = dse("explain", "study.yaml", *chosen, "--json", cwd=ran[0].parents[1])
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["speedup"] == pytest.approx(float(row["speedup"]), rel=1e-12)
