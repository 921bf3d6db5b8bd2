"""What it is worth to find out, and at which values the answer changes, in words."""

from __future__ import annotations

from collections.abc import Callable

from dse.report import words
from dse.report.certainty.advice import OF_AIM
from dse.report.certainty.facts import Deciding, Knowledge, Turn
from dse.report.certainty.purchases import as_good, instead
from dse.report.certainty.words import chance
from dse.report.document import RunDocument
from dse.spelling import enumerated


def lines(document: RunDocument) -> list[str]:
    """What it is worth to find out, in sentences."""
    found = document.certainty
    if found is None:
        return []
    of, told = OF_AIM[found.rule], []
    for item in found.knowledge:
        turns = turned(document, item)
        first = f"{item.how[:1].upper()}{item.how[1:]}: {words.percent(item.worth)} {of}."
        told.append(f"{first} {turns[:1].upper()}{turns[1:]}{'.' * bool(turns)}".rstrip())
    return [*told, f"Knowing everything: {words.percent(found.all_known)} {of}."]


def turned(document: RunDocument, item: Knowledge) -> str:
    """From which values on the answer is another: ``below 158 ms of communication in a step there
    (estimated: 274 ms), as in 12 % of simulated outcomes, the answer is 64 x ..``; empty where no
    value within its interval makes it one."""
    found = item.deciding
    turns = [one for one in found.turns if not as_good(document, one.config)] if found else []
    if found is None or not turns:
        return ""
    show, said = _shown(found), []
    for turn in turns:
        ends = [
            show(found.seconds * end) for end in sorted(filter(None, (turn.factor, turn.until)))
        ]
        if found.quantity == "compute":  # the more seconds, the fewer samples a second
            ends.reverse()
        at = f"between {enumerated(ends)}" if ends[1:] else f"{_side(found, turn)} {ends[0]}"
        if turn is turns[0]:
            at += f" {_what(document, item, found)} (estimated: {show(found.seconds)})"
        odds = f", as in {chance(turn.likely)} of simulated outcomes," if turn.likely else ""
        said.append(f"{at}{odds} {'the answer is ' * bool(turn.config)}"
                    f"{instead(document, turn.config)}")  # fmt: skip
    return "; ".join(said)


def _what(document: RunDocument, item: Knowledge, deciding: Deciding) -> str:
    """What takes so long, and where unless that is the recommended point."""
    what = {"compute": "per accelerator", "comm": "of communication in a step", "step": "a step"}
    said, where = what[deciding.quantity], words.machines(deciding.config)
    if deciding.config == document.recommended.config:
        return said
    if deciding.config == document.baseline.config:
        return f"{said} of the baseline"
    return f"{said} there" if where in item.how else f"{said} of {where}"


def _shown(deciding: Deciding) -> Callable[[float], str]:
    """Computing as people measure it, in samples a second; the rest in seconds."""
    if deciding.quantity != "compute":
        return words.duration
    return lambda seconds: f"{words.significant(deciding.samples / seconds)} samples/s"


def _side(deciding: Deciding, turn: Turn) -> str:
    """Whether the answer turns above what is shown, or below."""
    return "above" if (turn.factor > 1) != (deciding.quantity == "compute") else "below"
