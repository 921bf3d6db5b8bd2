"""What a study, or a point, must not ask: values of which too little is known, axes that change
nothing, and choices of libraries that nobody knows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np

from dse import catalog
from dse.errors import DseError, StudyError
from dse.model.aggregation.library_rules import BY_NAME
from dse.pricing import hardware
from dse.pricing.aggregations import Factory, left_to_library
from dse.pricing.problem import Problem
from dse.study import AggregationName, Study, Value, Wire
from dse.study.axes import AXES, LINKS, MACHINES
from dse.study.definition import written
from dse.study.quantities import POWER, PURCHASE, RENT, facts_of
from dse.yaml_source import Loc

_GIVE_PRICE = "drop it, or give the number under prices:"

Refusal = tuple[str, str]  # what is wrong, what would be right


def demanded(study: Study) -> set[str]:
    """The quantities in which a study's objectives and comparisons are told."""
    names = {objective.name for objective in study.objectives}
    for constraint in study.constraints:
        names |= constraint.expression.names if constraint.expression else set()
    return names


def check_given(
    problem: Problem, point: Mapping[str, Value | None], given: Collection[str], place: str
) -> None:
    """Raise StudyError where a value given for one point would be refused in the study.

    given: names of axes. place: where they were given, for errors.
    """
    quantities = demanded(problem.study)
    for axis in given:
        value = point[axis]
        if value is None:
            continue
        refusal = refused(problem, axis, value, written(axis, value), quantities)
        if refusal:
            raise StudyError(place, 0, 0, *refusal)
    for rule, meets in problem.point(point).points.placement.rules.items():
        if not meets.all():
            raise StudyError(place, 0, 0, "there is no such layout", f"keep its rule: {rule}")


def refused(
    problem: Problem, axis: str, value: Value, label: str, quantities: Collection[str]
) -> Refusal | None:
    """Why a value cannot be priced in the quantities that are demanded; None if it can."""
    facts = facts_of(quantities)
    if axis in MACHINES:
        return _machine_refused(problem, axis, value, label, facts)
    if axis in LINKS:
        bought = PURCHASE in facts and axis == "inter_node"
        return _link_refused(problem, value, label, bought)
    return None


def _machine_refused(
    problem: Problem, axis: str, value: Value, label: str, facts: Collection[str]
) -> Refusal | None:
    (machine,) = hardware.machines(axis, [value], problem.prices)
    if machine.unknown:
        return f"{label} has no known {machine.unknown}", "drop it"
    if POWER in facts and machine.accelerator.power_w is None:
        return f"{label} has no known power", "drop it"
    if PURCHASE in facts and not np.isfinite(machine.accelerator_usd.usd + machine.host_usd.usd):
        return f"{label} has no known purchase price", _GIVE_PRICE
    lists = [problem.prices.rented(rental.study.term) for rental in problem.rentals]
    rents = [hardware.machines(axis, [value], prices)[0].rent.usd for prices in lists]
    if RENT in facts and not np.isfinite(rents).any():
        return f"{label} has no known rental price", _GIVE_PRICE
    return None


def _link_refused(problem: Problem, value: Value, label: str, bought: bool) -> Refusal | None:
    transport = catalog.transport("mpi")  # what is known does not depend on it
    try:
        link = hardware.wiring(value, transport, transport.across, problem.prices)
    except DseError as cause:
        return str(cause), ""
    if not np.isfinite(link.latency_s):
        remedy = f"write {{bandwidth: {label}, latency: 5 us}}, or a fabric, such as 100gbe"
        return f"{label} has no latency", remedy
    missing = [part for part, price in link.prices_usd().items() if not np.isfinite(price.usd)]
    if not bought or not missing:
        return None
    parts = " and ".join(missing)
    remedy = f"give {parts} in its mapping" if isinstance(value, Wire) else _GIVE_PRICE
    return f"{label} has no known price of {parts}", remedy


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


def check_idle(
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

    def named(values: tuple[Value, ...]) -> list[AggregationName]:
        return [value for value in values if isinstance(value, AggregationName)]

    for axis in study.axes:
        count = 2 if axis.continuous else len(axis.values)
        yield ("space", axis.name), axis.name, count, named(every)
    for at, condition in enumerate(study.conditions):
        required = dict(condition.requires).get("aggregation", every)
        yield ("when", at, "axis"), condition.axis, len(condition.values), named(required)


def _has(problem: Problem, aggregation: AggregationName, axis: str) -> bool:
    return axis in problem.aggregation(aggregation).model.axes


def check_choices(study: Study, factory: Factory) -> None:
    """Raise StudyError where the library is to choose, but nobody knows how it does."""
    for place, name in _places(study):
        if left_to_library(name.algorithm) and not factory.known(name):
            raise study.source.error(place, *missing(name))


def _places(study: Study) -> Iterator[tuple[Loc, AggregationName]]:
    """Every aggregation a study names, and where."""
    axis = study.axis("aggregation")
    listed = isinstance(study.source.data["space"].get("aggregation"), list)
    places: list[tuple[Loc, object]] = [
        ((("space", "aggregation", at) if listed else ("space", "aggregation")), value)
        for at, value in enumerate(axis.values if axis else ())
    ]
    for at, condition in enumerate(study.conditions):
        if condition.axis == "aggregation":
            places += [(("when", at, "values"), value) for value in condition.values]
    places.append((("baseline", "aggregation"), study.baseline.values.get("aggregation")))
    for place, value in places:
        if isinstance(value, AggregationName):
            yield place, value


def missing(name: AggregationName) -> tuple[str, str]:
    """What is wrong with a choice that nobody knows, and what would be right."""
    algorithm, transport = name.algorithm, name.transport
    if algorithm in BY_NAME:
        library = BY_NAME[algorithm]
        known = map(catalog.transport, catalog.names("transports"))
        over = [transport.name for transport in known if library in transport.libraries]
        return f"{library} does not choose over {transport}", f"write {algorithm}-{over[0]}"
    problem = f"neither rules nor a profile say which algorithm {transport} chooses"
    remedy = (
        "name an algorithm such as ring, or fit a log of it: dse calibrate import, dse calibrate "
        "fit"
    )
    return problem, remedy
