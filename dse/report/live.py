"""The exact front of a study as somebody changes it: fewer values, other limits, prices, rule.

What is asked is checked here and told in one line; every answer searches the whole space again. Of
a continuous axis the values that are listed are tried, and none between them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dse import catalog
from dse.catalog.facts import Fact
from dse.catalog.prices import PriceList
from dse.errors import DseError
from dse.pricing.constraints import counted_once, unmet
from dse.pricing.hardware import fabrics_of
from dse.pricing.problem import Problem
from dse.report import confidence, words
from dse.report.certainty.words import chance, exactly
from dse.report.recommendation import LEAST_REGRET, RULES, recommended
from dse.search import exhaustive
from dse.search.certainty.near_front import near_front
from dse.search.certainty.study_draws import StudyDraws, draws_near
from dse.search.certainty.usefulness import SPEED_PER_DOLLAR
from dse.search.run import FrontPoint, Outcome, labels_of
from dse.search.tally import Tally
from dse.spelling import enumerated
from dse.study import Axis, Constraint, Study, Value, Wire
from dse.study.axes import AXES, BANDWIDTH, NumberKind
from dse.study.constraints import ExpressionError, parse_constraint
from dse.study.numbers import shown
from dse.study.quantities import QUANTITIES
from dse.study.space import Box
from dse.units import UnitError, parse

MOST_ROWS = 300  # of the front in an answer
DIGITS = 4  # of a number that moves
GRID = 5  # values of a continuous axis that are tried where nobody lists others
MOST_VALUES = 100  # of such an axis
FITS = "fits_memory"
LIVE_RULES = tuple(rule for rule in RULES if rule != LEAST_REGRET)  # that one needs draws
_GENERAL = {
    "host": ("Host", "USD", "host_usd", 0.0, 1e9),
    "electricity": ("Electricity", "USD/kWh", "electricity_usd_per_kwh", 0.0, 100.0),
    "pue": ("PUE", "", "pue", 1.0, 10.0),
    "amortisation_years": ("Amortisation", "years", "amortisation_years", 0.1, 100.0),
}
_PARTS = {"nic": "Network card", "switch_port": "Port of a switch", "cable": "Cable"}


class Refused(DseError):
    """What is asked cannot be: one line for the page."""


class Superseded(Exception):
    """A newer question has come; nobody waits for this answer any more."""


@dataclass(frozen=True)
class Price:
    """A price that may be changed. key: ``kind/name/part``."""

    key: str
    label: str
    unit: str
    value: float | None
    least: float = 0.0
    most: float = 1e9

    @property
    def text(self) -> str:
        """The value to its last digit; empty where it is not known."""
        return "" if self.value is None else repr(float(self.value)).removesuffix(".0")


@dataclass(frozen=True)
class Question:
    """What is changed of a study. values: of an axis, the labels that are left; an axis that is not
    among them keeps all. ranges: of a continuous axis, the values that are tried, as they are
    written; see :func:`ranges`. limits: in place of the study's, None for these. prices: by key.
    confidence: with which limits must hold; None for the best estimate."""

    values: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ranges: Mapping[str, Sequence[str]] = field(default_factory=dict)
    limits: Sequence[str] | None = None
    prices: Mapping[str, float] = field(default_factory=dict)
    rule: str = SPEED_PER_DOLLAR
    confidence: float | None = None


def question(found: object) -> Question:
    """The question that a page sends. Raises :class:`Refused` for what is none."""
    if not isinstance(found, dict) or set(found) - set(vars(Question())):
        keys = enumerated([*vars(Question())])
        raise Refused(f"the question must be a mapping with no other keys than {keys}")
    values, ranges, limits = found.get("values", {}), found.get("ranges", {}), found.get("limits")
    prices, rule = found.get("prices", {}), found.get("rule", SPEED_PER_DOLLAR)
    listed = all(isinstance(each, dict) and all(map(_texts, each.values()))
                 for each in (values, ranges))  # fmt: skip
    numbers = isinstance(prices, dict) and all(map(_number, prices.values()))
    if not (listed and numbers and (limits is None or _texts(limits))):
        raise Refused("values and limits must be texts, and prices numbers")
    sure = found.get("confidence")
    if sure is not None and not (_number(sure) and 0 < sure < 1):
        raise Refused("the confidence must be a number between 0 and 100 %")
    return Question(values, ranges, limits, prices, str(rule), sure)


def _texts(found: object) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _number(found: object) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)


# -- the study, changed ----------------------------------------------------------------------------


def changed(problem: Problem, asked: Question) -> Problem:
    """The problem with what is asked. Raises :class:`Refused`."""
    if asked.rule not in LIVE_RULES:
        raise Refused(f"there is no rule '{asked.rule}'; use {', '.join(LIVE_RULES)}")
    study = _narrowed(_gridded(problem.study, asked.ranges), asked.values)
    study = replace(study, confidence=asked.confidence)
    if asked.limits is not None:
        own = {constraint.text: constraint for constraint in study.constraints}
        limits = tuple(own.get(text) or _limit(text) for text in asked.limits)
        study = replace(study, constraints=limits)
    return replace(problem, study=study, prices=_repriced(problem, asked.prices))


def _limit(text: str) -> Constraint:
    if text == FITS:
        return Constraint(text, None, 0, 0)
    try:
        return Constraint(text, parse_constraint(text), 0, 0)
    except ExpressionError as cause:
        said = [f"'{text}': {cause.problem}", cause.remedy]
        raise Refused("; ".join(filter(None, said))) from None


@dataclass(frozen=True)
class Range:
    """A continuous axis. written: its ends; values: those that are tried, as they are written."""

    name: str
    written: str
    values: tuple[str, ...]


def ranges(study: Study) -> list[Range]:
    """The continuous axes, with GRID values of each at even ratios, and the baseline's."""
    found = []
    for axis in study.axes:
        if axis.low is None or axis.high is None:
            continue
        numbers = {*np.geomspace(axis.low, axis.high, GRID)[1:-1], axis.low, axis.high}
        base = study.baseline.values.get(axis.name)
        if base is not None and axis.has(base):
            numbers.add(base.bytes_per_s if isinstance(base, Wire) else float(base))
        texts = [shown(_rounded(number), _kind(axis)) for number in sorted(numbers)]
        found.append(Range(axis.name, axis.written, tuple(dict.fromkeys(texts))))
    return found


