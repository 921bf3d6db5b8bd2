"""Points near the front in every draw: whether intervals hold, what beats what, and that numbers
are the same again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import dse
from dse.pricing import draws
from dse.pricing.bill_of_materials import bill_of_materials
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report.recommendation import recommended
from dse.search.certainty.flips import flips
from dse.search.certainty.near_front import LOOSENED, MOST, near_front
from dse.search.certainty.sensitivity import effects
from dse.search.certainty.sources import sources
from dse.search.certainty.study_draws import StudyDraws, on_front, purchases, study_draws
from dse.search.certainty.usefulness import Priced, best, worth
from dse.search.run import Outcome, run
from dse.study import Value
from tests.pricing import studies

NAMES = ("speedup", "step", "capital", "tco", "power", "throughput")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return searched(studies.written(tmp_path_factory.mktemp("study"), studies.SMALL))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return searched(studies.written(tmp_path_factory.mktemp("closed"), studies.CLOSED))


@pytest.fixture(scope="module")
def found(outcome: Outcome) -> StudyDraws:
    return study_draws(outcome, "speed-per-dollar")


def searched(path: Path) -> Outcome:
    return run(load(path), "exhaustive", None, None, lambda *_: None, 1000, 0)


def some_points(outcome: Outcome) -> list[dict[str, Value | None]]:
    space = outcome.problem.space
    picked = np.random.default_rng(11).choice(space.size, 12, replace=False)
    return [dict(space.point(int(at))) for at in picked]


@pytest.mark.parametrize("model", ["outcome", "closed"])
def test_intervals_hold_nine_of_ten_truths(model: str, request: pytest.FixtureRequest) -> None:
    """The truth is drawn from the same distribution of errors, all of them independently."""
    found: Outcome = request.getfixturevalue(model)
    problem, points = found.problem, some_points(found)
    asked = set[str]()
    usual = drawn_quantities(problem, points, NAMES, Variation(asked=asked))
    truth = drawn_quantities(problem, points, NAMES, Variation(anew=frozenset(asked)))
    for name in NAMES:
        priced = np.isfinite(usual[name]).all(axis=0)
        assert priced.any()
        low, high = np.percentile(usual[name][:, priced], (5, 95), axis=0)
        held = (low <= truth[name][:, priced]) & (truth[name][:, priced] <= high)
        varying = low < high
        assert 0.86 < held[:, varying].mean() < 0.94
        assert np.all(held[:, varying].mean(axis=0) > 0.83)


def test_draws_are_the_same_again_and_by_name(outcome: Outcome) -> None:
    points = some_points(outcome)
    once, again = (drawn_quantities(outcome.problem, points, NAMES) for _ in range(2))
    alone = drawn_quantities(outcome.problem, points[3:4], NAMES)
    for name in NAMES:
        np.testing.assert_array_equal(once[name], again[name])
        np.testing.assert_allclose(once[name][:, 3:4], alone[name], rtol=1e-12)


def test_known_draws_on_all_machines() -> None:
    """Of numpy's PCG64, which is the same everywhere."""
    assert draws.normal("price: h100-sxm", 3) == pytest.approx(
        draws.normal("price: h100-sxm", 1000)[:3]
    )
    known = (0.14187813592793855, 1.7264854036757578)
    assert draws.normal("launch", 2) == pytest.approx(known, abs=1e-12)


def test_only_what_is_named_varies(outcome: Outcome) -> None:
    points, problem = some_points(outcome), outcome.problem
    best = drawn_quantities(problem, points, NAMES, Variation(alone=frozenset()), 2)
    exact = {name: np.empty(len(points)) for name in NAMES}
    for where, evaluation in problem.rows(points):
        for name in NAMES:
            exact[name][where] = evaluation[name]
    for name in NAMES:
        np.testing.assert_allclose(best[name][0], exact[name], rtol=1e-9)
        np.testing.assert_array_equal(best[name][0], best[name][1])
    prices = frozenset({"price: p100-sxm2-16gb", "price: v100-sxm2-16gb"})
    priced = drawn_quantities(problem, points, NAMES, Variation(alone=prices))
    assert np.ptp(priced["speedup"], axis=0).max() == 0
    assert np.ptp(priced["capital"], axis=0).min() > 0


