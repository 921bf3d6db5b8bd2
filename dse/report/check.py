"""What `dse check` says of a study: its space, what of it is feasible and measured, how long a
search takes, what cannot be told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.pricing import constraints, profiles_at_hand
from dse.pricing.problem import Problem
from dse.pricing.profile_use import taken, unused
from dse.pricing.throughput import own_rates
from dse.report.rdma import reaches
from dse.report.remarks import of_study
from dse.search import bounds
from dse.search.engine_choice import Estimate, choose_engine, estimate
from dse.search.feasible import Feasible, feasible
from dse.study import Axis, Study, Wire
from dse.study.axes import OPTIMIZER

MOST_REASONS = 4  # why points are rejected, that are told
MOST_PROFILES = 4
PATIENCE_S = 5.0  # of a search for the point that comes nearest, where none is feasible
MOST_VALUES, SHOWN_VALUES = 16, 4  # of an axis: listed whole, or the first of them


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A study's size (None: continuous), estimated seconds on one core and memory, engine and why,
    caveats. priced_whole_because: constraints that leave no point to be counted without its price.
    feasible: how many points meet every constraint. infeasible: why none does and what comes
    nearest, where that is certain and soon known, else empty. measured: aggregation -> the profiles
    that price some of its points; none: the catalogue prices all. profiles_that_fit: profiles at
    hand that the study does not name and that would price some points -> of which aggregations.
    named: profiles that the study names, without those that price nothing; rates: how many training
    rates they hold. rates_at_hand: the user's own profiles of such rates that it does not name ->
    how many. no_layouts: combinations of values that are no layout, by the rule that says so.
    """

    study: str
    points: int | None
    estimated_s: float | None
    estimated_bytes: float | None
    no_layouts: Mapping[str, int]
    priced_whole_because: tuple[str, ...]
    engine: str
    reason: str
    caveats: tuple[str, ...]
    feasible: Feasible
    infeasible: str
    measured: Mapping[str, tuple[str, ...]]
    profiles_that_fit: Mapping[str, tuple[str, ...]]
    named: tuple[str, ...]
    rates: int
    rates_at_hand: Mapping[str, int]


def checked(problem: Problem) -> Checked:
    """What `dse check` says of a study, for programs."""
    study = problem.study
    engine, reason = choose_engine(problem, study.search.engine)
    expected = None if problem.points is None else estimate(problem)
    counted = feasible(problem)
    useless = unused(problem) if problem.step_model.measurable else {}
    return Checked(
        study=study.name,
        points=problem.points,
        estimated_s=None if expected is None else expected.seconds,
        estimated_bytes=None if expected is None else expected.bytes,
        no_layouts={} if problem.points is None else problem.space.removed,
        priced_whole_because=tuple(bounds.steps_decide(study)),
        engine=engine,
        reason=reason,
        caveats=tuple(one.whole for one in of_study(problem)),
        feasible=counted,
        infeasible=_infeasible(problem, counted, expected),
        measured=_measured(problem),
        profiles_that_fit=profiles_at_hand.fitting(problem),
        named=tuple(name for name in problem.profiles if name not in useless),
        rates=len(own_rates(problem.profiles.values())),
        rates_at_hand=profiles_at_hand.training_rates(problem),
    )


def _infeasible(problem: Problem, found: Feasible, expected: Estimate | None) -> str:
    """What `dse run` would fail with; empty where something may be feasible, or the search for what
    comes nearest would take long."""
    if found.feasible or not found.whole or expected is None or expected.seconds > PATIENCE_S:
        return ""
    from dse.search.run import none_of_all  # which most checks do without

    return str(none_of_all(problem, found.points, dict(sorted(found.rejected.items()))))


def _measured(problem: Problem) -> dict[str, tuple[str, ...]]:
    """Of each aggregation the profiles that price some of its points."""
    if not problem.step_model.measurable:
        return {}
    names = {id(profile): name for name, profile in problem.profiles.items()}
    return {
        str(aggregation): tuple(names[id(one)] for one in taken(problem, aggregation))
        for aggregation in problem.study.aggregations
    }


def objectives(study: Study) -> list[str]:
    """What is wanted of a point, as text: ``maximize speedup``, ``minimize capital and power``."""
    most, *least = (objective.name for objective in study.objectives)
    return [f"maximize {most}", f"minimize {' and '.join(least)}"]


