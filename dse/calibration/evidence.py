"""Whether an aggregation was measured like this, why not, and how wide its error is.

One implementation for each kind of fit beside :mod:`dse.model.aggregation`; all arrays broadcast to
the points' shape S, see :class:`~dse.model.aggregation.base.Layout`. The messages of gradients have
the same sizes at all points, (messages,), or sizes of their own at each, (messages, *S).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.calibration.network_part import NetworkFit
from dse.calibration.number_text import gbps, size_text, span_text
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit
from dse.calibration.spread import octaves_of_speed, octaves_outside
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import Gradients, Layout
from dse.model.aggregation.by_layout import joined
from dse.model.aggregation.composed import Software
from dse.model.aggregation.library_rules import LibraryRules
from dse.model.aggregation.measured_library import MeasuredLibrary
from dse.model.arrays import Array, Mask

MEASURED_ELEMENT_BYTES = 4  # calibration sums float32
# Messages of fewer bytes are bound by what is done per element, not per byte. Assumed.
SMALL_BYTES = 64 * 1024.0
NEAR_OCTAVES = 1.0  # doublings beyond the measured range that still count as near
SAME_KIND = 8.0  # of a likeness, from which on a profile is worth more than the catalogue


class Grade(IntEnum):
    """How far a point lies from what was measured.

    NEAR: nothing is of another kind, and every count, size and speed is within one doubling.
    CATALOGUE: nothing of it was measured, the catalogue prices it.
    """

    INSIDE = 0
    NEAR = 1
    FAR = 2
    CATALOGUE = 3


class Check(NamedTuple):
    """One thing that a point has in common with what was measured, or not.

    octaves: doublings beyond the measured range. unlike: it is of another kind. Both broadcast to
    the points' shape. text: what to say of a single point that is not inside.
    """

    octaves: Array
    unlike: Mask
    text: Callable[[], str]

    @property
    def passed(self) -> Mask:
        """Whether it is as measured."""
        return np.asarray((self.octaves == 0) & ~self.unlike)


class Surroundings(Layout, Protocol):
    """A layout that knows what its hardware is called.

    own_inside_link: whether the accelerators of a node meet over the link they come with.
    link_name: of the network of a single point, empty where it has none.
    """

    @property
    def own_inside_link(self) -> Mask: ...
    @property
    def link_name(self) -> str: ...
    def has_device(self, measured: str) -> Mask:
        """Whether the accelerators are of the model that a log names."""
        ...

    def has_link(self, measured: str) -> Mask:
        """Whether the network is of no other kind than one that a log names."""
        ...

    def on_fabric(self, fabric: str) -> Mask:
        """Whether the network is that of the catalogue."""
        ...


class Evidence(Protocol):
    """What speaks for the price of an aggregation.

    profile: that has measured it; None where none has. profiles: all that have a part in it.
    """

    @property
    def profile(self) -> Profile | None: ...
    @property
    def profiles(self) -> tuple[Profile, ...]: ...
    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """Of each part that may have a price of its own, whether a profile has it."""
        ...

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Whether profiles price all these points, inside of what they measured or not."""
        ...

    def likeness(self, layout: Surroundings) -> Array:
        """How much the hardware of a point is like that measured: larger where more is the same.

        SAME_KIND or more where nothing is of another kind: the accelerator, one node or several,
        the link between several. Then by the accelerator, that link, and the number of nodes.
        """
        ...

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """How far from what was measured, a :class:`Grade`; one accelerator sums nothing."""
        ...

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What of a single point was not measured, and what was: '128 ranks (measured: 2-8)' ..."""
        ...

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """Standard deviation of the logarithm of a price, besides that of fitted costs' draws."""
        ...


