"""Two finished runs compared: what changed between them, in the answer and in what it follows from.

All of it is read from their documents; nothing is priced again.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.catalog import Citation
from dse.pricing.bill_of_materials import OWNED, Item
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.study.axes import AUTO_FORMAT
from dse.study.quantities import QUANTITIES

ON_FRONT, TIED, ABSENT = "on its front", "as good as a point of its front", "absent"
_NAMED = {"baseline": "the baseline", "fastest": "the fastest point",
          "cheapest_within_5_percent": "the cheapest within 5 % of the fastest"}  # fmt: skip
_SAME = 0.0005  # two numbers that differ by a smaller share are shown as the same


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A number of both runs; None where one does not know it. comparable: whether it means the same
    in both."""

    name: str
    unit: str
    a: float | None
    b: float | None
    comparable: bool = True


@dataclass(frozen=True, kw_only=True)
class PriceChange:
    """A unit price that differs: USD, date and class in each run; None where it is in one bill
    alone."""

    item: str
    a_usd: float | None
    b_usd: float | None
    a_date: str
    b_date: str
    a_class: str
    b_class: str


@dataclass(frozen=True, kw_only=True)
class FactChange:
    """A fact that differs of what both runs have: value and date in each, empty where unknown."""

    item: str
    fact: str
    a: str
    b: str
    a_date: str
    b_date: str


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a run's recommended point stands in the other run. row: of its front, from 1. gain,
    cost: there. instead: what its front offers, where it does not have the point."""

    where: str
    row: int | None = None
    gain: float | None = None
    cost: float | None = None
    instead: str = ""


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """Two runs. agreeing: whether their numbers may be compared; why not is in ``apart``.

    recommended: of A and B, in words. inputs: what of all that numbers follow from differs, in
    words. study: the lines of the study that differ, as a diff. of_a: where A's recommended point
    stands in B; of_b: the other way round.
    """

    a: str
    b: str
    studies: tuple[str, str]
    created: tuple[str, str]
    apart: tuple[str, ...]
    recommended: tuple[str, str]
    rules: tuple[str, str]
    same_point: bool
    choices: Mapping[str, tuple[str, str]]
    measures: tuple[Measure, ...]
    inputs: tuple[str, ...]
    questions: Mapping[str, tuple[str, str]]
    prices: tuple[PriceChange, ...]
    facts: tuple[FactChange, ...]
    profiles: tuple[str, ...]
    study: tuple[str, ...]
    of_a: Standing | None
    of_b: Standing | None
    identical: bool = field(default=False)


def compared(a: RunDocument, b: RunDocument, names: tuple[str, str]) -> RunComparison:
    """Compare two runs; names: of their folders, as the user gave them."""
    apart = tuple(_apart(a, b))
    alike = a.study.workload == b.study.workload and a.objectives == b.objectives
    best = (a.recommended, b.recommended)
    inputs = tuple(_inputs(a, b))
    return RunComparison(
        a=names[0],
        b=names[1],
        studies=(a.study.name, b.study.name),
        created=(a.created, b.created),
        apart=apart,
        recommended=(
            words.describe(best[0], True, best[1]),
            words.describe(best[1], True, best[0]),
        ),
        rules=(best[0].rule, best[1].rule),
        same_point=best[0].config == best[1].config,
        choices=_choices(best[0].config, best[1].config),
        measures=tuple(_measures(a, b)),
        inputs=inputs,
        questions=_choices(a.questions or {}, b.questions or {}),
        prices=tuple(_prices(a, b)),
        facts=tuple(_facts(a.sources, b.sources)),
        profiles=tuple(_profiles(a, b)),
        study=tuple(_study(a, b)),
        of_a=_standing(b, a.recommended) if alike else None,
        of_b=_standing(a, b.recommended) if alike else None,
        identical=not inputs and a.seed == b.seed and a.engine == b.engine,
    )  # fmt: skip


def _apart(a: RunDocument, b: RunDocument) -> Iterator[str]:
    """Why numbers of the two may not be compared."""
    if a.study.workload != b.study.workload:
        yield (
            f"The workloads differ, {a.study.workload} and {b.study.workload}: their speeds cannot "
            "be compared, prices and inputs can."
        )
    if a.objectives != b.objectives:
        yield "They have different objectives, so that their fronts are of different numbers."
    if a.owned != b.owned:
        yield "They own different hardware, and what it costs to buy is what is added to it."
    yield from _baselines_apart(a, b)


def _baselines_apart(a: RunDocument, b: RunDocument) -> Iterator[str]:
    if a.baseline.config != b.baseline.config:
        changed = ", ".join(
            f"{axis} {was or '-'} and {now or '-'}"
            for axis, (was, now) in _choices(a.baseline.config, b.baseline.config).items()
        )
        yield (
            f"Their baselines differ ({changed}): speedups are against different machines; compare "
            "samples per second."
        )
    elif _differs(a.baseline.throughput_samples_per_s, b.baseline.throughput_samples_per_s):
        rates = (a.baseline.throughput_samples_per_s, b.baseline.throughput_samples_per_s)
        first, second = (words.shown(rate, "samples/s") for rate in rates)
        yield (
            f"The same baseline trains {first} in A and {second} in B, so that speedups are "
            "against different speeds; compare samples per second."
        )


def _differs(a: float | None, b: float | None) -> bool:
    if a is None or b is None:
        return a is not b
    return abs(a - b) > _SAME * max(abs(a), abs(b))


def _choices(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """What differs, key by key; empty text where one has no such key."""
    pairs = {key: (a.get(key, ""), b.get(key, "")) for key in dict.fromkeys((*a, *b))}
    return {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}


def _measures(a: RunDocument, b: RunDocument) -> Iterator[Measure]:
    one, other = a.recommended, b.recommended
    alike = a.study.workload == b.study.workload
    same_base = alike and not any(_baselines_apart(a, b))
    yield Measure(name="speedup", unit="x", a=one.speedup, b=other.speedup, comparable=same_base)
    yield Measure(name="throughput", unit="samples/s", a=one.throughput_samples_per_s,
                  b=other.throughput_samples_per_s, comparable=alike)  # fmt: skip
    aims = [found.objectives.named(sense) for found in (a, b)
            for sense in found.objectives.minimized]  # fmt: skip
    names = dict.fromkeys((*aims, *one.costs, *other.costs))
    for name in names:
        unit = words.objective(a, name).unit
        of_a_run = name in QUANTITIES and QUANTITIES[name].communication
        yield Measure(name=name, unit=unit, a=one.quantity(name), b=other.quantity(name),
                      comparable=alike or not of_a_run)  # fmt: skip
    yield Measure(name="accelerators", unit="", a=one.gpus, b=other.gpus)
    yield Measure(name="points of the front", unit="", a=a.counts.front, b=b.counts.front)
    yield Measure(name="feasible points", unit="", a=a.counts.feasible, b=b.counts.feasible)


def _inputs(a: RunDocument, b: RunDocument) -> Iterator[str]:
    if a.hashes.study != b.hashes.study:
        yield "the study, or what was asked beside it"
    if a.hashes.catalogue != b.hashes.catalogue:
        yield "the catalogue"
    if a.inputs_hash != b.inputs_hash:
        yield "the prices, or the workload's layers"
    if a.hashes.calibration != b.hashes.calibration:
        yield "the calibration profiles"
    for name in dict.fromkeys((*a.versions, *b.versions)):
        was, now = a.versions.get(name, "absent"), b.versions.get(name, "absent")
        if was != now:
            yield f"{name}: {was} and {now}"
    if a.engine != b.engine:
        yield f"the engine: {a.engine} and {b.engine}"
    elif a.engine != "exhaustive" and a.seed != b.seed:
        yield f"the seed: {a.seed} and {b.seed}"


def _prices(a: RunDocument, b: RunDocument) -> Iterator[PriceChange]:
    """Unit prices in the bills that differ, or that one bill alone has."""
    mine, theirs = _unit_prices(a), _unit_prices(b)
    for item in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(item), theirs.get(item)
        if one and other and (one.unit_usd, one.price_date) == (other.unit_usd, other.price_date):
            continue
        yield PriceChange(
            item=item,
            a_usd=one.unit_usd if one else None,
            b_usd=other.unit_usd if other else None,
            a_date=one.price_date if one else "",
            b_date=other.price_date if other else "",
            a_class=one.price_class if one else "",
            b_class=other.price_class if other else "",
        )


def _unit_prices(document: RunDocument) -> dict[str, Item]:
    found = [item for items in document.bills.values() for item in items]
    return {item.item: item for item in found if item.price_class != OWNED}


def _facts(a: Sequence[Citation], b: Sequence[Citation]) -> Iterator[FactChange]:
    mine, theirs = ({(row.item, row.fact): row for row in rows} for rows in (a, b))
    both = {key[0] for key in mine} & {key[0] for key in theirs}
    for key in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(key), theirs.get(key)
        if key[0] not in both:
            continue
        if one and other and (one.value, one.date) == (other.value, other.date):
            continue
        yield FactChange(
            item=key[0], fact=key[1],
            a=one.value if one else "", b=other.value if other else "",
            a_date=one.date if one else "", b_date=other.date if other else "",
        )  # fmt: skip


def _profiles(a: RunDocument, b: RunDocument) -> Iterator[str]:
    mine, theirs = ({row.name: row for row in found.calibration} for found in (a, b))
    for name in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(name), theirs.get(name)
        if one is None:
            yield f"{name}: only in B (measured {theirs[name].date})"
        elif other is None:
            yield f"{name}: only in A (measured {one.date})"
        elif one.hash != other.hash:
            yield f"{name}: measured {one.date} in A and {other.date} in B, or fitted anew"


def _study(a: RunDocument, b: RunDocument) -> Iterator[str]:
    lines = difflib.unified_diff(a.study_text.splitlines(), b.study_text.splitlines(), n=0,
                                 lineterm="")  # fmt: skip
    for line in lines:
        if not line.startswith(("---", "+++", "@@")):
            yield line


def _standing(document: RunDocument, point: Point) -> Standing:
    """Where a point of another run stands in this one, as far as its document tells."""
    config = point.config
    for row, known in enumerate(document.front, 1):
        if known.config == config:
            return _at(document, known, ON_FRONT, row)
        if any(dict(tied) == config for tied in known.tied):
            return _at(document, known, TIED, row)
    for name, said in _NAMED.items():
        known = getattr(document, name)
        if known.config == config:
            return _at(document, known, said, None)
    for other in document.other_aggregations:
        if other.config == config:
            return _at(document, other, "among the other aggregations, not on its front", None)
    return Standing(where=ABSENT, instead=_instead(document, point))


def _at(document: RunDocument, known: Point, where: str, row: int | None) -> Standing:
    return Standing(
        where=where, row=row, gain=words.gain(document, known), cost=words.cost(document, known),
    )  # fmt: skip


def _instead(document: RunDocument, point: Point) -> str:
    """The cheapest point of a front that trains at least as fast as another run's point."""
    missing = [axis for axis, label in point.config.items()
               if label and not _offers(document, axis, label)]  # fmt: skip
    if missing:
        what = ", ".join(f"{axis} {point.config[axis]}" for axis in missing)
        return f"its space does not have {what}"
    wanted = point.throughput_samples_per_s
    for row, known in enumerate(document.front, 1):
        rate = known.throughput_samples_per_s
        if wanted is not None and rate is not None and rate >= wanted * (1 - _SAME):
            return (
                f"row {row} of its front is the cheapest as fast as that: "
                f"{words.describe(known)} for {words.show_cost(document, known)}"
            )
    return "no point of its front is as fast as that"


