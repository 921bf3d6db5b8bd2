"""Which rule answers a study's need, and that more money never buys less speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dse.pricing.load import load
from dse.report.recommendation import needed, recommended
from dse.search.certainty.usefulness import SPEED_PER_DOLLAR, WITHIN
from dse.search.run import FrontPoint, Outcome, run
from tests.pricing import studies

LIMIT = '"capital <= 350 kUSD"'
BUDGETS = (115, 140, 180, 250, 330, 450, 700, 900, 1_400, 2_000, 5_000, 10_000)  # kUSD


def searched(folder: Path, limit: str, engine: str = "exhaustive", extra: str = "") -> Outcome:
    text = studies.SMALL.replace(LIMIT, f'"{limit}"') + extra
    problem = load(studies.written(folder, text))
    return run(problem, engine, None, None, lambda *_: None, 6000, 0)


def best(outcome: Outcome) -> FrontPoint:
    return outcome.front[recommended(outcome.front, needed(outcome)[0])]


@pytest.mark.parametrize("engine", ["exhaustive", "guided"])
def test_more_money_never_buys_less_speed(tmp_path: Path, engine: str) -> None:
    """Tight, loose, or of no matter: one rule on both sides of every switch."""
    found = []
    for budget in BUDGETS if engine == "exhaustive" else BUDGETS[::4]:
        outcome = searched(tmp_path, f"capital <= {budget} kUSD", engine)
        assert needed(outcome) == (
            WITHIN, f"the study has a budget: capital <= {budget} kUSD",
        )  # fmt: skip
        point = best(outcome)
        assert point.cost <= budget * 1e3
        assert point.gain >= 0.95 * max(each.gain for each in outcome.front)
        found.append(point.gain)
    assert found == sorted(found)
    assert len(set(found)) > 2


def test_a_limit_that_nothing_reaches_never_changes_the_answer(tmp_path: Path) -> None:
    answers = {
        (point.gain, point.cost)
        for limit in ("1 MUSD", "2 MUSD", "10 MUSD", "1 GUSD")
        for point in [best(searched(tmp_path, f"capital <= {limit}"))]
    }
    assert len(answers) == 1


def test_without_a_budget_speed_for_a_dollar_decides(tmp_path: Path) -> None:
    outcome = searched(tmp_path, "gpus <= 64")
    assert needed(outcome) == (SPEED_PER_DOLLAR, "the study demands no speed and has no budget")
    point = best(outcome)
    ratios = [each.gain / each.cost for each in outcome.front]
    assert point.gain / point.cost == max(ratios)


def test_a_demanded_speed_is_met_by_the_cheapest(tmp_path: Path) -> None:
    outcome = searched(tmp_path, "speedup >= 2")
    assert needed(outcome) == ("cheapest", "the study demands speedup >= 2")
    assert best(outcome).gain >= 2
    assert best(outcome).cost == min(each.cost for each in outcome.front)


def test_what_is_asked_for_is_taken(tmp_path: Path) -> None:
    outcome = searched(tmp_path, "capital <= 200 kUSD", extra="recommend: fastest\n")
    assert needed(outcome) == ("fastest", "")


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
    rule, _ = needed(searched(tmp_path, constraint))
    assert (rule == WITHIN) == is_one
