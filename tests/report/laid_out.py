"""A small study of layouts, searched."""

from __future__ import annotations

from pathlib import Path

from dse.report.design_point import Explained
from dse.report.points import explained
from tests.report.searched import Searched as Searched
from tests.report.searched import searched

STUDY = """\
study: laid-out
workload: llama3-8b
stack: megatron
space:
  node: [dgx-h100]
  gpus: [16, 32]
  tensor_parallel: [1, 2, 4]
  pipeline_parallel: [1, 2, 4]
  virtual_stages: [1, 2]
  schedule: [1f1b, interleaved]
  zero: [0, 1]
  micro_batch: [1]
  global_batch: [128]
  recompute: [none, selective]
  precision: [bf16]
baseline: {node: dgx-h100, gpus: 16, tensor_parallel: 4, pipeline_parallel: 4, virtual_stages: 2,
           schedule: interleaved, micro_batch: 1, global_batch: 128, recompute: none, zero: 0,
           precision: bf16}
target: {tokens: 1e12}
objectives: {maximize: speedup, minimize: capital}
"""


def laid_out(folder: Path, text: str = STUDY) -> Searched:
    """The study searched; of equal studies once."""
    return searched(folder, text)


def baseline_at(found: Searched, **others: str | int) -> Explained:
    """The baseline of a searched study with other values, explained."""
    problem = found.outcome.problem
    return explained(problem, {**problem.study.baseline.values, **others})
