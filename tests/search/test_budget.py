"""Whether a budget keeps faster points out, against every point priced."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dse.pricing import constraints
from dse.pricing.load import load
from dse.report.recommendation import needed, recommended
from dse.search import budget
from dse.search.run import Outcome, run
from tests.pricing import studies

LIMIT = '"capital <= 200 kUSD"'


def searched(folder: Path, limit: str, engine: str = "exhaustive", extra: str = "") -> Outcome:
    text = studies.SMALL.replace(LIMIT, f'"{limit}"') + extra
    problem = load(studies.written(folder, text))
    return run(problem, engine, None, None, lambda *_: None, 6000, 0)


def fastest_beyond(outcome: Outcome) -> float:
    """The most that any point gains that meets all but the budget, one after the other."""
    problem, best = outcome.problem, 0.0
    points = [problem.space.point(index) for index in range(problem.space.size)]
    limits = [limit.text for limit in budget.budgets(problem.study)]
    for where, evaluation in problem.rows(points):
        passed = np.ones(len(where), dtype=bool)
        for name, mask in constraints.demands(evaluation, problem.study):
            passed &= True if name in limits else mask
        gain = np.broadcast_to(evaluation["speedup"], passed.shape)
        best = max(best, float(np.max(gain[passed], initial=0.0)))
    return best


@pytest.mark.parametrize("limit", ["50 kUSD", "100 kUSD", "200 kUSD", "400 kUSD", "10 MUSD"])
@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_a_budget_binds_where_a_faster_point_costs_more(
    tmp_path: Path, limit: str, engine: str
) -> None:
    outcome = searched(tmp_path, f"capital <= {limit}", engine)
    fastest = max(point.gain for point in outcome.front)
    expected = fastest_beyond(outcome) > fastest * (1 + budget.RESOLUTION)
    assert budget.binds(outcome) == expected
    rule, because = needed(outcome)
    assert rule == ("fastest" if expected else "speed-per-dollar")
    assert ("capital <= " in because) == expected


def test_a_limit_that_does_not_bind_never_changes_the_answer(tmp_path: Path) -> None:
    answers = set()
    for limit in ("1 MUSD", "2 MUSD", "10 MUSD"):
        outcome = searched(tmp_path, f"capital <= {limit}")
        rule, _ = needed(outcome)
        point = outcome.front[recommended(outcome.front, rule)]
        answers.add((rule, point.gain, point.cost))
    assert len(answers) == 1


def test_a_demanded_speed_is_met_by_the_cheapest(tmp_path: Path) -> None:
    outcome = searched(tmp_path, "speedup >= 2")
    rule, because = needed(outcome)
    assert (rule, because) == ("cheapest", "the study demands speedup >= 2")
    point = outcome.front[recommended(outcome.front, rule)]
    assert point.gain >= 2
    assert point.cost == min(each.cost for each in outcome.front)


def test_what_is_asked_for_is_taken(tmp_path: Path) -> None:
    outcome = searched(tmp_path, "capital <= 100 kUSD", extra="recommend: knee\n")
    assert needed(outcome) == ("knee", "")


@pytest.mark.parametrize(
    ("constraint", "is_one"),
    [
        ("capital <= 2 MUSD", True),
        ("hourly < 100 USD/hour", True),
        ("2 MUSD >= capital", True),
        ("2 kUSD <= capital", False),
        ("capital >= 2 kUSD", False),
        ("capital / gpus <= 50 kUSD", False),
        ("gpus <= 64", False),
    ],
)
def test_a_budget_is_an_upper_limit_on_money(tmp_path: Path, constraint: str, is_one: bool) -> None:
    text = studies.SMALL.replace(LIMIT, f'"{constraint}"')
    study = load(studies.written(tmp_path, text)).study
    assert bool(budget.budgets(study)) == is_one
