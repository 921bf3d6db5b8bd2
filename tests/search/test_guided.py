"""The guided engine: what it proposes, prices, remembers, and goes on with."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dse.errors import DseError
from dse.search.guided import Archive, Guide, Guided, Points, choose_sampler, warm
from dse.search.guided.record import block_from, block_record
from dse.search.guided.screen import Frame, ranked
from dse.search.guided.surrogate import fitted, regression
from dse.search.identity import identity
from dse.search.load import known_names, load
from dse.search.problem import Problem
from dse.search.run import run
from dse.search.runlog import RunLog
from tests.search import studies

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


@pytest.mark.parametrize(
    ("wanted", "budget", "objectives", "chosen", "word"),
    [
        ("auto", 100, 2, "tpe", "budget"),
        ("auto", 5000, 2, "nsga2", "5,000"),
        ("auto", 5000, 3, "nsga3", "3 objectives"),
        ("random", 5000, 2, "random", "as asked"),
    ],
)
def test_sampler_is_chosen_with_a_reason(
    wanted: str, budget: int, objectives: int, chosen: str, word: str
) -> None:
    sampler, why = choose_sampler(wanted, budget, objectives)
    assert sampler == chosen
    assert word in why


@pytest.mark.parametrize("sampler", ["nsga2", "nsga3", "tpe", "random", "gp"])
def test_every_sampler_stays_in_its_budget(continuous: Problem, sampler: str) -> None:
    if sampler == "gp":
        pytest.importorskip("torch", reason="the GP sampler needs torch")
    search = Guided(continuous, 120, 3, guide=Guide(sampler))
    front = search.run()
    assert len(search.archive) == search.archive.priced == 120
    assert len(set(search.archive.points)) == 120
    assert len(front) > 1
    assert np.all(np.diff(front.gain) > 0)


def test_gp_without_torch_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.search.guided.samplers.find_spec", lambda _: None)
    with pytest.raises(DseError, match="torch"):
        choose_sampler("gp", 100, 2)


def test_more_points_than_can_be_numbered_are_searched(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, HUGE))
    assert problem.points is not None
    assert problem.points > 1e12
    found = run(problem, "guided", None, None, lambda *_: None, 600, 0)
    assert found.tally.points == 600
    assert max(p.gain for p in found.front) > 4
    for point in found.front:
        assert int(point.labels["gpus"]) * int(point.labels["batch_per_gpu"]) <= 2048
        assert point.cost <= 200_000


def test_conditional_axes_apply_where_their_condition_holds(continuous: Problem) -> None:
    space, rng = Points(continuous.study), np.random.default_rng(0)
    points = [space.any(rng) for _ in range(50)] + space.spread(50, rng)
    points += [space.mutant(point, rng, 3) for point in points]
    points += [space.child(a, b, rng) for a, b in zip(points, points[7:], strict=False)]
    points += [near for point in points[:5] for near in space.neighbours(point)]
    for point in (*points, *space.corners()):
        values = space.values(point)
        assert (values["ps_servers"] in (1, 2)) == (values["aggregation"] == "ps-grpc")
        assert continuous.applicable(values) == values


def test_neighbours_differ_in_one_axis(small: Problem) -> None:
    space = Points(small.study)
    point = space.any(np.random.default_rng(1))
    near = list(space.neighbours(point))
    for other in near:
        changed = [name for name, a, b in zip(space.names, point, other, strict=True) if a != b]
        assert len([name for name in changed if name not in space.conditional]) <= 1
    per_axis = sum(len(axis.values) - 1 for axis in space.axes if axis.name != "aggregation")
    assert len({*near} - {point}) >= per_axis + 2


def test_points_survive_the_log(continuous: Problem) -> None:
    space = Points(continuous.study)
    archive, blocks = Archive(continuous, space), []
    archive.told = blocks.append
    archive.price(space.spread(40, np.random.default_rng(2)))
    block = block_from(json.loads(json.dumps(block_record(blocks[0], space))), space)
    assert list(block.points) == list(blocks[0].points)
    np.testing.assert_array_equal(block.gain, blocks[0].gain)
    np.testing.assert_array_equal(block.violation, blocks[0].violation)
    assert block.rejected == blocks[0].rejected


def test_a_point_is_priced_once_and_a_block_at_once(small: Problem) -> None:
    blocks = []
    archive = Archive(small, Points(small.study), blocks.append)
    points = archive.space.spread(30, np.random.default_rng(0))
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
    path, search = tmp_path / "out" / "run.log.jsonl", identity(continuous, "guided")

    def stop(known: int, _: int) -> None:
        if known > 250:
            raise Stopped

    log = RunLog(path, search, False)
    with pytest.raises(Stopped):
        run(continuous, "guided", None, log, stop, 400, 5)
    log.close()
    log = RunLog(path, search, True)
    space = Points(continuous.study)
    before = [p for block in log.blocks for p in block_from(block, space).points]
    assert 250 < len(before) < 400
    found = run(continuous, "guided", None, log, lambda *_: None, 400, 5)
    log.close()
    assert found.resumed_units == len(log.done) > 1
    log = RunLog(path, search, True)
    after = [p for block in log.blocks for p in block_from(block, space).points]
    log.close()
    assert after[: len(before)] == before
    assert len(after) == len(set(after)) == found.tally.points == 400
    assert found.archive is not None
    assert found.archive.points == after
    assert found.archive.priced == 400 - len(before)


def test_a_resumed_search_makes_other_proposals(continuous: Problem) -> None:
    first = Guided(continuous, 60, 9)
    blocks: list = []
    first.told = blocks.append
    first.run()
    again = Guided(continuous, 120, 9, before=blocks)
    again.run()
    assert again.archive.points[:60] == first.archive.points
    assert again.archive.priced == 60
    assert len(set(again.archive.points)) == 120


def test_warm_start_prices_the_earlier_front_first(small: Problem, continuous: Problem) -> None:
    whole = run(small, "exhaustive", None, None, lambda *_: None, 1, 0)
    configs = [point.labels for point in whole.front]
    points, dropped = warm.mapped(Points(small.study), configs, known_names())
    assert dropped == 0
    search = Guided(small, 400, 0, guide=Guide("nsga2", tuple(points)))
    search.run()
    assert set(points) <= set(search.archive.points[: len(points) + 1])
    expected = [(point.gain, point.cost) for point in whole.front]
    assert list(zip(search.front().gain, search.front().cost, strict=True)) == expected
    # The continuous study has links by bandwidth, of which 10gbe is none.
    mapped, lost = warm.mapped(Points(continuous.study), configs, known_names())
    ethernet = [config for config in configs if config["inter_node"] == "10gbe"]
    assert lost == len(ethernet) > 0
    assert len(mapped) == len({tuple(c.items()) for c in configs if c["inter_node"] != "10gbe"})


def test_warm_start_drops_what_does_not_exist_and_fills_what_is_new(small: Problem) -> None:
    space = Points(small.study)
    config = small.study.baseline.labels
    known = dict(config)
    missing = {**known, "gpus": "5"}
    fewer = {name: text for name, text in known.items() if name != "bucket"}
    other = {**known, "cooling": "water"}
    points, dropped = warm.mapped(space, [known, missing, fewer, other], known_names())
    assert dropped == 1
    assert [space.values(p)["gpus"] for p in points] == [4]


def test_surrogate_learns_which_axes_matter() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((150, 3))
    y = np.sin(4 * x[:, 0]) + x[:, 1] ** 2  # the third does not matter
    groups = np.arange(3)
    scales = fitted(x, (y - y.mean()) / y.std(), groups, None)
    assert scales.log_weights[2] < scales.log_weights[:2].min() - 1
    model, _ = regression(x[:100], y[:100], groups, np.arange(80), None, True)
    assert np.abs(model(x[100:]) - y[100:]).max() < 0.02


def test_turns_give_every_group_its_best_first() -> None:
    score = np.array([0.0, 0.1, 0.2, 0.3, 5.0])
    groups = np.array([0, 0, 0, 1, 2])
    assert ranked(score, [groups]).tolist() == [0, 3, 4, 1, 2]


def test_shortfall_is_zero_on_the_front_and_negative_beyond() -> None:
    front = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    points = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.2, 0.2, 0.0], [0.2, 0.2, 10.0]])
    short = Frame(front).shortfall(points)
    assert short[0] == 0
    assert short[1] == pytest.approx(0.0)
    assert short[2] < 0 < short[3]


def test_where_nothing_is_feasible_the_violation_alone_counts() -> None:
    points = np.array([[0.0, 0.0, 3.0], [9.0, 9.0, 1.0]])
    assert Frame(np.array([[1.0, 1.0, 2.0]])).shortfall(points).tolist() == [3.0, 1.0]


def test_guided_finds_nearly_the_exact_front(small: Problem) -> None:
    exact = run(small, "exhaustive", None, None, lambda *_: None, 1, 0)
    found = run(small, "guided", None, None, lambda *_: None, 700, 1)
    assert found.tally.points == 700 < small.space.size
    have = {(point.gain, point.cost) for point in found.front}
    assert len(have & {(point.gain, point.cost) for point in exact.front}) >= 0.9 * len(exact.front)
