"""Which point is recommended where a study says how sure its limits must be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.pricing.drawn_points import drawn_quantities
from dse.report import offers, recommendation, words
from dse.report.certainty.build import drawn_answer
from dse.search.certainty.study_draws import StudyDraws
from dse.search.run import labels_of
from dse.study import Constraint
from dse.study.constraints import parse_constraint
from tests.pricing.studies import SMALL

TARGET = SMALL.replace("search: ", "target: {samples: 1e8}\nsearch: ").replace("350 kUSD", "5 MUSD")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> dse.Study:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    path.write_text(TARGET, encoding="utf-8")
    return dse.load_study(path)


def draws_of(result: dse.Result) -> StudyDraws:
    return drawn_answer(result.outcome, result.recommended.rule, {})[0]


Search = Callable[..., dse.Result]


@pytest.fixture(scope="module")
def search(study: dse.Study) -> Search:
    """A search of the study, once for tests that ask the same."""
    return cache(study.search)


@pytest.fixture(scope="module")
def deadline(search: Search) -> str:
    """A deadline that a point in the middle of the front just meets."""
    front = search().front
    times = np.sort(front["time_to_target_s"])
    return f"{times[2 * len(times) // 3] * 1.0001:.6f} s"


def test_the_probability_is_the_share_of_draws_that_meet_all(search: Search, deadline: str) -> None:
    """Against one draw and one point after the other."""
    result = search(deadline=deadline)
    problem, points = result.study.problem, [p.values for p in result.outcome.front]
    found = drawn_quantities(problem, points, ["capital"]).meets_all.mean(axis=0)
    limits = [c.expression for c in problem.study.constraints if c.expression]
    for values, share in zip(points, found, strict=True):
        sampled = problem.sampled
        ((_, drawn),) = sampled.rows([values], speedup=False)
        count = sampled.draws
        met = 0
        for draw in range(count):
            columns = {
                name: np.broadcast_to(drawn[name], (count, 1))[draw]
                for limit in limits for name in limit.names
            }  # fmt: skip
            met += all(bool(limit.evaluate(columns).all()) for limit in limits)
        assert share == pytest.approx(met / count, abs=1e-12)


def test_a_speedup_is_compared_with_the_same_draws_of_the_baseline(study: dse.Study) -> None:
    problem = study.problem
    values = problem.study.baseline.values
    limit = parse_constraint("speedup >= 1")
    columns = {"speedup": np.ravel(problem.sampled.baseline["throughput"])}
    assert np.ptp(columns["speedup"]) > 0  # it does vary

    only = replace(problem.study, constraints=(Constraint("speedup >= 1", limit, 0, 0),))
    found = drawn_quantities(replace(problem, study=only), [values], ["step"])
    assert found.meets_all.mean(axis=0) == [1.0]


def test_a_sure_point_is_taken_even_if_dearer(search: Search, deadline: str) -> None:
    plain = search(deadline=deadline)
    sure = search(deadline=deadline, confidence=0.95)
    assert plain.document.confidence is None
    found = sure.document.confidence
    assert found is not None
    assert found.reached
    assert found.recommended >= 0.95
    likely = found.front[found.best_estimate - 1]
    assert likely is not None
    assert likely < 0.95  # else the test shows nothing
    assert sure.document.front[found.best_estimate - 1].config == plain.recommended.config
    cost, dearer = (one.recommended.costs["capital"] for one in (plain, sure))
    assert cost is not None
    assert dearer is not None
    assert dearer > cost


def test_what_is_not_sure_enough_is_no_offer_and_turns_no_price(
    search: Search, deadline: str
) -> None:
    run = search(deadline=deadline, confidence=0.8).document
    found = run.certainty
    assert found is not None
    likely = max(found.choices[1:], key=lambda one: one.best)
    assert likely.meets_all < 0.8, "else the test shows nothing"
    assert found.flips
    turned = [turn.config for flip in found.flips for turn in (flip.rise, flip.fall) if turn]
    assert likely.config not in turned
    first, *_ = offers.offers(run)
    assert first.title == "Recommended and cheapest"
    fast = {one.title: one for one in offers.offers(run)}["Fastest"]
    (probable,) = (one.meets_all for one in found.choices if one.config == run.fastest.config)
    told = {fact.label: fact.value for fact in fast.facts}
    assert told["Meets every limit"] == words.chance(probable, 0.8)
    assert run.confidence is not None
    surest = replace(run, confidence=replace(run.confidence, asked=0.999))
    told = {fact.label: fact.value for fact in offers.facts(surest, run.recommended)}
    assert told["Meets every limit"].endswith("% (99.9 % asked for)"), "it is not as sure"


def test_where_none_is_sure_the_surest_is_taken(search: Search) -> None:
    fastest = search().front["time_to_target_s"].min()
    result = search(deadline=f"{fastest * 1.001:.6f} s", confidence=0.999)
    found = result.document.confidence
    assert found is not None
    assert not found.reached
    assert found.recommended == draws_of(result).drawn.meets_all.mean(axis=0).max()
    assert result.recommended.why.startswith("no point meets every limit with 99.9 % probability")


@pytest.mark.parametrize("asked", [0.6, 0.8, 0.9])
def test_no_other_that_is_as_sure_wins_more_often_than_the_nearest_rival(
    asked: float, search: Search, deadline: str
) -> None:
    """Of all purchases that were drawn, whether or not one ever is the best of all."""
    result = search(deadline=deadline, confidence=asked)
    found, run = draws_of(result), result.document
    own = next(at for at, values in enumerate(found.near.points)
               if labels_of(found.problem, values) == run.recommended.config)  # fmt: skip
    sure = np.flatnonzero(found.drawn.meets_all.mean(axis=0) >= asked)
    others = set(found.purchases[sure[sure < found.near.feasible]].tolist())
    others -= set(np.flatnonzero(found.choice(own)).tolist())
    least = min(found.beats(own, one) for one in others)
    assert run.certainty is not None
    rivals = [one for one in run.certainty.choices[1:] if one.meets_all >= asked and not one.alike]
    assert min(one.beaten or 0.0 for one in rivals) == pytest.approx(least)


def test_it_is_the_best_by_its_rule_of_those_that_are_sure(search: Search, deadline: str) -> None:
    result = search(deadline=deadline, confidence=0.8)
    outcome = result.outcome
    found = draws_of(result)
    sure = np.flatnonzero(found.drawn.meets_all.mean(axis=0) >= 0.8)
    problem = outcome.problem
    costs = [float(problem.point(found.near.points[at])["capital"][0]) for at in sure]
    assert result.recommended.rule == "cheapest"
    assert result.recommended.costs["capital"] == min(costs)
    assert len(found.near.points) > len(outcome.front)  # those near the front count, too


def test_a_confidence_in_the_study_is_the_same_as_one_asked_for(
    search: Search, deadline: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("study") / "study.yaml"
    text = TARGET.replace("constraints: [", f'constraints: ["time_to_target <= {deadline}", ')
    path.write_text(text + "confidence: 0.95\n", encoding="utf-8")
    asked = search(deadline=deadline, confidence=0.95)
    assert dse.load_study(path).search().recommended.config == asked.recommended.config


def test_without_a_confidence_the_rule_decides_alone(search: Search) -> None:
    result = search()
    found, likely = drawn_answer(result.outcome, "fastest", {})
    assert recommendation.chosen(found, result.outcome, "fastest", likely) == (likely, None)


def test_a_point_near_the_front_may_be_the_answer(
    study: dse.Study, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The report of one that is not on the front is written, and the front stays as it is."""
    monkeypatch.setattr(recommendation, "chosen", lambda found, *_: (len(found.near.front), None))
    result = study.search()
    document = result.document
    assert document.recommended.config not in [point.config for point in document.front]
    assert result.write_report(tmp_path / "out").is_file()
    bill = sum(item.usd or 0.0 for item in document.bills["recommended"])
    assert bill == pytest.approx(document.recommended.costs["capital"])
