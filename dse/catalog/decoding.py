"""How many images hosts decode, by software stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue

DECODING = "decoding.yaml"


@dataclass(frozen=True)
class Decoding:
    """images_per_core_s: of a core of the host, by stack; None where hosts are no limit. spread:
    standard deviation of its logarithm. cores: of a host for each accelerator, where no node says
    it. facts: by stack."""

    images_per_core_s: Mapping[str, float | None]
    spread: float
    cores: float
    facts: Mapping[str, tuple[Fact, ...]]


@of_catalogue(DECODING)
def decoding(entry: Entry) -> Decoding:
    """How fast hosts decode images, as the catalogue says."""
    stacks, rates, facts = entry.section("stacks"), dict[str, float | None](), {}
    for name in stacks.labels():
        own = stacks.section(name)
        fact = own.number("images_per_core_s", "count")
        if fact.value == 0:
            raise own.wrong("images_per_core_s is 0", "write a number above 0, or unknown")
        rates[name], facts[name] = fact.value, (fact,)
    spread, cores = entry.known("spread", "count"), entry.known("cores", "count")
    return Decoding(rates, spread, cores, facts)
