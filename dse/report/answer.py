"""The answer to a study in a hundred words: what, price, time, doubt, and what flips it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from dse.decision.remarks import MEMORY, STEPS
from dse.report import money, training_runs, waterfall, what_if, words
from dse.report.certainty.facts import Choice
from dse.report.design_point import Point
from dse.report.document import RemarkLine, RunDocument
from dse.report.remarks import called, rivals, wins
from dse.report.templating import filled
from dse.study.axes import spoken
from dse.study.choices import RESOLUTION
from dse.study.constraints import limit_of

_DAYS = {"a day": 86400.0, "a week": 7 * 86400.0, "a month": 30 * 86400.0}
LONG = "--long: all remarks"
_LEAST_WINS = 0.005  # a share of outcomes that reads as 0 % is not told


def answer(document: RunDocument) -> list[str]:
    """The lines of the answer, at most a dozen."""
    text = filled("answer.txt.j2", facts(document))
    return [line for line in text.splitlines() if line.strip()]


def every_remark(document: RunDocument) -> list[str]:
    """All remarks of a run, the heaviest first, those before which nobody should sign marked."""
    return [f"{'!' if one.blocks else '-'} {one.whole}" for one in document.remarks]


def facts(document: RunDocument) -> dict[str, Any]:
    """What the answer's template, and the tiles of the page, are filled with."""
    others = rivals(document)
    first = next((one for one in document.remarks if one.name in MEMORY), None)
    remaining = [one for one in document.remarks if one is not first]
    blocking = [one for one in remaining if one.blocks]
    named, beyond = blocking[:STEPS], blocking[STEPS:]
    open_ = document.state == "open" and bool(others)
    best, present = _best(document), _present(document)
    gains = {best["gain"], present["gain"] if present else ""}
    owned, (worth, now) = document.ownership, what_if.worth(document)
    owning = money.said(owned) if owned and document.objectives.minimize == "tco" else ""
    room = STEPS - len(named) - 1 - bool(worth) - bool(owning)
    most = 2 if document.state in ("ready", "nearly") else 1
    return {
        "state": document.state if open_ or document.state != "open" else "nearly",
        "verb": _verb(document),
        "best": best,
        "rival": _named(document, others[0], gains) if open_ else None,
        "times": document.objectives.maximize == "speedup",
        "run": _run(document),
        "mix": workloads(document),
        "rates": "; ".join(words.rates(document.recommended, {document.objectives.maximize})),
        "software": "" if present else _software(document, gains),
        "present": present,
        "within": _within(document),
        "next": [_named(document, one, gains) for one in _next(document, others[open_:], most)],
        "axis": spoken(document.what_if.axis).capitalize() if document.what_if else "",
        "worth": worth,
        "now": now,
        "owning": owning,
        "first": first,
        "blockers": len(blocking) + bool(first),
        "named": "; ".join(_steps(named)),
        "steps": blocking,
        "others": ", ".join(dict.fromkeys(one.name for one in beyond)),
        "notes": [one for one in remaining if not one.blocks][: max(0, room)],
    }


def _steps(named: Iterable[RemarkLine]) -> Iterator[str]:
    """Steps as clauses. A purchase that an earlier one says would win is not said to win again."""
    told = set[object]()
    for one in named:
        rival = str(one.facts.get("instead", ""))
        again = rival in told and f"{rival} wins" in one.sentence
        yield one.action[:1].lower() + one.action[1:] if again else one.brief
        told.add(rival)


def _verb(document: RunDocument) -> str:
    base = document.baseline
    if document.recommended.same_as(base) and "gpus" not in base.assumed:
        return "Keep"
    if document.owned:
        return "Use"
    return "Buy" if document.buys else "Rent"


def workloads(document: RunDocument) -> list[tuple[str, ...]]:
    """Of a mix each at the recommended point: name, share, speedup, its 90 % interval, software."""
    return [
        (one.workload, words.percent(one.share),
         *words.with_interval(one.speedup, one.bounds, "x"), one.settings)
        for one in document.recommended.mix or ()
    ]  # fmt: skip


def _best(document: RunDocument) -> dict[str, str]:
    point = document.recommended
    aim, bounds = document.objectives.maximize, words.gain_interval(document, point)
    unit = words.objective(document, aim).unit
    gain, ends = words.with_interval(point.quantity(aim), bounds, unit)
    machines, *around = words.hardware(point)
    inside = f"{machines} {around[0]}" if around[:1] == ["in one node"] else machines
    rest = around[1:] if inside != machines else around
    return {
        "machines": ", ".join([inside, *rest]),
        "settings": ", ".join(words.settings(point)),
        "cost": _cost(document, point),
        "gain": gain,
        "range": ends if " to " in ends else "",
    }


