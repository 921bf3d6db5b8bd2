"""Calibration profiles at hand that would price points of a study which does not name them."""

from __future__ import annotations

from dataclasses import replace

from dse import catalog
from dse.calibration import Profile, read_profile
from dse.calibration.profile_files import CALIBRATIONS, profiles
from dse.errors import StudyError
from dse.pricing.caveats import taken
from dse.pricing.problem import Problem
from dse.study import AggregationName


def fitting(problem: Problem) -> dict[str, tuple[AggregationName, ...]]:
    """Names of the profiles in ./calibrations and of those that come with dse which would price
    points of the study by what was measured on hardware of their kind, and the aggregations that
    they would price; those that would price most of these first."""
    if not problem.step_model.measurable:
        return {}
    found = _at_hand(problem)
    tried = replace(problem, profiles={**problem.profiles, **found})
    names = {id(profile): name for name, profile in found.items()}
    fits: dict[str, list[AggregationName]] = {}
    for aggregation in problem.study.aggregations:
        for profile in taken(tried, aggregation):
            if id(profile) in names:
                fits.setdefault(names[id(profile)], []).append(aggregation)
    most = sorted(fits, key=lambda name: -len(fits[name]))
    return {name: tuple(fits[name]) for name in most}


def _at_hand(problem: Problem) -> dict[str, Profile]:
    """Those that can be read and that the study does not name; own ones before others."""
    found: dict[str, Profile] = {}
    for folder in (CALIBRATIONS, catalog.models_dir() / "calibrations"):
        for path in profiles(folder):
            if path.stem in found or path.stem in problem.profiles:
                continue
            try:
                found[path.stem] = read_profile(path)
            except StudyError:  # not what the user asked about
                continue
    return found
