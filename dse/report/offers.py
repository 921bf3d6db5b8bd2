"""The offers that the answer sets side by side: cheapest, recommended, fastest."""

from __future__ import annotations

from dataclasses import dataclass

from dse.report import bills, training_runs, words
from dse.report.certainty.facts import Certainty
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.spelling import enumerated
from dse.study.choices import alike

# What a buyer asks beside an objective that is no price.
_MONEY = {"per_run": "hourly", "power": "capital", "energy": "capital", "step": "capital",
          "time_to_target": "capital"}  # fmt: skip
_BILLED = ("capital", "per_run", "hourly")  # what a bill is the sum of
_OUTCOMES = "of simulated outcomes"
RECOMMENDED = "Recommended"


@dataclass(frozen=True)
class Fact:
    """A number of an offer: what it is, the number, and what to know of it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Offer:
    """An offer: what it is called, its machines and what is around them, how they train, its
    numbers. against: its first cost and its speed over those of the recommended one, as multiples;
    None of that itself, and where a number is not known."""

    title: str
    machines: str
    around: str
    settings: str
    facts: tuple[Fact, ...]
    recommended: bool
    against: tuple[str, str] | None


def offers(document: RunDocument) -> tuple[Offer, ...]:
    """The offers by rising cost. Those that are the same point, or as good as the recommended one,
    stand once under all their names."""
    least = words.capital(words.objective(document, document.objectives.minimize).least) or "Least"
    points: list[Point] = []
    titles: list[list[str]] = []
    for title, point in ((least, _cheapest(document)), (RECOMMENDED, document.recommended),
                         ("Fastest", document.fastest)):  # fmt: skip
        one = document.recommended if _as_recommended(document, point) else point
        if one not in points:
            points, titles = [*points, one], [*titles, []]
        titles[points.index(one)].append(title)
    return tuple(
        _offer(document, point, called) for point, called in zip(points, titles, strict=True)
    )


def _offer(document: RunDocument, point: Point, titles: list[str]) -> Offer:
    machines, *around = words.hardware(point, identified=False)
    if owned := bills.machines_owned(document, point):
        machines = f"{machines} ({owned})"
    ordered = sorted(titles, key=lambda title: title != RECOMMENDED)
    return Offer(
        title=words.capital(enumerated([title.lower() for title in ordered])),
        machines=machines,
        around=", ".join(around),
        settings=", ".join(words.settings(point, document.baseline)),
        facts=facts(document, point),
        recommended=RECOMMENDED in titles,
        against=None if RECOMMENDED in titles else _against(document, point),
    )


def _against(document: RunDocument, point: Point) -> tuple[str, str] | None:
    names = document.objectives.minimize, document.objectives.maximize
    cost, gain = map(point.quantity, names)
    own_cost, own_gain = map(document.recommended.quantity, names)
    if cost is None or gain is None or not own_cost or not own_gain:
        return None
    return words.shown(cost / own_cost, "x"), words.shown(gain / own_gain, "x")


def _as_recommended(document: RunDocument, point: Point) -> bool:
    """Whether it is the recommended point, or differs from it by less than the study's resolution
    in every objective."""
    best = document.recommended
    if point.config == best.config:
        return True
    resolution = document.choices.resolution if document.choices else 0.0
    pairs = ((point.quantity(name), best.quantity(name)) for name in document.objectives.names)
    return all(
        one is not None and other is not None and bool(alike(one, other, resolution))
        for one, other in pairs
    )


def _cheapest(document: RunDocument) -> Point:
    """The cheapest point of the front, or, asked for a confidence, of what is as sure; the
    recommended one is among these and need not be on the front."""
    asked = document.confidence
    if asked is None or not asked.reached:
        return document.front[0]
    sure = [
        point for point, chance in zip(document.front, asked.front, strict=True)
        if chance is not None and chance >= asked.asked
    ]  # fmt: skip
    known = [
        (cost, at, point) for at, point in enumerate([document.recommended, *sure])
        if (cost := point.quantity(document.objectives.minimize)) is not None
    ]  # fmt: skip
    return min(known, key=lambda one: one[:2])[2] if known else document.recommended


def facts(document: RunDocument, point: Point) -> tuple[Fact, ...]:
    """Price, speed, time of the run where the study has a target, and odds."""
    time = training_runs.TIME.name
    lasts = point.quantity(time)
    targets = document.objectives.costs
    costs = [_cost(document, point, name) for name in targets if name != time]
    for beside in (_MONEY.get(targets[0], ""), "power"):
        if beside not in targets and point.costs.get(beside) is not None:
            how = words.objective(document, beside)
            costs.append(Fact(words.capital(how.title), words.shown(point.costs[beside], how.unit)))
    certain = document.certainty
    asked = document.confidence is not None or bool(certain and certain.unsure_limits)
    return (
        *costs,
        _speed(document, point),
        *([] if lasts is None else [_of_run(point)]),
        *([_met(document, point)] if asked else []),
        *([] if certain is None else [_best(certain, point)]),
    )


def _speed(document: RunDocument, point: Point) -> Fact:
    speedup, ends = words.with_interval(point.speedup, point.bounds("speedup"), "x")
    if point.same_as(document.baseline):  # 1x by definition
        ends = words.interval(point.bounds("throughput"), "samples/s")
    notes = "; ".join(filter(None, [*words.rates(point), _range(ends)]))
    return Fact("Speed", f"{speedup} the baseline", notes)


def _met(document: RunDocument, point: Point) -> Fact:
    """With what probability it meets every limit, and what was asked for where that is more."""
    known = document.certainty.choice(point.config) if document.certainty else None
    front = document.confidence.front if document.confidence else ()
    share = known.meets_all if known else next(
        (share for one, share in zip(document.front, front, strict=False)
         if one.config == point.config), None)  # fmt: skip
    asked = document.confidence.asked if document.confidence is not None else None
    if share is None:
        return Fact("Meets every limit", words.UNKNOWN)
    met = words.chance(share, asked)
    if asked is not None and share < asked:
        met += f" ({words.exactly(asked)} asked for)"
    return Fact("Meets every limit", met, _OUTCOMES)


def _best(found: Certainty, point: Point) -> Fact:
    """The probability to be the best choice, of the recommended point with what is as good."""
    known = found.choice(point.config)
    share = None if known is None else found.best if known.alike else known.best
    return Fact("Best choice", words.UNKNOWN if share is None else words.chance(share), _OUTCOMES)


def _cost(document: RunDocument, point: Point, name: str) -> Fact:
    how, bounds = words.objective(document, name), point.bounds(name)
    known = bounds is not None and bounds[0] < bounds[1]
    cost, ends = words.with_interval(point.quantity(name), bounds, how.unit)
    notes = [_range(ends)] if known else []
    if name in _BILLED:
        notes += bills.priced_in(document, point)
    return Fact(words.capital(how.title), cost, "; ".join(notes))


def _of_run(point: Point) -> Fact:
    """The time of a run, how sure it is, and how much of it is the start of the machines."""
    time = training_runs.TIME.name
    lasts, ends = words.with_interval(
        point.quantity(time), point.bounds(time), training_runs.BESIDE[time].unit
    )
    notes = filter(None, [_range(ends), training_runs.start(point)])
    return Fact("Time of the run", lasts, "; ".join(notes))


def _range(bounds: str) -> str:
    return f"90 % range {bounds}" if bounds else ""