def test_what_is_drawn_anew_is_independent_and_the_rest_stays(outcome: Outcome) -> None:
    points, problem = some_points(outcome), outcome.problem
    asked = set[str]()
    usual = drawn_quantities(problem, points, NAMES, Variation(asked=asked))
    named = frozenset(name for name in asked if name.startswith("price: "))
    anew = drawn_quantities(problem, points, NAMES, Variation(anew=named))
    np.testing.assert_array_equal(usual["step"], anew["step"])
    logs = [np.log(found["capital"][:, 0]) for found in (usual, anew)]
    assert abs(np.corrcoef(*logs)[0, 1]) < 0.1


def test_probabilities_are_probabilities(found: StudyDraws, outcome: Outcome) -> None:
    assert len(found.worths) == draws.DRAWS
    assert found.best.sum() == pytest.approx(1.0, abs=0.02)
    assert np.all((found.on_front >= 0) & (found.on_front <= 1))
    for one in range(len(found.best)):
        assert found.best[one] <= found.on_front[one] + 1e-12  # what is best is on the front
    for constraint in outcome.problem.study.constraints:
        if constraint.expression:
            share = found.drawn.met[constraint.text].mean(axis=0)
            assert np.all((share >= 0) & (share <= 1))


def test_what_is_the_best_beats_each_other_purchase_as_often(found: StudyDraws) -> None:
    """Where both miss a limit neither wins, and what is as good counts with the choice."""
    worths = found.worths_of_purchases
    for at in range(len(found.near.points)):
        choice = found.choice(at)
        assert choice[found.purchases[at]]
        mine = worths[:, choice].max(axis=1)
        for other in np.flatnonzero(~choice):
            won, lost = (mine > worths[:, other]).sum(), (mine < worths[:, other]).sum()
            beaten = found.beats(at, int(other))
            assert beaten == pytest.approx(won / (won + lost) if won + lost else 0.5)
            assert beaten >= found.best_choice(at) or found.best_choice(at) == 0


def test_near_the_front_are_the_front_and_points_that_meet_the_constraints(
    found: StudyDraws, outcome: Outcome
) -> None:
    near = found.near
    assert [outcome.front[at].values for at in near.front] == list(near.points[: len(near.front)])
    assert len(outcome.front) < len(near.points) <= MOST
    assert {point["accelerator"] for point in near.points} == {"p100-sxm2-16gb", "v100-sxm2-16gb"}
    repeated = near_front(outcome, "speed-per-dollar", [0])
    assert repeated.points == near.points


def test_what_misses_an_uncertain_limit_by_little_is_the_best_where_it_meets_it(
    tmp_path: Path,
) -> None:
    """A limit of the speed between two points of a front: the cheaper one misses it by 1 %, meets
    it in about half of the draws, and is the best by the rule "cheapest" in these."""
    whole = searched(studies.written(tmp_path, studies.SMALL))
    cheaper = whole.front[1]
    limited = studies.SMALL.replace(
        "constraints: [", f'constraints: ["speedup >= {1.01 * cheaper.gain}", '
    )
    assert limited != studies.SMALL
    (tmp_path / "limited").mkdir()
    outcome = searched(studies.written(tmp_path / "limited", limited))
    assert all(point.gain > cheaper.gain for point in outcome.front)
    found = study_draws(outcome, "cheapest")
    at = found.near.points.index(cheaper.values)
    assert at >= found.near.feasible
    assert all(found.near.points[one] != cheaper.values for one in range(found.near.feasible))
    met = found.drawn.meets_all[:, at].mean()
    assert 0.2 < met < 0.6
    assert found.best[found.purchases[at]] >= 0.5 * met
    likely = recommended(outcome.front, "cheapest")
    assert found.best_choice(found.near.front.index(likely)) <= 1 - found.best[found.purchases[at]]


def test_of_a_guided_search_near_misses_meet_all_that_is_certain(tmp_path: Path) -> None:
    text = studies.SMALL.replace("constraints: [", 'constraints: ["speedup >= 6", "gpus <= 12", ')
    problem = load(studies.written(tmp_path, text))
    outcome = run(problem, "guided", None, None, lambda *_: None, 400, 0)
    near = near_front(outcome, "cheapest", [0])
    missing = near.points[near.feasible :]
    assert missing
    for values in missing:
        evaluation = problem.point(values)
        assert evaluation["gpus"][0] <= 12
        gain = float(np.ravel(evaluation["speedup"])[0])
        assert 6 / np.exp(LOOSENED) <= gain < 6 or evaluation["capital"][0] > 200e3


