"""What a study wants: objectives, constraints, and how much training a run is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dse.errors import StudyError
from dse.mistakes import Mistakes, Unread, each
from dse.spelling import enumerated
from dse.study.constraints import ExpressionError, Rates, parse_constraint
from dse.study.cursor import Cursor
from dse.study.definition import Baseline, Constraint, Goal, Objective, Target
from dse.study.inline import read_quality
from dse.study.quantities import BUILTINS, EQUAL_BATCH, QUANTITIES, TARGET

TARGETS = ("samples", "epochs", "tokens", "quality")  # ways to say how long a run is
EPOCH = "epoch_samples"
_USUAL = {"samples": "115e6", "epochs": "90", "tokens": "300e9", EPOCH: "1.28e6"}
_DIMENSIONS = {"samples": "samples", "tokens": "tokens", EPOCH: "samples"}
_MOST: Mapping[Goal, int] = {"maximize": 1, "minimize": 2}


def read_objectives(at: Cursor) -> tuple[Objective, ...]:
    """What is maximised, then what is minimised, in the order of the file."""
    goals = each(lambda goal: _aims(at.at(goal), goal), _MOST)
    return tuple(objective for aims in goals for objective in aims)


def _aims(at: Cursor, goal: Goal) -> tuple[Objective, ...]:
    places = at.each()
    names = each(lambda place: _measure(place, goal), places)
    if not 1 <= len(places) <= _MOST[goal]:
        problem = f"{goal}: {len(places)} objectives"
        raise at.wrong(problem, "give one to maximize and one or two to minimize")
    for place, name in zip(places[1:], names[1:], strict=True):
        if name == names[0]:
            raise place.wrong(f"{goal}: '{name}' is given twice", "give it once")
    return tuple(Objective(name, goal) for name in names)


def _measure(place: Cursor, goal: Goal) -> str:
    allowed = [name for name, quantity in QUANTITIES.items() if quantity.objective == goal]
    known = QUANTITIES.get(place.value) if isinstance(place.value, str) else None
    if known is not None and known.objective != goal:
        right = known.objective
        problem = f"{place.value} cannot be {goal}d"
        remedy = f"{right} it" if right else f"use {', '.join(allowed)}"
        raise place.wrong(problem, remedy)
    return place.named("objective", allowed, f"use {', '.join(allowed)}")


def read_constraint(
    at: Cursor, baseline: Callable[[], Baseline], rates: Rates = dict
) -> Constraint:
    """A comparison, or a word for one. baseline: what ``equal_batch`` compares with; rates: of
    currencies."""
    text = str(at.value)
    word = text.strip()
    line, column = at.source.mark(at.loc)
    if word == EQUAL_BATCH:
        equal = parse_constraint(f"global_batch == {baseline().global_batch!r}")
        return Constraint(word, equal, line, column)
    if word in BUILTINS:
        return Constraint(word, None, line, column)
    try:
        found = parse_constraint(text, rates)
        return Constraint(found.text.strip(), found, line, column)
    except ExpressionError as cause:
        place = at.source.mark_inside(at.loc, cause.offset)
        problem = f"constraint: {cause.problem}"
        raise StudyError(at.source.path, *place, problem, cause.remedy) from None


def read_target(top: Cursor) -> Target | None:
    """How long a run is; None where the study does not say."""
    if not top.has("target"):
        return None
    at = top.at("target")
    mistakes = Mistakes()
    keys = [key for key in _USUAL if at.has(key)]
    numbers = mistakes.by_key(
        lambda key: at.at(key).quantity(_DIMENSIONS.get(key, "count"), 1e18, example=_USUAL[key]),
        keys,
    )
    quality = mistakes.part(lambda: at.optional("quality", read_quality, None))
    mistakes.told()
    if at.value and len(at.given()) < len(at.value):
        raise Unread  # a key is misspelt
    kinds = [key for key in TARGETS if at.has(key)]
    if at.has(EPOCH) and "epochs" not in kinds:
        raise at.at(EPOCH).wrong(f"{EPOCH} without epochs", "drop it, or give epochs", key=True)
    if len(kinds) != 1:
        problem = f"target gives {' and '.join(kinds) or 'nothing'}"
        raise at.wrong(problem, f"give one of {enumerated(TARGETS)}")
    if kinds == ["epochs"] and not at.has(EPOCH):
        problem = "target: how many samples an epoch has is missing"
        raise at.at("epochs").wrong(problem, f"add {EPOCH}: {_USUAL[EPOCH]}", key=True)
    return Target(quality=quality(), **{key: number() for key, number in numbers.items()})


ADD_TARGET = (
    "say how long a run is, as target: {samples: 115e6}, {epochs: .., epoch_samples: ..}, "
    "{tokens: ..} or {quality: ..}, see `dse catalog convergence`"
)


def check_target(at: Cursor, objectives: Sequence[Objective], target: Target | None) -> None:
    """Raise where a study without a target has the time, cost or energy of a run as objective."""
    for objective in objectives:
        if target is None and QUANTITIES[objective.name].needs == TARGET:
            places = at.at(objective.goal).each()
            place = next(place for place in places if str(place.value).strip() == objective.name)
            raise place.wrong(f"objective {objective.name} needs a target", ADD_TARGET)