def _offers(document: RunDocument, axis: str, label: str) -> bool:
    """Whether the space has a value, as far as the document tells."""
    rows = [row for row in document.axes if row.name == axis]  # one for each condition
    if not rows or any(row.range is not None for row in rows):
        return True
    return any(label in row.values or AUTO_FORMAT in row.values for row in rows)


def lines(found: RunComparison) -> list[str]:
    """The comparison as text: the answers, why they differ, and each in the other run."""
    out = [
        f"A: {found.a}, study {found.studies[0]}, of {_day_and_time(found.created[0])}",
        f"B: {found.b}, study {found.studies[1]}, of {_day_and_time(found.created[1])}",
        *found.apart,
        "",
    ]
    if found.same_point:
        out.append(f"Both recommend {found.recommended[0]}.")
    else:
        out += [f"A recommends {found.recommended[0]} ({found.rules[0]}).",
                f"B recommends {found.recommended[1]} ({found.rules[1]})."]  # fmt: skip
    out += ["", *_measure_lines(found.measures), ""]
    if found.identical:
        return [*out, "Nothing that they follow from differs."]
    out += _listed("What differs in what they follow from", found.inputs)
    out += _listed("Questions", [f"{name}: {_or_none(was)} in A, {_or_none(now)} in B"
                                 for name, (was, now) in found.questions.items()])  # fmt: skip
    out += _listed("Unit prices in their bills", [*map(_price_line, found.prices)])
    out += _listed("Facts of the catalogue", [*map(_fact_line, found.facts)])
    out += _listed("Calibration profiles", found.profiles)
    out += _listed("Lines of the study, - in A alone, + in B alone", found.study)
    for standing, whose, where in ((found.of_a, "A", "B"), (found.of_b, "B", "A")):
        if standing is not None and not found.same_point:
            out.append(f"{whose}'s recommended point in {where}: {_standing_words(standing)}.")
    while out and not out[-1]:
        out.pop()
    return out


