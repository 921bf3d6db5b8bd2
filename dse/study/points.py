"""Where an axis applies, and the point that speedup is measured from."""

from __future__ import annotations

from dse.study.axes import AXES, REQUIRED
from dse.study.cursor import Cursor, clipped
from dse.study.definition import Axis, Baseline, Condition, Value
from dse.study.names import Names, suggest
from dse.study.values import any_value, find_value, read_axis


def read_condition(at: Cursor, axes: tuple[Axis, ...], names: Names) -> Condition:
    known = {axis.name: axis for axis in axes}
    name = at.at("axis").named("axis", AXES)
    if name in known:
        raise at.at("axis").wrong(f"axis '{name}' is in space too", "keep it in one place")
    if name in REQUIRED:
        raise at.at("axis").wrong(f"axis '{name}' cannot be conditional", "put it in space")
    axis = read_axis(AXES[name], at.at("values"), names)
    if axis.continuous:
        raise at.at("values").wrong("a conditional axis cannot be continuous", "list its values")
    test = at.at("if")
    if not test.value:
        raise test.wrong("the condition is empty", "write if: {aggregation: ps-grpc}")
    requires: list[tuple[str, tuple[Value, ...]]] = []
    for other in test.value:
        if other not in known:
            remedy = suggest(other, known)
            raise test.at(other).wrong(f"'{clipped(other)}' is no axis of space", remedy, key=True)
        if known[other].continuous:
            problem = f"axis '{other}' is continuous"
            raise test.at(other).wrong(problem, "use an axis with listed values", key=True)
        values = tuple(find_value(known[other], c, names) for c in test.at(other).each())
        if not values:
            raise test.at(other).wrong(f"no value of '{other}'", "write one or a list", key=True)
        requires.append((other, values))
    return Condition(name, axis.values, axis.labels, tuple(requires))


def read_baseline(
    top: Cursor,
    axes: tuple[Axis, ...],
    defaults: tuple[Axis, ...],
    conditions: tuple[Condition, ...],
    names: Names,
) -> Baseline:
    at = top.at("baseline")
    given = at.value if top.has("baseline") and at.value is not None else {}
    listed = {axis.name: axis for axis in (*axes, *defaults)}
    conditional = {c.axis: Axis(c.axis, c.values, c.labels, False) for c in reversed(conditions)}
    values: dict[str, Value] = {}
    labels: dict[str, str] = {}
    for name in given:
        for one, other in (("node", "accelerator"), ("accelerator", "node")):
            if name == one and other in listed:
                remedy = f"give the baseline's {other}"
                raise at.at(name).wrong(f"the space has {other}, not {name}", remedy, key=True)
        axis = listed.get(name) or conditional.get(name)
        values[name], labels[name] = any_value(axis, name, at.at(name), names)
    assumed = []
    for name, axis in listed.items():
        if name not in values:
            if axis.continuous:
                problem = f"axis '{name}' is continuous, so the baseline needs its value"
                raise top.at("baseline").wrong(problem, f"add baseline: {{{name}: ..}}")
            values[name], labels[name] = axis.values[0], axis.labels[0]
            if (
                axis in axes
            ):  # what the study leaves out altogether is no assumption about this point
                assumed.append(name)
    for condition in conditions:
        holds = all(values.get(name) in allowed for name, allowed in condition.requires)
        if condition.axis not in values and holds:
            values[condition.axis] = condition.values[0]
            labels[condition.axis] = condition.labels[0]
            assumed.append(condition.axis)
    return Baseline(values, labels, tuple(assumed))
