"""Axes of a study that only some aggregations have: tensor fusion, and the size of a bucket."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from dse.errors import StudyError
from dse.pricing.problem import Problem
from dse.study import AggregationName, Study, Value
from dse.study.axes import AXES
from dse.yaml_source import Loc


def check_axes(problem: Problem) -> None:
    """Raise StudyError where an axis changes nothing of an aggregation that it applies to.

    Its points would be counted several times over; one bucket size for all does no harm.
    """
    study = problem.study
    for place, axis, values, aggregations in _uses(study):
        if not AXES[axis].idle or (axis == "bucket" and values < 2):
            continue
        fitting = [name for name in aggregations if _has(problem, name, axis)]
        idle = [name for name in aggregations if name not in fitting]
        if idle:
            remedy = f"drop {axis}"
            if fitting:
                remedy = f"put it under when, if: {{aggregation: [{', '.join(fitting)}]}}"
            raise study.source.error(
                place, f"{axis}: {idle[0]} {AXES[axis].idle}", remedy, key=True
            )


def check_given(
    problem: Problem, point: Mapping[str, Value | None], given: Collection[str], option: str
) -> None:
    """Raise StudyError where a value given for one point changes nothing of it.

    point: with conditional axes blank where their condition does not hold. given: names of axes.
    option: of the command line, where they were given.
    """
    study, aggregation = problem.study, point["aggregation"]
    assert isinstance(aggregation, AggregationName)
    for axis in given:
        known = study.axis(axis)
        if known is not None and known.values == (point[axis],):
            continue  # all points of the study have it, whether or not it matters
        if AXES[axis].idle and not _has(problem, aggregation, axis):
            wrong = f"{axis}: {aggregation} {AXES[axis].idle}"
            raise StudyError(option, 0, 0, wrong, f"drop {axis}")
        if point[axis] is None:
            wrong = f"{axis}: the study has it only under a condition, see its when"
            raise StudyError(option, 0, 0, wrong, f"drop {axis}, or set the other as well")


def _uses(study: Study) -> Iterator[tuple[Loc, str, int, list[AggregationName]]]:
    """Place, name, number of values of every axis, and the aggregations that it applies to."""
    found = study.axis("aggregation")
    every = found.values if found else ()
    for axis in study.axes:
        count = 2 if axis.continuous else len(axis.values)
        yield ("space", axis.name), axis.name, count, _names(every)
    for at, condition in enumerate(study.conditions):
        required = dict(condition.requires).get("aggregation", every)
        yield ("when", at, "axis"), condition.axis, len(condition.values), _names(required)


def _names(values: tuple[Value, ...]) -> list[AggregationName]:
    return [value for value in values if isinstance(value, AggregationName)]


def _has(problem: Problem, aggregation: AggregationName, axis: str) -> bool:
    return axis in problem.aggregation(aggregation).model.axes