def _day_and_time(created: str) -> str:
    """``2026-11-25 04:39``."""
    return created[:16].replace("T", " ")


_MOST = 25  # lines of a list


def _listed(title: str, rows: Sequence[str]) -> list[str]:
    if not rows:
        return []
    shown = [f"  {row}" for row in rows[:_MOST]]
    if len(rows) > _MOST:
        shown.append(f"  and {len(rows) - _MOST} more; --json has all")
    return [f"{title}:", *shown, ""]


def _or_none(text: str) -> str:
    return text or "not asked"


def _measure_lines(measures: Sequence[Measure]) -> list[str]:
    rows = [
        (_title(m.name), _shown(m.a, m.unit), _shown(m.b, m.unit), _change(m))
        for m in measures
        if (m.a, m.b) != (None, None)
    ]
    table = [("Recommended point", "A", "B", "change"), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(4)]
    return [
        "  ".join([row[0].ljust(widths[0]), *(row[at].rjust(widths[at]) for at in (1, 2, 3))])
        for row in table
    ]


def _title(name: str) -> str:
    """A quantity as a person calls it."""
    row = QUANTITIES.get(name)
    title = row.phrase.title if row and row.phrase else name.replace("_", " ")
    return title[:1].upper() + title[1:]


def _shown(value: float | None, unit: str) -> str:
    return words.count(value) if value is not None and not unit else words.shown(value, unit)


