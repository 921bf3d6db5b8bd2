"""What exchanges of layouts reach: as measured, else as the catalogue has it; and how sure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dse.calibration.fitting.profile import fit_experiments
from dse.catalog.exchanges import exchanges
from dse.pricing.tiers import tiers
from dse.report.design_point import Point
from dse.report.points import describe
from tests.calibration.exchange_samples import CARDS, KINDS, TRUE, experiment, measured
from tests.pricing.priced import problem_of

GIVEN = {"link_bytes_per_s", "cards_bytes_per_s", "cards", "rails", "trays", "tray", "leaf"}
OF_CALLS = {"step_s"}  # what a fit's calls have in them, so that it has no spread of its own


def test_tiers_are_those_measured() -> None:
    profile = fit_experiments([experiment(measured())], "x")
    known = tiers(300e9, CARDS, (profile,), "hopper", "ib-ndr")
    for name in set(vars(TRUE)) - {"leaf"}:
        assert getattr(known.tiers, name) == pytest.approx(getattr(TRUE, name), rel=0.02), name
    assert known.tiers.step_s == 0
    assert set(vars(TRUE)) - known.measured == {*GIVEN, *OF_CALLS, "shared"}
    # A share of cards holds for others; what a link reached is beside the link's own speed.
    other = tiers(600e9, 2 * CARDS, (profile,)).tiers
    assert other.halves_across == pytest.approx(0.75, rel=0.02)
    assert other.halves == pytest.approx(0.3, rel=0.02)


def test_tiers_fall_back_to_the_catalogue() -> None:
    known = tiers(450e9, 400e9, (), "hopper", "aws-efa-v2")
    assert known.measured == frozenset()
    assert (known.tiers.halves, known.tiers.hop_s) == (0.56, 45e-6)
    assert known.tiers.all_reduce > 0.9 > known.tiers.halves
    assert known.tiers.step_s == exchanges().step_s["other"] > 0
    assert tiers(64e9, 25e9, (), "volta").tiers.halves == exchanges().reached["other"]["halves"]


def test_halves_that_differ_are_told_by_their_mean() -> None:
    slower = [
        replace(s, median_s=s.median_s * (2 if s.collective == "reduce_scatter" else 1))
        for s in measured(("all_gather", "reduce_scatter"))
    ]
    known = tiers(300e9, CARDS, (fit_experiments([experiment(slower)], "x"),))
    assert known.tiers.halves == pytest.approx(0.6 / 2**0.5, rel=0.02)
    assert "all_reduce" not in known.measured


STUDY = """\
study: measured
workload: {workload}
stack: megatron
space: {{node: dgx-h100, gpus: 16, pipeline_parallel: 2, zero: 0, global_batch: 64, {axes}}}
memory: ignore
objectives: {{maximize: tokens_per_s, minimize: capital}}
"""


def told(folder: Path, operations: tuple[str, ...], workload: str, axes: str) -> Point:
    profile = fit_experiments([experiment(measured(operations))], "own")
    found = problem_of(folder, STUDY.format(workload=workload, axes=axes), profile)
    return describe(found, found.study.baseline.values)


def test_layouts_of_which_all_was_measured_are_inside(tmp_path: Path) -> None:
    found = told(tmp_path, tuple(KINDS), "llama3-8b", "tensor_parallel: 8")
    assert (found.extrapolated, found.why_outside) == (False, ())


def test_what_splits_experts_gathers_and_scatters(tmp_path: Path) -> None:
    """Ranks that split an expert and nothing else."""
    axes = "expert_tensor_parallel: 4"
    known = told(tmp_path, ("allreduce", "sendrecv"), "mixtral-8x7b", axes)
    assert known.why_outside == (
        "no profile of this study has measured all-gather and reduce-scatter",
    )
