"""What networks are usually trained with."""

from __future__ import annotations

import pytest

from dse import catalog
from dse.study import AXES


@pytest.mark.parametrize(
    ("workload", "optimizer"),
    [
        ("resnet50", "momentum"),
        ("bert-large-s512", "adam"),
        ("llama3-8b", "adam"),
        ("t5-base", "adam"),
        ("gnmt-v2", "adam"),
        ("deepspeech2-5x800", "momentum"),
        ("dlrm-mlperf-v1-dense", "sgd"),
        ("pai-gcn", None),
    ],
)
def test_the_usual_optimizer(workload: str, optimizer: str | None) -> None:
    fact = catalog.usual_optimizer(catalog.workload(workload))
    assert (None if fact is None else fact.text) == optimizer


def test_every_usual_optimizer_can_be_chosen_and_has_a_source() -> None:
    for name in catalog.names("workloads"):
        fact = catalog.usual_optimizer(catalog.workload(name))
        if fact is not None:
            assert fact.text in AXES["optimizer"].choices
            assert fact.source in catalog.sources()
