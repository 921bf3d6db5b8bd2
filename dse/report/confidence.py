"""The recommended point where a study says how sure its limits must be.

A point that meets a limit by its best estimate meets it in about half of what may come true. Asked
for a confidence, only points count that meet all limits with that probability: those of the front,
and those near it, since a point that is a little dearer may be much surer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log

import numpy as np

from dse.pricing.uncertainty import INTERVAL
from dse.report.certainty.words import LOOSEN, SURE, chance, decided_most, exactly
from dse.report.design_point import Bounds
from dse.report.document import Confidence, Keeps, LimitChance, RunDocument
from dse.report.recommendation import LEAST_REGRET, recommended
from dse.report.words import describe, interval, objective, show_cost, shown
from dse.search.certainty.study_draws import StudyDraws
from dse.search.run import FrontPoint, Outcome, labels_of
from dse.spelling import enumerated
from dse.study import Study
from dse.study.constraints import parse_constraint
from dse.study.expressions import Name, Number

USUAL = 0.9  # probability that limits should hold with, where the study asks for none
_WIDER = 1.02  # an interval of so many times the width of another, on a logarithmic scale, is wider


@dataclass(frozen=True)
class Chosen:
    """The recommended point. position: among those near the front. because: what the confidence did
    to the choice. instead: why the surest point is taken in place of that of the rule; empty where
    it is not. confidence: None where none is asked for."""

    position: int
    because: str = ""
    instead: str = ""
    confidence: Confidence | None = None


def chosen(found: StudyDraws, outcome: Outcome, rule: str, likely: int) -> Chosen:
    """The point that a rule recommends among those that are sure enough; else the surest.

    found: the points near the front in every draw. likely: position of the point that is
    recommended where nobody asks for a confidence.
    """
    asked = outcome.problem.study.confidence
    if asked is None:
        return Chosen(likely)
    met = found.drawn.meets_all.mean(axis=0)
    points = _priced(found)
    at, reached = _surely(found, points, rule, asked)
    of_front = {row: float(share) for row, share in zip(found.near.front, met, strict=False)}
    limits = tuple(uncertain(outcome.problem.study))
    confidence = Confidence(
        asked=asked,
        reached=reached,
        recommended=float(met[at]),
        best_estimate=(found.near.row(likely) or 0) + 1,
        front=tuple(of_front.get(row) for row in range(len(outcome.front))),
        considered=len(points),
        limits=limits,
        keeps=_keeps(found, at, likely, asked) if reached and at != likely else None,
        each=_each(found, limits, at, likely) if len(limits) > 1 else None,
    )
    because = _because(confidence)
    return Chosen(at, because, "" if reached else because, confidence)


def usually(found: StudyDraws, rule: str, at: int) -> tuple[int, bool] | None:
    """The position of the point that would be recommended if the study asked for the confidence
    USUAL, and whether that reaches it; None where it asks for one, and where point ``at``, the
    recommended one, has that anyway."""
    asked = found.problem.study.confidence
    if asked is not None or found.drawn.meets_all[:, at].mean() >= USUAL:
        return None
    return _surely(found, _priced(found), rule, USUAL)


def _surely(
    found: StudyDraws, points: Sequence[FrontPoint], rule: str, asked: float
) -> tuple[int, bool]:
    """The position of what a rule recommends of the points that are sure enough, else of the
    surest, the cheapest of several; and whether it is sure enough."""
    at = _sure_enough(found, points, rule, asked)
    if at is not None:
        return at, True
    met = found.drawn.meets_all.mean(axis=0)
    return max(_by_cost(points), key=lambda one: float(met[one])), False


def _sure_enough(
    found: StudyDraws, points: Sequence[FrontPoint], rule: str, asked: float
) -> int | None:
    """The position of what a rule recommends of the points that meet every limit with the
    probability asked; None where none does."""
    met = found.drawn.meets_all.mean(axis=0)
    sure = [at for at in _by_cost(points) if met[at] >= asked]
    if not sure:
        return None
    if rule == LEAST_REGRET:
        return found.by_regret(sure)[0]
    return sure[recommended([points[one] for one in sure], rule)]


def _by_cost(points: Sequence[FrontPoint]) -> list[int]:
    """Positions by rising cost, then other, as a front has its points."""
    return sorted(
        range(len(points)),
        key=lambda at: (points[at].cost, points[at].other, -points[at].gain, at),
    )


def _keeps(found: StudyDraws, at: int, likely: int, asked: float) -> Keeps | None:
    """What both points keep to, by the limit that the second misses most often.

    The least value v of which a share ``asked`` of the draws is at most v, and of a lower limit the
    greatest of which so many are at least v: the first point's is within the limit.
    """
    shares = {text: float(found.drawn.met_share(text)[likely]) for text in found.drawn.met}
    limit = min(shares, key=lambda text: shares[text], default="")
    if not limit or shares[limit] >= asked:
        return None
    parsed = parse_constraint(limit)
    if not (isinstance(parsed.left, Name) and isinstance(parsed.right, Number)):
        return None
    drawn = found.drawn.quantities.get(parsed.left.name)
    if drawn is None or parsed.comparison not in ("<", "<=", ">", ">="):
        return None
    least = parsed.comparison.startswith(">")
    sign = -1.0 if least else 1.0
    ends, intervals = [], []
    for one in (at, likely):
        end = np.quantile(sign * drawn[:, one], asked, method="inverted_cdf")
        low, high = np.percentile(drawn[:, one], INTERVAL)
        ends.append(sign * float(end))
        intervals.append((float(low), float(high)))
    if not np.all(np.isfinite([*ends, *intervals[0], *intervals[1]])):
        return None
    return Keeps(
        quantity=parsed.left.name, least=least, interval=intervals[0], end=ends[0],
        instead_interval=intervals[1], instead_end=ends[1],
    )  # fmt: skip


def _each(
    found: StudyDraws, limits: Sequence[str], at: int, likely: int
) -> tuple[LimitChance, ...]:
    """With what probability both points meet each limit."""
    shares = ((limit, found.drawn.met_share(limit)) for limit in limits)
    return tuple(
        LimitChance(limit=limit, recommended=float(met[at]), best_estimate=float(met[likely]))
        for limit, met in shares
    )


def _priced(found: StudyDraws) -> list[FrontPoint]:
    """The points near the front that meet every limit, by their best estimates."""
    problem, points = found.problem, found.near.points[: found.near.feasible]
    names = [objective.name for objective in problem.study.objectives]
    numbers = np.zeros((3, len(points)))
    for where, evaluation in problem.rows(points):
        for at, name in enumerate(names):
            numbers[at, where] = evaluation[name]
    return [
        FrontPoint(
            values, labels_of(problem, values), float(gain), float(cost), float(other), 0, ()
        )
        for values, gain, cost, other in zip(points, *numbers, strict=True)
    ]


def _because(found: Confidence) -> str:
    asked = exactly(found.asked)
    if found.reached:
        return f"only points count that meet every limit with at least {asked} probability"
    return f"no point meets every limit with {asked} probability, so that the surest is taken"


def uncertain(study: Study) -> Iterator[str]:
    """The constraints on what has an interval."""
    return (constraint.text for constraint in study.constraints if constraint.uncertain)


def said(document: RunDocument) -> list[str]:
    """How sure it is that the recommended point meets the limits; nothing where nobody asked."""
    found = document.confidence
    if found is None:
        return []
    limits = enumerated(found.limits or ["every limit"])
    own = {one.limit: one.recommended for one in found.each or ()}
    with_ = f"with {chance(found.recommended, found.asked)} probability{by_limit(own)}"
    if not found.reached:
        return [
            f"No point meets {limits} with {exactly(found.asked)} probability; the recommended one "
            f"comes closest, {with_}. {LOOSEN}."
        ]
    sentence = f"It meets {limits} {with_}; {exactly(found.asked)} was asked for."
    sentence += decided_most(document)
    likely = document.front[found.best_estimate - 1]
    met = found.front[found.best_estimate - 1]
    if likely.config == document.recommended.config or met is None:
        return [sentence]
    theirs = {one.limit: one.best_estimate for one in found.each or ()}
    them = "them" if len(found.limits) > 1 else "it"
    return [
        f"{sentence} By the best estimate alone it would be {describe(likely)} for "
        f"{show_cost(document, likely)}, which meets {them} with "
        f"only {chance(met, found.asked)} probability{by_limit(theirs)}.{_kept(document, found)}"
    ]


def by_limit(shares: Mapping[str, float]) -> str:
    """The probability of each of several limits, in brackets with a blank before them; empty where
    all are as good as certain."""
    if len(shares) < 2 or min(shares.values()) >= SURE:
        return ""
    return f" ({', '.join(f'{limit}: {chance(share)}' for limit, share in shares.items())})"


def _kept(document: RunDocument, found: Confidence) -> str:
    """Why the recommended point is surer, though its interval may be the wider one, with a blank
    before it."""
    keeps = found.keeps
    if keeps is None:
        return ""
    how = objective(document, keeps.quantity)
    bound = "at least" if keeps.least else "at most"
    own, other = (shown(end, how.unit) for end in (keeps.end, keeps.instead_end))
    sure = f"ith {exactly(found.asked)} probability"
    kept = f"{how.verb} {bound} {own}, that one {other}."
    if _width(keeps.interval) <= _WIDER * _width(keeps.instead_interval):
        return f" W{sure} the recommended point {kept}"
    mine, theirs = (interval(ends, how.unit) for ends in (keeps.interval, keeps.instead_interval))
    less = f" The recommended point's {how.title} is less sure, {mine} against {theirs}"
    return f"{less}, but w{sure} it {kept}"


def _width(ends: Bounds) -> float:
    """Of an interval, on a logarithmic scale; infinite from nothing on."""
    return log(ends[1] / ends[0]) if ends[0] > 0 else inf
