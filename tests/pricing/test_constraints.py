"""dse.pricing.constraints: what a point must meet, and what is said where it does not."""

from __future__ import annotations

from pathlib import Path

import dse
from dse.pricing import constraints
from dse.pricing.constraints import built_in, checks, demands, unmet
from dse.pricing.load import load
from dse.study.quantities import BUILTINS
from tests.pricing import studies


def test_what_is_not_met_is_said_as_a_failure(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path))
    names = [name for name, _ in demands(problem.baseline, problem.study)]
    named = [name for name, _ in built_in(problem.baseline, problem.study)]
    assert names == named + [constraint.text for constraint in problem.study.constraints]
    said = [why for why, _ in checks(problem.baseline, problem.study)]
    assert said == [unmet(name) for name in names]
    for name in (*named, *BUILTINS):
        assert unmet(name) != f"{name} is not met"
    assert unmet("capital <= 2 MUSD") == "capital <= 2 MUSD is not met"


def test_prices_and_explanations_give_the_same_reason(tmp_path: Path) -> None:
    study = dse.load_study(studies.written(tmp_path))
    point = {"gpus": 16, "batch_per_gpu": 1024}
    why = study.price([point])["reason"][0]
    explained = study.explain(point)
    assert explained.point.constraints["fits_memory"] is False
    assert why == unmet("fits_memory")
    assert f"constraints      {why}; capital <= 200 kUSD is not met; " in str(explained)


def test_a_precision_that_is_missing_is_no_unknown_speed_as_well() -> None:
    rejected = {constraints.KNOWN: 5, constraints.COMPUTABLE: 3, "gpus <= 8": 2}
    counts = {constraints.KNOWN: 2, constraints.COMPUTABLE: 3, "gpus <= 8": 2}
    assert constraints.counted_once(rejected) == counts
    missed = [constraints.COMPUTABLE, constraints.KNOWN]
    assert constraints.reasons(missed) == [unmet(constraints.COMPUTABLE)]
    assert constraints.reasons([constraints.KNOWN]) == [unmet(constraints.KNOWN)]


def test_a_profile_without_the_layout_is_said_so() -> None:
    assert unmet(constraints.PRICED) == "no profile prices this layout"
    assert unmet(constraints.KNOWN) == "a price or a speed is unknown"