def _cost(document: RunDocument, point: Point) -> str:
    """Every cost of a point: ``USD 270 k and 12 kW``; the time of a run stands elsewhere."""
    names = [name for name in document.objectives.costs if name != training_runs.TIME.name]
    return " and ".join(_paid(document, name, point.quantity(name)) for name in names)


def _paid(document: RunDocument, name: str, value: float | None) -> str:
    """A cost, and that it is of a run where it is: ``USD 16.2 per run``."""
    how = words.objective(document, name)
    after = {"per run": " per run", "to add": " to add"}.get(how.tail, "")
    return f"{words.shown(value, how.unit)}{after}"


def _run(document: RunDocument) -> dict[str, str] | None:
    """The run to the study's target."""
    point, time = document.recommended, training_runs.TIME.name
    lasts = point.quantity(time)
    if document.target is None or lasts is None:
        return None
    taken, ends = words.with_interval(lasts, point.bounds(time), "s")
    title = (document.study.workload_title or document.study.workload).partition(",")[0]
    joined = "to" if point.run and point.run.fitted_batches else "on"
    what = f"{title} {joined} {document.target.partition(' on ')[0]}"
    return {"what": what, "time": taken, "range": ends if " to " in ends else ""}


def _software(document: RunDocument, gains: Collection[str]) -> str:
    """By which factor software alone makes the baseline faster; empty where it hardly does, or
    where it reads as one of the gains."""
    factor = waterfall.software_factor(document)
    if not document.waterfall or factor is None or factor < 1 + RESOLUTION:
        return ""
    told = words.shown(factor, "x")
    return "" if told in gains else told


def _present(document: RunDocument) -> dict[str, str] | None:
    """The baseline's machines with other software, where that is worth a word."""
    found, base = document.without_buying, document.baseline
    if found is None or found.missed or document.recommended.same_as(base):
        return None
    aim = document.objectives.maximize
    mine, theirs = found.quantity(aim), base.quantity(aim)
    settings = _settings(document)
    if not mine or not theirs or mine < (1 + RESOLUTION) * theirs or not settings:
        return None
    return {"gain": words.show(document, found, aim), "settings": settings}


def _settings(document: RunDocument) -> str:
    """What to set on the baseline's machines: its settings that differ from the baseline's."""
    found = document.without_buying
    now = words.settings(document.baseline)
    if found is None:
        return ""
    told = words.settings(found)
    degrees = told[: words.DEGREES] if words.laid_out(found.config) else []
    return ", ".join(one for one in told if one not in now or one in degrees)


def _named(document: RunDocument, choice: Choice, gains: Collection[str]) -> dict[str, str]:
    """A purchase by its name and numbers; what reads as a number that the answer has given already
    is left empty."""
    most, least = document.objectives.maximize, document.objectives.minimize
    gain = words.shown(choice.gain, words.objective(document, most).unit)
    own = _paid(document, least, document.recommended.quantity(least))
    cost, share = _paid(document, least, choice.cost), wins(choice)
    return {
        "name": called(document, choice.config),
        "gain": "" if gain in gains else gain,
        "cost": "" if cost == own else cost,
        "wins": words.percent(share) if share >= _LEAST_WINS else "",
    }


def _next(document: RunDocument, others: list[Choice], most: int) -> list[Choice]:
    """The purchases to think of next: the likeliest rival, and the likeliest on the other side of
    the price."""
    paid = document.recommended.quantity(document.objectives.minimize)
    found: list[Choice] = []
    for one in others:
        dearer = [paid is not None and other.cost is not None and other.cost > paid
                  for other in (one, *found)]  # fmt: skip
        if len(found) < most and dearer[0] not in dearer[1:]:
            found.append(one)
    return found


def _within(document: RunDocument) -> list[dict[str, str]]:
    """The cheapest point of the front that ends in a day, a week, a month, where the study has a
    target and says nothing of its time, and the recommended run takes longer than a day."""
    time, lasts = training_runs.TIME.name, document.recommended.quantity(training_runs.TIME.name)
    limited = any(limit and limit.name == time for limit in map(limit_of, document.constraints))
    if (
        document.target is None
        or time in document.objectives.names
        or limited
        or not lasts
        or lasts <= _DAYS["a day"]
    ):
        return []
    told = {_name(document.recommended): "as recommended"}
    found = []
    for span, most in _DAYS.items():
        ending = [one for one in document.front if (one.quantity(time) or math.inf) <= most]
        said = "nothing here is fast enough"
        if ending:
            point, (machines, *_) = ending[0], words.hardware(ending[0])
            cost = f"{words.without_vendor(machines)}, {_cost(document, point)}"
            said = told.setdefault(_name(point), cost)
            told[_name(point)] = "as recommended" if said == "as recommended" else f"as in {span}"
        found.append({"span": span, "said": said})
    return found


def _name(point: Point) -> str:
    """A text that only the same point has."""
    return repr(sorted(point.config.items()))
