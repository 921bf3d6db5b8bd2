"""Two finished runs compared: what changed between them, in the answer and in what it follows from.

All of it is read from their documents; nothing is priced again.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dse.catalog import Citation
from dse.pricing.bill_of_materials import OWNED, Item
from dse.pricing.price_doubts import part
from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.provenance import OWN
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
    """A unit price that differs: USD, date, class and terms in each run; None where it is in one
    bill alone. Terms: quotation, discount and currency, as far as there are any."""

    item: str
    a_usd: float | None
    b_usd: float | None
    a_date: str
    b_date: str
    a_class: str
    b_class: str
    a_terms: str = ""
    b_terms: str = ""


@dataclass(frozen=True, kw_only=True)
class ExtraChange:
    """What is paid beside the hardware, where its rate differs. a, b: the rate, empty where a run
    has no such extra: ``3 % of the hardware``, ``USD 16,200.00``. a_usd, b_usd: what it comes to in
    the recommended point's bill."""

    name: str
    a: str
    b: str
    a_usd: float | None
    b_usd: float | None


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
    extras: tuple[ExtraChange, ...]
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
        extras=tuple(_extras(a, b)),
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
    elif differs(a.baseline.throughput_samples_per_s, b.baseline.throughput_samples_per_s):
        rates = (a.baseline.throughput_samples_per_s, b.baseline.throughput_samples_per_s)
        first, second = (words.shown(rate, "samples/s") for rate in rates)
        yield (
            f"The same baseline trains {first} in A and {second} in B, so that speedups are "
            "against different speeds; compare samples per second."
        )


def differs(a: float | None, b: float | None) -> bool:
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
    yield Measure(name="feasible points", unit="", a=_feasible(a), b=_feasible(b))


def _feasible(document: RunDocument) -> int | None:
    """Points of the space that meet every constraint; None where a sample alone tells."""
    judged = document.judged
    if judged is None:
        return document.counts.feasible
    return judged.feasible if judged.whole else None


def _inputs(a: RunDocument, b: RunDocument) -> Iterator[str]:
    if a.hashes.study != b.hashes.study:
        yield "the study, or what was asked beside it"
    if a.hashes.catalogue != b.hashes.catalogue:
        yield "the catalogue"
    if a.inputs_hash != b.inputs_hash:
        yield f"the prices, or the workload's layers{_price_files(a, b)}"
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


def _price_files(a: RunDocument, b: RunDocument) -> str:
    """`` (quote-b.csv in A, quote-b-2.csv in B)``; empty where both have the same files."""
    mine, theirs = ({row.source.partition(",")[0]: None for row in found.sources
                     if row.item == OWN} for found in (a, b))  # fmt: skip
    sides = [(name, [file for file in one if file not in other])
             for name, one, other in (("A", mine, theirs), ("B", theirs, mine))]  # fmt: skip
    said = ", ".join(f"{' and '.join(files)} in {name}" for name, files in sides if files)
    return f" ({said})" if said else ""


def _prices(a: RunDocument, b: RunDocument) -> Iterator[PriceChange]:
    """Unit prices of hardware that differ, or that one run alone has, of what is recommended; what
    either recommends comes first, and of that what most of the money goes to."""
    mine, theirs = _hardware(a), _hardware(b)
    paid = {_part(item.item): item.usd or 0.0 for run in (a, b)
            for item in run.bills.get("recommended", ()) if not item.extra}  # fmt: skip
    names = dict.fromkeys((*mine, *theirs))
    for name in sorted(names, key=lambda name: -paid.get(name, -1.0)):
        one, other = mine.get(name), theirs.get(name)
        if one and other and _as_priced(one) == _as_priced(other):
            continue
        if not (one and other) and name not in paid:
            continue
        yield PriceChange(
            item=name,
            a_usd=one.unit_usd if one else None,
            b_usd=other.unit_usd if other else None,
            a_date=one.price_date if one else "",
            b_date=other.price_date if other else "",
            a_class=one.price_class if one else "",
            b_class=other.price_class if other else "",
            a_terms=_terms(one),
            b_terms=_terms(other),
        )


def _as_priced(item: Item) -> tuple[float | None, str]:
    return item.unit_usd, item.price_date


def _hardware(document: RunDocument) -> dict[str, Item]:
    """Part -> its price: of all that could be chosen, and of what the bills have; extras apart,
    which are no unit prices."""
    billed = (item for items in document.bills.values() for item in items)
    return {
        _part(item.item): item
        for item in (*document.prices, *billed)
        if not item.extra and item.price_class != OWNED
    }


_TIER = re.compile(r"^(?:Leaf|Spine|Core) switch of ")
_WHOLE = re.compile(r", sold in units of \d+$")


def _part(item: str) -> str:
    """A line of a bill without what is of the cluster: the tier of a switch, the units sold."""
    return _WHOLE.sub("", _TIER.sub("Switch of ", item))


def _terms(item: Item | None) -> str:
    terms = item.terms if item else None
    if terms is None:
        return ""
    said = [f"quotation {terms.quote}"] * bool(terms.quote)
    said += [f"{words.percent(terms.discount)} off"] * bool(terms.discount)
    return ", ".join([*said, *([terms.converted] * bool(terms.converted))])


def _extras(a: RunDocument, b: RunDocument) -> Iterator[ExtraChange]:
    """Extras whose rates differ; sums that differ as the hardware does are no change."""
    mine, theirs = _rates(a), _rates(b)
    for name in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(name, ("", None)), theirs.get(name, ("", None))
        if one[0] != other[0]:
            yield ExtraChange(name=name, a=one[0], b=other[0], a_usd=one[1], b_usd=other[1])


def _rates(document: RunDocument) -> dict[str, tuple[str, float | None]]:
    """Extra -> its rate, and what it comes to in the recommended point's bill."""
    found = {}
    for item in document.bills.get("recommended", ()):
        if item.extra:
            name, _, rate = item.item.partition(", ")
            price = words.UNKNOWN if item.unit_usd is None else f"USD {item.unit_usd:,.2f}"
            found[name] = rate or price, item.usd
    return found


def _facts(a: Sequence[Citation], b: Sequence[Citation]) -> Iterator[FactChange]:
    """Facts that differ of what both runs have, and of the user's prices; extras are told by their
    rates."""
    mine, theirs = ({_key(row): row for row in rows if not _is_extra(row)} for rows in (a, b))
    both = {row.item for row in a} & {row.item for row in b}
    for key in dict.fromkeys((*mine, *theirs)):
        one, other = mine.get(key), theirs.get(key)
        if not any(row and row.item in {*both, OWN} for row in (one, other)):
            continue
        if one and other and (one.value, one.date) == (other.value, other.date):
            continue
        item, fact = key
        yield FactChange(
            item=item, fact=part(fact) if item == _PRICES else fact,
            a=one.value if one else "", b=other.value if other else "",
            a_date=one.date if one else "", b_date=other.date if other else "",
        )  # fmt: skip


_PRICES = "prices"


def _key(row: Citation) -> tuple[str, str]:
    """Item and fact; a price of the user and the catalogue's for the same part have one key."""
    priced = row.item == OWN or row.fact.startswith("accelerators.")
    return _PRICES if priced else row.item, row.fact


def _is_extra(row: Citation) -> bool:
    return row.item == OWN and row.fact.startswith("extras.")


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
