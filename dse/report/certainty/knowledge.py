"""What it is worth to find out, and at which rates the answer changes, in words."""

from __future__ import annotations

from dse.report import words
from dse.report.certainty.advice import OF_AIM
from dse.report.certainty.facts import Knowledge
from dse.report.certainty.purchases import instead
from dse.report.certainty.words import chance
from dse.report.document import RunDocument


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
    """From which measured rates on the answer is another: ``estimated are 919 samples/s on one ..;
    from 860 down (29 % probability) the answer is another, first 8 x ..``; empty where none is
    known."""
    found = item.deciding
    if found is None:
        return ""
    name = words.title("accelerator", found.accelerator)
    estimate = words.significant(found.samples_per_s)
    said = [
        f"estimated are {estimate} samples/s on one {name} at batch {found.batch:,.0f} in "
        f"{found.precision} with {found.optimizer}"
    ]
    for turn in found.turns:
        side = "down" if turn.factor < 1 else "up"
        from_on = f"from {words.significant(found.samples_per_s * turn.factor)} {side}"
        odds = f" ({chance(turn.likely)} probability)" if turn.likely else ""
        then = instead(document, turn.config)
        another = f"the answer is another, first {then}" if turn.config else then
        said.append(f"{from_on}{odds} {another}")
    return "; ".join(said)
