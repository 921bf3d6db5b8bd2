"""Limits that cannot be met together, and how far one of them would have to move."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from dse.errors import NoFeasiblePoint
from dse.pricing import constraints
from dse.pricing.evaluation import Evaluation
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search import infeasibility
from dse.search.run import run
from dse.study import Study
from dse.study.quantities import QUANTITIES
from tests.pricing import studies

LIMIT = '"capital <= 350 kUSD"'


def problem_of(folder: Path, *limits: str) -> Problem:
    written = "".join(f'"{limit}", ' for limit in limits)
    return load(studies.written(folder, studies.SMALL.replace(f"{LIMIT}, ", written)))


def refusal(problem: Problem, engine: str) -> str:
    with pytest.raises(NoFeasiblePoint) as caught:
        run(problem, engine, None, None, lambda *_: None, 6000, 0)
    return str(caught.value)


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> list[Evaluation]:
    """All points, one by one; what a study demands of them is no part of their price."""
    problem = problem_of(tmp_path_factory.mktemp("every"))
    return [problem.point(problem.space.point(at)) for at in range(problem.space.size)]


def best_without(every: list[Evaluation], study: Study, name: str, left_out: str) -> float:
    """The best of a quantity that any point reaches that meets all but a limit, one by one."""
    found = []
    for evaluation in every:
        demands = constraints.demands(evaluation, study)
        if all(bool(mask.all()) for demand, mask in demands if demand != left_out):
            found.append(float(np.ravel(evaluation[name])[0]))
    if not found:
        return float("nan")
    return min(found) if name in ("capital", "power") else max(found)


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_it_is_said_how_far_each_of_two_limits_would_have_to_move(
    tmp_path: Path, engine: str, every: list[Evaluation]
) -> None:
    speed, money = "speedup >= 4", "capital <= 115 kUSD"
    problem = problem_of(tmp_path, speed, money)
    line = refusal(problem, engine)
    fastest = best_without(every, problem.study, "speedup", speed)
    cheapest = float(f"{best_without(every, problem.study, 'capital', money):.4g}")
    assert f"; loosen {speed} to {fastest:.4g}, or {money} to {cheapest:,.12g} USD" in line


@pytest.mark.parametrize("limits", [("capital <= 1 USD",), ("capital <= 1 USD", "speedup >= 2"),
                                    ("speedup >= 1000", "capital <= 115 kUSD"),
                                    ("speedup >= 6", "capital <= 115 kUSD", "capital <= 125 kUSD"),
                                    ("gpus >= 4", "batch_per_gpu >= 64", "global_batch < 256"),
                                    ("capital <= 1 USD", "power <= 1 W")])  # fmt: skip
def test_limits_that_are_enough_to_move_are_those_found_point_by_point(
    tmp_path: Path, limits: tuple[str, ...], every: list[Evaluation]
) -> None:
    study = problem_of(tmp_path, *limits).study
    expected = {
        one.text: best_without(every, study, one.limit.name, one.text)
        for one in study.constraints
        if one.limit and one.text not in (constraints.FITS, "global_batch < 256")
    }
    found, _ = infeasibility.reached(study, every)
    found.pop("global_batch < 256", None)  # the least, as of money
    assert found == {text: value for text, value in expected.items() if np.isfinite(value)}
    assert bool(found) == (limits != ("capital <= 1 USD", "power <= 1 W"))


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_of_limits_that_must_both_move_the_best_of_all_is_told(
    tmp_path: Path, engine: str, every: list[Evaluation]
) -> None:
    problem = problem_of(tmp_path, "capital <= 1 USD", "power <= 1 W", "speedup >= 0.1")
    free = problem_of(tmp_path).study
    within, of_all = infeasibility.reached(problem.study, every)
    assert within == {}
    assert of_all == {f"{name} <= 1 {unit}": best_without(every, free, name, "")
                      for name, unit in (("capital", "USD"), ("power", "W"))}  # fmt: skip
    *_, advice = refusal(problem, engine).split("; ")
    best = [QUANTITIES[text.split()[0]].text(value) for text, value in of_all.items()]
    assert re.findall(r"best of all is ([^)]+)", advice) == best
    assert "speedup" not in advice


def test_a_point_of_which_nobody_knows_hides_no_other(tmp_path: Path) -> None:
    """The P100 has no price in bf16: neither its speed nor a limit on it is known."""
    text = studies.SMALL.replace("precision: [fp32, fp16]", "precision: [bf16, fp32, fp16]")
    text = text.replace(LIMIT, '"speedup >= 6", "capital <= 125 kUSD"')
    said = refusal(load(studies.written(tmp_path, text)), "exhaustive")
    assert re.search(r"loosen speedup >= 6 to [\d.]+, or capital <= 125 kUSD to [\d,]+ USD", said)


def test_a_share_is_told_in_per_cent_as_it_is_written(
    tmp_path: Path, every: list[Evaluation]
) -> None:
    limit = "goodput >= 99.9999999 %"
    problem = problem_of(tmp_path, limit)
    best = max(float(np.ravel(evaluation["goodput"])[0]) for evaluation in every)
    line = refusal(problem, "exhaustive")
    assert f"misses '{limit}': it is {100 * best:.4g} %" in line
