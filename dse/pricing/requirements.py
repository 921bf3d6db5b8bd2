"""What must be known of a value of an axis before it is priced."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from dse import catalog
from dse.errors import DseError, StudyError
from dse.pricing import hardware
from dse.pricing.problem import Problem
from dse.study import Study, Value, Wire
from dse.study.axes import LINKS, MACHINES
from dse.study.definition import written
from dse.study.quantities import POWER, PURCHASE, RENT, facts_of

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
    for rule, meets in problem.point(point).placement.rules.items():
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
    rent = machine.usd_per_hour.usd + machine.host_usd_per_hour.usd
    if RENT in facts and not np.isfinite(rent):
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
