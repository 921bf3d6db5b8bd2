"""dse.search.estimate: how long an exhaustive search takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.model import fusion
from dse.model.aggregation.tensorwise import PHASES
from dse.pricing.load import load
from dse.search import estimate
from tests.pricing import studies


def test_the_estimate_knows_that_fusion_follows_the_tensors_many_times(tmp_path: Path) -> None:
    """Once for every phase of every cycle that a busy loop may come to."""
    fusing = studies.PAPER.replace(studies.EVERY_APPROACH, "horovod-mpi").split("when:")[0]
    fusing += "objectives: {maximize: speedup, minimize: capital}\n"
    one_by_one = fusing.replace("horovod-mpi", "baidu-mpi")
    found = {}
    for name, text in (("fused", fusing), ("one by one", one_by_one)):
        problem = load(studies.written(tmp_path, text, f"{name}.yaml"))
        rest = problem.space.size * estimate.SECONDS_PER_POINT + estimate.SECONDS_PER_SLAB
        found[name] = estimate.estimate(problem).seconds - rest
    assert found["one by one"] == pytest.approx(8 * 161 * estimate.SECONDS_PER_TENSOR)
    assert found["fused"] == pytest.approx(found["one by one"] * PHASES * len(fusion.SLOWED))
