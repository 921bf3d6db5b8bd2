"""Which rule answers a study's need, and that more money never buys less speed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from dse.pricing.load import load
from dse.report import assembly
from dse.report.answer import answer
from dse.report.recommendation import needed, recommended
from dse.search.certainty.usefulness import SPEED_PER_DOLLAR, WITHIN
from dse.search.run import FrontPoint, Outcome, run
from tests.pricing import studies
from tests.report.brief import build

LIMIT = '"capital <= 200 kUSD"'
BUDGETS = (50, 60, 70, 100, 140, 200, 300, 400, 600, 1_000, 2_000, 10_000)  # kUSD


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
    rule, _ = needed(searched(tmp_path, constraint))
    assert (rule == WITHIN) == is_one


def test_an_answer_slower_than_the_baseline_says_so(tmp_path: Path) -> None:
    strong = (
        "{accelerator: v100-sxm2-16gb, gpus: 16, gpus_per_node: 4, inter_node: 10gbe, "
        "batch_per_gpu: 64, precision: fp16, aggregation: ring-mpi, bucket: 25 MiB}\n"
    )
    text = re.sub(r"(?s)baseline: .*?\n(?=constraints)", f"baseline: {strong}", studies.SMALL)
    problem = load(studies.written(tmp_path, text.replace(LIMIT, '"gpus <= 2"')))
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 6000, 0)
    document = build(outcome)
    assert document.recommended.speedup is not None
    assert document.recommended.speedup < 1
    first, _, third, *_ = answer(document)
    assert re.search(r", which is slower than the baseline \(0\.\d+x\)\.$", first)
    assert third.startswith("If less speed than the baseline's is no use to you, demand speedup >=")
    base = document.baseline
    cheap, least = {**base.costs, "capital": 1.0}, {**base.objectives, "capital": 1.0}
    better = replace(document, baseline=replace(base, costs=cheap, objectives=least))
    assert answer(better)[2].startswith("The baseline is faster and costs USD 1 to buy: keep it, ")


def test_the_rule_is_told_with_its_reason(tmp_path: Path) -> None:
    """What a confidence leaves out is no reason for a rule."""

    def told(constraint: str, rule: str = "") -> str:
        text = studies.SMALL.replace(LIMIT, f'"{constraint}"') + rule
        problem = load(studies.written(tmp_path, text))
        outcome = run(problem, "exhaustive", None, None, lambda *_: None, 6000, 0)
        (line,) = (line for line in answer(assembly.build(outcome, "", 0, 1.0, {}))
                   if line.startswith("This is "))  # fmt: skip
        return line

    assert told("speedup >= 2") == (
        "This is the cheapest point that meets every constraint in the best estimate, by the rule "
        "cheapest, since the "
        "study demands speedup >= 2."
    )
    assert told("gpus <= 64", "recommend: least-regret\n") == (
        "This is the point that is expected to miss least of what the best choice would bring, "
        "over all simulated outcomes, by the rule least-regret."
    )
    assert told("capital <= 20 MUSD", "confidence: 0.8\nrecommend: fastest\n") == (
        "This is the fastest point, by the rule fastest; only points count that meet every limit "
        "with at least 80 % probability."
    )