def lines(problem: Problem) -> list[str]:
    """Every axis with its values, the baseline, notes, and the size of the search."""
    study, found = problem.study, checked(problem)
    out = [f"{study.path}: study {study.name}, workload {problem.trained}"]
    out += [f"  {axis.name:<16} {_values(axis)}" for axis in study.axes]
    for condition in study.conditions:
        where = ", ".join(f"{name}={'|'.join(map(str, v))}" for name, v in condition.requires)
        out.append(f"  {condition.axis:<16} {', '.join(condition.labels)}  (where {where})")
    if study.defaults:
        defaults = ", ".join(f"{axis.name} {_absent(problem, axis)}" for axis in study.defaults)
        out.append(f"  {'not given':<16} {defaults}")
    out.append(f"  objectives       {', '.join(objectives(study))}")
    left_out = {axis.name: axis.labels for axis in study.defaults}
    baseline = ", ".join(
        f"{name}={label}"
        for name, label in study.baseline.labels.items()
        if (label,) != left_out.get(name)
    )
    out.append(f"  baseline         {baseline}")
    if study.baseline.assumed:
        assumed = ", ".join(study.baseline.assumed)
        first = "the first, with its fastest layout" if study.laid_out else "the first"
        out.append(f"                   (not given, so {first}: {assumed})")
    if study.constraints:
        texts = ", ".join(constraint.text for constraint in study.constraints)
        out.append(f"  constraints      {texts}")
    if found.no_layouts and problem.points is not None:
        out += _layout_lines(found.no_layouts, problem.points)
    out += _feasible_lines(found.feasible, problem.points)
    if found.measured:
        out += _measured_lines(found)
    values = study.values("inter_node")
    links = [(v.fabric or v.label) if isinstance(v, Wire) else str(v) for v in values]
    reached = reaches([*map(str, study.aggregations)], map(str, study.values("node")), links)
    notes = *study.told, *found.caveats, *(reached if problem.several_nodes else [])
    out += [f"note: {line}" for line in notes]
    decided = found.priced_whole_because
    if decided and problem.points is not None:
        texts = " and ".join(f"'{text}'" for text in decided)
        out.append(
            f"note: because of {texts} an exhaustive search must price every point; otherwise "
            "bounds would rule most of them out"
        )
    points = found.points
    size = "continuous" if points is None else f"{points:,} points"
    size = f"{size}; {found.engine} search, {found.reason}"
    if found.infeasible:
        return [*out, size, found.infeasible]
    if found.feasible.whole and not found.feasible.feasible:
        return [*out, f"{size}; none is feasible, and dse run says what comes nearest"]
    return [*out, f"ok: {size}"]


def _layout_lines(removed: Mapping[str, int], points: int) -> list[str]:
    """How many of all combinations are layouts, and what each rule removed."""
    every = points + sum(removed.values())
    out = [f"  {'layouts':<16} {points:,} of {every:,} combinations of all values"]
    for number, (rule, count) in enumerate(sorted(removed.items(), key=lambda one: -one[1])):
        label = "" if number else "removed unless"
        out.append(f"  {label:<16} {count:>15,}  {rule}")
    return out


def _feasible_lines(found: Feasible, points: int | None) -> list[str]:
    """How many points meet every constraint, and what rejects the others."""
    every = "points" if points is None else f"{points:,} points"
    if found.whole:
        many = f"{found.feasible:,}" if found.feasible else "none"
        said = f"{many} of {every} ({_percent(found.share)})"
    else:
        low, high = map(_percent, found.share_between)
        said = (
            f"about {_percent(found.share)} of {every} ({low} to {high}, by a sample of "
            f"{found.points:,})"
        )
    out = [f"  feasible         {said}"]
    rejected = constraints.counted_once(found.rejected)
    worst = sorted(rejected.items(), key=lambda one: -one[1])
    for number, (reason, count) in enumerate(worst[:MOST_REASONS]):
        label = "" if number else "rejected"
        share = _percent(count / found.points)
        out.append(f"  {label:<16} {share:>6}  {constraints.unmet(reason)}")
    if len(worst) > MOST_REASONS:
        others = len(worst) - MOST_REASONS
        out.append(f"  {'':<16} and for {others} more reason{'s' if others > 1 else ''}")
    return out


def _absent(problem: Problem, axis: Axis) -> str:
    """The value of an axis that the study leaves out, and why it is this one."""
    fact = problem.usual_optimizer if axis.name == OPTIMIZER else None
    usual = fact is not None and fact.text == axis.written
    return f"{axis.written} (usual for {problem.workload.title})" if usual else axis.written


def _values(axis: Axis) -> str:
    """The values of an axis, of many only the first and the last."""
    if len(axis.labels) <= MOST_VALUES:
        return axis.written
    first = ", ".join(axis.labels[:SHOWN_VALUES])
    return f"{first}, ... {axis.labels[-1]}  ({len(axis.labels):,} values)"


def _measured_lines(found: Checked) -> list[str]:
    """Whether anything measured is used, and what could be."""
    by = {name: profiles for name, profiles in found.measured.items() if profiles}
    said = "; ".join(f"{name} by {', '.join(profiles)}" for name, profiles in by.items())
    rest = "the catalogue prices all else" if len(by) < len(found.measured) else ""
    if not by:
        said, rest = "nothing", "the catalogue prices all communication"
    rates = f"computing by {_your_rates(found.rates)}" if found.rates else ""
    if rates and not by:
        said = ""
    out = [f"  measured         {'; '.join(filter(None, [rates, said, rest]))}"]
    unnamed = found.rates_at_hand
    fits = [name for name in found.profiles_that_fit if name not in unnamed][:MOST_PROFILES]
    names = ", ".join([*found.named, *unnamed, *fits])
    if unnamed:
        whose = _your_rates(sum(unnamed.values()))
        out.append(f"  {'':<16} not used: {whose} in {', '.join(unnamed)}")
    if fits or unnamed:
        count = len(found.profiles_that_fit)
        many = f"{count} profiles fit" if count > 1 else "a profile fits"
        also = " besides" if by else ""
        remedy = f"write calibration: [{names}]"
        out.append(f"  {'':<16} {f'{many}{also}; ' * bool(count)}{remedy}")
    if not by and not found.profiles_that_fit:
        none = "no profile of communication at hand" if unnamed else "no profile at hand fits"
        out.append(f"  {'':<16} {none}; dse calibrate run measures one")
    return out


def _your_rates(count: int) -> str:
    return "your training rate" if count == 1 else f"{count} training rates of yours"


def _percent(share: float) -> str:
    """A share to two digits, 0 % and 100 % only where it is."""
    if not 0 < share < 1:
        return f"{100 * share:.0f} %"
    if share < 0.001:
        return "< 0.1 %"
    percent = min(100 * share, 99.9)
    return f"{percent:.{0 if 10 <= percent < 99 else 1 if percent >= 1 else 2}f} %"
