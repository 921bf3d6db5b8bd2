"""What a study wants: objectives, constraints, and how much training a run is."""

from __future__ import annotations

from typing import Literal

from dse.errors import StudyError
from dse.study.constraints import ExpressionError, parse_constraint
from dse.study.cursor import Cursor
from dse.study.definition import Constraint, Objective, Target
from dse.study.quantities import BUILTINS, QUANTITIES
from dse.yaml_source import printable


def read_objectives(at: Cursor) -> tuple[Objective, ...]:
    found = []
    goals: tuple[Literal["maximize", "minimize"], ...] = ("maximize", "minimize")
    for goal in goals:
        places = at.at(goal).each()
        if len(places) != 1:
            problem = f"{goal}: {len(places)} objectives"
            raise at.at(goal).wrong(problem, "give one to maximize and one to minimize")
        allowed = [name for name, quantity in QUANTITIES.items() if quantity.objective == goal]
        known = QUANTITIES.get(places[0].value) if isinstance(places[0].value, str) else None
        if known is not None and known.objective != goal:
            right = known.objective
            problem = f"{places[0].value} cannot be {goal}d"
            remedy = f"{right} it" if right else f"use {', '.join(allowed)}"
            raise places[0].wrong(problem, remedy)
        name = places[0].named("objective", allowed, f"use {', '.join(allowed)}")
        found.append(Objective(name, goal))
    return tuple(found)


def read_constraint(at: Cursor) -> Constraint:
    text = str(at.value)
    word = text.strip()
    line, column = at.source.mark(at.loc)
    if word in BUILTINS:
        return Constraint(word, None, word, line, column)
    try:
        return Constraint(word, parse_constraint(text), None, line, column)
    except ExpressionError as cause:
        place = at.source.mark_inside(at.loc, cause.offset)
        problem = printable(f"constraint: {cause.problem}")
        raise StudyError(at.source.path, *place, problem, cause.remedy) from None


def read_target(top: Cursor) -> Target | None:
    if not top.has("target"):
        return None
    at = top.at("target")
    kinds = [key for key in ("samples", "epochs", "quality") if at.has(key)]
    if len(kinds) != 1:
        problem = f"target gives {' and '.join(kinds) or 'nothing'}"
        raise at.wrong(problem, "give one of samples, epochs and quality")
    numbers = {
        key: at.at(key).quantity("samples" if "samples" in key else "count", 1e18)
        for key in ("samples", "epochs", "epoch_samples")
        if at.has(key)
    }
    quality = at.at("quality").text("the name of a quality target") if "quality" in kinds else None
    return Target(quality=quality, **numbers)


def check_target(
    top: Cursor, objectives: tuple[Objective, ...], constraints: tuple[Constraint, ...]
) -> None:
    remedy = "add target: {samples: 115e6}"
    for objective in objectives:
        if QUANTITIES[objective.name].needs_target:
            at = top.at("objectives", objective.goal)
            raise at.wrong(f"objective {objective.name} needs a target", remedy)
    for index, constraint in enumerate(constraints):
        used = constraint.expression.names if constraint.expression else frozenset()
        for name in sorted(used):
            if QUANTITIES[name].needs_target:
                at = top.at("constraints", index)
                raise at.wrong(f"constraint: {name} needs a target", remedy)
