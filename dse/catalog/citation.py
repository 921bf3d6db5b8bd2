"""A fact of the catalogue as reports cite it."""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.store import sources


@dataclass(frozen=True, kw_only=True)
class Citation:
    """A fact of ``item``, and where it is from.

    accessed: when its source was read. date: when a price was valid. detail: where in the source,
    or how it was derived.
    """

    item: str
    fact: str
    value: str
    source: str
    url: str
    accessed: str
    date: str
    status: str
    detail: str = ""


def cite(item: str, fact: Fact) -> Citation:
    """The fact with the title and address of its source, where that is one of the catalogue."""
    known = sources().get(fact.source)
    return Citation(
        item=item,
        fact=fact.name,
        value=fact.text,
        source=known.title if known else fact.source,
        url=known.url if known else "",
        accessed=fact.accessed,
        date=fact.date,
        status=fact.status,
        detail=fact.detail,
    )