def _change(measure: Measure) -> str:
    if measure.a is None or measure.b is None:
        return "unknown in one"
    if not measure.comparable:
        return "not comparable"
    if not _differs(measure.a, measure.b):
        return "same"
    if not measure.a:
        return "-"
    share = measure.b / measure.a - 1
    if abs(share) >= 1:
        return f"{words.significant(measure.b / measure.a)} times"
    return f"{'+' if share > 0 else '-'}{words.percent(abs(share))}"


def _price_line(change: PriceChange) -> str:
    sides = []
    for usd, date, kind in ((change.a_usd, change.a_date, change.a_class),
                            (change.b_usd, change.b_date, change.b_class)):  # fmt: skip
        if not kind:
            sides.append("not in its bills")
            continue
        price = words.UNKNOWN if usd is None else f"USD {usd:,.2f}"
        sides.append(f"{price} ({', '.join(filter(None, [kind, date or 'no date']))})")
    share = ""
    if change.a_usd and change.b_usd:
        share = f", {_change(Measure(name='', unit='', a=change.a_usd, b=change.b_usd))}"
    return f"{change.item}: {sides[0]} in A, {sides[1]} in B{share}"


def _fact_line(change: FactChange) -> str:
    sides = [f"{value} ({date})" if value and date else value or "absent"
             for value, date in ((change.a, change.a_date), (change.b, change.b_date))]  # fmt: skip
    return f"{change.item}, {change.fact}: {sides[0]} in A, {sides[1]} in B"


def _standing_words(standing: Standing) -> str:
    if standing.where == ABSENT:
        return f"not on its front; {standing.instead}"
    row = f", row {standing.row}" if standing.row else ""
    return f"{standing.where}{row}"