def test_a_front_that_is_too_long_keeps_what_is_named_and_the_best(
    outcome: Outcome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.search.certainty.near_front.MOST", 3)
    monkeypatch.setattr("dse.search.certainty.near_front.WITHOUT_OTHERS", 3)
    last = len(outcome.front) - 1
    near = near_front(outcome, "speed-per-dollar", [last])
    assert near.feasible == 3
    assert last in near.front
    rates = [point.gain / point.cost for point in outcome.front]
    assert int(np.argmax(rates)) in near.front


def test_points_that_differ_in_software_alone_are_one_purchase(found: StudyDraws) -> None:
    hardware = ("accelerator", "gpus", "gpus_per_node", "inter_node", "ps_servers")
    known: dict[tuple[object, ...], int] = {}
    for values, purchase in zip(found.near.points, found.purchases, strict=True):
        if values["gpus"] == 1 or values["gpus"] == values["gpus_per_node"]:
            continue  # the network does not matter there
        key = tuple(str(values.get(axis)) for axis in hardware)
        assert known.setdefault(key, purchase) == purchase


def slow_front(gain: np.ndarray, costs: list[np.ndarray], met: np.ndarray) -> list[bool]:
    """One row, point by point."""
    points = range(len(gain))

    def dominates(one: int, other: int) -> bool:
        at_least = gain[one] >= gain[other] and all(c[one] <= c[other] for c in costs)
        more = gain[one] > gain[other] or any(c[one] < c[other] for c in costs)
        return bool(at_least and more and met[one])

    return [bool(met[at]) and not any(dominates(one, at) for one in points) for at in points]


@pytest.mark.parametrize("objectives", [1, 2])
def test_on_the_front_is_what_nothing_dominates(objectives: int) -> None:
    random = np.random.default_rng(8)
    gain = random.permuted(np.tile(np.arange(9.0), (30, 1)), axis=1)
    costs = [random.permuted(np.tile(np.arange(9.0), (30, 1)), axis=1) for _ in range(objectives)]
    met = random.random((30, 9)) < 0.8
    found = on_front(Priced(gain, costs, met))
    for row in range(30):
        expected = slow_front(gain[row], [cost[row] for cost in costs], met[row])
        assert found[row].tolist() == expected


def test_effects_of_a_price_are_those_of_the_price(outcome: Outcome, found: StudyDraws) -> None:
    problem, point = outcome.problem, found.near.points[0]
    by_source = {one.source: one for one in effects(problem, point, sources(found.asked))}
    of_price = by_source[f"price: {point['accelerator']}"]
    assert of_price.gain == 0
    assert of_price.cost > 0
    assert sum(one.gain for one in by_source.values()) > 0.9  # all of it is explained
    assert sum(one.cost for one in by_source.values()) > 0.9


def turned(problem: Problem, part: str, factor: float) -> Problem:
    """The study at another price of a part."""
    prices = problem.prices
    fact = prices.accelerator_usd[part]
    changed = replace(fact, value=(fact.value or 0.0) * factor)
    listed = {**prices.accelerator_usd, part: changed}
    return replace(problem, prices=replace(prices, accelerator_usd=listed))


@pytest.mark.parametrize("rule", ["speed-per-dollar", "cheapest", "fastest", "cheapest-within-5%"])
def test_a_price_turns_the_answer_where_it_is_said_to(outcome: Outcome, rule: str) -> None:
    """Priced anew on both sides of the factor, and on no grid."""
    found = study_draws(outcome, rule)
    problem, points = outcome.problem, found.near.points
    at = found.near.front.index(recommended(outcome.front, rule))
    part = str(points[at]["accelerator"])
    flip = next(flip for flip in flips(problem, points, rule, found.purchases, at)
                if flip.part == part)  # fmt: skip
    assert 0 < flip.share < 1
    for end, sign in ((flip.rise, 1), (flip.fall, -1)):
        if end is None:
            continue
        for beyond in (-1, 1):
            now = turned(problem, part, end[0] * (1 + sign * beyond * 1e-6))
            exact = drawn_quantities(now, points, NAMES, Variation(alone=frozenset()), 1)
            priced = Priced(exact["speedup"], [exact["capital"]], exact.meets_all)
            chosen = int(best(worth(rule, priced))[0])
            same = beyond < 0
            stays = chosen >= 0 and bool(found.purchases[chosen] == found.purchases[at])
            assert stays is same


def test_a_price_counts_where_only_a_limit_depends_on_it(tmp_path: Path) -> None:
    """A purchase that a study of power limits to 350 kUSD is missed beyond a price."""
    text = studies.SMALL.replace("minimize: capital", "minimize: [power, tco]")
    outcome = searched(studies.written(tmp_path, text))
    found = study_draws(outcome, "fastest")
    points = found.near.points
    at = found.near.front.index(recommended(outcome.front, "fastest"))
    told = flips(outcome.problem, points, "fastest", found.purchases, at)
    flip = next(flip for flip in told if flip.part == points[at]["accelerator"])
    assert flip.of == "tco", "the first cost does not depend on it"
    assert flip.rise is not None
    capital = float(np.ravel(outcome.problem.point(points[at])["capital"])[0])
    one = outcome.problem.prices.accelerator_usd[flip.part].value
    gpus = float(np.ravel(outcome.problem.points_at(points[at]).bill.accelerators)[0])
    assert one is not None
    assert capital + gpus * one * (flip.rise[0] - 1) == pytest.approx(350_000, rel=1e-6)
    by_power = [flip for flip in told if flip.part == "electricity"]
    assert [flip.of for flip in by_power] == ["tco"]


@pytest.mark.parametrize("cost", ["capital", "tco"])
def test_the_share_of_a_price_is_what_the_bill_says(tmp_path: Path, cost: str) -> None:
    """Support and spares grow with a part's price, but are lines of their own."""
    text = studies.SMALL.replace("minimize: capital", f"minimize: {cost}").replace(
        "capital <= 350", "capital <= 1900"
    )
    text += "prices: {operation: 0 %, extras: {support: 20 %/year, spares: 30 %, room: 5 kUSD}}\n"
    outcome = searched(studies.written(tmp_path, text))
    found = study_draws(outcome, "fastest")
    points = found.near.points
    at = found.near.front.index(recommended(outcome.front, "fastest"))
    told = flips(outcome.problem, points, "fastest", found.purchases, at)
    at_point = outcome.problem.points_at(points[at])
    bill = bill_of_materials(at_point)
    whole = sum(item.usd or 0.0 for item in bill)
    lines = {item.item: (item.usd or 0.0) / whole for item in bill}
    shares = {flip.part: flip.share for flip in told if flip.of == cost}
    paid = 1 - shares.get("electricity", 0.0)  # the rest of what owning costs
    assert (paid < 1) is (cost == "tco")
    by_bill = {part: lines[name] * paid for part, name in (
        (str(points[at]["accelerator"]), bill[0].item),
        ("extra support", next(name for name in lines if name.startswith("Support"))),
        ("extra spares", next(name for name in lines if name.startswith("Spares"))),
        ("extra room", "Room"),
    )}  # fmt: skip
    assert {part: shares[part] for part in by_bill} == pytest.approx(by_bill, rel=1e-6)
    assert sum(shares.values()) == pytest.approx(1.0)


def test_the_same_machines_on_another_network_as_good_are_no_other_purchase(tmp_path: Path) -> None:
    """A price turns the answer only where the dearer network costs more than the resolution."""
    turns = []
    for resolution in ("0 %", "1 %"):
        text = studies.SMALL.replace("capital <= 350", "capital <= 1900")
        text = text.replace("bandwidth: 25 Gbps", "bandwidth: 10 Gbps").replace(
            "nic: 200 USD, switch_port: 200 USD, cable: 60 USD",
            "nic: 160 USD, switch_port: 100 USD, cable: 14 USD",
        )
        problem = load(studies.written(tmp_path, f"{text}resolution: {resolution}\n"))
        axis = problem.study.axis("inter_node")
        assert axis is not None
        base: dict[str, Value | None] = {**problem.study.baseline.values, "gpus_per_node": 1}
        points = [{**base, "inter_node": network} for network in axis.values]
        costs = [float(np.ravel(problem.point(one)["capital"])[0]) for one in points]
        own = int(np.argmin(costs))
        assert costs[1 - own] < 1.009 * costs[own]
        found = flips(problem, points, "cheapest", purchases(problem, points), own)
        flip = next(one for one in found if one.part.startswith("network"))
        assert flip.rise is not None
        assert flip.rise[1] == 1 - own
        turns.append(flip.rise[0])
        shift = costs[own] * flip.share * (flip.rise[0] - 1)
        dearer = (costs[own] + shift) / costs[1 - own] - 1
        assert dearer == pytest.approx({"0 %": 0.0, "1 %": 1 / 99}[resolution], abs=1e-6)
    assert turns[0] < turns[1]


def test_software_that_ties_is_left_to_the_library() -> None:
    """Of one purchase; nothing changes where the study leaves no choice to a library."""
    study = dse.load_study("ps-vs-allreduce")
    best = study.search().recommended
    assert best.config["aggregation"] == "auto-nccl"
    other = study.explain({**best.config, "aggregation": "hierarchical-nccl"}).point
    assert other.speedup == pytest.approx(best.speedup, rel=0.02)
