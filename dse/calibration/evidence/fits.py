"""Evidence of one profile: a class for each kind of fit beside :mod:`dse.model.aggregation`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dse.calibration.evidence import Grade, Surroundings
from dse.calibration.evidence.checks import (
    Check,
    count_check,
    counted,
    distance,
    element_check,
    kind_check,
    likeness,
    link_text,
    node_check,
    nodes_of,
    on_several,
    rank_check,
    size_check,
    speed_check,
)
from dse.calibration.library_part import LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.profile import Fit, Profile
from dse.calibration.ps_part import ServersFit
from dse.calibration.spread import log_spread, octaves_of_speed
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import Gradients
from dse.model.aggregation.composed import Software
from dse.model.aggregation.measured_library import MeasuredLibrary
from dse.model.arrays import Array, Mask

NEAR_OCTAVES = 1.0  # doublings beyond the measured range that still count as near


@dataclass(frozen=True)
class Checked(ABC):
    """Evidence of one profile, that consists of checks each of which a point inside passes.

    fit: of the profile, by which it is priced. same_system: the points are layouts of the very
    system that was measured, whose ranks share its cores; else of a cluster with a core for every
    rank and a machine for every server.
    """

    profile: Profile
    fit: Fit | LibraryFit | NetworkFit | ServersFit
    same_system: bool = field(default=False, kw_only=True)

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The one."""
        return (self.profile,)

    @property
    def own_cores(self) -> float:
        """More ranks than that were not measured as they are here: beyond, they shared cores."""
        return np.inf if self.same_system else self.profile.cores

    @abstractmethod
    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Everything that a point must have in common with what was measured."""

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """See :class:`Evidence`."""
        inside, near = np.asarray(True), np.asarray(True)
        for check in self.checks(gradients, layout):
            inside = inside & check.passed
            near = near & (check.octaves <= NEAR_OCTAVES) & ~check.unlike
        inside = inside | self.sums_nothing(layout)
        return np.where(inside, Grade.INSIDE, np.where(near, Grade.NEAR, Grade.FAR))

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """See :class:`Evidence`."""
        if np.all(self.sums_nothing(layout)):
            return []
        return [c.text() for c in self.checks(gradients, layout) if not np.all(c.passed)]

    def sums_nothing(self, layout: Surroundings) -> Mask:
        """Where nothing is sent, so that no measurement is needed."""
        return np.asarray(layout.gpus <= 1)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """By what its fit is off, doublings of all checks together, and whether any is unlike; the
        fit's draws come on top."""
        octaves, unlike = distance(self.checks(gradients, layout))
        return log_spread(self.fit.error, self.fit.error_p90, octaves, unlike)


@dataclass(frozen=True)
class OfAlgorithm(Checked):
    """A named algorithm by a profile that measured forced algorithms on one node.

    reaches_device: whether messages start in accelerator memory.
    """

    fit: Fit
    algorithm: str
    reaches_device: bool = False

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        nodes = node_count(layout.gpus, layout.gpus_per_node)
        device = np.asarray(not self.reaches_device) | layout.has_device(self.profile.device)
        return likeness(device, nodes <= 1, nodes <= self.profile.max_nodes, nodes <= 1)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Elements, sizes, nodes, ranks with a core each, and the algorithm itself."""
        profile = self.profile
        yield element_check(gradients, profile)
        yield size_check(gradients, profile.message_bytes)
        yield node_check(layout, (1, 1))
        yield rank_check(layout.gpus, profile.ranks, cores=self.own_cores)
        known = ", ".join(profile.measured_algorithms)
        what = f"{self.algorithm} was not measured; its steps are priced as those of {known}"
        yield kind_check(np.asarray(self.algorithm in profile.measured_algorithms), lambda: what)


@dataclass(frozen=True)
class BetweenNodes(Checked):
    """A named algorithm by a profile that measured it between nodes."""

    fit: NetworkFit
    software: Software

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        several = on_several(layout)
        reaches = self.software.reaches_device
        device = np.asarray(not reaches) | layout.has_device(self.profile.device)
        same = self._speed(layout).passed
        of_kind = layout.has_link(self.profile.link)
        return likeness(device, ~several | (same & of_kind), several, of_kind)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Several nodes, elements, sizes, ranks, ranks per node, and a link as fast."""
        yield kind_check(on_several(layout), lambda: "one node (measured: several)")
        yield element_check(gradients, self.profile)
        yield size_check(gradients, self.profile.message_bytes)
        yield rank_check(layout.gpus, self.profile.ranks)
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        limits = self.fit.ranks_per_node
        yield count_check("rank", local, limits, " per node", " between nodes")
        yield self._speed(layout)

    def _speed(self, layout: Surroundings) -> Check:
        limits = self.fit.link_bytes_per_s
        return speed_check(self.software, layout, limits, on_several(layout), self.same_system)