def _rounded(number: float) -> float:
    """To six digits."""
    return float(f"{number:.6g}")


def _kind(axis: Axis) -> NumberKind:
    kind = BANDWIDTH if axis.wire is not None else AXES[axis.name].number
    assert kind is not None, axis.name
    return kind


def _gridded(study: Study, asked: Mapping[str, Sequence[str]]) -> Study:
    """The study with a list of values in place of every continuous axis."""
    usual = {one.name: one.values for one in ranges(study)}
    for name in asked:
        if name not in usual:
            raise Refused(f"'{name}' is not a continuous axis of the study")
    return replace(study, axes=tuple(
        _listed(axis, asked.get(axis.name, usual[axis.name])) if axis.continuous else axis
        for axis in study.axes
    ))  # fmt: skip


def _listed(axis: Axis, texts: Sequence[str]) -> Axis:
    """A continuous axis as the list of its values, rising."""
    assert axis.low is not None, axis.name
    assert axis.high is not None, axis.name
    if not 0 < len(texts) <= MOST_VALUES:
        raise Refused(f"{axis.name}: list 1 to {MOST_VALUES} values, separated by commas")
    kind, numbers = _kind(axis), set[float]()
    for text in texts:
        try:
            number = parse(text, kind.dimension, shown(axis.low, kind))
        except UnitError as cause:
            raise Refused(f"{axis.name}: {cause}") from None
        if not axis.low * (1 - 1e-9) <= number <= axis.high * (1 + 1e-9):
            raise Refused(f"{axis.name}: {text} is not in the study's range, {axis.written}")
        numbers.add(min(max(number, axis.low), axis.high))
    values = tuple(axis.continuous_value(number) for number in sorted(numbers))
    labels = tuple(shown(number, kind) for number in sorted(numbers))
    return Axis(axis.name, values, labels, ordered=True)


