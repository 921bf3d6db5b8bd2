"""A study file -> a :class:`~dse.study.definition.Study`, every value checked on the way."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from dse.errors import StudyError
from dse.study.aggregation_name import AggregationName
from dse.study.axes import AXES, OVERLAPS, REQUIRED, overlap_refused
from dse.study.choices import RESOLUTION, read_resolution, read_what_if
from dse.study.cursor import Cursor, clipped
from dse.study.definition import (
    IGNORED,
    Axis,
    Baseline,
    Condition,
    Constraint,
    Efficiency,
    ExecutorOptions,
    Objective,
    OwnedHardware,
    SearchOptions,
    Study,
    Value,
)
from dse.study.failures import StudyFailures, read_failures
from dse.study.inline import read_calibration, read_prices, read_workload
from dse.study.names import Names, suggest
from dse.study.objectives import check_target, read_constraint, read_objectives, read_target
from dse.study.owned import read_owned
from dse.study.ownership import StudyOwnership, read_ownership
from dse.study.rental import StudyRental, read_rental
from dse.study.values import any_value, default_axis, find_value, read_axis
from dse.yaml_source import Source, read_yaml

if TYPE_CHECKING:
    from dse.study.schema import StudyFile

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def read_study(path: str | os.PathLike[str], names: Names) -> Study:
    """Read and check a study file; ``names`` is what the catalogue knows.

    Raises :class:`~dse.errors.StudyError`, of which ``str`` is one line with file, line, column.
    """
    return study_of(read_yaml(path), names)


def study_of(source: Source, names: Names) -> Study:
    """The study that a source holds; likewise."""
    from dse.study.complaints import checked  # pydantic takes a while to import
    from dse.study.schema import EXAMPLES, StudyFile

    _check_kind(source)
    file = checked(source, StudyFile, EXAMPLES)
    try:
        return _study(source, file, names)
    except StudyError as found:
        raise _earliest(found, Cursor(source), names) from None


def _check_kind(source: Source) -> None:
    """Raise for a file that is something else than a study."""
    if not isinstance(source.data, dict):
        return
    if "fleet" in source.data and "study" not in source.data:
        raise source.error(("fleet",), "this is a fleet study", "use dse fleet", key=True)
    kind = source.data.get("format")
    if isinstance(kind, str) and kind.startswith("dse-"):
        raise source.error(("format",), f"this is a file of '{kind}', not a study", "name a study")


def _earliest(found: StudyError, top: Cursor, names: Names) -> StudyError:
    """The first error in the order of the file, since that is the order a user corrects it in."""
    parts: tuple[Callable[[], object], ...] = (
        lambda: read_workload(top.at("workload"), names),
        lambda: _axes(top.at("space"), names),
        lambda: read_objectives(top.at("objectives")),
        lambda: [read_constraint(at) for at in _entries(top, "constraints")],
        lambda: read_target(top),
    )
    errors = [found]
    for part in parts:
        try:
            part()
        except StudyError as error:
            errors.append(error)
    return min(errors, key=lambda error: (error.line, error.column))


def _study(source: Source, file: StudyFile, names: Names) -> Study:
    top = Cursor(source)
    if not _NAME.fullmatch(file.study):
        wrong = top.at("study")
        remedy = "use letters, digits, '-', '_' and '.', since it names the report's folder"
        raise wrong.wrong(f"study: {wrong.shown} is not a valid name", remedy)
    workload = read_workload(top.at("workload"), names)
    axes = _axes(top.at("space"), names)
    _check_overlap(top, file.model)
    conditions = tuple(_condition(at, axes, names) for at in _entries(top, "when"))
    _complete(top.at("space"), axes)
    defaults = _defaults(axes, conditions, file.model)
    objectives = read_objectives(top.at("objectives"))
    baseline = _baseline(top, axes, defaults, conditions, names)
    constraints = tuple(read_constraint(at, baseline) for at in _entries(top, "constraints"))
    if file.memory == IGNORED:
        _check_ignored(top, constraints)
    profiles, fabrics = (
        ((), {}) if not top.has("calibration") else read_calibration(top.at("calibration"), names)
    )
    target = read_target(top)
    if target is None:
        check_target(top, objectives, constraints)
    if file.confidence is not None and not any(one.expression for one in constraints):
        remedy = "add constraints, such as capital <= 2 MUSD"
        raise top.at("confidence").wrong("there is no limit to be sure of", remedy)
    return Study(
        name=file.study,
        description=file.description,
        path=source.path,
        workload=workload,
        calibration=profiles,
        fabrics=fabrics,
        axes=axes,
        defaults=defaults,
        conditions=conditions,
        baseline=baseline,
        constraints=constraints,
        objectives=objectives,
        target=target,
        search=SearchOptions(**dict(file.search)),
        executor=ExecutorOptions(**dict(file.executor)),
        efficiency=Efficiency(**dict(file.efficiency)),
        prices=read_prices(top.at("prices")) if top.has("prices") else (),
        market=file.market,
        region=_region(top, names),
        recommend=file.recommend,
        confidence=file.confidence,
        scale=file.scale,
        model=file.model,
        memory=file.memory,
        input=file.input,
        resolution=read_resolution(top.at("resolution")) if top.has("resolution") else RESOLUTION,
        what_if=read_what_if(top.at("what_if"), axes) if top.has("what_if") else None,
        failures=read_failures(top.at("failures")) if top.has("failures") else StudyFailures(),
        rental=read_rental(top.at("rental")) if top.has("rental") else StudyRental(),
        ownership=read_ownership(top.at("ownership")) if top.has("ownership") else StudyOwnership(),
        owned=_owned(top, axes, objectives, constraints, names),
        source=source,
        content_hash=_hash(source.data),
    )


def _region(top: Cursor, names: Names) -> str | None:
    """Where the cluster stands, if the study says so."""
    if not top.has("region") or top.at("region").value is None:
        return None
    return top.at("region").named("region", names.regions, "see `dse catalog regions`")


def _owned(
    top: Cursor,
    axes: tuple[Axis, ...],
    objectives: tuple[Objective, ...],
    constraints: tuple[Constraint, ...],
    names: Names,
) -> tuple[OwnedHardware, ...]:
    """What stands there already, if the study says so."""
    if not top.has("owned"):
        return ()
    limited = [name for c in constraints if c.expression for name in sorted(c.expression.names)]
    compared = [*(objective.name for objective in objectives), *limited]
    return read_owned(top.at("owned"), axes, compared, names)


def _check_ignored(top: Cursor, constraints: tuple[Constraint, ...]) -> None:
    """Raise where a study that ignores memory demands that points fit."""
    for at, constraint in zip(_entries(top, "constraints"), constraints, strict=True):
        if constraint.expression is None:
            problem = f"{constraint.text} contradicts memory: {IGNORED}"
            raise at.wrong(problem, "drop one of the two")


def _entries(top: Cursor, key: str) -> list[Cursor]:
    return top.at(key).each() if top.has(key) else []


def _hash(data: Any) -> str:
    text = json.dumps(data, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _axes(space: Cursor, names: Names) -> tuple[Axis, ...]:
    return tuple(read_axis(AXES[name], space.at(name), names) for name in space.value)


def _condition(at: Cursor, axes: tuple[Axis, ...], names: Names) -> Condition:
    """Where an axis applies."""
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
            raise test.at(other).wrong(
                f"'{clipped(other)}' is not an axis of space", remedy, key=True
            )
        if known[other].continuous:
            problem = f"axis '{other}' is continuous"
            raise test.at(other).wrong(problem, "use an axis with listed values", key=True)
        values = tuple(find_value(known[other], c, names) for c in test.at(other).each())
        if not values:
            raise test.at(other).wrong(f"no value of '{other}'", "write one or a list", key=True)
        requires.append((other, values))
    return Condition(name, axis.values, axis.labels, tuple(requires))


def _baseline(
    top: Cursor,
    axes: tuple[Axis, ...],
    defaults: tuple[Axis, ...],
    conditions: tuple[Condition, ...],
    names: Names,
) -> Baseline:
    """The point that speedup is measured from."""
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
            if axis in axes:  # what the study leaves out altogether is no assumption of the point
                assumed.append(name)
    for condition in conditions:
        holds = all(values.get(name) in allowed for name, allowed in condition.requires)
        if condition.axis not in values and holds:
            values[condition.axis] = condition.values[0]
            labels[condition.axis] = condition.labels[0]
            assumed.append(condition.axis)
    return Baseline(values, labels, tuple(assumed))


def _complete(space: Cursor, axes: tuple[Axis, ...]) -> None:
    """Every point must have an accelerator, a count of them, a batch and a way to add up."""
    given = {axis.name: axis for axis in axes}
    if "node" in given and "accelerator" in given:
        remedy = "a node has its own accelerators: keep one of the two"
        raise space.at("accelerator").wrong("both node and accelerator", remedy, key=True)
    for name in REQUIRED:
        if name in given or name == "node" or (name == "accelerator" and "node" in given):
            continue
        remedy = f"add {name}: {AXES[name].example}"
        raise space.wrong(f"missing axis '{name}'", remedy)
    if "inter_node" not in given and "node" not in given and not _in_one_node(given):
        remedy = f"add inter_node: {AXES['inter_node'].example}"
        raise space.wrong("missing axis 'inter_node', which links the nodes", remedy)


def _in_one_node(given: dict[str, Axis]) -> bool:
    per_node = given["gpus_per_node"].values if "gpus_per_node" in given else (1,)
    return max(cast("tuple[int, ...]", given["gpus"].values)) <= min(
        cast("tuple[int, ...]", per_node)
    )


def _check_overlap(top: Cursor, model: str) -> None:
    """Raise where a value of the axis overlap is not one of the model's."""
    places = [top.at(key) for key in ("space", "baseline") if top.has(key)]
    given = [place.at("overlap") for place in places if place.has("overlap")]
    given += [at.at("values") for at in _entries(top, "when") if at.value["axis"] == "overlap"]
    for place in given:
        for at in place.each():
            refused = overlap_refused(model, at.value)
            if refused:
                raise at.wrong(*refused)


def _defaults(
    axes: tuple[Axis, ...], conditions: tuple[Condition, ...], model: str
) -> tuple[Axis, ...]:
    taken = {axis.name for axis in axes} | {condition.axis for condition in conditions}
    own = {"gpus_per_node", "nics_per_node"} if "node" in taken else set()
    sums = next((axis.values for axis in axes if axis.name == "aggregation"), ())
    if all(isinstance(value, AggregationName) and value.approach for value in sums):
        own.add("bucket")  # an approach sends messages of its own
    return tuple(
        default_axis(name, OVERLAPS[model][0] if name == "overlap" else spec.default)
        for name, spec in AXES.items()
        if spec.default is not None and name not in taken and name not in own
    )