@dataclass(frozen=True)
class OfLibraryChoice(Checked):
    """What a library chose by itself, as a profile measured it."""

    fit: LibraryFit
    aggregation: MeasuredLibrary

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        several = on_several(layout)
        device = np.asarray(not self.aggregation.reaches_device) | layout.has_device(
            self.profile.device
        )
        alone = any(anchor.nodes <= 1 for anchor in self.fit.anchors)
        apart = any(anchor.nodes > 1 for anchor in self.fit.anchors)
        return likeness(
            device, self._link(layout).passed, np.where(several, apart, alone),
            ~several | layout.has_link(self.profile.link),
        )  # fmt: skip

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Nodes, full ones, ranks, ranks per node; elements, sizes, links and device."""
        profile, fit = self.profile, self.fit
        priced = self.aggregation.priced(layout)
        yield kind_check(priced | on_several(layout), lambda: "one node (measured: several)")
        fewest = round(min((anchor.nodes for anchor in fit.anchors), default=1))
        yield node_check(layout, (fewest, profile.max_nodes))
        yield rank_check(layout.gpus, profile.ranks)
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        yield rank_check(local, fit.ranks_per_node, " per node", self.own_cores)
        yield from self._besides_layout(gradients, layout)

    def _filling(self, layout: Surroundings) -> Check:
        """A last node as full as the others, unless that very layout was measured."""
        full, several = layout.gpus_per_node, on_several(layout)
        left = np.mod(layout.gpus, full)
        last = np.where(several & (left > 0), left, full)
        octaves = np.log2(full / last)
        measured: dict[str, None] = {}
        for ranks, local in ((a.ranks, a.ranks_per_node) for a in self.fit.anchors):
            octaves = np.where((layout.gpus == ranks) & (full == local), 0.0, octaves)
            part_filled = ranks > local and ranks % local > 0
            named = f"{ranks:,.0f} ranks with {local:,.0f} per node"
            measured[named if part_filled else "full nodes"] = None

        def text() -> str:
            here = f"{counted(last, 'rank')} on the last node"
            return f"{here} (measured: {' or '.join(measured) or 'not known'})"

        return Check(octaves, np.asarray(False), text)

    def _besides_layout(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """All but nodes and ranks per node, for which the fit has a distance of its own.

        The link inside a node and the device do not matter where ranks meet in host memory.
        """
        yield self._filling(layout)
        yield element_check(gradients, self.profile)
        yield size_check(gradients, self.profile.message_bytes)
        yield self._link(layout)
        hosts = np.asarray(not self.aggregation.reaches_device)
        yield kind_check(
            hosts | layout.own_inside_link,
            lambda: "another link inside the node than the accelerator comes with",
        )
        yield kind_check(
            hosts | layout.has_device(self.profile.device),
            lambda: f"another accelerator (measured: {self.profile.device})",
        )

    def _link(self, layout: Surroundings) -> Check:
        """The link between nodes, where there are several: its speed and its kind."""
        several = on_several(layout)
        measured = self.profile.link_bytes_per_s
        if measured is None:
            same = self.same_system & ~np.isfinite(layout.across.bytes_per_s)
            return kind_check(~several | same, lambda: self._other_link(layout))
        speed = measured / self.aggregation.slower(layout)
        octaves = np.where(several, octaves_of_speed(speed, (measured, measured)), 0.0)
        unlike = several & ~(layout.has_link(self.profile.link) & np.isfinite(speed))
        return Check(octaves, np.asarray(unlike), lambda: self._other_link(layout))

    def _other_link(self, layout: Surroundings) -> str:
        measured, link = self.profile.link_bytes_per_s, self.profile.link
        here = self.aggregation.node_bytes_per_s(layout)
        limits = (0.0, 0.0) if measured is None else (measured, measured)
        if np.all(layout.has_link(link)):
            return link_text(here, limits, "Gbps per node")
        return link_text(here, limits, "Gbps per node", layout.link_name, link)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """By nodes and ranks per node as the fit knows them, and by the checks of all else."""
        octaves, unlike = distance(self._besides_layout(gradients, layout))
        largest = gradients.message_bytes.max(axis=0, initial=0.0)
        return self.fit.log_spread(layout.gpus, layout.gpus_per_node, octaves, largest, unlike)


@dataclass(frozen=True)
class OfServers(Checked):
    """Parameter servers as a profile measured them, a machine of its own for every process."""

    fit: ServersFit
    software: Software

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        of_kind, same = layout.has_link(self.fit.link), self._speed(layout).passed
        return likeness(np.asarray(True), same & of_kind, np.asarray(True), of_kind)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Several nodes, elements, sizes, workers, servers, machines and link.

        One node needs no server: only its own sum is paid, which was not measured.
        """
        several = on_several(layout) | self.same_system
        yield kind_check(
            several, lambda: "one node, which needs no server (measured: several nodes)"
        )
        yield element_check(gradients, self.profile)
        yield size_check(gradients, self.fit.message_bytes)
        yield count_check("worker", nodes_of(layout), self.fit.workers)
        yield count_check("server", np.where(several, layout.servers, 1), self.fit.servers)
        shared = self.fit.cores
        together = f"all processes on one machine of {shared or 0:g} cores"
        yield kind_check(
            ~several | (shared is None) | self.same_system,
            lambda: f"a machine for every worker and server (measured: {together})",
        )
        yield kind_check(
            ~several | ~layout.colocated,
            lambda: "servers on the workers' machines (measured: on their own)",
        )
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        yield count_check("accelerator", local, (1, 1), " per worker")
        yield self._speed(layout)

    def sums_nothing(self, layout: Surroundings) -> Mask:
        """One accelerator; but one worker of the system measured pushes and pulls, too."""
        return super().sums_nothing(layout) & (not self.same_system)

    def _speed(self, layout: Surroundings) -> Check:
        crossed = on_several(layout) | self.same_system
        limits = self.fit.link_bytes_per_s
        return speed_check(self.software, layout, limits, crossed, self.same_system)
