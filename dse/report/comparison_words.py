"""Two compared runs as text: the answers, why they differ, and each in the other run."""

from __future__ import annotations

from collections.abc import Sequence

from dse.report import words
from dse.report.comparison_of_runs import (
    ABSENT,
    ExtraChange,
    FactChange,
    Measure,
    PriceChange,
    RunComparison,
    Standing,
    differs,
)
from dse.study.quantities import QUANTITIES


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
    out += _listed("Unit prices", [*map(_price_line, found.prices)])
    out += _listed("Beside the hardware", [*map(_extra_line, found.extras)])
    out += _listed("Facts, and prices as they are written", [*map(_fact_line, found.facts)])
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
_SAME = "same"


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
    """A table of what differs, and in a line what does not."""
    known = [m for m in measures if (m.a, m.b) != (None, None)]
    same = [m for m in known if difference(m) == _SAME]
    rows = [
        (_title(m.name), _shown(m.a, m.unit), _shown(m.b, m.unit), difference(m))
        for m in known
        if m not in same
    ]
    table = [("Recommended point", "A", "B", "change"), *rows] if rows else []
    widths = [max(len(row[at]) for row in table) for at in range(4)] if table else []
    alike = ", ".join(f"{_lower(_title(m.name))} {_shown(m.a, m.unit)}" for m in same)
    return [
        *("  ".join([row[0].ljust(widths[0]), *(row[at].rjust(widths[at]) for at in (1, 2, 3))])
          for row in table),
        *([f"The same in both: {alike}."] if alike else []),
    ]  # fmt: skip


def _lower(title: str) -> str:
    return title[:1].lower() + title[1:]


def _title(name: str) -> str:
    """A quantity as a person calls it."""
    row = QUANTITIES.get(name)
    title = row.phrase.title if row and row.phrase else name.replace("_", " ")
    return title[:1].upper() + title[1:]


def _shown(value: float | None, unit: str) -> str:
    return words.count(value) if value is not None and not unit else words.shown(value, unit)


def difference(measure: Measure) -> str:
    """By how much a number of B differs from that of A: ``+2.8 %``, ``3.1 times``, ``same``."""
    if measure.a is None or measure.b is None:
        return "unknown in one"
    if not measure.comparable:
        return "not comparable"
    if not differs(measure.a, measure.b):
        return _SAME
    if not measure.a:
        return words.compared(measure.b, measure.a)
    if not measure.b:
        return words.TO_NOTHING
    share = measure.b / measure.a - 1
    if share >= 1:
        return f"{words.significant(measure.b / measure.a)} times"
    return f"{'+' if share > 0 else '-'}{words.percent(abs(share))}"


def _price_line(change: PriceChange) -> str:
    sides = [
        _priced(change.a_usd, change.a_class, change.a_date, change.a_terms),
        _priced(change.b_usd, change.b_class, change.b_date, change.b_terms),
    ]
    share = ""
    if change.a_usd is not None and change.b_usd is not None:
        share = f", {difference(Measure(name='', unit='', a=change.a_usd, b=change.b_usd))}"
    return f"{change.item}: {sides[0]} in A, {sides[1]} in B{share}"


def _priced(usd: float | None, kind: str, date: str, terms: str) -> str:
    """``USD 35,085.44 (quote, 2026-11-09, quotation A-2041, 6 % off, EUR at USD 1.08)``."""
    if not kind:
        return "no price"
    said = ", ".join(filter(None, [kind, date or "no date", terms]))
    return f"{_usd(usd)} ({said})"


def _usd(value: float | None) -> str:
    return words.UNKNOWN if value is None else f"USD {value:,.2f}"


def _extra_line(change: ExtraChange) -> str:
    sides = [
        f"{rate}{f' ({_usd(usd)})' * (not rate.startswith('USD'))}" if rate else "none"
        for rate, usd in ((change.a, change.a_usd), (change.b, change.b_usd))
    ]
    return f"{change.name}: {sides[0]} in A, {sides[1]} in B"


def _fact_line(change: FactChange) -> str:
    sides = [f"{value} ({date})" if value and date else value or "absent"
             for value, date in ((change.a, change.a_date), (change.b, change.b_date))]  # fmt: skip
    return f"{change.item}, {change.fact}: {sides[0]} in A, {sides[1]} in B"


def _standing_words(standing: Standing) -> str:
    if standing.where == ABSENT:
        return f"not on its front; {standing.instead}"
    row = f", row {standing.row}" if standing.row else ""
    return f"{standing.where}{row}"
