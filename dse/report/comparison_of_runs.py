"""Two finished runs compared: what differs in the answer, and in what it follows from.

All of it is read from their documents; nothing is priced again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import zip_longest

from dse.catalog import Citation
from dse.report import words
from dse.report.differences import SHARE, Line, choices, quantities
from dse.report.document import RunDocument
from dse.report.provenance import OWN
from dse.study.quantities import QUANTITIES

_ACCELERATOR = "accelerators."  # begins the name of an accelerator's price


@dataclass(frozen=True, kw_only=True)
class RunComparison:
    """Two runs, ``a`` and ``b``: their folders. most: what changed most. inputs: what differs of
    all that the numbers follow from; answer: of what is recommended and what it comes to."""

    a: str
    b: str
    studies: tuple[str, str]
    created: tuple[str, str]
    most: str
    inputs: tuple[Line, ...]
    answer: tuple[Line, ...]


def compared(a: RunDocument, b: RunDocument, names: tuple[str, str]) -> RunComparison:
    """Compare two runs; names: of their folders, as the user gave them."""
    inputs = tuple(line for line in _inputs(a, b) if line.differs)
    answer = tuple(line for line in _answer(a, b) if line.differs)
    return RunComparison(
        a=names[0],
        b=names[1],
        studies=(a.study.name, b.study.name),
        created=(a.created, b.created),
        most=_most(inputs, answer),
        inputs=inputs,
        answer=answer,
    )


def _most(inputs: tuple[Line, ...], answer: tuple[Line, ...]) -> str:
    aims = [line for line in answer if line.name in QUANTITIES and QUANTITIES[line.name].phrase]
    largest = max(aims, key=lambda line: line.size, default=None)
    if largest is not None and largest.size:
        title, was, now, change = largest.cells
        return f"{title} changed most, {change}: {was} in A, {now} in B."
    return "No number of the answer changed." if inputs or answer else "Nothing differs."


def _answer(a: RunDocument, b: RunDocument) -> Iterator[Line]:
    """What is recommended, and what it comes to."""
    one, other = a.recommended, b.recommended
    yield from choices(one, other)
    for line in quantities(one, other):
        yield replace(line, comparable=_comparable(line.name, a, b))
    for name, title, of in (
        ("best", "Best choice in so many outcomes", _odds),
        ("limits", "Every limit is met in", _met),
    ):
        yield Line(name=name, title=title, unit=SHARE, value=of(a), against=of(b))
    shown = [words.says_who(point) for point in (one, other)]
    yield Line(name="evidence", title="Communication", value=shown[0], against=shown[1])


def _comparable(name: str, a: RunDocument, b: RunDocument) -> bool:
    """Whether a quantity means the same in both: the speeds of one workload, over one baseline, and
    the price of what is added to the same hardware."""
    if name == "speedup":
        rates = [run.baseline.throughput_samples_per_s for run in (a, b)]
        pace = Line(name="baseline", title="", value=rates[0], against=rates[1])
        same = a.baseline.config == b.baseline.config and not pace.differs
        return same and a.study.workload == b.study.workload
    if name == "capital":
        return a.owned == b.owned
    return a.study.workload == b.study.workload or not QUANTITIES[name].communication


def _met(document: RunDocument) -> float | None:
    """The probability that every limit is met, where it was asked for."""
    return document.confidence.recommended if document.confidence else None


def _odds(document: RunDocument) -> float | None:
    """The probability that what is recommended is the best choice."""
    if document.certainty is None:
        return None
    config = document.recommended.config
    found = (row.best for row in document.certainty.choices if row.config == config)
    return next(found, None)


def _inputs(a: RunDocument, b: RunDocument) -> Iterator[Line]:
    """All that the numbers follow from."""
    yield from _study(a.study_text.splitlines(), b.study_text.splitlines())
    asked = (a.questions or {}, b.questions or {})
    yield from _texts("--{}", *asked)
    facts = [*_texts("{}", _facts(a.sources, b.sources), _facts(b.sources, a.sources))]
    yield from facts
    if not any(line.differs for line in facts):
        hashes = ((found.hashes.catalogue[:8], found.inputs_hash[:8]) for found in (a, b))
        for name, was, now in zip(("Catalogue", "Workload or prices"), *hashes, strict=True):
            yield Line(name=name.lower(), title=name, value=was, against=now)
    yield from _texts("Profile {}", *(
        {row.name: f"measured {row.date} ({row.hash[:8]})" for row in found.calibration}
        for found in (a, b)
    ))  # fmt: skip
    yield from _texts("{}", a.versions, b.versions)
    yield Line(name="engine", title="Engine", value=a.engine, against=b.engine)
    if "guided" in (a.engine, b.engine):
        yield Line(name="seed", title="Seed", value=str(a.seed), against=str(b.seed))


def _study(a: list[str], b: list[str]) -> Iterator[Line]:
    """Lines of the studies that differ."""
    for _, start, end, other, other_end in SequenceMatcher(None, a, b, False).get_opcodes():
        pairs = zip_longest(a[start:end], b[other:other_end])
        for number, (was, now) in enumerate(pairs, start + 1):
            yield Line(name="study", title=f"Study, line {number}", value=was, against=now)


def _texts(title: str, a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[Line]:
    """A line for each key of two mappings."""
    for name in dict.fromkeys((*a, *b)):
        yield Line(name=name, title=title.format(name), value=a.get(name), against=b.get(name))


def _facts(mine: tuple[Citation, ...], theirs: tuple[Citation, ...]) -> dict[str, str]:
    """Facts of the items that both runs have, and the buyer's prices, as they are written. A price
    of the buyer and the catalogue's for the same accelerator have one name."""
    both = {row.item for row in theirs} | {OWN}
    return {
        _fact(row): f"{row.value} ({row.date})" if row.date else row.value
        for row in mine
        if row.item in both or row.fact.startswith(_ACCELERATOR)
    }


def _fact(row: Citation) -> str:
    if row.item != OWN and not row.fact.startswith(_ACCELERATOR):
        return f"{row.item}, {row.fact}"
    return f"Price, {row.fact.removeprefix(_ACCELERATOR).removesuffix('.purchase')}"
