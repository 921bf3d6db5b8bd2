"""The values that the axes of a study take, conditional ones included."""

from __future__ import annotations

from dataclasses import replace

from dse.pricing import hardware
from dse.pricing.problem import Problem
from dse.study import APPROACH, Axis, Value, split_aggregation


def transports(problem: Problem) -> tuple[str, ...]:
    """Every transport the study's aggregations use; an approach brings its own."""
    pairs = [split_aggregation(str(v)) for v in axis_values(problem, "aggregation")]
    return tuple(sorted({transport for algorithm, transport in pairs if algorithm != APPROACH}))


def axis_values(problem: Problem, name: str) -> tuple[Value, ...]:
    """The values of an axis, conditional ones included; the two ends of a continuous one."""
    study, found = problem.study, list[Value]()
    for axis in (*study.axes, *study.defaults):
        if axis.name == name:
            ends = [end for end in (axis.low, axis.high) if end is not None]
            found += [continuous_value(axis, end) for end in ends] or axis.values
    for condition in study.conditions:
        if condition.axis == name:
            found += condition.values
    return tuple(dict.fromkeys(found))


def continuous_value(axis: Axis, number: float) -> Value:
    """A value of a continuous axis."""
    number = float(number)
    if axis.wire is None:
        return number
    return replace(axis.wire, bytes_per_s=number, label=f"{number * 8 / 1e9:.4g} Gbps")


def numbers(problem: Problem, name: str, default: float) -> list[float]:
    """The values of a numeric axis; ``default`` where the study has none."""
    return [float(v) for v in axis_values(problem, name)] or [default]  # type: ignore[arg-type]


def ranks_per_node(problem: Problem) -> list[float]:
    """Accelerators of a node: as the study says, or as its node types have."""
    given = {axis.name for axis in problem.study.axes}
    if "node" not in given or "gpus_per_node" in given:
        return numbers(problem, "gpus_per_node", 1.0)
    rows = hardware.machines("node", axis_values(problem, "node"), problem.prices)
    return sorted({float(row.node.accelerators) for row in rows if row.node})
