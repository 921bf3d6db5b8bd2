"""What accelerators that work together lose to one another, as fitted to published runs."""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue


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
        return cls(own.known("value", dimension), own.known("draws", "count"))


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


@of_catalogue("scale.yaml")
def scale_terms(entry: Entry) -> ScaleTerms:
    """Those of the catalogue."""
    entry.text("name")
    title = entry.text("title")
    names = ("spread", "varying_spread", "slowdown", "sharing", "cloud_sharing")
    found = {name: Spread.read(entry, name, "count") for name in names}
    return ScaleTerms(title=title, **found, facts=tuple(entry.facts))
