"""Studies at random: whatever searches them finds the front of a plain loop, and can report it.

A few here; `make random` tries as many as there is time for, each time others.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.api import Result, load_study
from dse.errors import NoFeasiblePoint
from dse.pricing.problem import Problem
from dse.search import bounds, cells, exhaustive
from dse.search.executors import Executor, Executors
from dse.search.run import Outcome, run
from tests.conformance import brute_force, random_studies
from tests.evidence import beyond

FIRST = int(os.environ.get("RANDOM_SEED", "0"))
STUDIES = int(os.environ.get("RANDOM_STUDIES", "40"))
SEEDS = range(FIRST, FIRST + STUDIES)
REPORTED = int(os.environ.get("RANDOM_REPORTED", "8"))  # of so many studies one is
OF_A_RANGE = 120  # points that a search of a continuous space may price
BY_RAY = 4


def loaded(folder: Path, seed: int, *, continuous: bool = False) -> Any:
    """The study of a seed."""
    study = random_studies.study_of(seed, continuous=continuous)
    return load_study(random_studies.written(folder, study))


def searched(
    problem: Problem, engine: str, where: Executor | None = None, budget: int = 0
) -> Outcome | None:
    """What a search finds; None where nothing is feasible."""
    try:
        return run(problem, engine, where, None, lambda *_: None, budget, 0)
    except NoFeasiblePoint:
        return None


def agrees(outcome: Outcome | None, expected: brute_force.Front) -> bool:
    """Whether a search found that front, with its ties and counts."""
    if outcome is None:
        return not expected.points
    return brute_force.found_by(outcome) == expected


def not_json(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")


def check_report(study: Any, outcome: Outcome, folder: Path) -> None:
    """The report can be written, and its run.json is JSON as others read it."""
    page = Result(study, outcome, 0, 0.0, "a test").write_report(folder)
    document = json.loads((page.parent / "run.json").read_text(), parse_constant=not_json)
    assert len(document["front"]) == len(outcome.front)


@pytest.mark.parametrize("seed", beyond(SEEDS[::3], SEEDS))
def test_both_engines_find_the_front_of_a_plain_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    study = loaded(tmp_path, seed)
    problem = study.problem
    points = [problem.space.point(index) for index in range(problem.space.size)]
    expected = brute_force.front_of(problem, points)
    whole = searched(problem, "exhaustive")
    assert agrees(whole, expected)
    assert agrees(searched(problem, "guided", budget=2 * len(points)), expected)

    with monkeypatch.context() as cut:  # into boxes, units and pieces, with bounds
        cut.setattr(exhaustive, "BOX_POINTS", 17)
        cut.setattr(exhaustive, "CHUNK_POINTS", 40)
        cut.setattr(cells, "PRICED_POINTS", 7)
        cut.setattr(bounds, "SCREENED_FROM", 1)
        assert agrees(searched(problem, "exhaustive"), expected)
    if whole and seed % REPORTED == 0:
        check_report(study, whole, tmp_path / "report")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_price_does_not_depend_on_neighbours(tmp_path: Path, seed: int) -> None:
    problem = loaded(tmp_path, seed).problem
    order = [*range(problem.space.size)]
    random.Random(seed).shuffle(order)
    points = [problem.space.point(index) for index in order[:30]]
    alone = brute_force.alone(problem, points)
    np.testing.assert_array_equal(brute_force.together(problem, points), alone)
    few = [*points[:3], points[0]]
    np.testing.assert_array_equal(brute_force.together(problem, few), [*alone[:3], alone[0]])


@pytest.mark.parametrize("seed", beyond(SEEDS[4:13:4], SEEDS[::4]))
def test_of_a_continuous_range_the_front_is_that_of_what_was_priced(
    tmp_path: Path, seed: int
) -> None:
    study = loaded(tmp_path, seed, continuous=True)
    outcome = searched(study.problem, "guided", budget=OF_A_RANGE)
    if outcome is None:
        return
    assert outcome.archive
    assert len(outcome.archive) <= OF_A_RANGE
    space = outcome.archive.space
    priced = [space.values(point) for point in outcome.archive.points]
    assert agrees(outcome, brute_force.front_of(study.problem, priced))
    if seed % REPORTED == 0:
        check_report(study, outcome, tmp_path / "report")


@pytest.mark.parametrize("continuous", [False, True])
def test_all_are_valid(tmp_path: Path, continuous: bool) -> None:
    """Those of which no front is compared here, too."""
    for seed in range(200):
        assert loaded(tmp_path, seed, continuous=continuous).problem.study.name == f"random-{seed}"


@pytest.fixture(scope="module")
def executors() -> Iterator[Executors]:
    found = Executors()
    yield found
    found.close()


@pytest.mark.slow
def test_ray_finds_the_front_of_a_plain_loop(tmp_path: Path, executors: Executors) -> None:
    cluster = executors.get("ray", None)
    for seed in SEEDS[:BY_RAY]:
        problem = loaded(tmp_path, seed).problem
        points = [problem.space.point(index) for index in range(problem.space.size)]
        expected = brute_force.front_of(problem, points)
        assert agrees(searched(problem, "exhaustive", cluster), expected)
