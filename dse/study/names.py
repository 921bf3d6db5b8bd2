"""Names a study may use, and what to say about one that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from dse.spelling import alike, alternatives, meant
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
