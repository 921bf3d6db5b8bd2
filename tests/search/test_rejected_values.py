"""Machines, networks and aggregations of which no point is feasible."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from dse.pricing import constraints
from dse.pricing.load import load
from dse.search.rejected_values import AXES, RejectedValue, rejected_values
from tests.pricing import studies

LIMITS = '"capital <= 200 kUSD", "global_batch <= 2048"'


def found(tmp_path: Path, limits: str, batches: str = "[32, 64, 256]") -> tuple[RejectedValue, ...]:
    text = studies.SMALL.replace(LIMITS, limits)
    text = text.replace("batch_per_gpu: [32, 64, 256]", f"batch_per_gpu: {batches}")
    return rejected_values(load(studies.written(tmp_path, text)))


def test_where_each_value_has_a_feasible_point_nothing_is_told(tmp_path: Path) -> None:
    assert found(tmp_path, LIMITS) == ()


@pytest.mark.evidence
@pytest.mark.parametrize(
    "limits", ['"capital <= 25 kUSD"', '"speedup >= 8"', '"speedup >= 6", "capital <= 150 kUSD"']
)
def test_it_is_what_judging_the_points_one_by_one_finds(tmp_path: Path, limits: str) -> None:
    text = studies.SMALL.replace(LIMITS, limits)
    problem = load(studies.written(tmp_path, text))
    feasible, missed = set[tuple[str, str]](), dict[tuple[str, str], dict[str, int]]()
    points = dict[tuple[str, str], int]()
    for at in range(problem.space.size):
        evaluation = problem.point(problem.space.point(at))
        failed = [name for name, mask in constraints.demands(evaluation, problem.study)
                  if not mask.all()]  # fmt: skip
        labels: Mapping[str, str] = problem.space.labels(at)
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
    assert {(one.axis, one.label): dict(one.demands) for one in told} == expected
    assert expected
    for one in told:
        assert one.points == points[one.axis, one.label]


def test_the_nearest_miss_is_that_of_the_point_that_misses_least(tmp_path: Path) -> None:
    """By hand: four V100 on one node cost more than 45 kUSD whatever joins them, one does not."""
    text = studies.SMALL.replace(LIMITS, '"capital <= 9 kUSD"')
    problem = load(studies.written(tmp_path, text))
    told = {one.label: one for one in rejected_values(problem)}
    least = min(
        float(np.ravel(problem.point(values)["capital"])[0])
        for values in map(problem.space.point, range(problem.space.size))
        if values["accelerator"] == "v100-sxm2-16gb"
    )
    assert told["v100-sxm2-16gb"].nearest == ("capital", pytest.approx(least))


def test_what_is_known_to_be_feasible_is_not_counted_again(tmp_path: Path) -> None:
    problem = load(studies.written(tmp_path, studies.SMALL.replace(LIMITS, '"speedup >= 8"')))
    told = rejected_values(problem)
    assert told
    known = [{one.axis: one.label} for one in told]
    assert rejected_values(problem, known) == ()
