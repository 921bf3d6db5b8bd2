"""What a study wants: objectives, constraints, and how much training a run is."""

from __future__ import annotations

from collections.abc import Mapping

from dse.errors import StudyError
from dse.study.constraints import ExpressionError, parse_constraint
from dse.study.cursor import Cursor
from dse.study.definition import Baseline, Constraint, Goal, Objective, Target
from dse.study.inline import read_quality
from dse.study.quantities import BUILTINS, EQUAL_BATCH, QUANTITIES

TARGETS = ("samples", "epochs", "tokens", "quality")  # ways to say how long a run is
EPOCH = "epoch_samples"
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


def read_constraint(at: Cursor, baseline: Baseline | None = None) -> Constraint:
    """A comparison, or a word for one. baseline: what ``equal_batch`` compares with."""
    text = str(at.value)
    word = text.strip()
    line, column = at.source.mark(at.loc)
    if word == EQUAL_BATCH and baseline is not None:
        equal = parse_constraint(f"global_batch == {baseline.global_batch!r}")
        return Constraint(word, equal, line, column)
    if word in BUILTINS:
        return Constraint(word, None, line, column)
    try:
        return Constraint(word, parse_constraint(text), line, column)
    except ExpressionError as cause:
        place = at.source.mark_inside(at.loc, cause.offset)
        problem = f"constraint: {cause.problem}"
        raise StudyError(at.source.path, *place, problem, cause.remedy) from None


def read_target(top: Cursor) -> Target | None:
    """How long a run is; None where the study does not say."""
    if not top.has("target"):
        return None
    at = top.at("target")
    kinds = [key for key in TARGETS if at.has(key)]
    if len(kinds) != 1:
        problem = f"target gives {' and '.join(kinds) or 'nothing'}"
        raise at.wrong(problem, f"give one of {', '.join(TARGETS[:-1])} and {TARGETS[-1]}")
    if kinds == ["epochs"] and not at.has(EPOCH):
        problem = "target: how many samples an epoch has is missing"
        raise at.at("epochs").wrong(problem, f"add {EPOCH}: 1.28e6", key=True)
    if kinds != ["epochs"] and at.has(EPOCH):
        raise at.at(EPOCH).wrong(f"{EPOCH} without epochs", "drop it, or give epochs", key=True)
    numbers = {
        key: at.at(key).quantity("samples" if "samples" in key else "count", 1e18)
        for key in ("samples", "epochs", "tokens", EPOCH)
        if at.has(key)
    }
    quality = read_quality(at.at("quality")) if "quality" in kinds else None
    return Target(quality=quality, **numbers)


def check_target(
    top: Cursor, objectives: tuple[Objective, ...], constraints: tuple[Constraint, ...]
) -> None:
    """Raise where a study without a target asks for the time, cost or energy of a run."""
    remedy = (
        "say how long a run is, as target: {samples: 115e6}, {epochs: .., epoch_samples: ..}, "
        "{tokens: ..} or {quality: ..}, see `dse catalog convergence`"
    )
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
