"""Points of small studies, priced with profiles that the test made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dse.calibration import Profile
from dse.report.points import describe
from dse.search.load import load
from dse.search.problem import Problem
from tests.calibration import library_profiles
from tests.search import studies


def problem_of(folder: Path, study: str, *profiles: Profile) -> Problem:
    """The study of this text with these profiles, the first of them first; both in ``folder``."""
    names = [str(library_profiles.written(folder, profile)) for profile in profiles]
    text = f"{study}calibration: [{', '.join(names)}]\n" if names else study
    return load(studies.written(folder, text))


def at(problem: Problem, **values: Any) -> dict[str, Any]:
    """What is said of the baseline with other values."""
    point = {**problem.study.baseline.values, **values}
    return describe(problem, problem.applicable(point))


def comm_s(problem: Problem, **values: Any) -> float:
    """Seconds of communication of a step in which nothing hides it."""
    return float(at(problem, overlap="none", **values)["comm_s"])


def width(problem: Problem, **values: Any) -> float:
    """Width of the step's interval over the time of communication, of which nothing is hidden."""
    point = at(problem, overlap="none", **values)
    low, high = point["interval"]["step_s"]
    return float((high - low) / point["comm_s"])
