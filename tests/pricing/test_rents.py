"""What an answer of rents must be read with."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing import rents
from dse.pricing.load import load
from tests.pricing import studies

RENTED = studies.SMALL.replace("minimize: capital", "minimize: hourly").replace(
    '"capital <= 200 kUSD", ', ""
)


@pytest.mark.parametrize(
    ("gpus", "said"),
    [(16, "machines with 4 each and with a network that joins them so are let"),
     (4, "machines with 4 each are let")],
)  # fmt: skip
def test_a_rent_by_the_accelerator_asks_for_the_machine(
    tmp_path: Path, gpus: int, said: str
) -> None:
    problem = load(studies.written(tmp_path, RENTED))
    (note,) = rents.notes(problem, {**problem.study.baseline.values, "gpus": gpus})
    assert said in note


def test_a_machine_comes_with_its_network(tmp_path: Path) -> None:
    text = RENTED.replace(
        "accelerator: [p100-sxm2-16gb, v100-sxm2-16gb]", "node: [aws-p3.16xlarge]"
    )
    text = text.replace("  gpus_per_node: [1, 4]\n", "").replace("gpus_per_node: 4, ", "")
    problem = load(
        studies.written(
            tmp_path, text.replace("accelerator: p100-sxm2-16gb", "node: aws-p3.16xlarge")
        )
    )
    assert rents.notes(problem, problem.study.baseline.values) == []


def test_who_buys_is_told_nothing_of_rents(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL))
    assert rents.notes(problem, problem.study.baseline.values) == []
