"""What a report says of rented machines."""

from __future__ import annotations

from pathlib import Path

from dse.pricing.load import load
from dse.report import rental
from tests.pricing import studies
from tests.pricing.priced import point

SHORT = "target: {samples: 1e6}\nrental: {start_up: 10 min}\nfailures: ideal\n"
FASTEST = {"accelerator": "v100-sxm2-16gb", "gpus": 16, "gpus_per_node": 4, "batch_per_gpu": 64,
           "precision": "fp16", "aggregation": "ring-mpi"}  # fmt: skip


def said(folder: Path, least: str) -> str:
    text = studies.SMALL.replace("minimize: capital", f"minimize: {least}")
    problem = load(studies.written(folder, text + SHORT))
    return " ".join(rental.start_note(problem, point(problem, **FASTEST)))


def test_a_start_that_costs_and_is_not_of_the_time_is_told(tmp_path: Path) -> None:
    """Where a study weighs a purchase, too, runs are on machines that stand ready."""
    renting = said(tmp_path, "per_run")
    assert "of the time and" in renting
    assert "none of its time" not in renting
    both = said(tmp_path, "[per_run, capital]")
    assert "of the cost" in both
    assert "and none of its time: the study also weighs a purchase, whose machines stand" in both
    assert said(tmp_path, "capital") == ""
