"""How near a guided search comes to the exact front with a small share of the space."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.search.__main__ import exact_front, front_of, shares
from dse.pricing.load import load
from dse.search.guided import Guided
from tests.pricing import studies

STUDY = """\
study: quality
workload: resnet50
calibration: [lassen-mpi]
space:
  accelerator: [v100-sxm2-16gb, a100-sxm4-40gb, a100-sxm4-80gb, h100-sxm]
  gpus: {from: 1, to: 256, scale: doubling}
  gpus_per_node: [1, 2, 4, 8]
  nics_per_node: [1, 2]
  inter_node: [10gbe, 25gbe, 100gbe, ib-hdr]
  batch_per_gpu: [16, 32, 48, 64, 96, 128, 192, 256, 384, 512]
  precision: [fp16]
  aggregation: [ring-mpi, recursive-doubling-mpi, halving-doubling-mpi, hierarchical-mpi, ps-mpi]
  bucket: [4 MiB, 25 MiB]
when:
  - {axis: ps_servers, values: [1, 2, 4, 8], if: {aggregation: ps-mpi}}
baseline: {accelerator: v100-sxm2-16gb, gpus: 8, gpus_per_node: 4, inter_node: 25gbe,
           nics_per_node: 1, batch_per_gpu: 64, precision: fp16, aggregation: ps-mpi,
           bucket: 25 MiB, ps_servers: 1}
constraints: [fits_memory, "capital <= 2 MUSD", "global_batch <= 8192", "power <= 200 kW"]
objectives: {maximize: speedup, minimize: capital}
"""


@pytest.mark.evidence
def test_few_points_find_nearly_the_whole_front(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, STUDY))
    assert problem.space.size == 184_320
    exact = exact_front(problem)
    fronts = []
    for seed in range(2):
        search = Guided(problem, 500, seed)
        search.run()
        fronts.append(front_of(search.archive.numbers))
    assert np.mean(shares(fronts, exact)) >= 0.988
