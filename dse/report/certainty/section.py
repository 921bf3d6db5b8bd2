"""The section "How sure": purchases, prices and sources of uncertainty, a table each."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from dse.report import training_runs, words
from dse.report.certainty.facts import (
    RECOMMENDED,
    Certainty,
    Choice,
    KnownPrice,
    PriceFlip,
    SourceEffect,
    Turn,
)
from dse.report.certainty.titles import rented
from dse.report.document import RunDocument
from dse.report.remarks import called
from dse.report.style import ACCENT, GRID, MARK, chart_layout
from dse.search.certainty.flips import FARTHEST
from dse.study.axes import HARDWARE, MACHINES

MOST_BARS = 10
MOST_ROWS = 6  # of a table; run.json has all
_MACHINES = (*MACHINES, "gpus")


def facts(document: RunDocument) -> dict[str, Any] | None:
    """What its templates are filled with."""
    found = document.certainty
    if found is None:
        return None
    cells = [_cells(document, found, one) for one in found.choices[:MOST_ROWS]]
    return {
        "noun": "purchase" if document.buys else "rental",
        "draws": words.count(found.draws),
        "points": found.points,
        "purchases": found.purchases,
        "whole": found.whole,
        "heads": [*cells[0]],
        "rows": [(_named(found, one.config), one.role, [*texts.values()])
                 for one, texts in zip(found.choices, cells, strict=False)],
        "flips": [_flip(document, one) for one in found.flips[:MOST_ROWS]],
        "farthest": f"{FARTHEST:g}",
        "limits": found.choices[0].missed,
        "sources": [_source(one) for one in found.sources[:MOST_ROWS]],
        "height": _height(found),
    }  # fmt: skip


def _cells(document: RunDocument, found: Certainty, one: Choice) -> dict[str, str]:
    """Of a purchase, by the headings of the columns: its odds, what the study weighs, the time to
    its target where that is known, and the odds of each limit that some purchase may miss."""
    time, own = training_runs.TIME.name, document.objectives.names
    names = [*own, *([time] if time in {*found.choices[0].bands} - {*own} else [])]
    aims = {name: words.objective(document, name) for name in names}
    best = words.chance(found.best if one.role == RECOMMENDED else one.best)
    if one.alike and one.role != RECOMMENDED:
        best = "with the recommended"  # in whose probability it is counted
    return {
        "Best choice": best,
        "On the front": words.chance(one.on_front),
        "Recommended is better": "" if one.beaten is None else words.chance(one.beaten),
        "Expected regret": words.percent(one.regret),
        **{words.capital(how.title): words.interval(one.bands.get(name), how.unit) or words.UNKNOWN
           for name, how in aims.items()},
        **{f"Meets {text}": words.chance(one.met[text]) for text in found.unsure_limits},
    }  # fmt: skip


def _named(found: Certainty, config: Mapping[str, str]) -> str:
    """A purchase by its machines, and by what tells it from others of the same."""
    same = [one.config for one in found.choices
            if all(one.config.get(axis) == config.get(axis) for axis in _MACHINES)]  # fmt: skip
    rest = [words.phrase(axis, config[axis]) for axis in reversed(HARDWARE)
            if axis not in _MACHINES and config.get(axis)
            and any(other.get(axis) != config[axis] for other in same)]  # fmt: skip
    return ", ".join([words.machines(config), *rest])


def _flip(document: RunDocument, one: PriceFlip) -> tuple[str, ...]:
    """A price, how far it is known, its share of the cost, and what a rise and a fall lead to."""
    unit = "USD/hour" if rented(one.part) else "USD"
    usd, bounds = (one.known.usd, one.known.bounds) if one.known else (None, ())
    known = "" if usd is None else words.shown(usd, unit)
    band = words.interval([(usd or 1.0) * end for end in bounds], unit if usd else "x")
    of = words.objective(document, one.of).title
    share = f"{words.percent(one.share)} of the {of}" if one.share else ""

    def turned(turn: Turn | None) -> str:
        if turn is None:
            return ""
        at = f"{words.significant(turn.factor)} times"
        price = "" if usd is None else f", {words.shown(usd * turn.factor, unit)}"
        then = called(document, turn.config) if turn.config else "nothing meets every limit"
        return f"{at}{price}: {then}"

    standing = _standing(one.known) if one.known else ""
    return (
        words.capital(one.title),
        known,
        band,
        standing,
        share,
        turned(one.rise),
        turned(one.fall),
    )


def _standing(known: KnownPrice) -> str:
    """How far the buyer may rely on a price."""
    if known.offered:
        return "your offer"
    doubts = {"expired": known.expired, "an estimate": known.estimate,
              "unverified": not known.checked}  # fmt: skip
    return ", ".join([known.date or "no date", *(text for text, so in doubts.items() if so)])


def _source(one: SourceEffect) -> tuple[str, ...]:
    """A source, and its shares."""
    shares = (one.gain_total, one.cost_total, *one.limits.values())
    return words.capital(one.title), *(words.percent(min(share, 1.0)) for share in shares)


def certainty_figure(document: RunDocument) -> str:
    """Two bars a source: its share of what is not known of the speed, and of the cost per speed."""
    import plotly.graph_objects as go

    found = document.certainty
    sources = [*reversed(found.sources[:MOST_BARS])] if found else []
    figure = go.Figure(layout=chart_layout(
        height=_height(found) if found else 0, barmode="group", bargap=0.3, hovermode="closest"
    ))  # fmt: skip
    labels = [escape(one.title) for one in sources]
    for name, color, shares in (
        ("Cost per speed", MARK, [one.cost_total for one in sources]),
        ("Speed", ACCENT, [one.gain_total for one in sources]),
    ):
        figure.add_bar(
            y=labels, x=[min(share, 1.0) for share in shares], orientation="h", name=name,
            marker={"color": color},
            hovertemplate=f"<b>%{{y}}</b><br>{name}: %{{x:.0%}}<extra></extra>",
        )  # fmt: skip
    figure.update_xaxes(
        title="Share of the variance", tickformat=".0%", fixedrange=True, gridcolor=GRID
    )
    figure.update_yaxes(automargin=True, fixedrange=True, ticksuffix="  ")
    return str(figure.to_json())


def _height(found: Certainty) -> int:
    """The chart's, in pixels."""
    return 150 + 40 * min(MOST_BARS, len(found.sources))
