"""What a study wants: objectives, constraints, and how much training a run is."""

from __future__ import annotations

from collections.abc import Mapping

from dse.errors import StudyError
from dse.study.constraints import ExpressionError, parse_constraint
from dse.study.cursor import Cursor
from dse.study.definition import Constraint, Goal, Objective, Target
from dse.study.quantities import BUILTINS, QUANTITIES
from dse.yaml_source import printable

_MOST: Mapping[Goal, int] = {"maximize": 1, "minimize": 2}


def read_objectives(at: Cursor) -> tuple[Objective, ...]:
    """What is maximised, then what is minimised, in the order of the file."""
    found = list[Objective]()
    for goal, most in _MOST.items():
        places = at.at(goal).each()
        if not 1 <= len(places) <= most:
            problem = f"{goal}: {len(places)} objectives"
            raise at.at(goal).wrong(problem, "give one to maximize and one or two to minimize")
        for place in places:
            name = _measure(place, goal)
            if any(other.name == name for other in found):
                raise place.wrong(f"{goal}: '{name}' is given twice", "give it once")
            found.append(Objective(name, goal))
    return tuple(found)


def _measure(place: Cursor, goal: Goal) -> str:
    allowed = [name for name, quantity in QUANTITIES.items() if quantity.objective == goal]
    known = QUANTITIES.get(place.value) if isinstance(place.value, str) else None
    if known is not None and known.objective != goal:
        right = known.objective
        problem = f"{place.value} cannot be {goal}d"
        remedy = f"{right} it" if right else f"use {', '.join(allowed)}"
        raise place.wrong(problem, remedy)
    return place.named("objective", allowed, f"use {', '.join(allowed)}")


def read_constraint(at: Cursor) -> Constraint:
    text = str(at.value)
    word = text.strip()
    line, column = at.source.mark(at.loc)
    if word in BUILTINS:
        return Constraint(word, None, line, column)
    try:
        return Constraint(word, parse_constraint(text), line, column)
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
            places = top.at("objectives", objective.goal).each()
            at = next(place for place in places if str(place.value).strip() == objective.name)
            raise at.wrong(f"objective {objective.name} needs a target", remedy)
    for index, constraint in enumerate(constraints):
        used = constraint.expression.names if constraint.expression else frozenset()
        for name in sorted(used):
            if QUANTITIES[name].needs_target:
                at = top.at("constraints", index)
                raise at.wrong(f"constraint: {name} needs a target", remedy)
