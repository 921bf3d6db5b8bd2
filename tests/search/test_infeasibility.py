"""Limits that cannot be met, each or together: told as that, with what is possible."""

from __future__ import annotations

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
from tests.pricing import studies

LIMIT = '"capital <= 200 kUSD"'


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
    return min(found) if name == "capital" else max(found)


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_two_limits_that_exclude_one_another(
    tmp_path: Path, engine: str, every: list[Evaluation]
) -> None:
    speed, money = "speedup >= 4", "capital <= 50 kUSD"
    problem = problem_of(tmp_path, speed, money)
    line = refusal(problem, engine)
    fastest = best_without(every, problem.study, "speedup", speed)
    cheapest = float(f"{best_without(every, problem.study, 'capital', money):.4g}")
    assert f"{speed} and {money} can each be met, but not both at once: with capital" in line
    assert (
        f"with capital <= 50 kUSD the best speedup is {fastest:.4g}; with speedup >= 4 the best"
        in line
    )
    assert f" capital is {cheapest:,.12g} USD; nearest" in line
    assert "rejected because" not in line


def test_three_limits_of_which_any_two_can_be_met(tmp_path: Path) -> None:
    """They are met in pairs: leaving any one away is enough."""
    problem = problem_of(
        tmp_path, "gpus >= 4", "batch_per_gpu >= 64", "global_batch < 256", "capital <= 1 MUSD"
    )
    found = refusal(problem, "exhaustive")
    assert "gpus >= 4, batch_per_gpu >= 64 and global_batch < 256 can each be met" in found
    assert "but not all at once" in found
    assert "capital" not in found.split(";")[1]


@pytest.mark.parametrize("limits", [("capital <= 1 USD",), ("capital <= 1 USD", "speedup >= 2"),
                                    ("capital <= 1 USD", "power <= 1 W")])  # fmt: skip
def test_a_limit_that_nothing_meets_is_blamed_alone(
    tmp_path: Path, limits: tuple[str, ...], every: list[Evaluation]
) -> None:
    problem = problem_of(tmp_path, *limits)
    line = refusal(problem, "exhaustive")
    assert "can each be met" not in line
    found = infeasibility.excluded(problem.study, every)
    assert [one.limit.text for one in found] == [
        limit for limit in limits if limit != "speedup >= 2"
    ]
    unlimited = problem_of(tmp_path).study
    fitting = [
        one for one in every if all(mask.all() for _, mask in constraints.demands(one, unlimited))
    ]
    for one in found:
        assert not one.met
        least = min(float(np.ravel(evaluation[one.name])[0]) for evaluation in fitting)
        assert one.alone == least
        assert f"{one.limit.text} is met by none: the best of all is " in line


def test_of_a_limit_that_nothing_meets_the_best_within_the_others_is_told(
    tmp_path: Path, every: list[Evaluation]
) -> None:
    speed, money = "speedup >= 1000", "capital <= 50 kUSD"
    problem = problem_of(tmp_path, speed, money)
    within = best_without(every, problem.study, "speedup", speed)
    texts = {limit.text for limit in problem.study.constraints if limit.expression is not None}
    of_all = max(
        float(np.ravel(one["speedup"])[0]) for one in every
        if all(mask.all() for of, mask in constraints.demands(one, problem.study)
               if of not in texts)
    )  # fmt: skip
    assert of_all > within
    assert (f"; {speed} is met by none: the best of all is {of_all:.4g}, within the other limits "
            f"{within:.4g}; nearest is") in refusal(problem, "exhaustive")  # fmt: skip


def test_a_limit_that_the_others_exclude_together(tmp_path: Path, every: list[Evaluation]) -> None:
    """Speed within the larger budget alone is there, and not within both."""
    speed, small, large = "speedup >= 6", "capital <= 50 kUSD", "capital <= 60 kUSD"
    problem = problem_of(tmp_path, speed, small, large)
    within = best_without(every, problem.study, "speedup", speed)
    assert (f"; {speed} is met by none that meets the other limits: the best is {within:.4g}; "
            "nearest is") in refusal(problem, "exhaustive")  # fmt: skip


def test_a_point_of_which_nobody_knows_hides_no_other(tmp_path: Path) -> None:
    """The P100 has no price in bf16: neither its speed nor a limit on it is known."""
    text = studies.SMALL.replace("precision: [fp32, fp16]", "precision: [bf16, fp32, fp16]")
    text = text.replace(LIMIT, '"speedup >= 6", "capital <= 60 kUSD"')
    said = refusal(load(studies.written(tmp_path, text)), "exhaustive")
    assert "speedup >= 6 and capital <= 60 kUSD can each be met, but not both at once" in said


def test_a_share_is_told_in_per_cent_as_it_is_written(
    tmp_path: Path, every: list[Evaluation]
) -> None:
    limit = "goodput >= 99.9999999 %"
    problem = problem_of(tmp_path, limit)
    best = max(float(np.ravel(evaluation["goodput"])[0]) for evaluation in every)
    line = refusal(problem, "exhaustive")
    assert f"misses '{limit}': it is {100 * best:.4g} %" in line