@dataclass(frozen=True)
class Unmeasured:
    """Nobody measured it, and ``why``. everywhere: also on one accelerator, which sums nothing:
    a closed formula prices whole steps, in which measurements have no part. spread: standard
    deviation of the logarithm of such prices where they could be checked."""

    why: str
    everywhere: bool = False
    spread: float = 0.0
    profile: None = None
    profiles: tuple[()] = ()
    parts_measured: tuple[bool, ...] = (False,)

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Not at all."""
        del gradients, layout
        return False

    def likeness(self, layout: Surroundings) -> Array:
        """None."""
        del layout
        return np.zeros(())

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """See :class:`Evidence`."""
        del gradients
        return np.where((layout.gpus <= 1) & (not self.everywhere), Grade.INSIDE, Grade.CATALOGUE)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """See :class:`Evidence`."""
        return [] if np.all(self.grade(gradients, layout) == Grade.INSIDE) else [self.why]

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """That of others like it."""
        del gradients
        return np.where(layout.gpus <= 1, 0.0, self.spread)


@dataclass(frozen=True)
class Checked(ABC):
    """Evidence of one profile, that consists of checks each of which a point inside passes.

    same_system: the points are layouts of the very system that was measured, whose ranks share its
    cores; else of a cluster with a core for every rank and a machine for every server.
    """

    profile: Profile
    same_system: bool = field(default=False, kw_only=True)

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The one."""
        return (self.profile,)

    @property
    def own_cores(self) -> float:
        """More ranks than that were not measured as they are here: beyond, they shared cores."""
        return np.inf if self.same_system else self.profile.cores

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """The whole is."""
        return (True,)

    @abstractmethod
    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Everything that a point must have in common with what was measured."""

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """By its one profile."""
        del gradients, layout
        return True

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

    def distance(self, gradients: Gradients, layout: Surroundings) -> tuple[Array, Mask]:
        """What widens a spread: doublings of all checks together, and whether any is unlike."""
        return _distance(self.checks(gradients, layout))


@dataclass(frozen=True)
class OfAlgorithm(Checked):
    """A named algorithm by a profile that measured forced algorithms on one node.

    reaches_device: whether messages start in accelerator memory.
    """

    algorithm: str
    reaches_device: bool = False

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        nodes = node_count(layout.gpus, layout.gpus_per_node)
        device = np.asarray(not self.reaches_device) | layout.has_device(self.profile.device)
        return _likeness(device, nodes <= 1, nodes <= self.profile.max_nodes, nodes <= 1)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Elements, sizes, nodes, ranks with a core each, and the algorithm itself."""
        profile = self.profile
        yield _elements(gradients, profile)
        yield _sizes(gradients, profile.message_bytes)
        yield _nodes(layout, (1, 1))
        yield _ranks(layout.gpus, profile.ranks, cores=self.own_cores)
        known = ", ".join(profile.measured_algorithms)
        what = f"{self.algorithm} was not measured; its steps are priced as those of {known}"
        yield _kind(np.asarray(self.algorithm in profile.measured_algorithms), lambda: what)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        return self.profile.fit(self.algorithm).log_spread(*self.distance(gradients, layout))


