"""What accelerators that work together lose to one another, as fitted to published runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry
from dse.catalog.store import models_file

FILE = "scale.yaml"


@dataclass(frozen=True)
class Spread:
    """A parameter that differs from system to system: log-normal.

    value: its median. draws: standard deviation of its logarithm.
    """

    value: float
    draws: float

    @classmethod
    def read(cls, entry: Entry, name: str, dimension: str) -> Spread:
        """The one under a name."""
        own = entry.section(name)
        found = cls(own.known("value", dimension), own.known("draws", "count"))
        own.finish()
        return found


@dataclass(frozen=True)
class ScaleTerms:
    """Parameters of :class:`dse.model.scale.Scale`.

    varying_spread: in place of ``spread`` for workloads whose samples vary in length.
    cloud_sharing: in place of ``sharing`` on networks that tenants of a cloud share. title: what
    the others were fitted to.
    """

    title: str
    spread: Spread
    varying_spread: Spread
    slowdown: Spread
    sharing: Spread
    cloud_sharing: Spread
    facts: tuple[Fact, ...]


def scale_terms() -> ScaleTerms:
    """Those of the catalogue."""
    return read_scale_terms(models_file(FILE))


@cache
def read_scale_terms(path: Path) -> ScaleTerms:
    """The parameters in a file; a mistake in it raises :class:`~dse.errors.StudyError`."""
    entry = Entry.open(path)
    entry.text("name")
    title = entry.text("title")
    names = ("spread", "varying_spread", "slowdown", "sharing", "cloud_sharing")
    found = {name: Spread.read(entry, name, "count") for name in names}
    entry.finish()
    return ScaleTerms(title=title, **found, facts=tuple(entry.facts))
