"""Which profiles price points of a study, and why the others price nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.evidence import Grade
from dse.calibration.evidence.joined import ByLayoutEvidence
from dse.calibration.hardware_names import same_device, same_kind
from dse.model.aggregation.base import HARDWARE_AXES
from dse.pricing import hardware, throughput
from dse.pricing.coordinates import Coordinate
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.spelling import enumerated
from dse.study import AggregationName
from dse.study.space import Slab

MOST_COUNTS = 16  # of accelerators that are priced beside the search


def taken(problem: Problem, name: AggregationName) -> tuple[Profile, ...]:
    """The profiles that price some point of the study, each once, in the order of the study.

    Of a choice among several those that win at the baseline, or anywhere in a thinned grid of the
    study's hardware; all of them where an axis is continuous.
    """
    evidence = problem.aggregation(name).evidence
    if not isinstance(evidence, ByLayoutEvidence) or problem.points is None:
        return evidence.profiles
    found = {id(profile) for points in _sampled(problem, name)
             for part, _ in evidence.used(points.gradients, points.layout)
             for profile in part.profiles}  # fmt: skip
    return tuple(profile for profile in evidence.profiles if id(profile) in found)


def catalogue_taken(problem: Problem, name: AggregationName) -> bool:
    """Whether the catalogue prices some point of the study, looked for where :func:`taken` does."""
    if problem.points is None:
        return problem.aggregation(name).evidence.profile is None
    return any(np.any(points.grade() == Grade.CATALOGUE) for points in _sampled(problem, name))


def _sampled(problem: Problem, name: AggregationName) -> list[Points]:
    """The baseline, if this is its aggregation, and a thinned grid of the study's hardware."""
    points = [_thinned(problem, slab) for slab in problem.space.slabs
              if slab.fixed["aggregation"] == name]  # fmt: skip
    baseline = problem.points_at(problem.study.baseline.values)
    if baseline.summing.name == name and np.all(baseline.gpus > 1):
        points.append(baseline)
    return points


def _thinned(problem: Problem, slab: Slab) -> Points:
    """All hardware of a slab on some of its counts of accelerators, the rest at its first value."""
    rank = len(slab.axes)
    coordinates = {}
    for number, axis in enumerate(slab.axes):
        count = len(axis.values)
        kept = np.arange(count) if axis.name in HARDWARE_AXES else np.zeros(1, dtype=np.int64)
        if axis.name == "gpus":
            kept = np.unique(np.linspace(0, count - 1, min(count, MOST_COUNTS)).astype(np.int64))
        shape = tuple(-1 if other == number else 1 for other in range(rank))
        coordinates[axis.name] = Coordinate(axis.values, kept.reshape(shape))
    return problem.points_on(slab.fixed, coordinates, rank)


def unused(problem: Problem) -> dict[str, str]:
    """The profiles that price no aggregation of the study and know nothing of its computing, by
    name, and why."""
    names = problem.study.aggregations
    using = {id(profile) for name in names for profile in taken(problem, name)}
    fitting = {
        id(profile): name
        for name in names
        for profile in problem.aggregation(name).evidence.profiles
    }
    found = {}
    for name, profile in problem.profiles.items():
        if id(profile) in using or _of_computing(problem, profile):
            continue
        why = "it measured none of the study's aggregations"
        if id(profile) in fitting:
            why = _why_not_taken(problem, name, fitting[id(profile)])
        found[name] = why
    return found


def _why_not_taken(problem: Problem, name: str, aggregation: AggregationName) -> str:
    """Why a profile that measured an aggregation of the study prices no point of it."""
    profile = problem.profiles[name]
    if taken(replace(problem, profiles={name: profile}), aggregation):
        return "another profile fits as well or better"
    devices = hardware.accelerators_of(problem.study, problem.prices)
    fabrics = hardware.fabrics_of(problem.study)
    reached = any(same_device(profile.device, device) for device in devices)
    if profile.device != "cpu" and not reached:
        return f"it measured {profile.device}, and the study has {enumerated(devices)}"
    if profile.link and fabrics and not any(same_kind(profile.link, one) for one in fabrics):
        return f"it measured {profile.link}, and the study has {enumerated(fabrics)}"
    return "no point of the study is of the accelerator, nodes and network that it measured"


def _of_computing(problem: Problem, profile: Profile) -> bool:
    """Whether a profile knows a device of the study, or rates of a network like the study's."""
    devices = hardware.accelerators_of(problem.study, problem.prices)
    timed = any(same_device(part.device, name) for part in profile.compute for name in devices)
    laid_out = problem.study.laid_out and bool(profile.layouts or profile.exchanges)
    return (
        laid_out
        or timed
        or any(
            row.accelerator in devices
            or catalog.named_workload(row.workload).family == problem.workload.family
            for row in throughput.applicable(profile)
        )
    )
