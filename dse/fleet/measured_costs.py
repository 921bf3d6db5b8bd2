"""What the profiles of a fleet study have measured of its jobs: parameter servers, and allreduce.

The paper's model knows no software, and dse's own (:mod:`dse.fleet.model_comparison`) takes that of
gRPC and NCCL from the catalogue. A profile replaces it: parameter servers by what a push and a pull
took, allreduce among the accelerators of one server by what NCCL took there, its links included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.calibration.library_part import LibraryFit
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit
from dse.calibration.spread import octaves_outside
from dse.fleet.document import ProfilePart
from dse.model.aggregation.parameter_server import parameter_server
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.links import FREE, Link, Network

NCCL, GRPC = "nccl", "grpc"


@dataclass(frozen=True)
class MeasuredServers:
    """Parameter servers as a profile measured them over one transport."""

    profile: Profile
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
        share = 1.0 if self._link_known else np.asarray(efficiency)
        wire = Link(0.0, np.asarray(link_bytes_per_s) * share)
        seen, cost = Network(FREE, FREE, inter=wire), self.fit.cost(apart=True)
        return parameter_server(workers, 1.0, message_bytes, seen, servers, measured=cost)

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
        inside: Mask = np.asarray(fit.cores is None and self._link_known)
        if inside:
            inside = (
                _within(workers, fit.workers)
                & _within(servers, fit.servers)
                & _within(message_bytes, fit.message_bytes)
                & _within(link_bytes_per_s, fit.link_bytes_per_s)
            )
        return inside | (np.asarray(workers) <= 1)

    @property
    def _link_known(self) -> bool:
        return self.fit.link_bytes_per_s[1] > 0


@dataclass(frozen=True)
class Inside:
    """What NCCL took for an allreduce among the accelerators of one node, as a profile has it."""

    profile: Profile
    fit: LibraryFit

    def seconds(self, ranks: ArrayLike, message_bytes: ArrayLike) -> Array:
        """Of an allreduce; both broadcast."""
        return self.fit.cost()(ranks, ranks, message_bytes)

    def in_range(
        self, ranks: ArrayLike, message_bytes: ArrayLike, link_bytes_per_s: ArrayLike
    ) -> Mask:
        """Whether so many ranks on one node, and bytes, were measured; one exchanges nothing.

        Not where the accelerators' links here could not carry ``2(n-1)/n m`` bytes in that time:
        then those measured are others.
        """
        alone = [anchor for anchor in self.fit.anchors if anchor.nodes <= 1]
        counts = [anchor.ranks for anchor in alone]
        sizes = [size for anchor in alone for size in anchor.message_bytes]
        inside = _within(ranks, (min(counts), max(counts)))
        inside = inside & _within(message_bytes, (min(sizes), max(sizes)))
        n = np.maximum(ranks, 1.0)
        least_s = 2 * (n - 1) / n * message_bytes / link_bytes_per_s
        inside = inside & (self.seconds(n, message_bytes) >= least_s)
        return np.asarray(inside | (np.asarray(ranks) <= 1))


@dataclass(frozen=True)
class Measured:
    """Of a study's profiles the first that measured each part; None where none has."""

    servers: MeasuredServers | None = None
    inside: Inside | None = None

    @property
    def name(self) -> str:
        """Whose costs both parts have: 'ps-grpc by lab-grpc, NCCL by the catalogue'."""
        servers, inside = "gRPC by the catalogue", "NCCL by the catalogue"
        if self.servers is not None:
            servers = f"ps-{self.servers.transport} by {self.servers.profile.name}"
        if self.inside is not None:
            inside = f"NCCL by {self.inside.profile.name}"
        return f"{servers}, {inside}"

    def described(self) -> Iterator[ProfilePart]:
        """For the document, a row a part."""
        if self.servers is not None:
            name, error = f"ps-{self.servers.transport}", self.servers.fit.error
            yield _described(name, self.servers.profile, None, error)
        if self.inside is not None:
            profile = self.inside.profile
            yield _described("NCCL in one server", profile, profile.device, self.inside.fit.error)


NOTHING = Measured()


def measured(profiles: Sequence[Profile]) -> Measured:
    """The parts of ``profiles`` that a fleet's jobs are priced by; of two alike the first."""
    found = NOTHING
    for profile in profiles:
        found = joined(found, parts(profile))
    return found


def joined(first: Measured, then: Measured) -> Measured:
    """The first, with what only the second has."""
    return replace(first, servers=first.servers or then.servers, inside=first.inside or then.inside)


def parts(profile: Profile) -> Measured:
    """What of one profile prices a fleet's jobs; of several transports of servers gRPC."""
    servers, inside = None, None
    if profile.ps:
        transport = GRPC if GRPC in profile.ps else next(iter(profile.ps))
        servers = MeasuredServers(profile, transport, profile.ps[transport])
    auto = profile.auto if profile.transport == NCCL else None
    if auto is not None and any(anchor.nodes <= 1 for anchor in auto.cost().anchors):
        inside = Inside(profile, auto)
    return Measured(servers, inside)


def _described(part: str, profile: Profile, device: str | None, error: float) -> ProfilePart:
    library = f"{profile.library} {profile.version}".strip()
    return ProfilePart(part, profile.name, library, profile.date, profile.source, device, error)


def _within(values: ArrayLike, ends: tuple[float, float]) -> Mask:
    return np.asarray(octaves_outside(np.asarray(values, dtype=np.float64), ends) == 0)
