"""dse.catalog.convergence: quality targets and what is refused of a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse import catalog
from dse.catalog.convergence import quality_target
from dse.errors import StudyError

OWN = """\
name: ours
title: Our detector
workload: resnet50
quality: mean average precision 0.4
started_from: random weights
least_samples: 1e6
critical_batch: 512
batches: 5
least_batch: 32
largest_batch: 2048
least_samples_spread: 0.05
critical_batch_spread: 0.2
correlation: 0.8
"""


def test_every_target_is_of_a_workload_of_the_catalogue() -> None:
    targets = catalog.quality_targets()
    assert len(targets) == 5
    for target in targets:
        assert target.workload in catalog.names("workloads")
        assert target.fitted[0] < target.critical_batch  # the curve's bend was seen
        assert {fact.status for fact in target.facts} <= {"sourced", "derived"}


@pytest.mark.parametrize(
    ("line", "wrong", "said"),
    [
        ("batches: 5", "batches: 3", "batches is 3 or less"),
        ("critical_batch: 512", "critical_batch: 0", "critical_batch is 0"),
        ("least_batch: 32", "least_batch: 4096", "largest_batch is not above least_batch"),
        ("correlation: 0.8", "correlation: 1.2", "correlation is not between -1 and 1"),
        ("workload: resnet50", "workload: unknown", "workload is unknown"),
        ("quality: mean", "quaity: mean", "quality is missing"),
    ],
)
def test_a_wrong_file_gets_one_line(tmp_path: Path, line: str, wrong: str, said: str) -> None:
    (tmp_path / "ours.yaml").write_text(OWN.replace(line, wrong), encoding="utf-8")
    with pytest.raises(StudyError, match=said):
        quality_target(tmp_path / "ours.yaml")
