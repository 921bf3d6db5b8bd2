"""Workloads that share a cluster, against each of them alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import dse
from dse.catalog.store import models_dir
from dse.errors import StudyError
from dse.study.axes import HARDWARE
from tests.pricing import studies

SPACE = """
space: {accelerator: [v100-sxm2-16gb, h100-sxm], gpus: [1, 2, 4, 8], gpus_per_node: 4,
        inter_node: [25gbe, 100gbe], batch_per_gpu: [16, 64], precision: [fp32, fp16],
        aggregation: [ring-mpi, auto-nccl]}
constraints: [fits_memory, "global_batch <= 256"]
market: used
objectives: {maximize: speedup, minimize: capital}
baseline: {accelerator: a100-sxm4-80gb, gpus: 4, inter_node: 25gbe"""
SOFTWARE = ", batch_per_gpu: 16, precision: fp16, aggregation: ring-mpi"
SHARES = {"resnet50": 0.7, "bert-large-s512": 0.3}
MIX = f"mix: {SHARES}".replace("'", "")


def study(folder: Path, workloads: str, software: str = SOFTWARE) -> dse.Study:
    return dse.load_study(
        studies.written(folder, f"study: shared\n{workloads}{SPACE}{software}}}\n")
    )


def test_the_front_is_that_of_each_workload_at_its_best(tmp_path: Path) -> None:
    usd, times = dict[str, float](), dict[str, float]()
    for name, share in SHARES.items():
        problem, best = study(tmp_path, f"workload: {name}").problem, dict[str, float]()
        for values in map(problem.space.point, range(problem.space.size)):
            point, key = problem.point(values), str([values.get(axis) for axis in HARDWARE])
            able = (point["memory_slack"] >= 0) & (point["global_batch"] <= 256)
            best[key] = max(best.get(key, 1e-99), (point["speedup"] * able).item())
            usd[key] = point["capital"].item()
        times |= {key: times.get(key, 0.0) + share / one for key, one in best.items()}
    every = {(usd[key], float(f"{1 / time:.9g}")) for key, time in times.items() if time < 1e9}
    assert 0 < len(every) < len(times)  # BERT does not fit everywhere
    front = sorted((cost, gain) for cost, gain in every if not any(
        c <= cost and g >= gain and (c, g) != (cost, gain) for c, g in every))  # fmt: skip
    found = study(tmp_path, MIX).search()
    none = found.study.price([{"accelerator": "v100-sxm2-16gb"}], intervals=True)
    assert none["speedup_high"] == 0  # of BERT no batch fits
    gains = [float(f"{gain:.9g}") for gain in found.front["speedup"]]
    assert list(zip(found.front["capital_usd"], gains, strict=True)) == front
    mixed = found.recommended.mix or ()
    assert [(one.workload, one.share) for one in mixed] == [*SHARES.items()]
    total = sum(one.share / (one.speedup or 0) for one in mixed)
    assert found.recommended.speedup == pytest.approx(1 / total)


def test_a_workload_beside_itself_is_the_workload(tmp_path: Path) -> None:
    """Their errors are drawn together, so that even the interval is its own."""
    text = (models_dir() / "workloads/resnet50.yaml").read_text(encoding="utf-8")
    for part in ("layers/", "work/"):
        text = text.replace(f": {part}", f": {models_dir()}/workloads/{part}")
    (tmp_path / "twin.yaml").write_text(text, encoding="utf-8")
    best = {"precision": "fp16", "aggregation": "auto-nccl", "batch_per_gpu": 64}
    points = [{**best, "gpus": 4}, {**best, "gpus": 2, "accelerator": "h100-sxm"}]
    wanted = study(tmp_path, "workload: resnet50").price(points, intervals=True)
    for mix in ("{resnet50: 100 %}", "{resnet50: 60 %, twin.yaml: 40 %}"):
        found = study(tmp_path, f"mix: {mix}").price(points, intervals=True)
        for name in ("speedup", "speedup_low", "speedup_high", "capital_usd"):
            np.testing.assert_allclose(found[name], wanted[name], rtol=1e-9)


def test_a_baseline_without_software_has_the_best_of_each(tmp_path: Path) -> None:
    problem = study(tmp_path, MIX, software="").problem
    base = problem.study.baseline.values
    others = [{**base, "batch_per_gpu": batch, "precision": precision}
              for batch in (16, 64) for precision in ("fp32", "fp16")]  # fmt: skip
    speedups = [problem.point(values)["speedup"].item() for values in others]
    assert max(speedups) == problem.point(base)["speedup"].item() == 1 > min(speedups)


@pytest.mark.parametrize(
    ("mix", "told"),
    [
        ("{resnet50: 60 %}", "2:6: mix: the shares sum to 60 %; write shares that sum to 100 %"),
        ("{resnet50: 100 %, vgg16: 0 %}", "2:31: vgg16: '0 %' is zero; write a value above 0"),
        ("{resnet50: 60 %, vgg61: 40 %}", "2:23: workload: 'vgg61': no such workload"),
        ("{vgg16: 1}\nworkload: vgg16", "2:1: both workload and mix; keep one of the two"),
        ("{vgg16: 1}\ntarget: {samples: 1e6}", "3:1: target: a mix has no end; limit the"),
        ("{vgg16: 1}\nwhat_if: precision", "3:10: precision is chosen for each workload of a mix"),
    ],
)
def test_what_is_no_mix_is_refused(tmp_path: Path, mix: str, told: str) -> None:
    with pytest.raises(StudyError) as raised:
        study(tmp_path, f"mix: {mix}")
    assert told in str(raised.value)


def test_no_workload_is_chosen_software_that_may_not_fit(tmp_path: Path) -> None:
    batches = f"batch_per_gpu: {list(range(40, 90, 2))}"
    space = SPACE.replace("batch_per_gpu: [16, 64]", batches).replace(" <= 256", " <= 4096")
    text = f"study: full\n{MIX}{space.replace('[fp32, fp16]', 'fp16')}, batch_per_gpu: 40}}\n"
    found = dse.load_study(studies.written(tmp_path, text)).search().recommended.mix or ()
    (batch,) = (one.config["batch_per_gpu"] for one in found if one.workload != "resnet50")
    alone = study(tmp_path, "workload: bert-large-s512").price(
        [{"accelerator": "h100-sxm", "batch_per_gpu": int(batch) + at, "gpus": 8} for at in (0, 2)]
    )
    assert alone["out_of_memory"][0] < 0.05 < alone["out_of_memory"][1]
    only = text.replace(batches, f"batch_per_gpu: {int(batch) + 2}").replace("gpu: 40", "gpu: 42")
    risky = dse.load_study(studies.written(tmp_path, only.replace("v100-sxm2-16gb, ", ""))).search()
    assert risky.recommended.out_of_memory == pytest.approx(alone["out_of_memory"][1])
    (told,) = (one.facts for one in risky.document.remarks if one.name == "may not fit")
    assert str(told["workload"]).startswith("BERT")


def test_hardware_on_which_a_workload_has_no_layout_is_left_out(tmp_path: Path) -> None:
    text = """
study: split
mix: {llama3-8b: 60 %, bert-large-s512: 40 %}
space: {node: dgx-h100, gpus: [8, 32], tensor_parallel: [4, 32], zero: 1, micro_batch: 1,
        global_batch: 6}
baseline: {node: dgx-h100, gpus: 8, tensor_parallel: 4}
objectives: {maximize: speedup, minimize: capital}
"""
    result = dse.load_study(studies.written(tmp_path, text)).search()
    assert result.front["gpus"].tolist() == [8]