@dataclass(frozen=True)
class BetweenNodes(Checked):
    """A named algorithm by a profile that measured it between nodes."""

    fit: NetworkFit
    software: Software

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        several = _several(layout)
        reaches = self.software.reaches_device
        device = np.asarray(not reaches) | layout.has_device(self.profile.device)
        same = self._speed(layout).passed
        of_kind = layout.has_link(self.profile.link)
        return _likeness(device, ~several | (same & of_kind), several, of_kind)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Several nodes, elements, sizes, ranks, ranks per node, and a link as fast."""
        yield _kind(_several(layout), lambda: "one node (measured: several)")
        yield _elements(gradients, self.profile)
        yield _sizes(gradients, self.profile.message_bytes)
        yield _ranks(layout.gpus, self.profile.ranks)
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        few, most = self.fit.ranks_per_node
        yield Check(
            octaves_outside(local, (few, most)),
            np.asarray(False),
            lambda: (
                f"{_many(local, 'rank')} per node (measured: {span_text(few, most)} between nodes)"
            ),
        )
        yield self._speed(layout)

    def _speed(self, layout: Surroundings) -> Check:
        limits = self.fit.link_bytes_per_s
        return _speed(self.software, layout, limits, _several(layout), self.same_system)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        return self.fit.log_spread(*self.distance(gradients, layout))


@dataclass(frozen=True)
class OfLibraryChoice(Checked):
    """What a library chose by itself, as a profile measured it."""

    aggregation: MeasuredLibrary

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        assert self.profile.auto is not None
        several = _several(layout)
        device = np.asarray(not self.aggregation.reaches_device) | layout.has_device(
            self.profile.device
        )
        anchors = self.profile.auto.anchors
        alone = any(anchor.nodes <= 1 for anchor in anchors)
        apart = any(anchor.nodes > 1 for anchor in anchors)
        return _likeness(
            device, self._link(layout).passed, np.where(several, apart, alone),
            ~several | layout.has_link(self.profile.link),
        )  # fmt: skip

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Nodes, full ones, ranks, ranks per node; elements, sizes, links and device."""
        profile, auto = self.profile, self.profile.auto
        assert auto is not None
        priced = self.aggregation.priced(layout)
        yield _kind(priced | _several(layout), lambda: "one node (measured: several)")
        yield _nodes(layout, (auto.fewest_nodes, profile.max_nodes))
        yield _ranks(layout.gpus, profile.ranks)
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        yield _ranks(local, auto.ranks_per_node, " per node", self.own_cores)
        yield from self._besides_layout(gradients, layout)

    def _filling(self, layout: Surroundings) -> Check:
        """A last node as full as the others, unless that very layout was measured."""
        assert self.profile.auto is not None
        full, several = layout.gpus_per_node, _several(layout)
        left = np.mod(layout.gpus, full)
        last = np.where(several & (left > 0), left, full)
        octaves = np.log2(full / last)
        measured: dict[str, None] = {}
        for ranks, local in ((a.ranks, a.ranks_per_node) for a in self.profile.auto.anchors):
            octaves = np.where((layout.gpus == ranks) & (full == local), 0.0, octaves)
            part_filled = ranks > local and ranks % local > 0
            named = f"{ranks:,.0f} ranks with {local:,.0f} per node"
            measured[named if part_filled else "full nodes"] = None

        def text() -> str:
            here = f"{_many(last, 'rank')} on the last node"
            return f"{here} (measured: {' or '.join(measured) or 'not known'})"

        return Check(octaves, np.asarray(False), text)

    def _besides_layout(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """All but nodes and ranks per node, for which the fit has a distance of its own.

        The link inside a node and the device do not matter where ranks meet in host memory.
        """
        yield self._filling(layout)
        yield _elements(gradients, self.profile)
        yield _sizes(gradients, self.profile.message_bytes)
        yield self._link(layout)
        hosts = np.asarray(not self.aggregation.reaches_device)
        yield _kind(
            hosts | layout.own_inside_link,
            lambda: "another link inside the node than the accelerator comes with",
        )
        yield _kind(
            hosts | layout.has_device(self.profile.device),
            lambda: f"another accelerator (measured: {self.profile.device})",
        )

    def _link(self, layout: Surroundings) -> Check:
        """The link between nodes, where there are several: its speed and its kind."""
        several = _several(layout)
        measured = self.profile.link_bytes_per_s
        if measured is None:
            same = self.same_system & ~np.isfinite(layout.across.bytes_per_s)
            return _kind(~several | same, lambda: self._other_link(layout))
        speed = measured / self.aggregation.slower(layout)
        octaves = np.where(several, octaves_of_speed(speed, (measured, measured)), 0.0)
        unlike = several & ~(layout.has_link(self.profile.link) & np.isfinite(speed))
        return Check(octaves, np.asarray(unlike), lambda: self._other_link(layout))

    def _other_link(self, layout: Surroundings) -> str:
        measured, link = self.profile.link_bytes_per_s, self.profile.link
        here = self.aggregation.node_bytes_per_s(layout)
        limits = (0.0, 0.0) if measured is None else (measured, measured)
        if np.all(layout.has_link(link)):
            return _link_text(here, limits, "Gbps per node")
        return _link_text(here, limits, "Gbps per node", layout.link_name, link)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """By nodes and ranks per node as the fit knows them, and by the checks of all else."""
        assert self.profile.auto is not None
        octaves, unlike = _distance(self._besides_layout(gradients, layout))
        largest = gradients.message_bytes.max(axis=0, initial=0.0)
        return self.profile.auto.log_spread(
            layout.gpus, layout.gpus_per_node, octaves, largest, unlike
        )


@dataclass(frozen=True)
class OfServers(Checked):
    """Parameter servers as a profile measured them, a machine of its own for every process."""

    fit: ServersFit
    software: Software

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        of_kind, same = layout.has_link(self.fit.link), self._speed(layout).passed
        return _likeness(np.asarray(True), same & of_kind, np.asarray(True), of_kind)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Several nodes, elements, sizes, workers, servers, machines and link.

        One node needs no server: only its own sum is paid, which was not measured.
        """
        several = _several(layout) | self.same_system
        yield _kind(several, lambda: "one node, which needs no server (measured: several nodes)")
        yield _elements(gradients, self.profile)
        yield _sizes(gradients, self.fit.message_bytes)
        yield _count("worker", _nodes_of(layout), self.fit.workers)
        yield _count("server", np.where(several, layout.servers, 1), self.fit.servers)
        shared = self.fit.cores
        together = f"all processes on one machine of {shared or 0:g} cores"
        yield _kind(
            ~several | (shared is None) | self.same_system,
            lambda: f"a machine for every worker and server (measured: {together})",
        )
        yield _kind(
            ~several | ~layout.colocated,
            lambda: "servers on the workers' machines (measured: on their own)",
        )
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        yield Check(
            octaves_outside(local, (1, 1)),
            np.asarray(False),
            lambda: f"{_many(local, 'accelerator')} per worker (measured: 1)",
        )
        yield self._speed(layout)

    def sums_nothing(self, layout: Surroundings) -> Mask:
        """One accelerator; but one worker of the system measured pushes and pulls, too."""
        return super().sums_nothing(layout) & (not self.same_system)

    def _speed(self, layout: Surroundings) -> Check:
        crossed = _several(layout) | self.same_system
        limits = self.fit.link_bytes_per_s
        return _speed(self.software, layout, limits, crossed, self.same_system)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        return self.fit.log_spread(*self.distance(gradients, layout))


@dataclass(frozen=True)
class OfRules:
    """An algorithm for every message by a library's rules: the evidence of all that are chosen."""

    aggregation: LibraryRules
    by_name: Mapping[str, Evidence]

    @property
    def profile(self) -> Profile | None:
        """The one of all that may be chosen; None where some were not measured."""
        profiles = [self.by_name[name].profile for name in self.aggregation.algorithms]
        return profiles[0] if all(profiles) else None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Of all that may be chosen."""
        return tuple(one for name in self.aggregation.algorithms
                     for one in self.by_name[name].profiles)  # fmt: skip

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """Of all that may be chosen."""
        return tuple(known for name in self.aggregation.algorithms
                     for known in self.by_name[name].parts_measured)  # fmt: skip

    def likeness(self, layout: Surroundings) -> Array:
        """None: rules are no measurement."""
        del layout
        return np.zeros(())

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Whether profiles price all that is chosen."""
        names = self.aggregation.names(gradients, layout)
        return all(self.by_name[name].measured(gradients, layout) for name in names)

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """The farthest of all that are chosen at a point."""
        _, choices = self.aggregation.choice_by_size(gradients, layout)
        found = np.where((layout.gpus <= 1) | bool(len(choices)), Grade.INSIDE, Grade.FAR)
        for evidence, used in self._used(gradients, layout):
            grade = evidence.grade(gradients, layout)
            found = np.where(used, np.maximum(found, grade), found)
        return found

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What any of the chosen lacks."""
        found: dict[str, None] = {}
        for name in self.aggregation.names(gradients, layout):
            found.update(dict.fromkeys(self.by_name[name].why_outside(gradients, layout)))
        return list(found)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """The widest of all that are chosen at a point."""
        found: Array = np.zeros(())
        for evidence, used in self._used(gradients, layout):
            spread = evidence.log_spread(gradients, layout)
            found = np.where(used, np.maximum(found, spread), found)
        return found

    def _used(self, gradients: Gradients, layout: Surroundings) -> Iterator[tuple[Evidence, Mask]]:
        """The evidence of every algorithm that is chosen, and at which points it is."""
        algorithms = self.aggregation.rules.algorithms
        _, choices = self.aggregation.choice_by_size(gradients, layout)
        for name in self.aggregation.names(gradients, layout):
            mine = [at for at, known in enumerate(algorithms) if known.priced_as == name]
            yield self.by_name[name], np.any(np.isin(choices, mine), axis=0)


@dataclass(frozen=True)
class ByLayoutEvidence:
    """Of an aggregation whose costs are known from several profiles, each for layouts of its own.

    which: position in ``parts`` for every point of a layout.
    """

    parts: tuple[Evidence, ...]
    which: Callable[[Surroundings], NDArray[np.intp]]

    @property
    def profile(self) -> Profile | None:
        """The first; None where some points have none."""
        return self.parts[0].profile if all(part.profile for part in self.parts) else None

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """Of all parts, each once."""
        every = (profile for part in self.parts for profile in part.profiles)
        return tuple({id(profile): profile for profile in every}.values())

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """Of all parts."""
        return tuple(known for part in self.parts for known in part.parts_measured)

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Whether profiles price all these points."""
        return all(part.measured(gradients, layout) for part in self.taken(layout))

    def taken(self, layout: Surroundings) -> tuple[Evidence, ...]:
        """The parts that these points take."""
        return tuple(self.parts[at] for at in np.unique(self.which(layout)))

    def likeness(self, layout: Surroundings) -> Array:
        """Of the part that a point takes."""
        return self._joined(layout, lambda part: part.likeness(layout))

    def grade(self, gradients: Gradients, layout: Surroundings) -> NDArray[np.int64]:
        """Of the part that a point takes."""
        found = self._joined(layout, lambda part: part.grade(gradients, layout))
        return found.astype(np.int64)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """Of the part that a single point takes."""
        (part,) = self.taken(layout)
        return part.why_outside(gradients, layout)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """Of the part that a point takes."""
        return self._joined(layout, lambda part: part.log_spread(gradients, layout))

    def _joined(self, layout: Surroundings, read: Callable[[Evidence], Any]) -> Array:
        return joined(self.which(layout), lambda at: read(self.parts[at]))


def of_algorithm(
    profile: Profile, algorithm: str, software: Software, same_system: bool = False
) -> Evidence:
    """A named algorithm by all that a profile measured of it: on one node, on several, or both."""
    alone = OfAlgorithm(profile, algorithm, software.reaches_device, same_system=same_system)
    between = profile.network.get(algorithm)
    if between is None:
        return alone
    apart = BetweenNodes(profile, between, software, same_system=same_system)
    return by_nodes(alone, apart) if profile.fits else apart


def by_nodes(alone: Evidence, apart: Evidence) -> ByLayoutEvidence:
    """``alone`` on one node, ``apart`` on several."""
    return ByLayoutEvidence((alone, apart), lambda layout: _several(layout).astype(np.intp))


def _likeness(device: Mask, link: Mask, tier: Mask, of_kind: Mask) -> Array:
    """4 for the same accelerator, 2 for the same link between nodes, 1 for one node or several as
    measured; SAME_KIND more for accelerator, nodes and the kind of that link together."""
    same = device & tier & of_kind
    return np.asarray(SAME_KIND * same + 4.0 * device + 2.0 * link + 1.0 * tier)


def _distance(checks: Iterable[Check]) -> tuple[Array, Mask]:
    """Doublings of all checks together, and whether any finds something of another kind."""
    octaves: Array = np.zeros(())
    unlike: Mask = np.asarray(False)
    for check in checks:
        octaves, unlike = octaves + check.octaves, unlike | check.unlike
    return octaves, unlike


def _nodes_of(layout: Layout) -> Array:
    return node_count(layout.gpus, layout.gpus_per_node)


def _several(layout: Layout) -> Mask:
    """Whether the points have several nodes."""
    return np.asarray(_nodes_of(layout) > 1)


def _kind(same: Mask, text: Callable[[], str]) -> Check:
    """Something that is of the kind measured, or of another."""
    return Check(np.zeros(()), ~np.asarray(same), text)


def _elements(gradients: Gradients, profile: Profile) -> Check:
    """Bytes of an element: they matter where the host adds the elements, and to small messages."""
    width = gradients.element_bytes
    small = gradients.message_bytes.min(axis=0, initial=np.inf) < SMALL_BYTES
    matters = (profile.gamma_s_per_byte > 0) | small
    octaves = np.where(matters, abs(np.log2(width / MEASURED_ELEMENT_BYTES)), 0.0)
    what = f"gradients of {width:g} bytes per element (measured: {MEASURED_ELEMENT_BYTES})"
    return Check(octaves, np.asarray(False), lambda: what)


def _sizes(gradients: Gradients, limits: tuple[float, float]) -> Check:
    """Whether every message is as large as measured; doublings of the one farthest from that."""
    given, (low, high) = gradients.message_bytes, limits
    sizes = given if len(given) else np.zeros(1)

    def text() -> str:
        ends = dict.fromkeys(map(size_text, (float(sizes.min()), float(sizes.max()))))
        return f"messages of {' to '.join(ends)} (measured: {size_text(low)} to {size_text(high)})"

    return Check(octaves_outside(sizes, limits).max(axis=0), np.asarray(False), text)


def _nodes(layout: Surroundings, measured: tuple[int, int]) -> Check:
    """No more nodes; where one was measured, several are of another kind."""
    nodes, (few, most) = _nodes_of(layout), measured
    return Check(
        octaves_outside(nodes, (1, most)) if most > 1 else np.zeros(()),
        np.asarray((nodes > 1) & (most <= 1)),
        lambda: f"{_many(nodes, 'node')} (measured: {span_text(few, most)})",
    )


def _ranks(
    counts: Array, measured: tuple[int, int], where: str = "", cores: float = np.inf
) -> Check:
    """As many ranks, on no more cores than there were: beyond, those measured shared them."""
    few, many = measured
    most = min(many, cores)

    def text() -> str:
        here = f"{_many(counts, 'rank')}{where}"
        if most < few:
            shared = _many(np.asarray(cores), "core")
            return f"{here} with a core each (measured: {span_text(few, many)} on {shared})"
        own = " with a core each" * (most < many)
        return f"{here} (measured: {span_text(few, most)}{own})"

    return Check(octaves_outside(counts, (few, most)), np.asarray(False), text)


def _count(what: str, counts: Array, limits: tuple[int, int]) -> Check:
    few, many = limits
    return Check(
        octaves_outside(counts, limits),
        np.asarray(False),
        lambda: f"{_many(counts, what)} (measured: {span_text(few, many)})",
    )


def _speed(
    software: Software,
    layout: Layout,
    limits: tuple[float, float],
    crossed: Mask,
    same_system: bool,
) -> Check:
    """A link as fast as one of those measured, where it is crossed; unlike where no speed is known,
    here or of what was measured, but for the system's own link, where no other speed was given."""
    with np.errstate(divide="ignore"):  # of a link that is not known a byte takes no time
        speed = 1.0 / software.network(layout).wire_s_per_byte()
    known = np.isfinite(speed) & (limits[1] > 0)
    return Check(
        np.where(crossed, octaves_of_speed(speed, limits), 0.0),
        crossed & ~(known | (same_system & ~np.isfinite(speed))),
        lambda: _link_text(speed, limits),
    )


def _one(values: Array) -> float:
    return float(np.ravel(values)[0])


def _many(counts: Array, what: str) -> str:
    count = _one(counts)
    return f"{count:,.0f} {what}{'s' * (count != 1)}"


def _link_text(
    bytes_per_s: Array,
    limits: tuple[float, float],
    unit: str = "Gbps",
    name: str = "",
    measured: str = "",
) -> str:
    """The link of a single point, and those measured; their names where they are of two kinds."""

    def told(speeds: tuple[float, float], of: str, unknown: str, name: str) -> str:
        known = np.isfinite(speeds[1]) and speeds[1] > 0
        ends = " to ".join(dict.fromkeys(map(gbps, speeds))) if known else ""
        speed = f"{of}{ends} {unit}" if known else f"{unknown} whose speed is not known"
        return f"{speed}{f', {name}' * bool(name)}"

    here = _one(bytes_per_s)
    own = told((here, here), "a link of ", "a link", name)
    return f"{own} (measured: {told(limits, '', 'one', measured)})"
