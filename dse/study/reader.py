"""A study file -> a :class:`~dse.study.definition.Study`, every value checked on the way."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from dse.mistakes import Mistakes, Part, Unread, each
from dse.study.aggregation_name import AggregationName
from dse.study.aliases import with_axes_in_space, with_real_names
from dse.study.axes import (
    ACCUMULATION,
    AUTO,
    AXES,
    BATCH,
    GLOBAL_BATCH,
    LAYOUT_STACKS,
    OPTIMIZER,
    OVERLAPS,
    RENTAL,
    REQUIRED,
    lays_out,
    overlap_refused,
)
from dse.study.choices import read_what_if
from dse.study.cursor import Cursor, clipped
from dse.study.definition import (
    FASTEST_INPUT,
    FORCED,
    IGNORED,
    INPUTS,
    REAL,
    Axis,
    Baseline,
    Condition,
    ConfiguredWorkload,
    Constraint,
    Efficiency,
    ExecutorOptions,
    Experts,
    InlineWorkload,
    Objective,
    SearchOptions,
    Study,
    Target,
    Value,
)
from dse.study.inline import read_calibration, read_prices, read_workload, with_described
from dse.study.mix import MIX, check_mix, read_mix, with_workload
from dse.study.names import Names, misspelt, suggest
from dse.study.numbers import divisors_of
from dse.study.objectives import (
    ADD_TARGET,
    check_target,
    read_constraint,
    read_objectives,
    read_target,
)
from dse.study.owned import read_owned
from dse.study.quantities import QUANTITIES, RENT, TARGET
from dse.study.terms import (
    StudyFailures,
    StudyOwnership,
    StudyRental,
    read_failures,
    read_ownership,
    read_rental,
)
from dse.study.values import default_axis, find_value, given_value, read_axis
from dse.yaml_source import Source, read_yaml

if TYPE_CHECKING:
    from dse.study.schema import StudyFile

T = TypeVar("T")
_Axes: TypeAlias = Mapping[str, Part[Axis]]  # of the space, any of which may be mistaken
NO_AXIS = Axis("", (), (), False)


def read_study(path: str | os.PathLike[str], names: Names) -> Study:
    """Read and check a study file; ``names`` is what the catalogue knows.

    Raises :class:`~dse.errors.StudyError`, of which ``str`` is a line with file, line, column for
    each mistake.
    """
    mistakes = Mistakes()
    return study_of(read_yaml(path, mistakes=mistakes), names, mistakes)


def study_of(
    source: Source, names: Names, mistakes: Mistakes | None = None, workload: str = ""
) -> Study:
    """The study that a source holds; likewise. mistakes: those that were found in it already.
    workload: that of a mix which it is read for, by default the first."""
    from dse.study.complaints import checked  # pydantic takes a while to import
    from dse.study.schema import EXAMPLES, StudyFile

    _check_kind(source)
    names = with_described(source, names)
    source, told = with_real_names(with_axes_in_space(source), names)
    source = with_workload(source, workload)
    mistakes = Mistakes() if mistakes is None else mistakes
    file, top = checked(source, StudyFile, EXAMPLES, mistakes)
    return replace(_study(top, file, names, mistakes), told=told)


def _check_kind(source: Source) -> None:
    """Raise for a file that is something else than a study."""
    if not isinstance(source.data, dict):
        return
    if "fleet" in source.data and "study" not in source.data:
        raise source.error(("fleet",), "this is a fleet study", "use dse fleet", key=True)
    if "model_type" in source.data and "study" not in source.data:
        name = os.path.basename(source.path)
        remedy = f"name it in a study, workload: {name}, or write dse ask --workload {name}"
        problem = "this is the configuration of a model, not a study"
        raise source.error(("model_type",), problem, remedy, key=True)
    kind = source.data.get("format")
    if isinstance(kind, str) and kind.startswith("dse-"):
        raise source.error(("format",), f"this is a file of '{kind}', not a study", "name a study")


def _study(top: Cursor, file: Part[StudyFile], names: Names, mistakes: Mistakes) -> Study:
    part = mistakes.part

    def optional(key: str, read: Callable[[Cursor], T], absent: Any) -> Part[T]:
        return part(lambda: top.optional(key, read, absent))

    part(top.at("study").check_folder)
    workload = part(lambda: read_workload(top.at("workload"), names))
    mix = optional(MIX, read_mix, {})
    axes = _axes(top, names, mistakes)
    part(lambda: _check_overlap(top))
    given = _named(top, "space")
    conditions = mistakes.parts(
        lambda at: _condition(at, given, axes, names), _entries(top, "when")
    )
    part(lambda: _check_complete(top.at("space"), axes))
    part(lambda: _check_linked(top.at("space"), axes))
    defaults = part(lambda: _defaults(axes, top, workload, names))
    objectives = part(lambda: read_objectives(top.at("objectives")))
    baseline = part(lambda: _baseline(top, axes, defaults, conditions, names))
    prices = optional("prices", read_prices, ())
    limits = _entries(top, "constraints")
    constraints = mistakes.parts(
        lambda at: read_constraint(at, baseline, lambda: names.rates(top.source, prices())), limits
    )
    target = part(lambda: read_target(top))
    for at, constraint in zip(limits, constraints, strict=True):
        part(partial(_check_limit, top, at, constraint, target))
    part(lambda: check_target(top.at("objectives"), objectives(), target()))
    part(lambda: _check_sure(top, _values(constraints)))
    profiles = optional("calibration", lambda at: read_calibration(at, names), ((), {}))
    region = optional("region", lambda at: None if at.value is None else at.named(
        "region", names.regions, "see `dse catalog regions`"
    ), None)  # fmt: skip
    what_if = optional("what_if", lambda at: read_what_if(at, axes), None)
    failures = optional("failures", read_failures, StudyFailures())
    rental = optional(RENTAL, lambda at: read_rental(at, _terms(axes, conditions)), StudyRental())
    ownership = optional("ownership", read_ownership, StudyOwnership())
    owned = optional("owned", lambda at: read_owned(at, axes, names), ())
    experts = part(lambda: _experts(top, file()))
    lora, fed = optional("train", _lora, 0), optional("input", _input, REAL)
    part(lambda: check_mix(top, _values(axes.values()), objectives()))
    part(lambda: _check_owned(top, objectives(), _values(constraints)))
    mistakes.told()
    said = file()
    return Study(
        name=said.study,
        description=said.description,
        path=top.source.path,
        workload=workload(),
        calibration=profiles()[0],
        fabrics=profiles()[1],
        axes=_values(axes.values()),
        defaults=defaults(),
        conditions=_values(conditions),
        baseline=baseline(),
        constraints=_values(constraints),
        objectives=objectives(),
        target=target(),
        search=SearchOptions(**dict(said.search)),
        executor=ExecutorOptions(**dict(said.executor)),
        efficiency=Efficiency(**dict(said.efficiency)),
        prices=prices(),
        market=said.market,
        region=region(),
        recommend=said.recommend,
        confidence=said.confidence,
        scale=said.scale,
        model=said.model,
        memory=said.memory,
        input=fed(),
        resolution=said.resolution,
        what_if=what_if(),
        failures=failures(),
        rental=rental(),
        rent_class=said.rent_class or "",
        ownership=ownership(),
        owned=owned(),
        experts=experts(),
        lora=lora(),
        mix=mix(),
        source=top.source,
        content_hash=hashlib.sha256(
            json.dumps(top.source.data, sort_keys=True).encode()
        ).hexdigest(),
    )


def _terms(axes: _Axes, conditions: Sequence[Part[Condition]]) -> list[str]:
    """The terms of renting that are an axis, everywhere or under conditions."""
    found = [*axes[RENTAL]().values] if RENTAL in axes else []
    under = [one for one in _values(conditions) if one.axis == RENTAL]
    return [str(value) for value in (*found, *(v for one in under for v in one.values))]


def _values(parts: Iterable[Part[T]]) -> tuple[T, ...]:
    return tuple(part() for part in parts)


def _named(top: Cursor, key: str) -> list[str]:
    """The axes that a section names, as far as they are known."""
    at = top.at(key)
    if not top.has(key) or not at.readable or not isinstance(at.value, dict):
        return []
    return [name for name in at.given() if name in AXES]


def _axes(top: Cursor, names: Names, mistakes: Mistakes) -> _Axes:
    """The axes of the space; one that may be there, misspelt, counts as mistaken."""
    space = top.at("space")
    found = mistakes.by_key(
        lambda name: read_axis(AXES[name], space.at(name), names), _named(top, "space")
    )
    unknown = [key for key in space.value if key not in AXES] if space.readable else []
    others = [name for name in AXES if name not in found]
    for name in others:
        if not space.readable or misspelt(name, unknown, others):
            found.setdefault(name, Part())
    return {name: _resolved(axis, found, mistakes) for name, axis in found.items()}


def _resolved(axis: Part[Axis], axes: _Axes, mistakes: Mistakes) -> Part[Axis]:
    """An axis with every divisor of the accelerators in place of ``auto``."""
    known = axis.otherwise(NO_AXIS)
    if known.values != (AUTO,) or not AXES[known.name].divisors:
        return axis

    def divisors() -> Axis:
        counts = axes["gpus"]().values if "gpus" in axes else ()
        found = sorted({d for n in counts for d in divisors_of(cast("int", n))})
        return Axis(axis().name, tuple(found), tuple(map(str, found)), True)

    return mistakes.part(divisors)


def _entries(top: Cursor, key: str) -> list[Cursor]:
    """The entries of a list, as far as it is one."""
    return top.at(key).each() if top.has(key) and top.at(key).readable else []


def _model(top: Cursor) -> str:
    """The cost model that the study asks for."""
    return str(top.at("model").value) if top.has("model") else next(iter(OVERLAPS))


def _check_owned(
    top: Cursor, objectives: tuple[Objective, ...], constraints: tuple[Constraint, ...]
) -> None:
    """Raise where a study that owns something minimizes or limits rents: that takes nothing off
    them."""
    limited = [name for c in constraints if c.expression for name in sorted(c.expression.names)]
    for name in [*(one.name for one in objectives), *limited] if top.has("owned") else ():
        if RENT in QUANTITIES[name].facts:
            problem = f"owned: {name} is rent, and owned hardware is not rented"
            remedy = "compare capital or tco, or drop owned"
            raise top.at("owned").wrong(problem, remedy, key=True)


def _input(at: Cursor) -> str | float:
    """What feeds accelerators: one of :data:`INPUTS`, or samples a second for each."""
    text = isinstance(at.value, str)
    return at.named("input", INPUTS) if text else at.quantity("samples", FASTEST_INPUT, low=0.001)


def _lora(at: Cursor) -> int:
    """The rank of the adapters that are trained; 0 where all weights are."""
    if at.value == "full":
        return 0
    if not isinstance(at.value, dict) or [*at.value] != ["lora"]:
        raise at.wrong(f"train: {at.shown} is not known", "write full, or {lora: 16}")
    return at.at("lora").whole(1, 10_000)


def _experts(top: Cursor, file: StudyFile) -> Experts:
    """How tokens go to experts. Raise where it is forced to be even, and said to be not."""
    said = file.experts
    usual = 1.0 if said.balance == FORCED else Experts.imbalance
    imbalance = usual if said.imbalance is None else said.imbalance
    if said.balance == FORCED and imbalance > 1:
        at = top.at("experts", "imbalance")
        raise at.wrong(f"imbalance: {at.shown} contradicts balance: {FORCED}", "drop one of them")
    return Experts(imbalance, said.balance, said.capacity_factor)


def _check_limit(
    top: Cursor, at: Cursor, constraint: Part[Constraint], target: Part[Target | None]
) -> None:
    """Raise for a constraint that the study gives no meaning."""
    limit, run = constraint(), target()
    ignored = top.has("memory") and top.at("memory").value == IGNORED
    if ignored and limit.expression is None:
        raise at.wrong(f"{limit.text} contradicts memory: {IGNORED}", "drop one of the two")
    for name in sorted(limit.expression.names) if limit.expression else ():
        if run is None and QUANTITIES[name].needs == TARGET:
            raise at.wrong(f"constraint: {name} needs a target", ADD_TARGET)


def _check_sure(top: Cursor, constraints: tuple[Constraint, ...]) -> None:
    """Raise where there is no limit that could be met with a probability."""
    asked = top.has("confidence") and top.at("confidence").value is not None
    if asked and not any(one.expression for one in constraints):
        remedy = "add constraints, such as capital <= 2 MUSD"
        raise top.at("confidence").wrong("there is no limit to be sure of", remedy)


def _condition(at: Cursor, given: Sequence[str], axes: _Axes, names: Names) -> Condition:
    """Where an axis applies. given: names of those in the space."""
    mistakes = Mistakes()
    name = mistakes.part(lambda: _conditional_name(at.at("axis"), given))
    axis = mistakes.part(lambda: _conditional_axis(at.at("values"), name(), names))
    test = at.at("if")
    if test.readable and not test.value:
        mistakes.note(test.wrong("the condition is empty", "write if: {aggregation: ps-grpc}"))
    others = test.given() if test.readable else []
    requires = mistakes.by_key(lambda other: _required(test.at(other), other, axes, names), others)
    mistakes.told()
    required = tuple((other, values()) for other, values in requires.items())
    return Condition(name(), axis().values, axis().labels, required)


def _conditional_name(at: Cursor, given: Sequence[str]) -> str:
    name = at.named("axis", AXES)
    if name in given:
        raise at.wrong(f"axis '{name}' is in space too", "keep it in one place")
    if name in REQUIRED:
        raise at.wrong(f"axis '{name}' cannot be conditional", "put it in space")
    return name


def _conditional_axis(at: Cursor, name: str, names: Names) -> Axis:
    axis = read_axis(AXES[name], at, names)
    if axis.continuous:
        raise at.wrong("a conditional axis cannot be continuous", "list its values")
    return axis


def _required(at: Cursor, other: str, axes: _Axes, names: Names) -> tuple[Value, ...]:
    """The values of another axis under which a conditional one applies."""
    if other in _missing(axes):
        raise Unread
    if other not in axes:
        problem = f"'{clipped(other)}' is not an axis of space"
        raise at.wrong(problem, suggest(other, axes), key=True)
    axis = axes[other]()
    if axis.continuous:
        problem = f"axis '{other}' is continuous"
        raise at.wrong(problem, "use an axis with listed values", key=True)
    values = each(lambda place: find_value(axis, place, names), at.each())
    if not values:
        raise at.wrong(f"no value of '{other}'", "write one or a list", key=True)
    return values


def _baseline(
    top: Cursor,
    axes: _Axes,
    defaults: Part[tuple[Axis, ...]],
    conditions: Sequence[Part[Condition]],
    names: Names,
) -> Baseline:
    """The point that speedup is measured from."""
    mistakes, at = Mistakes(), top.at("baseline")

    def axis_of(name: str) -> Axis | None:
        """The axis that a value is given of, in the space, under a condition, or by default."""
        if name in axes:
            return axes[name]()
        for condition in _values(conditions):
            if condition.axis == name:
                return Axis(name, condition.values, condition.labels, False)
        return next((axis for axis in defaults() if axis.name == name), None)

    def given_of(name: str) -> tuple[Value, str]:
        for one, other in (("node", "accelerator"), ("accelerator", "node")):
            if name == one and top.at("space").has(other) and one not in axes:
                remedy = f"give the baseline's {other}"
                problem = f"the space has {other}, not {name}"
                raise at.at(name).wrong(problem, remedy, key=True)
        return given_value(lambda: axis_of(name), name, at.at(name), names)

    given = mistakes.by_key(given_of, _named(top, "baseline"))
    for name in axes:
        if name not in given and at.readable:
            mistakes.part(partial(_check_listed, top, axes[name]))
    mistakes.told()
    values = {name: value()[0] for name, value in given.items()}
    labels = {name: value()[1] for name, value in given.items()}
    assumed = []
    for axis in (*_values(axes.values()), *defaults()):
        if axis.name not in values and axis.values:
            values[axis.name], labels[axis.name] = axis.values[0], axis.labels[0]
            if axis.name in axes:  # what the study leaves out is no assumption of the point
                assumed.append(axis.name)
    for condition in _values(conditions):
        holds = all(values.get(name) in allowed for name, allowed in condition.requires)
        if condition.axis not in values and holds:
            values[condition.axis] = condition.values[0]
            labels[condition.axis] = condition.labels[0]
            assumed.append(condition.axis)
    return Baseline(values, labels, tuple(assumed))


def _check_listed(top: Cursor, axis: Part[Axis]) -> None:
    """Raise for a continuous axis, of which no value is the first."""
    if axis().continuous:
        name = axis().name
        problem = f"axis '{name}' is continuous, so the baseline needs its value"
        raise top.at("baseline").wrong(problem, f"add baseline: {{{name}: ..}}")


def _check_complete(space: Cursor, axes: _Axes) -> None:
    """Raise unless every point has an accelerator, a count of them, a batch, a way to add up."""
    mistakes = Mistakes()
    if space.has("node") and space.has("accelerator"):
        remedy = "a node has its own accelerators: keep one of the two"
        mistakes.note(space.at("accelerator").wrong("both node and accelerator", remedy, key=True))
    for name in _missing(axes):
        remedy = f"add {name}: {AXES[name].example}"
        mistakes.note(space.wrong(f"missing axis '{name}'", remedy))
    mistakes.told()


def _missing(axes: _Axes) -> list[str]:
    """The axes that every study must have and this one lacks."""
    optional = {"node", *(("accelerator",) if "node" in axes else ())}
    if _lays_out(axes):
        optional |= {"aggregation", BATCH}
    return [name for name in REQUIRED if name not in axes and name not in optional]


def _check_linked(space: Cursor, axes: _Axes) -> None:
    """Raise where nothing says what links the nodes."""
    if {"inter_node", "node"}.isdisjoint(axes) and "gpus" in axes:
        per_node = axes["gpus_per_node"]().values if "gpus_per_node" in axes else (1,)
        most = max(cast("tuple[int, ...]", axes["gpus"]().values))
        if most > min(cast("tuple[int, ...]", per_node)):
            remedy = f"add inter_node: {AXES['inter_node'].example}"
            raise space.wrong("missing axis 'inter_node', which links the nodes", remedy)


def _check_overlap(top: Cursor) -> None:
    """Raise where a value of the axis overlap is not one of the model's."""
    model = _model(top)
    places = [top.at(key) for key in ("space", "baseline") if "overlap" in _named(top, key)]
    given = [place.at("overlap") for place in places]
    given += [at.at("values") for at in _entries(top, "when")
              if at.readable and at.has("axis") and at.at("axis").value == "overlap"]  # fmt: skip

    def check(at: Cursor) -> None:
        refused = overlap_refused(model, at.value)
        if refused:
            raise at.wrong(*refused)

    each(check, [at for place in given for at in place.each()])


