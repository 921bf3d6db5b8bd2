"""Points of small studies, priced with profiles that the test made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dse.calibration import Profile
from dse.model.arrays import Array
from dse.model.stack import Stack
from dse.pricing import constraints
from dse.pricing.computing import ByLaws, ByShares, Computing
from dse.pricing.hardware import Machine
from dse.pricing.load import known_names, load
from dse.pricing.problem import Problem
from dse.report.design_point import Point
from dse.report.points import describe
from tests.calibration import library_profiles
from tests.pricing import studies

AGGREGATIONS = known_names().aggregations


def problem_of(folder: Path, study: str, *profiles: Profile) -> Problem:
    """The study of this text with these profiles, the first of them first; both in ``folder``."""
    names = [str(library_profiles.written(folder, profile)) for profile in profiles]
    text = f"{study}calibration: [{', '.join(names)}]\n" if names else study
    return load(studies.written(folder, text))


def feasible(problem: Problem) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Index and objectives of every point that meets the constraints, priced one list at a time."""
    points = [problem.space.point(index) for index in range(problem.space.size)]
    for where, evaluation in problem.rows(points):
        passed = np.ones(len(where), dtype=bool)
        for _, mask in constraints.demands(evaluation, problem.study):
            passed &= mask
        compared = constraints.compared(evaluation, problem.study)
        values = [np.broadcast_to(column, passed.shape)[passed] for column in compared]
        for index, *numbers in zip(where[passed], *values, strict=True):
            yield int(index), tuple(map(float, numbers))


def at(problem: Problem, **values: Any) -> Point:
    """What is said of the baseline with other values."""
    return describe(problem, point(problem, **values))


def point(problem: Problem, **values: Any) -> dict[str, Any]:
    """The baseline with other values; aggregations may be plain text, as a study writes them."""
    found = {**problem.study.baseline.values, **values}
    found["aggregation"] = AGGREGATIONS[str(found["aggregation"])]
    return problem.applicable(found)


def comm_s(problem: Problem, **values: Any) -> float:
    """Seconds of communication of a step in which nothing hides it."""
    return at(problem, overlap="none", **values).comm_s or 0.0


def width(problem: Problem, **values: Any) -> float:
    """Width of the step's interval over the time of communication, of which nothing is hidden."""
    told = at(problem, overlap="none", **values)
    assert told.interval is not None
    assert told.comm_s is not None
    low, high = told.interval.step_s
    return (high - low) / told.comm_s


def compute_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draws in which computing takes what it is expected to."""

    def errors(
        _known: Computing, machines: Sequence[Machine], _precision: str, _stack: Stack, draws: int
    ) -> Array:
        return np.ones((draws, len(machines)))

    for known in (ByLaws, ByShares):
        monkeypatch.setattr(known, "errors", errors)
