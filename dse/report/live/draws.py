"""What draws of everything uncertain say of an answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dse.report import confidence, words
from dse.report.certainty.words import chance, exactly
from dse.report.live.answer import DIGITS, Found, Row, row_of, said_of, words_of
from dse.report.live.questions import Question, Refused, Superseded
from dse.search.certainty.near_front import near_front
from dse.search.certainty.study_draws import StudyDraws, draws_near
from dse.search.run import FrontPoint, Outcome


@dataclass(frozen=True)
class Chances:
    """What the draws say of an answer. said: in sentences. row: the point that is recommended for
    the confidence that is asked, else the answer's own; at: its position among the answer's rows,
    None where it is only near the front. met, best: the probability of every row to meet all
    limits, and of its choice to be the best by the rule, as a run says it; None where it was not
    drawn. draws: how many; considered: of how many points; seconds: that they took."""

    said: str
    row: Row
    at: int | None
    met: tuple[float | None, ...]
    best: tuple[float | None, ...]
    draws: int
    considered: int
    seconds: float


def chances(found: Found, wanted: Callable[[], bool] = lambda: True) -> Chances:
    """The points near the front of an answer in every draw, as a run with the same confidence draws
    them.

    wanted: as of :func:`search`, asked before each piece of the work. Raises as that does, and
    :class:`Refused` where there is no front.
    """
    if found.answer.recommended is None:
        raise Refused("no point meets every limit, so there is nothing to draw")
    began = time.perf_counter()
    rule, likely = found.asked.rule, found.rows[found.answer.recommended]
    outcome = Outcome(
        found.problem, "exhaustive", "", "", found.tally, tuple(found.points),
        found.answer.seconds, 0, 0, 0,
    )  # fmt: skip

    def before() -> None:
        if not wanted():
            raise Superseded

    near = near_front(outcome, rule, [likely], before)
    drawn = draws_near(found.problem, near, rule, before)
    chosen = confidence.chosen(drawn, outcome, rule, near.front.index(likely)).position
    met = drawn.drawn.meets_all.mean(axis=0)
    best = [drawn.best_choice(at) for at in range(len(drawn.near.points))]
    of_front = {front: at for at, front in enumerate(near.front)}
    drawn_rows = [of_front.get(front) for front in found.rows]
    place = {front: at for at, front in enumerate(found.rows)}
    position = near.row(chosen)
    row = _near_row(drawn, chosen)
    return Chances(
        said=_sure(drawn, chosen, row, float(met[chosen]), best[chosen], found.asked),
        row=row,
        at=None if position is None else place.get(position),
        met=tuple(None if at is None else float(met[at]) for at in drawn_rows),
        best=tuple(None if at is None else best[at] for at in drawn_rows),
        draws=len(drawn.worths),
        considered=near.feasible,
        seconds=time.perf_counter() - began,
    )


def _near_row(drawn: StudyDraws, at: int) -> Row:
    """A point near the front by its best estimate."""
    problem, values = drawn.problem, drawn.near.points[at]
    names = [objective.name for objective in problem.study.objectives]
    priced = problem.point(values)
    gain, cost, other = [float(np.ravel(priced[name])[0]) for name in names] + [0.0] * (
        3 - len(names)
    )
    point = FrontPoint(values, {}, gain, cost, other, 0, ())
    return row_of(problem, point, [words_of(name) for name in names])


def _sure(drawn: StudyDraws, at: int, row: Row, met: float, best: float, asked: Question) -> str:
    """The recommended point, its intervals, and how likely it is what is asked."""
    shares = []
    for objective, number in zip(drawn.problem.study.objectives, row.numbers, strict=True):
        low, high = np.percentile(drawn.drawn[objective.name][:, at], (5, 95))
        bounds = min(low, number), max(high, number)  # as everywhere
        shares.append(words.interval(bounds, words_of(objective.name)[1], number, DIGITS))
    many = words.count(len(drawn.worths))
    text = f"{said_of(row, asked.rule)} 90 % confidence: {' and '.join(shares)}. "
    also = ""
    if np.sum(drawn.choice(at)) > 1:
        also = f", or what is as good to {words.percent(drawn.problem.study.resolution)},"
    text += f"In {chance(best)} of {many} simulated outcomes it{also} is the best choice"
    limits = [*confidence.uncertain(drawn.problem.study)]
    each = confidence.by_limit({limit: float(drawn.drawn.met_share(limit)[at]) for limit in limits})
    if asked.confidence is None:
        return f"{text}, and in {chance(met)} it meets every limit{each}." if limits else (
            f"{text}."
        )  # fmt: skip
    if met >= asked.confidence:
        return (
            f"{text}, and in {chance(met, asked.confidence)} it meets every limit{each}; "
            f"{exactly(asked.confidence)} was asked for."
        )
    return (
        f"No point meets every limit with {exactly(asked.confidence)} probability; this "
        f"one comes closest, with {chance(met, asked.confidence)}{each}: {text}."
    )
