"""What network cards, ports of switches and optics draw, by the speed of the link."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.catalog.fabrics import PARTS
from dse.catalog.facts import Fact
from dse.catalog.reader import Entry, of_catalogue


@dataclass(frozen=True)
class LinkWatts:
    """Of a network card, a port of a switch, and the optics at both ends of a cable."""

    nic: float
    switch_port: float
    cable: float


@dataclass(frozen=True, eq=False)
class LinkPower:
    """speeds: bytes per second, rising. rows: watts at each. facts: of each, with their sources."""

    speeds: tuple[float, ...]
    rows: tuple[LinkWatts, ...]
    facts: tuple[tuple[Fact, ...], ...]

    def watts(self, bytes_per_s: float) -> LinkWatts:
        """Of a link that is so fast: interpolated; below all speeds as of the slowest, above all
        in proportion to the fastest; NaN of NaN."""
        beyond = max(1.0, bytes_per_s / self.speeds[-1])
        speeds, watts = self._columns
        return LinkWatts(*(beyond * float(np.interp(bytes_per_s, speeds, part)) for part in watts))

    @cached_property
    def _columns(self) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
        """The speeds, and the watts of each part, (speeds,) each."""
        watts = [np.array([getattr(row, part) for row in self.rows]) for part in PARTS]
        return np.array(self.speeds), watts

    def behind(self, bytes_per_s: float) -> tuple[Fact, ...]:
        """The facts that these watts are from."""
        found = np.searchsorted(self.speeds, bytes_per_s)
        last = len(self.speeds) - 1
        exact = found <= last and self.speeds[found] == bytes_per_s
        at = {min(int(found), last)} | (set() if exact else {max(int(found) - 1, 0)})
        return tuple(fact for row in sorted(at) for fact in self.facts[row])


@of_catalogue("link_power.yaml")
def link_power(entry: Entry) -> LinkPower:
    """The watts of network cards, ports and optics, as the catalogue says."""
    speeds, rows, facts = list[float](), list[LinkWatts](), list[tuple[Fact, ...]]()
    for name in entry.labels():
        own, before = entry.section(name), len(entry.facts)
        speeds.append(own.positive("bandwidth", "bytes_per_s"))
        rows.append(LinkWatts(*(own.known(part, "watt") for part in PARTS)))
        facts.append(tuple(entry.facts[before + 1 :]))
        if speeds != sorted(set(speeds)):
            raise own.wrong("speeds do not rise", "list the slowest first", "bandwidth")
    return LinkPower(tuple(speeds), tuple(rows), tuple(facts))
