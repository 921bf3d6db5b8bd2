"""The sections of a run's report, in order, and what each of them says on the page and in the text.

To add one: its facts, its template NAME.j2 in templates/sections, and its line in
:data:`SECTIONS`. A template has the section's facts by their names and nothing else of the
document; it is made of the blocks that blocks.html.j2 and blocks.md.j2 have alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from dse.calibration.profile import NO_TRANSPORT
from dse.catalog.facts import PRICE_RULE, UNCHECKED, UNVERIFIED
from dse.pricing.constraints import counted_once, unmet
from dse.report import (
    answer,
    bills,
    figures,
    glossary,
    layout,
    money,
    offers,
    provenance,
    repricing,
    tables,
    terms,
    waterfall,
    what_if,
    words,
)
from dse.report.certainty.section import facts as certainty_facts
from dse.report.document import CalibrationRow, RunDocument
from dse.search.feasible import share_between
from dse.study.axes import spoken
from dse.study.constraints import limit_of
from dse.study.quantities import QUANTITIES

if TYPE_CHECKING:
    import jinja2

ASSUMED = 8  # lines on what else the numbers rest on
NEAR_BOUND = 0.95  # a point this close to a bound, as a share of it, is called bound by it


Facts: TypeAlias = Mapping[str, object]  # of a section, by name


@dataclass(frozen=True)
class Section:
    """A section: its name in links and files, its heading, and the facts that its template says,
    None where it is left out. link: its heading in the page's list of sections. rented: both
    headings where the study rents, if they are others. page_only: the text is without it."""

    name: str
    title: str
    link: str
    facts: Callable[[RunDocument], Facts | None]
    rented: str = ""
    page_only: bool = False


def bodies(
    document: RunDocument, environment: jinja2.Environment, on_page: bool
) -> Iterator[tuple[Section, str]]:
    """Every section with what stands under its heading. environment: of the page or of the text,
    which have their own blocks."""
    for section in SECTIONS:
        facts = section.facts(document) if on_page or not section.page_only else None
        if facts is not None:
            template = environment.get_template(f"sections/{section.name}.j2")
            titled = section
            if section.rented and not document.buys:
                titled = replace(section, title=section.rented, link=section.rented)
            yield titled, template.render(facts).strip("\n")


def _buy(document: RunDocument) -> Facts:
    offered = offers.offers(document)
    found = answer.facts(document)
    return {
        "answer": answer.answer(document),
        **{name: found[name] for name in ("state", "rival", "blockers", "first", "steps")},
        "measures": [words.objective(document, name).title for name in document.objectives.names],
        "axes": (document.objectives.maximize, document.objectives.minimize),
        "guided": document.engine == "guided",
        "worth_considering": words.count(document.counts.front),
        "extrapolated": document.extrapolated.front,
        "sampled": len(document.sample.cost),
        "laid_out": words.laid_out(document.baseline.config),
        "bars": any(
            ends[0] < ends[1] for p in document.front if (ends := words.gain_interval(document, p))
        ),
        "offers": offered,
        "least_cost": words.objective(document, document.objectives.minimize).title,
        "offer": next(one for one in offered if one.recommended),
        "rule": document.recommended.rule,
        "why": document.recommended.why,
    }


def _bill(document: RunDocument) -> Facts:
    return {"bills": bills.tables(document), "left_out": bills.left_out(document),
            "owned": document.owned or ()}  # fmt: skip


def _front(document: RunDocument) -> Facts:
    table = tables.front_table(document)
    return {
        "least": words.objective(document, document.objectives.minimize).least,
        "front": table,
        "few": tables.thinned(table.rows),
        "points": document.counts.front,
        "resolution": words.percent(document.choices.resolution) if document.choices else "",
    }


def _mix(document: RunDocument) -> Facts | None:
    return {"rows": answer.workloads(document)} if document.recommended.mix else None


def _gain(document: RunDocument) -> Facts | None:
    if not document.waterfall:
        return None
    return {
        "steps": waterfall.rows(document),
        "after": tuple(
            f"{words.capital(words.objective(document, name).title)} after it"
            for name in document.objectives.costs
        ),
        "base": waterfall.start(document),
    }


def _what_if(document: RunDocument) -> Facts | None:
    if document.what_if is None:
        return None
    return {
        "axis": spoken(document.what_if.axis),
        "measures": [words.objective(document, name).title for name in document.objectives.names],
        "rows": what_if.rows(document, document.what_if),
    }


def _time(document: RunDocument) -> Facts:
    return {
        "terms": [term.heading for term in terms.terms(document)],
        "terms_note": terms.note(document),
        "shares": shares(document),
        "points": len(document.front),
    }


def _binds(document: RunDocument) -> Facts:
    return {
        "feasible": feasible_said(document),
        "sample": document.judged is not None and not document.judged.whole,
        "rejected": rejected(document),
        "bounds": bounds(document),
        "edges": edges(document),
    }


def _calibration(document: RunDocument) -> Facts:
    return {
        "profiles": [profile(item) for item in document.calibration],
        "transports": document.transports,
        "extrapolated": document.extrapolated.front,
        "evidence": words.evidence_lines(document),
        "unverified": words.capital(UNVERIFIED),
        "assumptions": list(document.assumptions[:ASSUMED]),
        "more_assumed": len(document.assumptions[ASSUMED:]),
    }


def _inputs(document: RunDocument) -> Facts:
    unchecked = {status: sum(row.status == status for row in document.sources)
                 for status in UNCHECKED}  # fmt: skip
    return {"rows": provenance.foremost(document), "price_rule": PRICE_RULE,
            "facts_in_all": len(document.sources), **unchecked}  # fmt: skip


def _reproduce(document: RunDocument) -> Facts:
    versions = ", ".join(f"{name} {version}" for name, version in document.versions.items())
    search, total = document.timings.search_s, document.timings.total_s
    hashes = vars(document.hashes).items()
    return {
        "remarks": document.remarks,
        "commands": document.reproduce,
        "pairs": [
            ("Study", document.study.path),
            ("Engine", f"{document.engine} ({document.engine_reason}), "
             f"executor {document.executor}, seed {document.seed}"),
            ("Work", words.work(document)),
            ("Time", f"{words.duration(search)} searching, {words.duration(total)} in all"),
            ("Versions", versions),
            *((f"Hash of {name}", text or "none") for name, text in hashes),
        ],
        "axes": document.axes,
        "study_text": document.study_text,
    }  # fmt: skip


SECTIONS = (
    Section("buy", "What to buy", "What to buy", _buy, "What to rent"),
    Section("front", "The front", "The front", _front),
    Section("mix", "The workloads", "Workloads", _mix),
    Section("gain", "Where the gain comes from", "Where the gain comes from", _gain),
    Section("what_if", "What if", "What if", _what_if),
    Section("bill", "Bill of materials", "Bill of materials", _bill, "Bill of the rent"),
    Section("ownership", "Buy or rent", "Buy or rent", money.section),
    Section("certainty", "How sure", "How sure", certainty_facts),
    Section("repricing", "What if prices differ", "What if prices differ", repricing.facts),
    Section("time", "Where the time goes", "Where the time goes", _time),
    Section("layout", "The layout", "Layout", layout.facts),
    Section("binds", "What binds", "What binds", _binds),
    Section("calibration", "How the model was calibrated, and where it extrapolates",
            "Calibration", _calibration),
    Section("inputs", "Inputs, with their sources and dates", "Inputs", _inputs),
    Section("reproduce", "Appendix: all remarks, and how to reproduce", "Appendix", _reproduce),
    Section("glossary", "Words used here", "Words", lambda _: {"words": glossary.WORDS},
            page_only=True),
)  # fmt: skip


def shares(document: RunDocument) -> list[tuple[str, list[str], str]]:
    """(bar, its terms, its step): the chart of the step as a table."""
    return [
        (label, [words.duration(terms.seconds(point)[term]) for term in terms.terms(document)],
         words.duration(point.step_s))
        for label, point in figures.bars(document)
    ]  # fmt: skip


def feasible_said(document: RunDocument) -> str:
    """How many points meet every constraint, of the space and of what a guided search priced."""
    judged = document.judged or document.counts
    many = f"{words.count(judged.feasible)} of {words.count(judged.points)} design points meet"
    if document.judged is None:
        return f"{many} every constraint."
    priced = f"the search priced {words.count(document.counts.feasible)} that do"
    if document.judged.whole:
        return f"{many} every constraint; {priced}."
    low, high = map(words.percent, share_between(judged.feasible, judged.points))
    return (
        f"About {words.percent(judged.feasible / judged.points)} of all design points meet every "
        f"constraint ({low} to {high}, by a random sample of {words.count(judged.points)}); "
        f"{priced}."
    )


def rejected(document: RunDocument) -> list[tuple[str, int, float]]:
    """(why, points rejected, share of those that are judged), the sharpest first."""
    points = max(1, (document.judged or document.counts).points)
    counts = counted_once(document.rejected)
    rows = [(unmet(name), count, count / points) for name, count in counts.items()]
    return sorted(rows, key=lambda row: -row[1])


def bounds(document: RunDocument) -> list[tuple[str, str, list[int]]]:
    """(constraint, what of it the recommended point uses, front points near the bound).

    Only for constraints of the form ``quantity <= number``; others say nothing here.
    """
    rows = []
    for text in document.constraints:
        name, most = _upper_bound(text) or ("", 0.0)
        value = document.recommended.quantity(name)
        if value is not None:
            front = [point.quantity(name) for point in document.front]
            near = [at for at, own in enumerate(front, 1) if own and own >= NEAR_BOUND * most]
            rows.append((text, f"{_amount(name, value)} of the {_amount(name, most)}", near))
    return rows


def _upper_bound(text: str) -> tuple[str, float] | None:
    """(quantity, the most it may be, in SI) of ``quantity <= number``; None of anything else."""
    limit = limit_of(text)
    if limit is None or limit.value <= 0 or not limit.comparison.startswith("<"):
        return None
    return limit.name, limit.value


def _amount(name: str, value: float) -> str:
    """A value of :meth:`Point.quantity` with its unit; of counts the whole number."""
    phrase = QUANTITIES[name].phrase
    return words.count(value) if phrase is None else words.shown(value, phrase.unit)


def edges(document: RunDocument) -> list[str]:
    """Where the fastest point stands at the last listed value of a numeric axis: widen there?"""
    lines = []
    for axis in document.axes:
        labels = axis.values
        label = words.label(document.fastest, axis.name)
        if len(labels) > 1 and label == labels[-1] and label[:1].isdigit():
            lines.append(f"{spoken(axis.name)} = {label}")
    return lines


def profile(item: CalibrationRow) -> tuple[str, str, str, str]:
    """A calibration profile: its name; its transport, or what it holds in place of communication;
    where, with what and when it was measured; the median error of each algorithm."""
    silent = item.transport == NO_TRANSPORT
    held = [("compute speed", item.compute), ("training rates", item.rates)]
    kind = " and ".join(what for what, some in held if some) if silent else item.transport
    library = "" if silent and not item.compute else item.library
    sent = () if silent else (
        item.link, "{} to {} ranks".format(*item.ranks),
        " to ".join(map(words.size, item.message_bytes)),
    )  # fmt: skip
    errors = (
        f"{_judged(name, fit.held_out)} "
        f"{words.UNKNOWN if fit.error_median is None else words.percent(fit.error_median)}"
        for name, fit in item.algorithms.items()
    )
    measured = ", ".join(filter(None, (library, item.system, item.date, *sent)))
    return item.name, kind or item.transport, measured, ", ".join(errors)


def _judged(algorithm: str, held_out: str | None) -> str:
    """The algorithm as the table of errors names it, with what it was judged on."""
    name = {"any": "any other", "auto": "auto (the library's own choice)"}.get(algorithm, algorithm)
    return name if held_out in (None, "ranks") else f"{name}, judged on {held_out} left out"
