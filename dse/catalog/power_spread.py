"""How far electricity, PUE and watts of the catalogue may lie from those of a site."""

from __future__ import annotations

from dataclasses import dataclass

from dse.catalog.facts import UNCHECKED, Fact
from dse.catalog.reader import Entry, of_catalogue
from dse.catalog.store import sources

FILE = "power_spread.yaml"


@dataclass(frozen=True)
class PowerSpread:
    """Standard deviations of logarithms.

    electricity_site: of the price of electricity within a region. electricity_region: from region
    to region, in addition where nobody names one. pue: of PUE - 1. accelerators, machines: how far
    below their maker's maximum they draw, the scale of a half-normal. hosts, network: of their
    watts, either way. facts: all of them, with their sources.
    """

    electricity_site: float
    electricity_region: float
    pue: float
    accelerators: float
    machines: float
    hosts: float
    network: float
    facts: tuple[Fact, ...] = ()


@of_catalogue(FILE)
def power_spread(entry: Entry) -> PowerSpread:
    """How far the power of sites and machines is off, as the catalogue says."""
    names = [name for name in PowerSpread.__dataclass_fields__ if name != "facts"]
    found = {name: entry.known(name, "count") for name in names}
    return PowerSpread(**found, facts=tuple(entry.facts))


def stated(fact: Fact) -> bool:
    """Whether a number is the user's own, and so certain: from no source of the catalogue, and not
    marked as unverified."""
    return fact.source not in sources() and fact.status not in UNCHECKED