def axes(study: Study) -> dict[str, tuple[str, ...]]:
    """The axes that leave a choice, with their labels; conditional ones included."""
    found = {axis.name: axis.labels for axis in study.axes if not axis.continuous}
    for condition in study.conditions:
        labels = (*found.get(condition.axis, ()), *condition.labels)
        found[condition.axis] = tuple(dict.fromkeys(labels))
    return {name: labels for name, labels in found.items() if len(labels) > 1}


def _narrowed(study: Study, kept: Mapping[str, Sequence[str]]) -> Study:
    """The study with those values alone that are kept."""
    known = axes(study)
    for name, labels in kept.items():
        if name not in known:
            raise Refused(f"the study has no choice of '{name}'; it has {', '.join(known)}")
        if strange := [label for label in labels if label not in known[name]]:
            raise Refused(f"{name} has no value '{strange[0]}'; it has {', '.join(known[name])}")
        if not labels:
            raise Refused(f"{name}: leave at least one value")

    def left(name: str, values: Sequence[Value], labels: Sequence[str]) -> Any:
        pairs = [(value, label) for value, label in zip(values, labels, strict=True)
                 if name not in kept or label in kept[name]]  # fmt: skip
        return {
            "values": tuple(value for value, _ in pairs),
            "labels": tuple(label for _, label in pairs),
        }

    shorter = tuple(
        replace(axis, **left(axis.name, axis.values, axis.labels)) for axis in study.axes
    )
    conditions = tuple(
        replace(one, **left(one.axis, one.values, one.labels)) for one in study.conditions
    )
    left_of = [(axis.name, axis.values) for axis in shorter]
    for name, values in [*left_of, *((one.axis, one.values) for one in conditions)]:
        if not values:
            raise Refused(f"{name}: leave a value for every case that the study has")
    return replace(study, axes=shorter, conditions=conditions)


# -- prices ----------------------------------------------------------------------------------------


def prices_of(problem: Problem) -> list[Price]:
    """Every price that the costs of the study follow from and may be changed."""
    found, prices = list[Price](), problem.prices
    for name in (str(value) for value in problem.study.values("accelerator")):
        own = (facts.get(name) for facts in
               (prices.accelerator_usd, prices.accelerator_hourly_usd))  # fmt: skip
        title = catalog.accelerator(name).title
        found += _two_prices(f"accelerator/{name}", title, *own)
        if name in prices.accelerator_host_usd:
            host = prices.host_of(name).value
            found.append(Price(f"accelerator/{name}/host", f"Host of {title}", "USD", host))
    for name in (str(value) for value in problem.study.values("node")):
        node = catalog.node(name)
        bought = prices.node_usd.get(name, node.purchase_usd)
        rented = prices.node_hourly_usd.get(name, node.hourly_usd)
        found += _two_prices(f"node/{name}", node.title, bought, rented)
    for key, (label, unit, where, least, most) in _GENERAL.items():
        value = getattr(prices, where).value
        found.append(Price(f"general/{key}", label, unit, value, least, most))
    for name in fabrics_of(problem.study):
        fabric = catalog.fabric(name)
        for part, label in _PARTS.items():
            fact = prices.fabric_usd.get(name, {}).get(part, fabric.prices_usd[part])
            title = f"{label}, {fabric.title}"
            found.append(Price(f"fabric/{name}/{part}", title, "USD", fact.value))
    return found


def _two_prices(
    key: str, title: str, bought: Fact | None = None, rented: Fact | None = None
) -> list[Price]:
    return [
        Price(f"{key}/purchase", title, "USD", bought.value if bought else None),
        Price(f"{key}/hourly", title, "USD/h", rented.value if rented else None, most=1e6),
    ]


