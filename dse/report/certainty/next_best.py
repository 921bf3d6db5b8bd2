"""Another choice that misses as little on average as the recommended one, or that is surer.

How much a choice misses is told but under the rule cheapest-within-5%: by that a choice is worth
nothing in a simulated outcome in which it is a little too slow, though it brings nearly all that
the best one does. There the answer tells how often each is the best choice.
"""

from __future__ import annotations

from dse.report import words
from dse.report.certainty.facts import Choice
from dse.report.certainty.purchases import named
from dse.report.certainty.words import OUTCOMES, alike_and_rivals, best_of, chance, exactly
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.search.certainty.usefulness import WITHIN
from dse.study.choices import RESOLUTION


def said(document: RunDocument) -> list[str]:
    """What misses the least on average, and what the usual confidence recommends, a sentence each,
    one where both are the same purchase; empty where there is no such choice."""
    found = document.certainty
    if found is None or found.next_best is None:
        return []
    other, own = found.next_best, found.choices[0]
    option = _option(other.confidence)
    least, usual = other.by_regret, other.usual if other.reached else None
    if least and found.rule == WITHIN and least.best < _best(document):
        least = None
    if least and usual and _named(document, least) == _named(document, usual):
        misses, meets = _misses(document, least, own), _meets(document, usual, own)
        return [f"{misses}, and is what {option} recommends: it {meets}."]
    lines = [f"{_misses(document, least, own)}."] if least else []
    if usual:
        meets = _meets(document, usual, own)
        theirs, mine = (words.percent(one.regret) for one in (usual, own))
        if found.rule == WITHIN:
            meets += f", and is the best choice in {chance(usual.best)}, this one in "
            meets += chance(_best(document))
        elif theirs != mine:
            gives_up = f"gives up {theirs} of what the best choice brings, this one {mine}"
            meets += f", and on average {gives_up}"
        lines.append(f"{option} recommends {_named(document, usual)}: it {meets}.")
    return lines


def usually(document: RunDocument) -> str:
    """The purchase that the usual confidence recommends; empty where that is not known."""
    found = document.certainty.next_best if document.certainty else None
    return named(document, found.usual.config) if found and found.usual else ""


def surer(document: RunDocument) -> str:
    """``--confidence 90% recommends 4 x NVIDIA A10``, which is another purchase; empty where
    nothing is so sure, and where that is not known."""
    found = document.certainty.next_best if document.certainty else None
    if found is None or found.usual is None or not found.reached:
        return ""
    return f"{_option(found.confidence)} recommends {named(document, found.usual.config)}"


def _option(confidence: float) -> str:
    return f"--confidence {exactly(confidence).replace(' ', '')}"


def surest(document: RunDocument) -> str:
    """That nothing has the usual confidence, as a clause: ``no purchase meets every limit with 90 %
    probability: the surest, 4 x NVIDIA A10, for USD 20 k, does in 81 %``; empty where something
    has it, and where that is not known."""
    found = document.certainty
    if found is None or found.next_best is None or found.next_best.reached:
        return ""
    other, own = found.next_best.usual, found.choices[0]
    if other is None:
        return ""
    none = (
        f"no {deal(document).noun} meets every limit with {exactly(found.next_best.confidence)} "
        "probability"
    )
    which = f"the surest, {_named(document, other)}, does"
    if other.meets_all <= own.meets_all:
        which = "this is the surest and does"
    elif _named(document, other) == _named(document, own):
        which = "the surest, this with other software, does"
    return f"{none}: {which} in {chance(other.meets_all, found.next_best.confidence)}"


def _best(document: RunDocument) -> float:
    """In which share of the draws the recommended choice is the best."""
    found = document.certainty
    assert found is not None
    return best_of(found, alike_and_rivals(document)[0])


def _misses(document: RunDocument, other: Choice, own: Choice) -> str:
    if document.certainty and document.certainty.rule == WITHIN:
        theirs, mine = chance(other.best), chance(_best(document))
        return (
            f"{_named(document, other)}, is the best choice in {theirs} of {OUTCOMES}, this "
            f"{deal(document).noun} in {mine}"
        )
    less = "less" if own.regret - other.regret > RESOLUTION else "as little"
    theirs, mine = (words.percent(one.regret) for one in (other, own))
    return (
        f"{_named(document, other)}, gives up {less} of what the best choice brings ({theirs} on "
        f"average, this {deal(document).noun} {mine})"
    )


def _named(document: RunDocument, choice: Choice) -> str:
    """A purchase and what it costs by the best estimate."""
    price = words.shown(choice.cost, words.aim(document, "minimize").unit)
    return f"{named(document, choice.config)}, for {price}"


def _meets(document: RunDocument, other: Choice, own: Choice) -> str:
    theirs, mine = (chance(one.meets_all) for one in (other, own))
    return f"meets every limit in {theirs} of {OUTCOMES}, this {deal(document).noun} in {mine}"
