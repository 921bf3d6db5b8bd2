"""Names a study may use, and what to say about one that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

ALGORITHMS = (
    "ring",
    "recursive-doubling",
    "halving-doubling",
    "tree",
    "hierarchical",
    "auto",
    "ps",
)
TRANSPORTS = ("mpi", "mpi-gdr", "nccl", "gloo", "grpc")

_LOOKALIKES = str.maketrans({"o": "0", "l": "1", "i": "1", "_": "-", " ": "-"})
_LONGEST = 80  # a longer text is no misspelt name


@dataclass(frozen=True)
class Names:
    """What the catalogue knows; the caller passes it in, since a study may not import it."""

    workloads: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    fabrics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    transports: tuple[str, ...] = TRANSPORTS
    algorithms: tuple[str, ...] = ALGORITHMS

    @property
    def aggregations(self) -> tuple[str, ...]:
        """Every ``<algorithm>-<transport>``."""
        return tuple(f"{how}-{over}" for how in self.algorithms for over in self.transports)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that ``name`` was meant to be, or None."""
    if len(name) > _LONGEST:
        return None
    spelt = {_plain(candidate): candidate for candidate in known}
    near = difflib.get_close_matches(_plain(name), spelt, n=1, cutoff=0.6)
    return spelt[near[0]] if near else None


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """'did you mean resnet50?', or the short list of what is known, or ``otherwise``."""
    candidates = list(known)
    near = nearest(name, candidates)
    if near is not None:
        return f"did you mean {near}?"
    if otherwise or not candidates or len(candidates) > 12:
        return otherwise or "see `dse catalog` for what is known"
    return f"use {alternatives(candidates)}"


def alternatives(words: Iterable[str]) -> str:
    """'a, b or c'."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _plain(name: str) -> str:
    """Upper case, 0 for O and 1 for l do not count as differences."""
    return name.strip().lower().translate(_LOOKALIKES)
