"""What `dse check` says of a study: its space, how long a search takes, what cannot be told."""

from __future__ import annotations

from dataclasses import dataclass

from dse.pricing.caveats import caveats, unsupported
from dse.pricing.problem import Problem
from dse.search import bounds
from dse.search.engine_choice import choose_engine
from dse.search.estimate import estimate
from dse.study import Study


@dataclass(frozen=True, kw_only=True)
class Checked:
    """A study's size (None: continuous), estimated seconds on one core and memory, engine and why,
    caveats. priced_whole_because: constraints that leave no point to be counted without its price.
    """

    study: str
    points: int | None
    estimated_s: float | None
    estimated_bytes: float | None
    priced_whole_because: tuple[str, ...]
    engine: str
    reason: str
    caveats: tuple[str, ...]


def checked(problem: Problem) -> Checked:
    """What `dse check` says of a study, for programs."""
    study = problem.study
    engine, reason = choose_engine(problem, study.search.engine)
    expected = None if problem.points is None else estimate(problem)
    return Checked(
        study=study.name,
        points=problem.points,
        estimated_s=None if expected is None else expected.seconds,
        estimated_bytes=None if expected is None else expected.bytes,
        priced_whole_because=tuple(bounds.steps_decide(study)),
        engine=engine,
        reason=reason,
        caveats=(*caveats(problem), *unsupported(problem)),
    )


def objectives(study: Study) -> list[str]:
    """What is wanted of a point, as text: ``maximize speedup``, ``minimize capital and power``."""
    most, *least = (objective.name for objective in study.objectives)
    return [f"maximize {most}", f"minimize {' and '.join(least)}"]


def lines(problem: Problem) -> list[str]:
    """Every axis with its values, the baseline, notes, and the size of the search."""
    study, found = problem.study, checked(problem)
    out = [f"{study.path}: study {study.name}, workload {problem.workload.name}"]
    out += [f"  {axis.name:<16} {axis.written}" for axis in study.axes]
    out += [f"  {axis.name:<16} {axis.written}  (default)" for axis in study.defaults]
    for condition in study.conditions:
        where = ", ".join(f"{name}={'|'.join(map(str, v))}" for name, v in condition.requires)
        out.append(f"  {condition.axis:<16} {', '.join(condition.labels)}  (where {where})")
    out.append(f"  objectives       {', '.join(objectives(study))}")
    baseline = ", ".join(f"{name}={label}" for name, label in study.baseline.labels.items())
    out.append(f"  baseline         {baseline}")
    if study.baseline.assumed:
        assumed = ", ".join(study.baseline.assumed)
        out.append(f"                   (not given, so the first: {assumed})")
    out += [f"note: {line}" for line in (*study.told, *found.caveats)]
    decided = found.priced_whole_because
    if decided and problem.points is not None:
        texts = " and ".join(f"'{text}'" for text in decided)
        out.append(
            f"note: because of {texts} an exhaustive search must price every point; otherwise "
            "bounds would rule most of them out"
        )
    points = found.points
    size = "continuous" if points is None else f"{points:,} points"
    return [*out, f"ok: {size}; {found.engine} search, {found.reason}"]
