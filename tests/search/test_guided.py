"""The guided engine: what it proposes, prices, remembers, and goes on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.errors import NoFeasiblePoint
from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.report import sections
from dse.report.document import AxisRange, Judged
from dse.report.origin import values_of
from dse.search.bounds import ideal as without_communication
from dse.search.feasible import feasible
from dse.search.fingerprint import fingerprint
from dse.search.guided import Archive, Guided
from dse.search.guided.acquisition import Frame, losses_of
from dse.search.guided.archive import evaluated
from dse.search.guided.codes import Coded, nearest
from dse.search.guided.ideal import Ideal
from dse.search.guided.points import size
from dse.search.guided.proposals import choose_sampler
from dse.search.guided.surrogate import fitted, regression
from dse.search.run import labels_of, run
from dse.search.runlog import RunLog
from dse.study.definition import Wire
from tests.evidence import beyond
from tests.pricing import studies
from tests.report.brief import build

HUGE = (
    studies.SMALL.replace("study: small", "study: huge")
    .replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: {from: 1, to: 10000, step: 1}")
    .replace("batch_per_gpu: [32, 64, 256]", "batch_per_gpu: {from: 1, to: 10000, step: 1}")
    .replace("bucket: [4 MiB, 25 MiB]", "bucket: {from: 1 MiB, to: 1000 MiB, step: 1 MiB}")
    .replace("gpus_per_node: [1, 4]", "gpus_per_node: [1, 2, 4, 8]\n  nics_per_node: [1, 2, 4]")
    .replace("gpus_per_node: 4,", "gpus_per_node: 4, nics_per_node: 1,")
)


@pytest.fixture
def small(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path))


@pytest.fixture
def continuous(tmp_path: Path) -> Problem:
    return load(studies.written(tmp_path, studies.CONTINUOUS))


def test_the_sampler_follows_from_budget_and_objectives() -> None:
    asked = ((100, 2), (5000, 2), (5000, 3))
    assert [choose_sampler(*one) for one in asked] == ["tpe", "nsga2", "nsga3"]


def bounded_and_priced(problem: Problem) -> tuple[Any, Any]:
    """(bounds, block) of the same points."""
    coded = Coded(problem)
    codes = coded.spread_buildable(200, np.random.default_rng(6))
    points = coded.points(codes)
    return Ideal(problem, coded)(codes), evaluated(problem, coded.space, points)


def test_bounds_hold_and_costs_and_limits_are_exact(small: Problem, continuous: Problem) -> None:
    for problem in (small, continuous):
        known, priced = bounded_and_priced(problem)
        assert (known.numbers[:, 0] >= priced.values[:, 0]).all()
        assert (known.numbers[:, 0] > priced.values[:, 0]).any()
        np.testing.assert_array_equal(known.numbers[:, 1], priced.values[:, 1])
        np.testing.assert_array_equal(known.possible, priced.violation == 0)
        assert 0 < np.count_nonzero(known.possible) < len(known.possible)


def test_a_limit_that_communication_decides_rules_nothing_out(tmp_path: Path) -> None:
    text = studies.SMALL.replace("constraints: [", 'constraints: ["speedup >= 2", ')
    assert text != studies.SMALL
    known, priced = bounded_and_priced(load(studies.written(tmp_path, text)))
    feasible = priced.violation == 0
    assert known.possible[feasible].all()
    assert (known.possible & ~feasible).any()


@pytest.mark.parametrize("text", [studies.SMALL, studies.APPROACHES])
def test_bounds_are_those_of_each_point_alone(tmp_path: Path, text: str) -> None:
    problem = load(studies.written(tmp_path, text))
    coded = Coded(problem)
    codes = coded.any(300, np.random.default_rng(4))
    known = Ideal(problem, coded)(codes)
    for point, numbers in zip(coded.points(codes), known.numbers, strict=True):
        alone = without_communication(problem.points_at(coded.space.values(point)))
        mine = constraints.compared(alone, problem.study)
        assert [*numbers[:-1]] == [float(np.ravel(column)[0]) for column in mine]


def test_no_budget_is_spent_on_points_that_miss_a_limit(small: Problem) -> None:
    search = Guided(small, 300, 2)
    search.run()
    assert len(search.archive) > 50
    assert search.archive.feasible >= len(search.archive) - 1  # the baseline is priced in any case


def test_a_search_stays_in_its_budget(continuous: Problem) -> None:
    search = Guided(continuous, 120, 3)
    front = search.run()
    assert len(search.archive) == search.archive.priced == 120
    assert len(set(search.archive.points)) == 120
    assert len(front) > 1
    assert np.all(np.diff(front.gain) > 0)


@pytest.mark.parametrize("budget", beyond([1], [1, 120]))
def test_a_range_on_clusters_that_cannot_be_built_says_why(tmp_path: Path, budget: int) -> None:
    text = studies.CONTINUOUS.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [6, 10]").replace(
        "gpus_per_node: [1, 4]", "gpus_per_node: [4]"
    )
    problem = load(studies.written(tmp_path, text))
    with pytest.raises(NoFeasiblePoint, match="the last node is only partly filled"):
        run(problem, "guided", None, None, lambda *_: None, budget, 0)


@pytest.mark.evidence
def test_more_points_than_can_be_numbered_are_searched(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, HUGE))
    assert problem.points is not None
    assert problem.points > 1e12
    found = run(problem, "guided", None, None, lambda *_: None, 400, 0)
    assert found.tally.points == 400
    assert max(p.gain for p in found.front) > 4
    for point in found.front:
        assert int(point.labels["gpus"]) * int(point.labels["batch_per_gpu"]) <= 2048
        assert point.cost <= 200_000


def test_conditional_axes_apply_where_their_condition_holds(continuous: Problem) -> None:
    coded, rng = Coded(continuous), np.random.default_rng(0)
    codes = np.vstack([coded.any(50, rng), coded.spread(50, rng)])
    codes = np.vstack([codes, coded.mutants(codes, rng), coded.children(codes, codes[::-1], rng)])
    codes = np.vstack([codes, *(coded.neighbours(row) for row in codes[:5])])
    for point in (*coded.points(codes), *coded.space.corners()):
        values = coded.space.values(point)
        assert (values["ps_servers"] in (1, 2)) == (values["aggregation"] == "ps-grpc")
        assert continuous.applicable(values) == values


def test_codes_lead_back_to_their_points(continuous: Problem, small: Problem) -> None:
    for problem in (continuous, small):
        coded = Coded(problem)
        points = coded.points(coded.spread(40, np.random.default_rng(3)))
        again = coded.points(coded.of(points))
        for one, other in zip(points, again, strict=True):
            for axis, left, right in zip(coded.space.axes, one, other, strict=False):
                if axis.continuous:
                    assert size(right) == pytest.approx(size(left), rel=1e-12)
                else:
                    assert left == right


def test_what_is_not_buildable_is_what_the_model_rejects(tmp_path: Path) -> None:
    text = studies.SMALL.replace("gpus: [1, 2, 3, 4, 8, 16]", "gpus: [1, 3, 4, 5, 6, 8, 16]")
    text = text.replace("precision: [fp32, fp16]", "precision: [fp32, fp16, bf16]")
    problem = load(studies.written(tmp_path, text))
    coded = Coded(problem)
    points = [problem.space.point(index) for index in range(0, problem.space.size, 7)]
    codes = coded.of([tuple(values[name] for name in coded.space.names) for values in points])
    known = coded.buildable(codes)
    for where, evaluation in problem.rows(points):
        passed = np.broadcast_to(evaluation.whole_nodes() & evaluation.computable(), len(where))
        np.testing.assert_array_equal(known[where], passed)
    assert 0 < np.count_nonzero(known) < len(known)


@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=9, unique=True),
    st.lists(st.floats(-9, 9), min_size=1, max_size=9),
)
def test_nearest_is_the_nearest(numbers: list[float], wanted: list[float]) -> None:
    found = nearest(np.array(numbers), np.array(wanted))
    for at, want in zip(found, wanted, strict=True):
        assert abs(numbers[at] - want) == min(abs(number - want) for number in numbers)


def test_a_point_is_priced_once_and_a_block_at_once(small: Problem) -> None:
    coded, blocks = Coded(small), []
    archive = Archive(small, coded.space, blocks.append)
    points = coded.points(coded.spread(30, np.random.default_rng(0)))
    where = archive.price([*points, *points])
    assert where[:30] == where[30:]
    assert archive.price(points) == where[:30]
    assert len(blocks) == 1
    assert archive.priced == len(archive) == len(set(points))


class Stopped(Exception):
    """As a kill would stop a run."""


def test_a_stopped_search_goes_on_without_repeating_points(
    continuous: Problem, tmp_path: Path
) -> None:
    path, search = tmp_path / "out" / "run.log.jsonl", fingerprint(continuous, "guided")

    def stop(known: int, _: int) -> None:
        if known > 250:
            raise Stopped

    log = RunLog(path, search, False)
    with pytest.raises(Stopped):
        run(continuous, "guided", None, log, stop, 400, 5)
    log.close()
    log = RunLog(path, search, True)
    before = sum(len(block["violation"]) for block in log.blocks)
    assert 250 < before < 400
    found = run(continuous, "guided", None, log, lambda *_: None, 400, 5)
    log.close()
    assert found.resumed_units == len(log.done) > 1
    log = RunLog(path, search, True)
    after = sum(len(block["violation"]) for block in log.blocks)
    log.close()
    assert after == found.tally.points == 400
    assert found.archive is not None
    assert len(set(found.archive.points)) == 400
    assert found.archive.priced == 400 - before
    whole = run(continuous, "guided", None, None, lambda *_: None, 400, 5)
    assert whole.front == found.front
    assert whole.tally.rejected == found.tally.rejected
    assert whole.archive is not None
    assert whole.archive.points == found.archive.points
    np.testing.assert_array_equal(whole.archive.numbers, found.archive.numbers)


@pytest.mark.evidence
def test_points_whose_record_is_lost_are_priced_again(continuous: Problem) -> None:
    blocks: list = []
    first = Guided(continuous, 200, 9, told=blocks.append)
    first.run()
    again = Guided(continuous, 200, 9, before=[*blocks[:2], *blocks[3:]])
    again.run()
    assert again.archive.points == first.archive.points
    assert again.archive.priced == len(blocks[2].violation)
    assert again.blocks == 1


def test_points_of_a_front_are_found_again_by_their_labels(tmp_path: Path) -> None:
    both = "precision: [fp32, fp16]\n  stack: [vendor, tuned]"
    text = studies.SMALL.replace("precision: [fp32, fp16]", both)
    problem = load(studies.written(tmp_path, text))
    for point in run(problem, "exhaustive", None, None, lambda *_: None, 1, 0).front:
        assert values_of(problem, point.labels) == point.values
    tuned = {**problem.study.baseline.labels, "precision": "fp16", "stack": "tuned"}
    for formats in ({**tuned, "gradient": "fp16"}, problem.study.baseline.labels):
        assert labels_of(problem, values_of(problem, formats))["stack"] == formats["stack"]
        assert values_of(problem, formats)["gradient"] == "auto"


def test_surrogate_learns_which_axes_matter() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((150, 3))
    y = np.sin(4 * x[:, 0]) + x[:, 1] ** 2  # the third does not matter
    groups = np.arange(3)
    scales = fitted(x, (y - y.mean()) / y.std(), groups, None)
    assert scales.log_weights[2] < scales.log_weights[:2].min() - 1
    model, _ = regression(x[:100], y[:100], groups, np.arange(80), None, True)
    guess, doubt = model(x[100:])
    assert np.abs(guess - y[100:]).max() < 0.1
    assert np.sqrt(np.mean((guess - y[100:]) ** 2)) < 0.03 * y.std()
    there, sure = model(x[:100])
    assert np.abs(there - y[:100]).max() < 0.01
    assert sure.max() < doubt.mean() / 10


def test_excesses_are_above_nothing_where_a_point_is_not_feasible(small: Problem) -> None:
    coded = Coded(small)
    archive = Archive(small, coded.space)
    archive.price(coded.points(coded.spread(200, np.random.default_rng(4))))
    infeasible = archive.numbers[:, -1] > 0
    assert 0 < np.count_nonzero(infeasible) < len(infeasible)
    np.testing.assert_array_equal((archive.excesses > 0).any(axis=1), infeasible)
    capital = archive.excesses[:, 2]  # after built-in demands and memory
    np.testing.assert_allclose(capital, np.log(archive.numbers[:, 1] / 350e3), atol=1e-9)


def test_shortfall_is_zero_on_the_front_and_negative_beyond() -> None:
    front = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    points = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.2, 0.2, 0.0], [0.2, 0.2, 10.0]])
    short = Frame(front, 2).shortfall(points)
    assert short[0] == 0
    assert short[1] == pytest.approx(0.0)
    assert short[2] < 0 < short[3]


def test_where_nothing_is_feasible_the_violation_alone_counts() -> None:
    points = np.array([[0.0, 0.0, 3.0], [9.0, 9.0, 1.0]])
    assert Frame(np.array([[1.0, 1.0, 2.0]]), 2).shortfall(points).tolist() == [3.0, 1.0]


def test_guided_finds_nearly_the_exact_front(small: Problem) -> None:
    exact = run(small, "exhaustive", None, None, lambda *_: None, 1, 0)
    found = run(small, "guided", None, None, lambda *_: None, 700, 1)
    assert found.tally.points <= 700 < small.space.size
    have = {(point.gain, point.cost) for point in found.front}
    assert len(have & {(point.gain, point.cost) for point in exact.front}) >= 0.9 * len(exact.front)


def test_a_budget_beyond_the_space_prices_all_and_aims_at_no_more(small: Problem) -> None:
    goals = set[int]()
    found = run(small, "guided", None, None, lambda _, whole: goals.add(whole), 10**9, 1)
    assert goals == {small.space.size}
    assert found.tally.points == small.space.size
    counts = build(found).counts
    assert (counts.space, counts.budget) == (small.space.size, 10**9)


def test_the_document_of_a_continuous_space_has_its_exact_numbers(continuous: Problem) -> None:
    found = run(continuous, "guided", None, None, lambda *_: None, 150, 1)
    made = build(found)
    assert made.counts.space is None
    spans = {axis.name: axis.range for axis in made.axes if axis.range}
    name = "inter_node_bytes_per_s"
    assert spans == {"inter_node": AxisRange(name=name, low=1e9 / 8, high=100e9 / 8)}
    for point, priced in zip(made.front, found.front, strict=True):
        link = priced.values["inter_node"]
        assert isinstance(link, Wire)
        assert point.numbers == {name: link.bytes_per_s}
        shown = float(point.config["inter_node"].removesuffix(" Gbps"))
        assert shown == pytest.approx(link.bytes_per_s * 8 / 1e9, rel=1e-3)


THREE = studies.SMALL.replace(
    "{maximize: speedup, minimize: capital}", "{maximize: speedup, minimize: [capital, power]}"
)


def test_three_objectives_are_searched(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, THREE))
    exact = run(problem, "exhaustive", None, None, lambda *_: None, 1, 0)
    found = run(problem, "guided", None, None, lambda *_: None, 500, 1)
    assert found.tally.points <= 500 < problem.space.size
    have = {(point.gain, point.cost, point.other) for point in found.front}
    wanted = {(point.gain, point.cost, point.other) for point in exact.front}
    assert len({other for *_, other in wanted}) > 2
    assert len(have & wanted) >= 0.8 * len(wanted)


def test_losses_count_gains_down_and_costs_up() -> None:
    numbers = np.array([[np.e, 1.0, np.e**2, 0.0], [np.nan, 1.0, 1.0, 3.0]])
    losses, usable = losses_of(numbers, np.array([[0.0, -0.5], [0.0, 3.0]]))
    assert losses[0] == pytest.approx([-1.0, 0.0, 2.0, 0.0, -0.5])
    assert usable.tolist() == [True, False]


def test_what_binds_is_told_of_the_whole_space_not_of_what_was_priced(small: Problem) -> None:
    whole = build(run(small, "exhaustive", None, None, lambda *_: None, 1, 0))
    found = build(run(small, "guided", None, None, lambda *_: None, 300, 1))
    priced = found.counts.points
    assert small.points is not None
    assert priced < small.points
    assert sections.rejected(found) == sections.rejected(whole) != []
    for run_ in (whole, found):
        assert f"{whole.counts.feasible:,} of {small.points:,} " in sections.feasible_said(run_)


def test_of_a_continuous_space_a_sample_tells_what_binds(continuous: Problem) -> None:
    found = build(run(continuous, "guided", None, None, lambda *_: None, 150, 1))
    drawn = feasible(continuous)
    assert found.judged == Judged(points=drawn.points, feasible=drawn.feasible, whole=False)
    assert dict(found.rejected) == dict(drawn.rejected)