def _defaults(
    axes: _Axes,
    top: Cursor,
    workload: Part[str | InlineWorkload | ConfiguredWorkload],
    names: Names,
) -> tuple[Axis, ...]:
    conditional = {at.at("axis").value for at in _entries(top, "when")}
    taken = {*axes, *conditional}
    own = {"gpus_per_node", "nics_per_node"} if "node" in taken else set()
    sums = axes["aggregation"]().values if "aggregation" in axes else ()
    if all(isinstance(value, AggregationName) and value.approach for value in sums):
        own.add("bucket")  # an approach sends messages of its own
    usual: dict[str, str | int | None] = {}
    if "overlap" not in taken:
        usual["overlap"] = OVERLAPS[_model(top)][0]
    if OPTIMIZER not in taken:
        usual[OPTIMIZER] = names.usual_optimizer(workload())
    if _lays_out(axes):
        if GLOBAL_BATCH in taken:
            own.add(ACCUMULATION)  # which follows
        usual |= {"stack": LAYOUT_STACKS[0], "precision": "bf16", BATCH: 1,
                  "aggregation": names.aggregations["auto-nccl"]}  # fmt: skip
    return tuple(
        default_axis(name, usual.get(name) or spec.default)
        for name, spec in AXES.items()
        if (spec.default is not None or name in usual) and name not in taken and name not in own
    )


def _lays_out(axes: _Axes) -> bool:
    stacks = axes["stack"].otherwise(NO_AXIS).values if "stack" in axes else ()
    return lays_out(axes, stacks)
