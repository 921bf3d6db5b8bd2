"""What training software takes of an accelerator's memory, by stack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.rows_of_work import FAMILIES
from dse.catalog.store import Stacks

NONE = "none"


@dataclass(frozen=True)
class Footprint:
    """Of one stack; see :class:`dse.model.stack.Footprint`."""

    bucket_copy: float
    communication_bytes: float
    context_bytes: float
    reserved: float
    slack: float
    written_out: frozenset[str]
    spread: float
    facts: tuple[Fact, ...]


@of_catalogue("memory.yaml")
def footprints(entry: Entry) -> Mapping[str, Footprint]:
    """Those of the catalogue, by stack."""
    stacks = entry.section("stacks")
    found = {name: _footprint(stacks.section(name)) for name in stacks.labels()}
    return Stacks(entry.path, found)


def _footprint(entry: Entry) -> Footprint:
    written = entry.text("written_out", NONE)
    families = frozenset() if written == NONE else frozenset(written.replace(",", " ").split())
    unknown = sorted(families - set(FAMILIES))
    if unknown:
        raise entry.wrong(f"'{unknown[0]}' is no family", f"use {', '.join(FAMILIES)}")
    first = len(entry.facts)
    return Footprint(
        entry.known("bucket_copy", "count"),
        entry.known("communication", "bytes"),
        entry.known("context", "bytes"),
        entry.known("reserved", "count"),
        entry.known("slack", "count"),
        families,
        entry.known("spread", "count"),
        tuple(entry.facts[first:]),
    )
