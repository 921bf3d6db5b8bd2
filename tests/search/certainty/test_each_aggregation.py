"""The hardware of points near the front with each aggregation, against pricing every point."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from dse.pricing import constraints
from dse.pricing.load import load
from dse.pricing.problem import Problem
from dse.search.certainty import each_aggregation
from dse.search.certainty.each_aggregation import (
    CLEARED,
    LEAST_GAIN,
    MOST_FUSED,
    Hardware,
    best_of_each,
    fuses,
    hardware_of,
)
from dse.search.certainty.near_front import near_front
from dse.search.run import run
from dse.study import Value
from tests.evidence import beyond
from tests.pricing import studies

Best = dict[Hardware, dict[str, float]]


@pytest.fixture(scope="module", params=beyond(["SMALL"], ["SMALL", "CLOSED"]))
def problem(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Problem:
    text = getattr(studies, request.param)
    return load(studies.written(tmp_path_factory.mktemp(request.param), text))


def some_points(problem: Problem) -> list[dict[str, Value | None]]:
    at = np.random.default_rng(4).choice(problem.space.size, 25, replace=False)
    return [problem.space.point(int(index)) for index in at]


def on_hardware(problem: Problem, wanted: set[Hardware]) -> list[dict[str, Value | None]]:
    every = map(problem.space.point, range(problem.space.size))
    return [values for values in every if hardware_of(values) in wanted]


def slowly(problem: Problem, wanted: set[Hardware]) -> Best:
    """Speed per dollar of the best points of each hardware, from all points one by one."""
    points = on_hardware(problem, wanted)
    gain, cost, met = np.empty((3, len(points)))
    for where, evaluation in problem.rows(points):
        gain[where], cost[where] = evaluation["speedup"], evaluation["capital"]
        met[where] = constraints.met(evaluation, problem.study, len(where))
    by_hardware = defaultdict(list)
    for at, values in enumerate(points):
        if met[at]:
            by_hardware[hardware_of(values)].append(at)
    found: Best = {}
    for hardware, several in by_hardware.items():
        least = min(cost[at] for at in several)
        best: dict[str, float] = {}
        for at in several:
            if cost[at] <= least * (1 + 1e-9):
                name = str(points[at]["aggregation"])
                best[name] = max(best.get(name, 0.0), gain[at] / cost[at])
        most = max(best.values())
        found[hardware] = {
            name: value for name, value in best.items() if value >= LEAST_GAIN * most
        }
    return found


def priced(problem: Problem, values: dict[str, Value | None]) -> float:
    evaluation = problem.point(values)
    return float(evaluation["speedup"].item() / evaluation["capital"].item())


def test_each_is_the_best_of_all_points_on_its_hardware(problem: Problem) -> None:
    points = some_points(problem)
    found = best_of_each(problem, "speed-per-dollar", points)
    worths = [priced(problem, dict(values)) for values in found]
    assert worths == sorted(worths, reverse=True)
    expected = slowly(problem, set(map(hardware_of, points)))
    assert set(map(hardware_of, found)) == expected.keys()
    for hardware, best in expected.items():
        here = {
            str(values["aggregation"]): worth
            for values, worth in zip(found, worths, strict=True)
            if hardware_of(values) == hardware
        }
        assert here == pytest.approx(best, rel=1e-9)
    assert len(found) == sum(map(len, expected.values()))


def test_only_hardware_that_is_asked_for_is_priced_and_no_more_points_than_the_most(
    problem: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = some_points(problem)[:2]
    found = best_of_each(problem, "fastest", asked)
    assert set(map(hardware_of, found)) <= set(map(hardware_of, asked))
    monkeypatch.setattr(each_aggregation, "MOST_POINTS", 1)
    assert best_of_each(problem, "fastest", asked) == []


def test_near_the_front_each_purchase_stands_with_each_aggregation(problem: Problem) -> None:
    outcome = run(problem, "exhaustive", None, None, lambda *_: None, 1000, 0)
    found = near_front(outcome, "speed-per-dollar", [0])
    near = found.points[: found.feasible]
    hardwares = set(map(hardware_of, near))
    expected = slowly(problem, hardwares)
    for hardware in hardwares:
        there = [values for values in near if hardware_of(values) == hardware]
        names = {str(values["aggregation"]) for values in there}
        assert names >= expected[hardware].keys()


def test_where_time_is_limited_points_are_added_that_surely_keep_the_limit(tmp_path: Path) -> None:
    """The largest batch that just meets it by the estimate misses it in half of the draws."""
    text = studies.SMALL.replace("[32, 64, 256]", "[8, 16, 24, 32, 48, 64, 96, 128, 256]").replace(
        '"global_batch <= 2048"', '"step <= 150 ms"'
    )
    problem = load(studies.written(tmp_path, text))
    points = some_points(problem)
    steps: dict[Hardware, list[float]] = defaultdict(list)
    for values in best_of_each(problem, "fastest", points):
        steps[hardware_of(values)].append(float(problem.point(values)["step"].item()))
    assert steps
    assert all(max(several) <= 0.15 for several in steps.values())
    assert any(min(several) <= 0.15 * np.exp(-CLEARED[-1]) for several in steps.values())
    assert any(0.15 * np.exp(-CLEARED[1]) < max(several) for several in steps.values())


def test_fused_tensors_are_followed_on_the_most_promising_hardware_alone(tmp_path: Path) -> None:
    text = studies.SMALL.replace("[ring-mpi,", "[horovod-mpi, ring-mpi,")
    text = text.replace("  bucket: [4 MiB, 25 MiB]\n", "").replace(" bucket: 25 MiB,", "")
    problem = load(studies.written(tmp_path, text))
    points = some_points(problem)
    promising = list(dict.fromkeys(map(hardware_of, points)))[:MOST_FUSED]
    found = best_of_each(problem, "fastest", points)
    fused = {hardware_of(values) for values in found if fuses(values)}
    assert fused
    assert fused <= set(promising)
    assert not set(map(hardware_of, found)) <= set(promising)