def _repriced(problem: Problem, asked: Mapping[str, float]) -> PriceList:
    """The price list with the prices that are asked, which are those of the reader."""
    known = {price.key: price for price in prices_of(problem)}
    prices = problem.prices
    other: dict[str, Any]
    for key, value in asked.items():
        if key not in known:
            raise Refused(f"there is no price '{key}' to change")
        price = known[key]
        if not (math.isfinite(value) and price.least <= value <= price.most):
            raise Refused(f"{price.label} must be a number from {price.least:g} to {price.most:,g}")
        kind, name, part = (*key.split("/"), "")[:3]
        fact = Fact(price.label, float(value), price.unit, f"{value:g}", "this page", "")
        if kind == "general":
            other = {_GENERAL[name][2]: fact}
            prices = replace(prices, **other)
        elif kind == "fabric":
            own = {**prices.fabric_usd.get(name, {}), part: fact}
            prices = replace(prices, fabric_usd={**prices.fabric_usd, name: own})
        else:
            of = {("accelerator", "purchase"): "accelerator_usd",
                  ("accelerator", "hourly"): "accelerator_hourly_usd",
                  ("accelerator", "host"): "accelerator_host_usd",
                  ("node", "purchase"): "node_usd",
                  ("node", "hourly"): "node_hourly_usd"}[kind, part]  # fmt: skip
            other = {of: {**getattr(prices, of), name: fact}}
            prices = replace(prices, **other)
    return prices


# -- the answer ------------------------------------------------------------------------------------


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
    rows = [_row(found, points[one], phrases) for one in kept]
    answer = Answer(
        said=_said(rows[kept.index(at)], asked.rule) if at is not None else _nothing(tally),
        points=tally.points,
        feasible=tally.feasible,
        front=len(points),
        seconds=seconds,
        heads=tuple(title for title, _ in phrases),
        rows=tuple(rows),
        recommended=None if at is None else kept.index(at),
    )
    return Found(asked, found, tally, points, kept, answer)


@dataclass(frozen=True)
class Chances:
    """What the draws say of an answer. said: in sentences. row: the point that is recommended for
    the confidence that is asked, else the answer's own; at: its position among the answer's rows,
    None where it is only near the front. met, best: the probability of every row to meet all
    limits, and of its purchase to be the best by the rule; None where it was not drawn. draws:
    how many; considered: of how many points; seconds: that they took."""

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
    best = drawn.best[drawn.purchases]
    of_front = {front: at for at, front in enumerate(near.front)}
    drawn_rows = [of_front.get(front) for front in found.rows]
    place = {front: at for at, front in enumerate(found.rows)}
    position = near.row(chosen)
    row = _near_row(drawn, chosen)
    return Chances(
        said=_sure(drawn, chosen, row, float(met[chosen]), float(best[chosen]), found.asked),
        row=row,
        at=None if position is None else place.get(position),
        met=tuple(None if at is None else float(met[at]) for at in drawn_rows),
        best=tuple(None if at is None else float(best[at]) for at in drawn_rows),
        draws=len(drawn.worths),
        considered=len(near.points),
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
    return _row(problem, point, [words_of(name) for name in names])


def _sure(drawn: StudyDraws, at: int, row: Row, met: float, best: float, asked: Question) -> str:
    """The recommended point, its intervals, and how likely it is what is asked."""
    shares = []
    for objective, number in zip(drawn.problem.study.objectives, row.numbers, strict=True):
        low, high = np.percentile(drawn.drawn[objective.name][:, at], (5, 95))
        bounds = min(low, number), max(high, number)  # as everywhere
        shares.append(words.interval(bounds, words_of(objective.name)[1], number, DIGITS))
    many = words.count(len(drawn.worths))
    text = f"{_said(row, asked.rule)} 90 % confidence: {' and '.join(shares)}. "
    text += f"In {chance(best)} of {many} simulated outcomes it is the best choice"
    limits = [*confidence.uncertain(drawn.problem.study)]
    if asked.confidence is None:
        return f"{text}, and in {chance(met)} it meets every limit." if limits else (
            f"{text}."
        )  # fmt: skip
    if met >= asked.confidence:
        return (
            f"{text}, and in {chance(met, asked.confidence)} it meets every limit; "
            f"{exactly(asked.confidence)} was asked for."
        )
    return (
        f"No point meets every limit with {exactly(asked.confidence)} probability; this "
        f"one comes closest, with {chance(met, asked.confidence)}: {text}."
    )


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


def _row(problem: Problem, point: FrontPoint, phrases: Sequence[tuple[str, str]]) -> Row:
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


def _said(row: Row, rule: str) -> str:
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
