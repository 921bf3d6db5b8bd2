"""dse.report.points: launches; of decoding tests/pricing/test_decoding."""

from __future__ import annotations

from pathlib import Path

from dse.pricing.load import load
from dse.report.points import launching

STUDY = """\
study: launches
workload: resnet50
space:
  accelerator: [v100-sxm2-16gb, h100-sxm]
  gpus: [1]
  batch_per_gpu: [4, 256]
  precision: [fp16]
  stack: [vendor, tuned]
  aggregation: [auto-nccl]
baseline: {accelerator: v100-sxm2-16gb, gpus: 1, batch_per_gpu: 256, precision: fp16, stack: vendor,
           aggregation: auto-nccl}
objectives: {maximize: speedup, minimize: power}
"""


def test_a_small_batch_of_a_fast_accelerator_is_the_hosts(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(STUDY)
    problem = load(path)
    large = problem.study.baseline.values
    small = {**large, "accelerator": "h100-sxm", "batch_per_gpu": 4}
    assert launching(problem, large) is None
    assert (launching(problem, small) or "").startswith("14 us ")
    # A faster accelerator gains nothing but in its update.
    slower = {**small, "accelerator": "v100-sxm2-16gb"}
    assert launching(problem, slower) is not None
