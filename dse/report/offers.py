"""The offers that the answer sets side by side: cheapest, recommended, fastest, and what each of
them gives up."""

from __future__ import annotations

from dataclasses import dataclass

from dse.report import bills, training_runs, words
from dse.report.certainty.facts import SURE
from dse.report.design_point import Point
from dse.report.document import RunDocument, Sense
from dse.report.tables import capital
from dse.spelling import enumerated
from dse.study.choices import alike

# What a buyer asks beside an objective that is no price.
_MONEY = {"per_run": "hourly", "power": "capital", "energy": "capital", "step": "capital",
          "time_to_target": "capital"}  # fmt: skip
_BILLED = ("capital", "per_run", "hourly")  # what a bill is the sum of
_OUTCOMES = "of simulated outcomes"
_ESTIMATED = " in the best estimate"  # where some purchase may miss a limit
_SAME = 0.005  # shares of a speed or price that no one would tell apart
_TOLD = 0.001  # the least difference that is told of what is nearly the same
RECOMMENDED = "Recommended"


@dataclass(frozen=True)
class Fact:
    """A number of an offer: what it is, the number, and what to know of it."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Offer:
    """An offer: what it is called, its machines and their network, how they train, its numbers,
    and what it gives up against the others, in a sentence."""

    title: str
    machines: str
    around: str
    trains: str
    facts: tuple[Fact, ...]
    given_up: str
    recommended: bool


def offers(document: RunDocument) -> tuple[Offer, ...]:
    """The offers by rising cost; one that is two things at once stands once, and what is as good as
    the recommended one is told by :func:`also` alone."""
    titles: list[list[str]] = []
    points: list[Point] = []
    for title, point in _named(document):
        if title != RECOMMENDED and _as_recommended(document, point):
            continue
        same = [at for at, other in enumerate(points) if other.config == point.config]
        if same:
            titles[same[0]].append(title)
        else:
            titles, points = [*titles, [title]], [*points, point]
    return tuple(
        _offer(document, point, called) for point, called in zip(points, titles, strict=True)
    )


def _how_surely(document: RunDocument, point: Point) -> str:
    """What must be added to "meets every limit" for that to be true of a point; empty where it is
    certain."""
    asked = document.confidence
    if asked is not None and asked.reached:
        return f" with {words.exactly(asked.asked)} probability"
    share = _chances(document, point)
    sure = share is not None and share >= SURE
    return "" if sure or not _unsure(document) else _ESTIMATED


def _unsure(document: RunDocument) -> bool:
    """Whether some purchase may miss a limit."""
    return document.certainty is not None and bool(document.certainty.unsure_limits)


def _chances(document: RunDocument, point: Point) -> float | None:
    """The probability that a named point meets every limit; None where nobody knows."""
    known = document.certainty.choice(point.config) if document.certainty else None
    if known is not None:
        return known.meets_all
    asked = document.confidence.front if document.confidence else ()
    return next((share for one, share in zip(document.front, asked, strict=False)
                 if one.config == point.config), None)  # fmt: skip


def _named(document: RunDocument) -> tuple[tuple[str, Point], ...]:
    """What is offered, each with what it is called."""
    least = capital(words.aim(document, "minimize").least) or "Least"
    cheap = _cheapest(document)
    return ((f"{least} that meets every limit{_how_surely(document, cheap)}", cheap),
            (RECOMMENDED, document.recommended), ("Fastest", document.fastest))  # fmt: skip


def _as_recommended(document: RunDocument, point: Point) -> bool:
    """Whether it is the recommended point, or the same purchase, or differs from it by less than
    the study's resolution in every objective."""
    best = document.recommended
    if point.config == best.config or _same_hardware(point, best):
        return True
    resolution = document.choices.resolution if document.choices else 0.0
    mine, theirs = ([words.gain(document, one), *_costs(document, one)] for one in (point, best))
    return all(
        one is not None and other is not None and bool(alike(one, other, resolution))
        for one, other in zip(mine, theirs, strict=True)
    )


def _same_hardware(point: Point, best: Point) -> bool:
    """Whether they differ by software alone."""
    paid = [[one.quantity(name) for name in ("capital", "hourly")] for one in (point, best)]
    return paid[0] == paid[1] and words.hardware(point) == words.hardware(best)


def _costs(document: RunDocument, point: Point) -> list[float | None]:
    return [words.cost(document, point, sense) for sense in document.objectives.minimized]


