"""How a study gets its machines, and the words for it: they are bought, or rented."""

from __future__ import annotations

from dataclasses import dataclass

from dse.report.document import RunDocument
from dse.study.quantities import PURCHASE, RENT, facts_of


@dataclass(frozen=True)
class Deal:
    """noun: what is signed; verb, done: what one does with machines."""

    noun: str
    verb: str
    done: str


BOUGHT = Deal("purchase", "buy", "bought")
RENTED = Deal("rental", "rent", "rented")


def buys(document: RunDocument) -> bool:
    """Whether purchase prices count in what the study minimizes; a rented cluster's do not."""
    facts = facts_of(document.objectives.named(sense) for sense in document.objectives.minimized)
    return PURCHASE in facts or RENT not in facts


def deal(document: RunDocument) -> Deal:
    """The words for what the study of a document does."""
    return BOUGHT if buys(document) else RENTED
