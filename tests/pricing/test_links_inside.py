"""What a layout's accelerators send one another inside a node."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from dse.pricing.load import load

STUDY = """\
study: inside
workload: resnet50
space:
  node: [dgx-1-p100, dgx-1-v100, dgx-2, dgx-a100-40gb]
  gpus: [1, 2, 3, 4, 8, 16]
  gpus_per_node: [1, 2, 4, 8]
  batch_per_gpu: [32]
  aggregation: [ring-nccl]
baseline: {node: dgx-1-v100, gpus: 2, gpus_per_node: 2, batch_per_gpu: 32, aggregation: ring-nccl}
objectives: {maximize: speedup, minimize: power}
"""
GB = 1e9
Inside: TypeAlias = Callable[[str, int, int], float]


@pytest.fixture(scope="module")
def inside(tmp_path_factory: pytest.TempPathFactory) -> Inside:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(STUDY)
    problem = load(path)

    def asked(node: str, gpus: int, local: int) -> float:
        """GB/s of an accelerator's own links, before what NCCL reaches of them."""
        at = {**problem.study.baseline.values, "node": node, "gpus": gpus, "gpus_per_node": local}
        points = problem.points_at(at)
        found = np.ravel(points.inside.bytes_per_s / points.inside_efficiency)
        return float(found[0]) / GB

    return asked


@pytest.mark.parametrize(
    ("node", "gpus", "local", "expected"),
    [
        ("dgx-1-v100", 2, 8, 50),
        ("dgx-1-v100", 3, 8, 100),
        ("dgx-1-v100", 4, 4, 150),
        ("dgx-1-v100", 8, 8, 150),
        ("dgx-1-v100", 16, 2, 50),
        ("dgx-1-v100", 1, 1, 50),
        ("dgx-1-p100", 2, 8, 20),
        ("dgx-1-p100", 4, 4, 60),
        ("dgx-1-p100", 8, 8, 80),
        ("dgx-2", 2, 8, 150),
        ("dgx-a100-40gb", 2, 8, 300),
    ],
)
def test_links_of_pairs_reach_those_that_train(
    inside: Inside, node: str, gpus: int, local: int, expected: float
) -> None:
    assert inside(node, gpus, local) == pytest.approx(expected)


def test_a_link_that_the_study_chooses_is_as_fast_as_it_says(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.write_text(
        STUDY.replace("  batch_per_gpu", "  intra_node: [nvlink2]\n  batch_per_gpu", 1).replace(
            "{node", "{intra_node: nvlink2, node"
        )
    )
    problem = load(path)
    points = problem.points_at(problem.study.baseline.values)
    reached = np.ravel(points.inside.bytes_per_s)[0]
    assert reached == pytest.approx(150 * GB * points.inside_efficiency)
