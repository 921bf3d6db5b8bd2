"""What exchanges of ranks reach of links and network cards where nothing was measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue

EXCHANGES, OTHER = "exchanges.yaml", "other"


@dataclass(frozen=True)
class Exchanges:
    """Parameters of :class:`dse.model.parallel.exchanges.Tiers`.

    reached, call_s, step_s: by generation of accelerators. hop_s, cards, shared: by a part of a
    network's name. Each has one for OTHER. spread: standard deviations of logarithms.
    """

    reached: Mapping[str, Mapping[str, float]]
    call_s: Mapping[str, float]
    step_s: Mapping[str, float]
    hop_s: Mapping[str, float]
    cards: Mapping[str, float]
    shared: Mapping[str, float]
    spread: Mapping[str, float]
    facts: tuple[Fact, ...]


@of_catalogue(EXCHANGES)
def exchanges(entry: Entry) -> Exchanges:
    """The catalogue's."""
    reached = entry.section("reached")
    shares = {name: reached.known_numbers(name) for name in reached.labels()}
    times = ("call", "step", "hop")
    call_s, step_s, hop_s = (entry.known_numbers(name, "seconds") for name in times)
    cards, shared, spread = map(entry.known_numbers, ("cards", "shared", "spread"))
    return Exchanges(shares, call_s, step_s, hop_s, cards, shared, spread, tuple(entry.facts))
