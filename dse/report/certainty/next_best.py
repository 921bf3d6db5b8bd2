"""Another choice that misses as little on average as the recommended one, or that is surer."""

from __future__ import annotations

from dse.report import words
from dse.report.certainty.facts import Choice
from dse.report.certainty.purchases import named
from dse.report.certainty.words import OUTCOMES, chance, exactly
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.study.choices import RESOLUTION


def said(document: RunDocument) -> list[str]:
    """What misses the least on average, and what the usual confidence recommends, a sentence each,
    one where both are the same purchase; empty where there is no such choice."""
    found = document.certainty
    if found is None or found.next_best is None:
        return []
    other, own = found.next_best, found.choices[0]
    option = f"--confidence {exactly(other.confidence).replace(' ', '')}"
    least, usual = other.by_regret, other.usual
    if least and usual and _named(document, least) == _named(document, usual):
        misses, meets = _misses(document, least, own), _meets(document, usual, own)
        return [f"{misses}, and is what {option} recommends: it {meets}."]
    lines = [f"{_misses(document, least, own)}."] if least else []
    if usual:
        meets = _meets(document, usual, own)
        theirs, mine = (words.percent(one.regret) for one in (usual, own))
        if theirs != mine:
            meets += f", and misses the best choice by {theirs} on average, this one by {mine}"
        lines.append(f"{option} recommends {_named(document, usual)}: it {meets}.")
    return lines


def usually(document: RunDocument) -> str:
    """The purchase that the usual confidence recommends; empty where that is not known."""
    found = document.certainty.next_best if document.certainty else None
    return named(document, found.usual.config) if found and found.usual else ""


def _misses(document: RunDocument, other: Choice, own: Choice) -> str:
    less = "less" if own.regret - other.regret > RESOLUTION else "as little"
    theirs, mine = (words.percent(one.regret) for one in (other, own))
    return (
        f"{_named(document, other)}, misses the best choice by {less} on average ({theirs}, this "
        f"{deal(document).noun} {mine})"
    )


def _named(document: RunDocument, choice: Choice) -> str:
    """A purchase and what it costs by the best estimate."""
    price = words.shown(choice.cost, words.aim(document, "minimize").unit)
    return f"{named(document, choice.config)}, for {price}"


def _meets(document: RunDocument, other: Choice, own: Choice) -> str:
    theirs, mine = (chance(one.meets_all) for one in (other, own))
    return f"meets every limit in {theirs} of {OUTCOMES}, this {deal(document).noun} in {mine}"
