"""What `dse check` says of a study."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.commands.command import dse, files
from tests.pricing.studies import SMALL, written
from tests.pricing.test_profiles_at_hand import NCCL


def test_check_says_the_size_and_writes_nothing(tmp_path: Path) -> None:
    written(tmp_path)
    done = dse("check", "study.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2,304 points" in done.stdout
    assert "exhaustive" in done.stdout
    assert json.loads(dse("check", "study.yaml", "--json", cwd=tmp_path).stdout)["points"] == 2304
    assert list(files(tmp_path)) == ["study.yaml"]


def test_check_says_what_is_feasible_and_what_rejects_the_rest(tmp_path: Path) -> None:
    written(tmp_path)
    said = dse("check", "study.yaml", cwd=tmp_path).stdout
    feasible = re.search(r"feasible +([\d,]+) of 2,304 points \(\d+ %\)\n  rejected +\d+ %  ", said)
    assert feasible, said
    found = json.loads(dse("check", "study.yaml", "--json", cwd=tmp_path).stdout)
    assert found["feasible"]["feasible"] == int(feasible[1].replace(",", ""))
    assert found["feasible"]["whole"]
    assert "global_batch <= 2048 is not met" in said
    assert "constraints      fits_memory, capital <= 350 kUSD, global_batch <= 2048" in said


def test_check_ends_with_what_comes_nearest_where_nothing_is_feasible(tmp_path: Path) -> None:
    written(tmp_path, SMALL.replace('"capital <= 350 kUSD"', '"capital <= 20 USD"'))
    done = dse("check", "study.yaml", cwd=tmp_path)
    last = done.stdout.splitlines()[-1]
    assert done.returncode == 0
    assert re.match(
        r"study\.yaml: none of [\d,]+ points meets every constraint; .*nearest is", last
    )
    assert "ok" not in done.stdout
    failed = dse("run", "study.yaml", cwd=tmp_path)
    assert last in failed.stderr


def test_check_says_that_training_rates_at_hand_are_not_used(tmp_path: Path) -> None:
    written(tmp_path)
    header = "workload,accelerator,samples_per_s,precision,batch_per_gpu\n"
    (tmp_path / "ours.csv").write_text(f"{header}resnet50,v100-sxm2-16gb,350,fp32,64\n")
    assert dse("calibrate", "import-throughput", "ours.csv", cwd=tmp_path).returncode == 0
    said = dse("check", "study.yaml", cwd=tmp_path).stdout
    assert "not used: your training rate in ours\n" in said
    assert "write calibration: [ours" in said
    written(tmp_path, SMALL.replace("search:", "calibration: [ours]\nsearch:"))
    said = dse("check", "study.yaml", cwd=tmp_path).stdout
    assert "not used" not in said


def test_check_says_whether_anything_measured_is_used(tmp_path: Path) -> None:
    written(tmp_path, NCCL)
    said = dse("check", "study.yaml", cwd=tmp_path).stdout
    names = re.search(r"profiles? fits?; write calibration: \[([\w., -]+)\]", said)
    assert names, said
    written(tmp_path, f"{NCCL}calibration: [{names[1]}]\n")
    said = dse("check", "study.yaml", cwd=tmp_path).stdout
    assert f"auto-nccl by {names[1].split(', ')[0]}" in said
    if more := re.search(r"besides; write calibration: \[([\w., -]+)\]", said):
        assert set(names[1].split(", ")) <= set(more[1].split(", ")), "none is lost"
    written(tmp_path, f"{NCCL}model: pai\n")
    assert "  measured" not in dse("check", "study.yaml", cwd=tmp_path).stdout
