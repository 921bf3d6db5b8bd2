"""Whether an answer is ready to be signed, in a sentence, and what to get first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dse.report.certainty.facts import Certainty
from dse.report.document import Readiness, Reason, RunDocument
from dse.report.readiness import doubts, obstacles, quotations
from dse.report.readiness.conditions import conditions

MOST_ACTIONS = 6  # that are told at once


def readiness(document: RunDocument) -> Readiness | None:
    """Of an answer; None where the document does not say how sure it is."""
    if document.certainty is None:
        return None
    reasons = tuple(reason for kind in _KINDS for reason in kind(document, document.certainty))
    return Readiness(ready=not reasons, reasons=reasons)


def verdict(document: RunDocument) -> str:
    """Whether it can be signed, in a sentence; empty where nobody knows."""
    found = document.readiness
    if found is None:
        return ""
    accepted = conditions(document)
    if obstacles.stands_there(document):
        known = f" Note that {'; '.join(accepted)}." if accepted else ""
        first = "" if found.ready else " To be surer that nothing more should be, first:"
        return (
            f"Nothing has to be bought: what is recommended stands there already.{first or known}"
        )
    if found.ready and accepted:
        return f"Ready to sign, if you accept: {'; '.join(accepted)}."
    if found.ready:
        return (
            "Ready to sign: every limit is met, no large price is doubtful, and the answer is the "
            "same at every price within its interval, whatever a measurement would show."
        )
    return "Not ready to sign. First:" if actions(document) else "Not ready to sign."


def actions(document: RunDocument) -> list[str]:
    """What to get or do first, each with the reason."""
    return [said(reason) for reason in _first(document)]


def more(document: RunDocument) -> list[str]:
    """The other reasons."""
    reasons = document.readiness.reasons if document.readiness else ()
    first = _first(document)
    return [said(reason) for reason in reasons if reason not in first]


def lines(document: RunDocument) -> list[str]:
    """The verdict for a terminal: a line, the actions below it, and how many reasons follow."""
    said = verdict(document)
    if not said:
        return []
    rest = and_more(len(more(document)))
    numbered = [f"  {at}. {action}" for at, action in enumerate(actions(document), 1)]
    return [said, *numbered, *([rest] if rest else [])]


def facts(document: RunDocument) -> dict[str, Any]:
    """For its template."""
    return {
        "ready": document.readiness is not None and document.readiness.ready,
        "verdict": verdict(document),
        "actions": actions(document),
        "more": and_more(len(more(document))),
    }


def and_more(count: int) -> str:
    """How many reasons follow among the notes; empty for none."""
    return f"And {count} more in the notes below." if count else ""


def _first(document: RunDocument) -> list[Reason]:
    reasons = document.readiness.reasons if document.readiness else ()
    return [reason for reason in reasons if reason.action][:MOST_ACTIONS]


def said(reason: Reason) -> str:
    """A reason in a sentence."""
    if reason.action:
        return f"{reason.action}: {reason.because}."
    return f"{reason.because[:1].upper()}{reason.because[1:]}."


# The weightiest first.
_KINDS: tuple[Callable[[RunDocument, Certainty], Iterator[Reason]], ...] = (
    obstacles.free, obstacles.unpaid, obstacles.unlikely, quotations.given, obstacles.unsaid,
    obstacles.expired, quotations.mixed, obstacles.unsold, obstacles.unbuildable, obstacles.missed,
    doubts.uncertain, doubts.ages, doubts.large_prices, obstacles.doubtful_limits, obstacles.idle,
)  # fmt: skip
