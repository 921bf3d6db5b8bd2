"""report.html, one file that opens offline; and what the sections say, which report.md shares."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from dse.report import alternatives, figures, tables, terms, words
from dse.report.answer import answer
from dse.report.design_point import Bounds, Point
from dse.report.document import CalibrationRow, RunDocument, SourceRow

TEMPLATES = Path(__file__).parent / "templates"
# The browser is told to fetch nothing, whatever a study's texts contain.
POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
)
NEAR_BOUND = 0.95  # a point this close to a bound, as a share of it, is called bound by it
_UNIT = re.compile(r"(\d) (%|(?:[kMBTGP]?[WJ]?|[mu]?s|h|min|days|[GMK]iB)\b)")
UNCHECKED = ("unverified", "unknown")


def render_page(document: RunDocument) -> str:
    """The page of a run, self-contained."""
    template = environment().get_template("report.html.j2")
    return template.render(
        sections(document),
        policy=POLICY,
        css=own_file("report.css"),
        js=own_file("report.js"),
        plotly=plotly_script(),
        front_figure=embed(figures.front_figure(document)),
        time_figure=embed(figures.time_figure(document)),
    )


def sections(document: RunDocument) -> dict[str, Any]:
    """Everything the templates of page and text say, by name; ``d`` is the document itself."""
    return {
        "d": document,
        "answer": answer(document),
        "least": words.aim(document, "minimize").least,
        "measures": [words.aim(document, sense).title for sense in document.objectives.senses],
        "tiles": tiles(document),
        "comparison": tables.comparison(document),
        "front": tables.front_table(document),
        "bars": any(_wide(words.gain_interval(document, p)) for p in document.front),
        "others": alternatives.table(document),
        "times": terms.times(document),
        "terms": [term.title for term in terms.terms(document)],
        "terms_note": terms.note(document),
        "shares": shares(document),
        "rejected": rejected(document),
        "bounds": bounds(document),
        "edges": edges(document),
        "profiles": [profile(item) for item in document.calibration],
        "groups": groups(document),
        "work": words.work(document),
        "hashes": vars(document.hashes),
        "unchecked": {status: sum(row.status == status for row in document.sources)
                      for status in UNCHECKED},
    }  # fmt: skip


def _wide(bounds: Bounds | None) -> bool:
    """Whether an interval is more than a point."""
    return bounds is not None and bounds[0] < bounds[1]


def embed(json_text: str) -> Markup:
    """JSON for a script element: no character of it can end the element or start markup."""
    for letter in "<>&\u2028\u2029":
        json_text = json_text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(json_text)


def unbroken(text: str) -> str:
    """The text with its numbers and their units kept on one line."""
    text = text.replace("USD ", "USD\u00a0")
    return _UNIT.sub("\\1\u00a0\\2", text)


def tiles(document: RunDocument) -> list[tuple[str, str, str]]:
    """(label, big figure, note) of the recommended point and of what it is measured against."""
    best, base, fast = document.recommended, document.baseline, document.fastest
    cheap = document.cheapest_within_5_percent
    cost = words.aim(document, "minimize")
    bounds = words.interval(best.interval.speedup if best.interval else None, "x")
    per_step = f"{words.duration(best.step_s)} per step of {words.count(best.global_batch)}"
    ends = (words.show_gain(document, cheap), words.show_gain(document, fast))
    end = (f"{tables.capital(cost.least)} within 5 % of the fastest",
           words.show_cost(document, cheap),
           f"{ends[0]}; the fastest: {ends[1]}, {words.show_cost(document, fast)}")  # fmt: skip
    if cheap.config == fast.config:
        end = ("Fastest feasible point", words.show_gain(document, fast),
               f"at {words.show_cost(document, fast)}; nothing for less within 5 %")  # fmt: skip
    return [
        ("Speedup over the baseline", words.shown(best.speedup, "x"),
         f"{words.INTERVAL} {bounds}" if bounds else "no interval: not measured"),
        *((tables.capital(words.aim(document, sense).title),
           words.show_cost(document, best, sense),
           f"baseline {words.show_cost(document, base, sense)}")
          for sense in document.objectives.minimized),
        ("Throughput, samples/s", words.shown(best.throughput_samples_per_s, ""), per_step),
        end,
    ]  # fmt: skip


def shares(document: RunDocument) -> list[tuple[str, list[str], str]]:
    """(bar, its terms, its step): the chart of the step as a table."""
    return [
        (label, [words.duration(value) for value in terms.seconds(point).values()],
         words.duration(point.step_s))
        for label, point in figures.bars(document)
    ]  # fmt: skip


def rejected(document: RunDocument) -> list[tuple[str, int, float]]:
    """(reason, points rejected, share of the space), the sharpest first."""
    points = max(1, document.counts.points)
    rows = [(reason, count, count / points) for reason, count in document.rejected.items()]
    return sorted(rows, key=lambda row: -row[1])


def bounds(document: RunDocument) -> list[tuple[str, str, list[int]]]:
    """(constraint, how much of it the recommended point uses, front points near the bound).

    Only for constraints of the form ``quantity <= number``; others say nothing here.
    """
    rows = []
    for text in document.constraints:
        used = [_used(text, p) for p in (document.recommended, *document.front)]
        if used[0] is not None:
            near = [at for at, share in enumerate(used[1:], 1) if share and share >= NEAR_BOUND]
            rows.append((text, words.percent(used[0]), near))
    return rows


def _used(text: str, point: Point) -> float | None:
    from dse.study.constraints import ExpressionError, parse_constraint
    from dse.study.expressions import Name, Number

    try:
        parsed = parse_constraint(text)
    except ExpressionError:  # fits_memory, or another version's syntax
        return None
    left, right = parsed.left, parsed.right
    if not (isinstance(left, Name) and isinstance(right, Number)) or right.value <= 0:
        return None
    value = point.quantity(left.name)
    if value is None or not parsed.comparison.startswith("<"):
        return None
    return float(value) * left.scale / right.value


def edges(document: RunDocument) -> list[str]:
    """Where the fastest point stands at the last listed value of a numeric axis: widen there?"""
    lines = []
    for axis in document.axes:
        labels = axis.values
        label = words.label(document.fastest, axis.name)
        if len(labels) > 1 and label == labels[-1] and label[:1].isdigit():
            lines.append(f"{tables.heading(axis.name)} = {label}")
    return lines


def profile(item: CalibrationRow) -> dict[str, Any]:
    """One calibration profile: facts as (name, text), errors per algorithm."""
    low, high = item.message_bytes
    gamma = item.gamma_s_per_byte
    facts = [
        ("Library", item.library),
        ("System", item.system),
        ("Device", item.device),
        ("Source", item.source),
        ("Machine", ", ".join(f"{key} {value}" for key, value in item.machine.items())),
        ("Date", item.date),
        ("Link", item.link),
        ("Ranks", f"{item.ranks[0]} to {item.ranks[1]}"),
        ("Messages", f"{words.size(low)} to {words.size(high)}"),
        ("Host and wire", item.split),
        ("Reduction", f"{1e-9 / gamma:.3g} GB/s" if gamma else "not measured"),
        ("File", f"{item.path} ({item.hash[:12]})"),
    ]
    errors = [
        (_judged(name, fit.held_out),
         [words.UNKNOWN if error is None else words.percent(error)
          for error in (fit.error_median, fit.error_p90, fit.textbook_error_median)])
        for name, fit in item.algorithms.items()
    ]  # fmt: skip
    return {"name": item.name, "transport": item.transport, "errors": errors,
            "facts": [(key, str(value)) for key, value in facts if value]}  # fmt: skip


def _judged(algorithm: str, held_out: str | None) -> str:
    """The algorithm as the table of errors names it, with what it was judged on."""
    name = {"any": "any other", "auto": "auto (the library's own choice)"}.get(algorithm, algorithm)
    return name if held_out in (None, "ranks") else f"{name}, judged on {held_out} left out"


def groups(document: RunDocument) -> list[tuple[str, list[SourceRow], int]]:
    """(item, its facts, how many of them are unverified or unknown), in the document's order."""
    found: dict[str, list[SourceRow]] = {}
    for row in document.sources:
        safe = row.url if row.url.startswith(("https://", "http://")) else ""
        found.setdefault(row.item, []).append(replace(row, url=safe))
    return [(item, rows, sum(row.status in UNCHECKED for row in rows))
            for item, rows in found.items()]  # fmt: skip


@cache
def environment() -> jinja2.Environment:
    """Of every HTML page: everything is escaped, nothing may be missing."""
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(
        count=words.count, duration=words.duration, percent=words.percent, unbroken=unbroken
    )
    return found


def own_file(name: str) -> Markup:
    """A style sheet or script of ours, as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def plotly_script() -> Markup:
    """The whole of plotly.js."""
    from plotly.offline import get_plotlyjs

    return Markup(get_plotlyjs())