def also(document: RunDocument) -> str:
    """What else the recommended offer is, or all but is: ``The recommended offer is also the
    cheapest that meets every limit. The fastest is 1 % faster on the same hardware, ring-nccl.``
    Empty where the other offers stand beside it."""
    best = document.recommended
    named = [(title[:1].lower() + title[1:], point) for title, point in _named(document)
             if title != RECOMMENDED]  # fmt: skip
    same = [f"the {title}" for title, point in named if point.config == best.config]
    said = [f"The recommended offer is also {enumerated(same)}."] if same else []
    for title, point in named:
        if point.config != best.config and _as_recommended(document, point):
            said.append(f"The {title} {_nearly(document, point)}.")
    return " ".join(said)


def _nearly(document: RunDocument, point: Point) -> str:
    """By how much a point that is as good as the recommended one differs from it."""
    best, changes = document.recommended, []
    gain, own = words.gain(document, point), words.gain(document, best)
    if gain and own and abs(gain / own - 1) >= _TOLD:
        faster = "faster" if gain > own else "slower"
        changes.append(f"is {words.percent(abs(gain / own - 1))} {faster}")
    for sense in document.objectives.minimized:
        mine, theirs = words.cost(document, point, sense), words.cost(document, best, sense)
        if mine is not None and theirs and abs(mine / theirs - 1) >= _TOLD:
            how = words.aim(document, sense)
            more = "more" if mine > theirs else "less"
            changes.append(
                f"{how.verb} {words.percent(abs(mine / theirs - 1))} {more} {how.tail}".strip()
            )
    said = enumerated(changes) if changes else "is as good"
    if not _same_hardware(point, best):
        return f"{said}: {words.describe(point)}"
    ours = words.settings(best)
    differs = [setting for setting in words.settings(point) if setting not in ours]
    return f"{said} on the same hardware{f' with {enumerated(differs)}' if differs else ''}"


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
        if (cost := words.cost(document, point)) is not None
    ]  # fmt: skip
    return min(known, key=lambda one: one[:2])[2] if known else document.recommended


def facts(document: RunDocument, point: Point) -> tuple[Fact, ...]:
    """Price, speed, time of the run where the study has a target, and how likely it is best."""
    rate = f"{words.shown(point.throughput_samples_per_s, '')} samples/s"
    bounds = point.interval.speedup if point.interval else None
    speedup, ends = words.with_interval(point.speedup, bounds, "x")
    if point.same_as(document.baseline):  # 1x by definition
        ends = words.interval(words.rate_interval(point), "samples/s")
    time = training_runs.TIME.name
    costs = [_cost(document, point, sense) for sense in document.objectives.minimized
             if document.objectives.named(sense) != time]  # fmt: skip
    targets = [document.objectives.named(sense) for sense in document.objectives.minimized]
    beside = _MONEY.get(targets[0], "")
    if beside not in targets and point.costs.get(beside) is not None:
        how = words.objective(document, beside)
        costs.append(Fact(capital(how.title), words.shown(point.costs[beside], how.unit)))
    lasts = point.quantity(time)
    took = [] if lasts is None else [
        Fact("Time of the run", *_of_run(document, point))
    ]  # fmt: skip
    asked = document.confidence is not None
    meets = [_met(document, point)] if asked or _unsure(document) else []
    return (
        *costs,
        Fact("Speed", f"{speedup} the baseline", f"{rate}{'; ' * bool(ends)}{_range(ends)}"),
        *took,
        *meets,
        *_best(document, point),
    )  # fmt: skip


def _best(document: RunDocument, point: Point) -> tuple[Fact, ...]:
    """The probability to be the best choice, of the recommended point with what is as good."""
    found = document.certainty
    if found is None:
        return ()
    known = found.choice(point.config)
    best = (
        words.UNKNOWN if known is None else words.chance(found.best if known.alike else known.best)
    )
    return (Fact("Best choice", best, _OUTCOMES),)


def _met(document: RunDocument, point: Point) -> Fact:
    """With what probability it meets every limit, and what was asked for where that is more."""
    share = _chances(document, point)
    asked = document.confidence.asked if document.confidence is not None else None
    if share is None:
        return Fact("Meets every limit", words.UNKNOWN)
    met = words.chance(share, asked)
    if asked is not None and share < asked:
        met += f" ({words.exactly(asked)} asked for)"
    return Fact("Meets every limit", met, _OUTCOMES)


def _cost(document: RunDocument, point: Point, sense: Sense) -> Fact:
    how = words.aim(document, sense)
    bounds = words.cost_interval(document, point, sense)
    known = bounds is not None and bounds[0] < bounds[1]
    cost, ends = words.with_interval(words.cost(document, point, sense), bounds, how.unit)
    notes = [_range(ends)] if known else []
    if document.objectives.named(sense) in _BILLED:
        notes += bills.priced_in(document, point)
    return Fact(capital(how.title), cost, "; ".join(notes))


