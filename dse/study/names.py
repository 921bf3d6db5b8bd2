"""Names a study may use, and what to say about one that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dse.spelling import alike, alternatives, meant, real_name, same, told
from dse.study.aggregation_name import AggregationName


@dataclass(frozen=True)
class Names:
    """What the catalogue knows; the caller passes it in, since a study may not import it."""

    workloads: tuple[str, ...] = ()
    accelerators: tuple[str, ...] = ()
    fabrics: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    algorithms: tuple[str, ...] = ()
    approaches: tuple[str, ...] = ()
    regions: tuple[str, ...] = ()
    aliases: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def real(self, kind: str, word: str, known: Iterable[str] | None = None) -> str:
        """The name that a word means; the word itself where it means none.

        kind: a field of this class, ``aggregations``, ``quantities``, or an axis, of which the last
        two say what is ``known``.
        """
        names = getattr(self, kind) if known is None else known
        return real_name(word, names, self.aliases.get(kind, {}))

    def told(self, kind: str, word: str) -> str:
        """What to tell of a word that could mean several things; nothing of another."""
        meanings = self.aliases.get(kind, {}).get(same(word), ())
        return told(word, meanings) if len(meanings) > 1 else ""

    @cached_property
    def aggregations(self) -> Mapping[str, AggregationName]:
        """Every ``<algorithm>-<transport>``, and every approach, by its text."""
        pairs = [AggregationName(how, over) for how in self.algorithms for over in self.transports]
        named = [AggregationName(approach=name) for name in self.approaches]
        return {name: name for name in (*pairs, *named)}


def misspelt(missing: str, unknown: Iterable[str], known: Iterable[str]) -> bool:
    """Whether a key that is missing may be one of those that are unknown, in another spelling."""
    candidates = list(known)
    meanings = (alike(key, candidates) for key in unknown)
    return any(missing in meaning or not meaning for meaning in meanings)


def suggest(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """'did you mean resnet50?', or the short list of what is known, or ``otherwise``."""
    candidates = list(known)
    near = meant(name, candidates)
    if near:
        return near
    if otherwise or not candidates or len(candidates) > 12:
        return otherwise or "see `dse catalog` for what is known"
    return f"use {alternatives(candidates)}"
