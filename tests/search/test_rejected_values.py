"""Machines, networks and aggregations of which no point is feasible."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dse.pricing import constraints
from dse.pricing.load import load
from dse.search.rejected_values import AXES, rejected_values
from dse.search.run import labels_of
from tests.pricing import studies

LIMITS = '"capital <= 350 kUSD", "global_batch <= 2048"'


def test_it_is_what_judging_the_points_one_by_one_finds(tmp_path: Path) -> None:
    limits = '"speedup >= 6", "capital <= 150 kUSD"'
    text = studies.SMALL.replace(LIMITS, limits)
    problem = load(studies.written(tmp_path, text))
    feasible, missed = set[tuple[str, str]](), dict[tuple[str, str], dict[str, int]]()
    points = dict[tuple[str, str], int]()
    for at in range(problem.space.size):
        evaluation = problem.point(problem.space.point(at))
        failed = [name for name, mask in constraints.demands(evaluation, problem.study)
                  if not mask.all()]  # fmt: skip
        labels: Mapping[str, str] = labels_of(problem, problem.space.point(at))
        for key in ((axis, labels[axis]) for axis in AXES if axis in labels):
            points[key] = points.get(key, 0) + 1
            if not failed:
                feasible.add(key)
            for name in failed:
                missed.setdefault(key, {}).setdefault(name, 0)
                missed[key][name] += 1
    several = {axis for axis, _ in points if len({k for k in points if k[0] == axis}) > 1}
    expected = {key: missed[key] for key in points if key not in feasible and key[0] in several}
    told = rejected_values(problem)
    assert {key: dict(one.rejected) for key, one in told.items()} == expected
    assert expected
    for key, one in told.items():
        assert one.points == points[key]


def test_what_is_known_to_be_feasible_is_not_counted_again(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL.replace(LIMITS, '"speedup >= 8"')))
    told = rejected_values(problem)
    assert told
    known = [{axis: label} for axis, label in told]
    assert rejected_values(problem, known) == {}