def _of_run(document: RunDocument, point: Point) -> tuple[str, str]:
    """The time of a run; how sure it is, and what else is known of it."""
    time = training_runs.TIME.name
    also = [
        training_runs.costs(document, point)
        if name == training_runs.COST.name
        else training_runs.amount(name, point.quantity(name))
        for name in training_runs.beside(document)
        if name != time and training_runs.known(document, point, name)
    ]
    lasts, ends = words.with_interval(
        point.quantity(time), training_runs.bounds_of(point, time), training_runs.BESIDE[time].unit
    )
    sure = _range(ends)
    waits = training_runs.start(point)
    return lasts, "; ".join(filter(None, [sure, " and ".join(also), waits]))


def _range(bounds: str) -> str:
    return f"90 % range {bounds}" if bounds else ""


def _offer(document: RunDocument, point: Point, titles: list[str]) -> Offer:
    machines, *around = words.hardware(point, identified=False)
    if owned := bills.machines_owned(document, point):
        machines = f"{machines} ({owned})"
    if boards := bills.on_boards(document, point):
        around = [f"on {boards}", *around]
    return Offer(
        title=capital(" and ".join([titles[0], *(title.lower() for title in titles[1:])])),
        machines=machines,
        around=", ".join(around),
        trains=", ".join(words.settings(point, document.baseline)),
        facts=facts(document, point),
        given_up=given_up(document, point),
        recommended=RECOMMENDED in titles,
    )


def given_up(document: RunDocument, point: Point) -> str:
    """What one gives up by taking this point, against the recommended one, or, of that itself,
    against the cheapest and the fastest."""
    cheap, best, fast = _cheapest(document), document.recommended, document.fastest
    if point.config != best.config:
        return f"{_apart(document, point, best, 'the recommended offer')}."
    saved = [] if _as_recommended(document, cheap) else [_dearer(document, best, cheap)]
    slower = [] if _as_recommended(document, fast) else [_slower(document, best, fast)]
    least = words.aim(document, "minimize").least or "less costly"
    if cheap.config == best.config == fast.config:
        return "Nothing is given up: no other offer within the limits is cheaper or faster."
    asked = document.confidence
    estimated = _ESTIMATED * _unsure(document)
    surely = " as surely" if asked and asked.reached else estimated
    meets = [f"Nothing {_more(least)} meets every limit{surely}."] * (cheap.config == best.config)
    meets += [f"Nothing faster meets every limit{estimated}."] * (fast.config == best.config)
    return " ".join([*slower, *saved, *meets])


def _more(least: str) -> str:
    """The comparative of the word for the least of a cost."""
    return {"cheapest": "cheaper", "quickest": "quicker"}.get(least, f"{least} than it")


def _slower(document: RunDocument, point: Point, fast: Point) -> str:
    mine, theirs = words.gain(document, point), words.gain(document, fast)
    if not mine or not theirs:
        return "Its speed is unknown."
    if 1 - mine / theirs < _SAME:
        return "It is as fast as the fastest offer."
    return f"Gives up {words.percent(1 - mine / theirs)} of the fastest offer's speed."


def _dearer(document: RunDocument, point: Point, cheap: Point) -> str:
    mine, theirs = words.cost(document, point), words.cost(document, cheap)
    gain, less = words.gain(document, point), words.gain(document, cheap)
    if mine is None or theirs is None or not gain or not less:
        return "The difference to the cheapest offer is unknown."
    how = words.aim(document, "minimize")
    return (
        f"It {how.verb} {words.shown(mine - theirs, how.unit)} more than the "
        f"{how.least or 'least'} offer, for {words.shown(gain / less, 'x')} its speed."
    )


def _share(mine: float, theirs: float) -> str:
    """By how much a cost differs from another: ``40 %``, or ``16 times as much``."""
    if not theirs:
        return words.compared(mine, theirs)
    ratio = mine / theirs
    if ratio >= 2:
        return f"{words.significant(ratio, 2)} times as much"
    return words.percent(abs(ratio - 1))


def _apart(document: RunDocument, point: Point, best: Point, name: str) -> str:
    """How a point differs from another in cost and speed, one clause each."""
    mine, theirs = words.cost(document, point), words.cost(document, best)
    gain, other = words.gain(document, point), words.gain(document, best)
    if mine is None or theirs is None or not gain or not other:
        return f"Its difference to {name} is unknown"
    how = words.aim(document, "minimize")
    by = words.shown(abs(mine - theirs), how.unit)
    share = f" ({_share(mine, theirs)})"
    if abs(gain / other - 1) < _SAME:
        change = "less" if mine < theirs else "more"
        return f"{capital(how.verb)} {by} {change}{share} and is as fast as {name}"
    if gain < other:
        return f"Saves {by}{share} and runs at {words.percent(gain / other)} of the speed of {name}"
    fast = words.shown(gain / other, "x")
    return f"{capital(how.verb)} {by} more{share} and runs {fast} as fast as {name}"
