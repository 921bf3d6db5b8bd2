"""The exact front under what is asked, and what is recommended of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.pricing.constraints import counted_once, unmet
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.live.changes import changed
from dse.report.live.questions import Question, Superseded
from dse.report.recommendation import recommended
from dse.search import exhaustive
from dse.search.run import FrontPoint, labels_of
from dse.search.tally import Tally
from dse.study.quantities import QUANTITIES
from dse.study.space import Box

MOST_ROWS = 300  # of the front in an answer
DIGITS = 4  # of a number that moves


@dataclass(frozen=True)
class Row:
    """A point. numbers: the objectives; shown: the same in words. equals: how many other points are
    exactly as good."""

    name: str
    config: Mapping[str, str]
    numbers: tuple[float, ...]
    shown: tuple[str, ...]
    equals: int


@dataclass(frozen=True)
class Answer:
    """The front, and what is recommended of it. said: in a sentence. points, feasible: how many
    there are. seconds: that the search took. recommended: position of a row; None where no point
    is feasible. front: how many points there are, of which the rows are the first."""

    said: str
    points: int
    feasible: int
    front: int
    seconds: float
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    recommended: int | None


@dataclass(frozen=True)
class _Described:
    """A point as far as words need it."""

    config: Mapping[str, str]
    immaterial: tuple[str, ...]
    gpus: float
    nodes: float


@dataclass(frozen=True)
class Found:
    """What was asked, what was found, and the answer. points: of the front, by rising cost;
    rows: positions on it of the answer's rows."""

    asked: Question
    problem: Problem
    tally: Tally
    points: Sequence[FrontPoint]
    rows: Sequence[int]
    answer: Answer


def search(problem: Problem, asked: Question, wanted: Callable[[], bool] = lambda: True) -> Found:
    """The exact front under what is asked, recommended by the best estimates.

    wanted: whether somebody still waits for it, asked before each part of the space. Raises
    :class:`Refused`, and :class:`Superseded` where nobody waits.
    """
    began = time.perf_counter()
    found = changed(problem, asked)
    boxes = _while_wanted(found.space.boxes(exhaustive.BOX_POINTS), wanted)
    tally = exhaustive.search(found, boxes)
    seconds = time.perf_counter() - began
    objectives = [objective.name for objective in found.study.objectives]
    phrases = [words_of(name) for name in objectives]
    front = tally.front
    columns = zip(front.best, front.gain, front.cost, front.other, front.ties, strict=True)
    points = [
        FrontPoint(found.space.point(int(best)), {}, float(gain), float(cost), float(other),
                   int(ties), ())
        for best, gain, cost, other, ties in columns
    ]  # fmt: skip
    at = recommended(points, asked.rule) if points else None
    kept = [*range(min(len(points), MOST_ROWS))]
    if at is not None and at not in kept:
        kept[-1] = at
    rows = [row_of(found, points[one], phrases) for one in kept]
    answer = Answer(
        said=said_of(rows[kept.index(at)], asked.rule) if at is not None else _nothing(tally),
        points=tally.points,
        feasible=tally.feasible,
        front=len(points),
        seconds=seconds,
        heads=tuple(title for title, _ in phrases),
        rows=tuple(rows),
        recommended=None if at is None else kept.index(at),
    )
    return Found(asked, found, tally, points, kept, answer)


def _while_wanted(boxes: Iterable[Box], wanted: Callable[[], bool]) -> Iterator[Box]:
    for box in boxes:
        if not wanted():
            raise Superseded
        yield box


def words_of(name: str) -> tuple[str, str]:
    """(title, unit) of an objective."""
    phrase = QUANTITIES[name].phrase
    assert phrase is not None, name
    return phrase.title, phrase.unit


def row_of(problem: Problem, point: FrontPoint, phrases: Sequence[tuple[str, str]]) -> Row:
    placed = problem.points_at(point.values)
    config = labels_of(problem, point.values)
    gpus, per_node = (float(np.ravel(one)[0]) for one in (placed.gpus, placed.gpus_per_node))
    described = _Described(config, placed.immaterial(), gpus, math.ceil(gpus / per_node))
    numbers = (point.gain, point.cost, point.other)[: len(phrases)]
    return Row(
        words.describe(described),
        config,
        numbers,
        tuple(words.shown(number, unit, DIGITS)
              for number, (_, unit) in zip(numbers, phrases, strict=True)),
        point.ties,
    )  # fmt: skip


def said_of(row: Row, rule: str) -> str:
    gain, *costs = row.shown
    return f"{row.name}: {gain} for {' and '.join(costs)} ({rule})."


def _nothing(tally: Tally) -> str:
    """Why no point is feasible: the demand that most points miss."""
    missed = counted_once(dict(tally.rejected))
    most = max(missed, key=lambda name: missed[name], default="")
    if not most:
        return "No point meets every limit."
    many = f"{words.count(missed[most])} of {words.count(tally.points)}"
    return f"No point meets every limit; {many}: {unmet(most)}."
