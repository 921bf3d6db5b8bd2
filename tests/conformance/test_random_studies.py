"""Studies at random: whatever searches them finds the front of a plain loop, and can report it.

A few here; `make random` tries as many as there is time for, each time others.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.api import Result, load_study
from dse.errors import NoFeasiblePoint
from dse.pricing.problem import Problem
from dse.report.json_form import by_row
from dse.search import bounds, cells, exhaustive
from dse.search.executors import Executor, opened
from dse.search.guided import Archive
from dse.search.guided.acquisition import wanted
from dse.search.guided.codes import Coded, Codes
from dse.search.guided.ideal import Ideal
from dse.search.run import Outcome, run
from dse.study import IGNORED
from tests.conformance import brute_force, random_studies
from tests.evidence import beyond

FIRST = int(os.environ.get("RANDOM_SEED", "0"))
STUDIES = int(os.environ.get("RANDOM_STUDIES", "40"))
SEEDS = range(FIRST, FIRST + STUDIES)
REPORTED = int(os.environ.get("RANDOM_REPORTED", "8"))  # of so many studies one is
OF_A_RANGE = 120  # points that a search of a continuous space may price
BY_RAY = 4
OF_A_KIND = int(os.environ.get("RANDOM_OF_A_KIND", "1"))  # studies whose bounds are compared
MOST_OF_A_KIND = 50 * OF_A_KIND  # that are tried: of some nothing is feasible


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
    assert len(by_row(document["front"])) == len(outcome.front)


@pytest.mark.parametrize("seed", beyond(SEEDS[::9], SEEDS))
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


@pytest.mark.parametrize("seed", beyond(SEEDS[4:5], SEEDS[::4]))
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


def aims(study: dict[str, Any]) -> list[str]:
    """What a study minimizes."""
    least = study["objectives"]["minimize"]
    return [least] if isinstance(least, str) else least


def spot(study: dict[str, Any]) -> bool:
    """Whether a study rents what may be taken away."""
    return "spot" in str(study.get("rental"))


def lacks_a_format(study: dict[str, Any]) -> bool:
    """Whether an accelerator of a study has no rate in a format of it, so that its step is NaN."""
    old = {"p100-sxm2-16gb", "v100-sxm2-16gb", "v100-sxm2-32gb", "k80-die", "t4"}
    space = study["space"]
    return bool(old & {*space.get("accelerator", ())}) and "bf16" in space.get("precision", ())


def needs_communication(study: dict[str, Any]) -> bool:
    """Whether points meet a limit because of their communication."""
    return bool({"speedup <= 6", "exposed >= 0.05 * step"} & {*study["constraints"]})


def servers_and_others(study: dict[str, Any]) -> bool:
    """Whether parameter servers are an alternative."""
    served = {*random_studies.SERVERS, *random_studies.OF_TENSORS}
    return 0 < len(served & {*study["space"]["aggregation"]}) < len(study["space"]["aggregation"])


# Of which bounds are compared with prices; each is found among the random studies.
KINDS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "cost of a run": lambda study: "per_run" in aims(study),
    "cost of a run on spot machines": lambda study: spot(study) and "per_run" in aims(study),
    "time to target": lambda study: "time_to_target" in aims(study),
    "energy": lambda study: "energy" in aims(study),
    "owned": lambda study: "owned" in study,
    "owned, three objectives": lambda study: "owned" in study and len(aims(study)) > 1,
    "three objectives": lambda study: len(aims(study)) > 1,
    "an accelerator lacks a format": lacks_a_format,
    "communication decides": lambda study: "exposed <= 0.3 * step" in study["constraints"],
    "communication is needed": needs_communication,
    "closed model": lambda study: study.get("model") == "pai",
    "several passes": lambda study: "accumulation" in study["space"],
    "servers and others": servers_and_others,
    "conditions": lambda study: len(study.get("when", ())) > 1,
}

OFTEN = ("cost of a run on spot machines", "energy", "owned, three objectives",
         "an accelerator lacks a format", "communication is needed",
         "servers and others")  # fmt: skip


def studies_of(kind: str, folder: Path, *, continuous: bool) -> Iterator[Any]:
    """Random studies of a kind, endlessly."""
    for seed in count(FIRST):
        if KINDS[kind](random_studies.study_of(seed, continuous=continuous)):
            yield loaded(folder, seed, continuous=continuous)


def points_to_try(problem: Problem, coded: Coded) -> Codes:
    """All of a space; some of a continuous one."""
    if problem.points is None:
        return coded.any(OF_A_RANGE, np.random.default_rng(FIRST))
    found = (problem.space.point(index) for index in range(problem.points))
    return coded.of([tuple(point[name] for name in coded.space.names) for point in found])


@pytest.mark.parametrize("continuous", beyond([True], [False, True]), ids=("listed", "continuous"))
@pytest.mark.parametrize("kind", beyond(OFTEN, KINDS))
def test_bounds_rule_out_nothing_of_the_front(tmp_path: Path, kind: str, continuous: bool) -> None:
    tried = 0
    for study in islice(studies_of(kind, tmp_path, continuous=continuous), MOST_OF_A_KIND):
        problem, coded = study.problem, Coded(study.problem)
        codes, archive = points_to_try(problem, coded), Archive(problem, coded.space)
        points = coded.points(codes)
        archive.price(points)
        if len(archive.front()) < 2:
            continue
        gain, *costs = archive.numbers.T[:-1]
        feasible = archive.numbers[:, -1] == 0
        expected = brute_force.front_of(problem, map(coded.space.values, points))
        on_front = feasible & [tuple(row) in expected.points for row in archive.numbers[:, :-1]]
        assert np.count_nonzero(feasible) == expected.feasible
        assert np.count_nonzero(on_front) >= len(expected.points)

        known = Ideal(problem, coded)(codes)
        most, *least = known.numbers.T[:-1]
        assert coded.buildable(codes)[feasible].all()
        assert known.possible[feasible].all()
        assert (most >= gain)[feasible].all()
        for bound, cost in zip(least, costs, strict=True):
            assert (bound <= cost)[feasible].all()
        assert wanted(known, archive)[on_front].all()
        for at in range(0, len(points), 7):  # whatever is beside it
            point, numbers = points[at], known.numbers[at]
            alone = bounds.ideal(problem.points_at(coded.space.values(point)))
            names = [one.name for one in problem.study.objectives]
            mine = brute_force.compared(alone, names, problem.study.memory != IGNORED)
            np.testing.assert_array_equal(numbers[:-1], mine)
        tried += 1
        if tried == OF_A_KIND:
            return
    pytest.fail(f"{tried} studies of this kind have a front")


@pytest.mark.parametrize("continuous", beyond([True], [False, True]))
def test_all_are_valid(tmp_path: Path, continuous: bool) -> None:
    """Those of which no front is compared here, too."""
    for seed in range(200):
        assert loaded(tmp_path, seed, continuous=continuous).problem.study.name == f"random-{seed}"


@pytest.mark.evidence
@pytest.mark.slow
def test_ray_finds_the_front_of_a_plain_loop(tmp_path: Path) -> None:
    with closing(opened("ray", None)) as cluster:
        for seed in SEEDS[:BY_RAY]:
            problem = loaded(tmp_path, seed).problem
            points = [problem.space.point(index) for index in range(problem.space.size)]
            expected = brute_force.front_of(problem, points)
            assert agrees(searched(problem, "exhaustive", cluster), expected)
