"""What an answer must be read with, the weightiest first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from dse.report.json_form import IF_ANY

# What a note is of, the weightiest first: a baseline that cannot be had as it is; offers past their
# last day; parts that nobody sells; prices that must not be compared; how much of a sum is
# doubtful; anything else; what the search left out.
Kind: TypeAlias = Literal[
    "baseline", "expired", "unsold", "compared", "doubtful", "plain", "left out"
]
BASELINE: Kind = "baseline"
EXPIRED: Kind = "expired"
UNSOLD: Kind = "unsold"
COMPARED: Kind = "compared"
DOUBTFUL: Kind = "doubtful"
PLAIN: Kind = "plain"
LEFT_OUT: Kind = "left out"
_ORDER = {kind: place for place, kind in enumerate(get_args(Kind))}


@dataclass(frozen=True)
class Note:
    """A note. share: of a sum of money that is doubtful, None where it is about none."""

    text: str
    kind: Kind = PLAIN
    share: float | None = field(default=None, metadata=IF_ANY)


def noted(texts: Iterable[Note | str], kind: Kind = PLAIN) -> list[Note]:
    """Texts as notes of a kind; what is one already stays as it is."""
    return [one if isinstance(one, Note) else Note(one, kind) for one in texts]


def by_weight(notes: Iterable[Note]) -> list[Note]:
    """The weightiest first: by kind, then by share of the sum; equals in their order."""
    return sorted(notes, key=lambda note: (_ORDER[note.kind], -(note.share or 0.0)))
