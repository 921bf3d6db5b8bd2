"""What the profiles of a fleet study have measured of its jobs: parameter servers, and allreduce.

The paper's model knows no software, and dse's own (:mod:`dse.fleet.beside`) takes that of gRPC and
NCCL from the catalogue. A profile replaces it: parameter servers by what a push and a pull took,
allreduce among the accelerators of one server by what NCCL took there, its links included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dse.calibration.library_part import LibraryFit
from dse.calibration.prediction import octaves_outside
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.links import FREE, Link, Network
from dse.model.parameter_server import parameter_server

NCCL = "nccl"


@dataclass(frozen=True)
class Served:
    """Parameter servers as a profile measured them over one transport."""

    profile: str
    transport: str
    fit: ServersFit

    def seconds(
        self,
        workers: ArrayLike,
        message_bytes: ArrayLike,
        servers: ArrayLike,
        link_bytes_per_s: ArrayLike,
        efficiency: ArrayLike,
    ) -> Array:
        """Of a push and a pull, with a machine of its own for every process; all broadcast.

        efficiency: of the link, which counts only where no link's speed was measured: else what is
        reached of it is in the fitted costs.
        """
        share = 1.0 if self.fit.link_bytes_per_s[1] > 0 else np.asarray(efficiency)
        wire = Link(0.0, np.asarray(link_bytes_per_s) * share)
        seen = Network(FREE, FREE, inter=wire, servers=self.fit.cost(apart=True))
        return parameter_server(workers, 1.0, message_bytes, seen, servers)

    def in_range(
        self,
        workers: ArrayLike,
        message_bytes: ArrayLike,
        servers: ArrayLike,
        link_bytes_per_s: ArrayLike,
    ) -> Mask:
        """Whether so many workers, servers and bytes were measured like this over such a link.

        One worker exchanges nothing.
        """
        fit = self.fit
        asked = (workers, message_bytes, servers, link_bytes_per_s)
        known = (fit.workers, fit.message_bytes, fit.servers, fit.link_bytes_per_s)
        inside = _all_within(asked, known) & (fit.cores is None)
        return inside | (np.asarray(workers) <= 1)


@dataclass(frozen=True)
class Inside:
    """What NCCL took for an allreduce among the accelerators of one node, as a profile has it."""

    profile: str
    fit: LibraryFit
    message_bytes: tuple[float, float]

    def seconds(self, ranks: ArrayLike, message_bytes: ArrayLike) -> Array:
        """Of an allreduce; both broadcast."""
        return self.fit.cost()(ranks, ranks, message_bytes)

    def in_range(self, ranks: ArrayLike, message_bytes: ArrayLike) -> Mask:
        """Whether so many ranks on one node, and bytes, were measured; one exchanges nothing."""
        counts = [anchor.ranks for anchor in self.fit.anchors if _on_one_node(anchor)]
        known = ((min(counts), max(counts)), self.message_bytes)
        return _all_within((ranks, message_bytes), known) | (np.asarray(ranks) <= 1)


@dataclass(frozen=True)
class Measured:
    """Of a study's profiles the first that measured each part; None where none has."""

    servers: Served | None = None
    inside: Inside | None = None

    @property
    def name(self) -> str:
        """In words, such as 'ps-grpc by lab-ps, NCCL by h100-node'; empty without any."""
        parts = []
        if self.servers is not None:
            parts.append(f"ps-{self.servers.transport} by {self.servers.profile}")
        if self.inside is not None:
            parts.append(f"NCCL by {self.inside.profile}")
        return ", ".join(parts)


NOTHING = Measured()


def measured(profiles: Sequence[Profile]) -> Measured:
    """The parts of ``profiles`` that a fleet's jobs are priced by; of two alike the first."""
    found = NOTHING
    for profile in profiles:
        servers, inside = parts(profile)
        found = replace(found, servers=found.servers or servers, inside=found.inside or inside)
    return found


def parts(profile: Profile) -> tuple[Served | None, Inside | None]:
    """What of one profile prices a fleet's jobs."""
    servers, inside = None, None
    for transport, fit in profile.ps.items():
        servers = servers or Served(profile.name, transport, fit)
    auto = profile.auto if profile.transport == NCCL else None
    if auto is not None and any(map(_on_one_node, auto.anchors)):
        inside = Inside(profile.name, auto, profile.message_bytes)
    return servers, inside


def described(profile: Profile) -> dict[str, Any]:
    """For the document: which parts count, the library, the date, how far off on what was left out.

    error: the median of the part that counts.
    """
    servers, inside = parts(profile)
    part = servers or inside
    return {
        "name": profile.name,
        "prices": [
            *([f"ps-{servers.transport}"] if servers else []),
            *(["NCCL in one server"] if inside else []),
        ],
        "library": f"{profile.library} {profile.version}".strip(),
        "date": profile.date,
        "source": profile.source,
        "error": part.fit.error if part else None,
    }


def _on_one_node(anchor: Any) -> bool:
    return bool(anchor.ranks <= anchor.ranks_per_node)


def _all_within(values: Sequence[ArrayLike], limits: Sequence[tuple[float, float]]) -> Mask:
    inside: Mask = np.asarray(True)
    for value, ends in zip(values, limits, strict=True):
        inside = inside & (octaves_outside(np.asarray(value, dtype=np.float64), ends) == 0)
    return inside
