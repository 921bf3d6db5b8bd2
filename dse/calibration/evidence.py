"""Whether an aggregation was measured like this, why not, and how wide its error is.

One implementation for each kind of fit beside :mod:`dse.model.aggregation`; all arrays broadcast to
the points' shape S, see :class:`~dse.model.aggregation.base.Layout`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.calibration.network_part import NetworkFit
from dse.calibration.prediction import octaves_outside
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit
from dse.calibration.words import short, size_text, span_text
from dse.model.aggregation.base import Gradients, Layout
from dse.model.aggregation.composed import Software
from dse.model.aggregation.library_choice import LibraryChoice
from dse.model.aggregation.library_rules import LibraryRules
from dse.model.arrays import Array, Mask
from dse.model.collectives import node_count

NORMAL_MEDIAN = 0.6745  # of |x| for a standard normal x
NORMAL_P90 = 1.645  # its 90th percentile
OUTSIDE_WIDENING = 2.0  # of the held-out error where nothing like the point was measured
MEASURED_ELEMENT_BYTES = 4  # calibration sums float32
SAME_SPEED = 1.1  # two links whose speeds differ by less are called equal

Check: TypeAlias = tuple[Mask, Callable[[], str]]  # which points pass, and what to say of one else


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
        """How much the hardware of a point is like that measured: larger where more is the same,
        first the accelerator, then the link between nodes, then one node or several."""
        ...

    def inside(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """Whether it was measured like this; one accelerator sums nothing."""
        ...

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What of a single point was not measured, and what was: '128 ranks; measured 2-8' ..."""
        ...

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """Standard deviation of the logarithm of a price, besides that of fitted costs' draws."""
        ...


@dataclass(frozen=True)
class Unmeasured:
    """Nobody measured it, and ``why``."""

    why: str
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

    def inside(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """Only where nothing is summed."""
        del gradients
        return np.asarray(layout.gpus <= 1)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """See :class:`Evidence`."""
        del gradients
        return [] if np.all(layout.gpus <= 1) else [self.why]

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """None that is known."""
        del gradients, layout
        return np.zeros(())


@dataclass(frozen=True)
class Formula:
    """A closed formula prices whole steps, and measurements have no part in it."""

    why: str
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

    def inside(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """Nowhere."""
        del gradients, layout
        return np.asarray(False)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """See :class:`Evidence`."""
        del gradients, layout
        return [self.why]

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """None that is known."""
        del gradients, layout
        return np.zeros(())


class _Checked:
    """Evidence that consists of checks, each of which a point inside passes."""

    profile: Profile

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The one."""
        return (self.profile,)

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """The whole is."""
        return (True,)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Everything that a point must have in common with what was measured."""
        raise NotImplementedError

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """By its one profile."""
        del gradients, layout
        return True

    def inside(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """See :class:`Evidence`."""
        inside = np.asarray(True)
        for mask, _ in self.checks(gradients, layout):
            inside = inside & mask
        return np.asarray((layout.gpus <= 1) | inside)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """See :class:`Evidence`."""
        if np.all(layout.gpus <= 1):
            return []
        return [text() for mask, text in self.checks(gradients, layout) if not np.all(mask)]


@dataclass(frozen=True)
class OfAlgorithm(_Checked):
    """A named algorithm by a profile that measured forced algorithms on one node.

    reaches_device: whether messages start in accelerator memory.
    """

    profile: Profile
    algorithm: str
    reaches_device: bool = False

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        nodes = node_count(layout.gpus, layout.gpus_per_node)
        device = np.asarray(not self.reaches_device) | layout.has_device(self.profile.device)
        return _likeness(device, nodes <= 1, nodes <= self.profile.max_nodes)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Elements, sizes, nodes, ranks with a core each, and the algorithm itself."""
        profile = self.profile
        yield _same_element(gradients)
        yield _sizes(gradients, profile.message_bytes)
        yield _nodes(layout, profile)
        # Beyond, ranks shared cores: no cluster does that.
        yield _ranks(layout, profile, min(profile.ranks[1], profile.cores))
        known = ", ".join(profile.measured_algorithms)
        what = f"{self.algorithm} was not measured; its steps cost as those of {known}"
        yield np.asarray(self.algorithm in profile.measured_algorithms), lambda: what

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """That of errors on what was held out, twice as wide outside."""
        fit = self.profile.fit(self.algorithm)
        width = held_out_spread(fit.error, fit.error_p90)
        return width * np.where(self.inside(gradients, layout), 1.0, OUTSIDE_WIDENING)


@dataclass(frozen=True)
class BetweenNodes(_Checked):
    """A named algorithm by a profile that measured it between nodes."""

    profile: Profile
    fit: NetworkFit
    software: Software

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        several = node_count(layout.gpus, layout.gpus_per_node) > 1
        device = np.asarray(not self.software.reaches_device) | layout.has_device(
            self.profile.device
        )
        same = _within_speeds(self.software, layout, self.fit.link_bytes_per_s)
        return _likeness(device, ~several | (same & layout.has_link(self.profile.link)), several)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Elements, sizes, ranks, ranks per node, and a link as fast."""
        yield _same_element(gradients)
        yield _sizes(gradients, self.profile.message_bytes)
        yield _ranks(layout, self.profile, self.profile.ranks[1])
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        few, most = self.fit.ranks_per_node
        yield (
            np.asarray((local >= few) & (local <= most)),
            lambda: (
                f"{_one(local):,.0f} ranks per node; measured {span_text(few, most)} between nodes"
            ),
        )
        slow, fast = self.fit.link_bytes_per_s
        speed = 1.0 / self.software.network(layout).wire_s_per_byte()
        yield (
            np.asarray((speed * SAME_SPEED >= slow) & (speed <= fast * SAME_SPEED)),
            lambda: f"a link of {_gbps(_one(speed))} Gbps; measured {_span_gbps(slow, fast)}",
        )

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """That of errors on what was held out, twice as wide outside."""
        width = held_out_spread(self.fit.error, self.fit.error_p90)
        return width * np.where(self.inside(gradients, layout), 1.0, OUTSIDE_WIDENING)


@dataclass(frozen=True)
class OfLibraryChoice(_Checked):
    """What a library chose by itself, as a profile measured it."""

    profile: Profile
    aggregation: LibraryChoice

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        assert self.profile.auto is not None
        one = node_count(layout.gpus, layout.gpus_per_node) <= 1
        device = np.asarray(not self.aggregation.reaches_device) | layout.has_device(
            self.profile.device
        )
        alone = any(anchor.nodes <= 1 for anchor in self.profile.auto.anchors)
        apart = any(anchor.nodes > 1 for anchor in self.profile.auto.anchors)
        tier = np.where(one, alone, apart)
        return _likeness(device, one | self._same_network(layout), tier)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Elements, sizes, nodes, ranks, ranks per node, links and device."""
        yield _same_element(gradients)
        yield _sizes(gradients, self.profile.message_bytes)
        yield _nodes(layout, self.profile)
        yield _ranks(layout, self.profile, self.profile.ranks[1])
        yield from self._likeness(layout)

    def _likeness(self, layout: Surroundings) -> Iterator[Check]:
        """Ranks per node, links and device."""
        profile, auto = self.profile, self.profile.auto
        assert auto is not None
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        few, most = auto.ranks_per_node
        most = min(most, profile.cores)
        yield (
            np.asarray((local >= few) & (local <= most)),
            lambda: f"{_one(local):,.0f} ranks per node; measured {span_text(few, most)}",
        )
        one = node_count(layout.gpus, layout.gpus_per_node) <= 1
        yield np.asarray(one | self._same_network(layout)), lambda: self._other_link(layout)
        device = self.aggregation.reaches_device  # else host memory is measured, whatever is beside
        yield (
            np.asarray(not device) | layout.own_inside_link,
            lambda: "another link inside the node than the accelerator comes with",
        )
        yield (
            np.asarray(not device) | layout.has_device(profile.device),
            lambda: f"another accelerator; measured on {profile.device}",
        )

    def _same_network(self, layout: Surroundings) -> Mask:
        """Whether the link between nodes is as fast as the one measured, and of no other kind."""
        if self.profile.link_bytes_per_s is None:
            return np.asarray(False)
        speed = np.abs(np.log(self.aggregation.slower(layout))) <= np.log(SAME_SPEED)
        return np.asarray(speed & layout.has_link(self.profile.link))

    def _other_link(self, layout: Surroundings) -> str:
        measured, link = self.profile.link_bytes_per_s, self.profile.link
        if measured is None:
            return f"the speed of the link that was measured ({link}) is not known"
        here = measured / _one(self.aggregation.slower(layout))
        name = layout.link_name
        return (
            f"another link: {_gbps(here)} Gbps a node{f' ({name})' * bool(name)}; "
            f"measured {_gbps(measured)} Gbps a node ({link})"
        )

    def alike(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """Whether device, element, ranks per node and links are those measured."""
        same = _same_element(gradients)[0]
        for mask, _ in self._likeness(layout):
            same = same & mask
        return np.asarray(same)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """As the profile says, with every doubling of ranks and bytes beyond what was measured;
        twice as wide where something else is not alike."""
        assert self.profile.auto is not None
        octaves = np.asarray(_octaves(gradients, self.profile.message_bytes))
        largest = float(gradients.message_bytes.max(initial=0.0))
        spread = self.profile.auto.log_spread(layout.gpus, layout.gpus_per_node, octaves, largest)
        unlike = ~(self.alike(gradients, layout) | (layout.gpus <= 1))
        return np.asarray(spread * np.where(unlike, OUTSIDE_WIDENING, 1.0))


@dataclass(frozen=True)
class OfServers(_Checked):
    """Parameter servers as a profile measured them, a machine of its own for every process."""

    profile: Profile
    fit: ServersFit
    software: Software

    def likeness(self, layout: Surroundings) -> Array:
        """See :class:`Evidence`."""
        same = _within_speeds(self.software, layout, self.fit.link_bytes_per_s)
        return _likeness(np.asarray(True), same & layout.has_link(self.fit.link), same)

    def checks(self, gradients: Gradients, layout: Surroundings) -> Iterator[Check]:
        """Elements, sizes, workers, servers, machines and link."""
        yield _same_element(gradients)
        yield _sizes(gradients, self.fit.message_bytes)
        workers = node_count(layout.gpus, layout.gpus_per_node)
        for what, counts, limits in (
            ("workers", workers, self.fit.workers), ("servers", layout.servers, self.fit.servers),
        ):  # fmt: skip
            yield _within(what, counts, limits)
        yield from self._likeness(layout)

    def _likeness(self, layout: Surroundings) -> Iterator[Check]:
        """Machines and link as measured."""
        shared = self.fit.cores
        together = f"all processes on one machine of {shared or 0:g} cores"
        yield (
            np.asarray(shared is None),
            lambda: f"a machine for every worker and server; measured {together}",
        )
        yield (
            np.asarray(~layout.colocated),
            lambda: "servers on the workers' machines; measured beside them",
        )
        local = np.minimum(layout.gpus, layout.gpus_per_node)
        yield (
            np.asarray(local <= 1),
            lambda: f"{_one(local):,.0f} accelerators a worker; measured 1",
        )
        slow, fast = self.fit.link_bytes_per_s
        speed = 1.0 / self.software.network(layout).wire_s_per_byte()
        ends = " to ".join(dict.fromkeys(short(8e-9 * end) for end in (slow, fast)))
        measured = f"at {ends} Gbps" if fast > 0 else "over no link of known speed"
        yield (
            np.asarray((speed * SAME_SPEED >= slow) & (speed <= fast * SAME_SPEED)),
            lambda: f"a link of {short(8e-9 * _one(speed))} Gbps; measured {measured}",
        )

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """It grows with every doubling of workers, servers and bytes beyond what was measured, and
        is twice that where machines or link are not alike."""
        workers = node_count(layout.gpus, layout.gpus_per_node)
        sizes = gradients.message_bytes if gradients.buckets else np.ones(1)
        octaves = (
            octaves_outside(workers, self.fit.workers)
            + octaves_outside(layout.servers, self.fit.servers)
            + float(octaves_outside(sizes, self.fit.message_bytes).max())
        )
        alike = np.asarray(True)
        for mask, _ in self._likeness(layout):
            alike = alike & mask
        return np.asarray(self.fit.log_spread(octaves) * np.where(alike, 1.0, OUTSIDE_WIDENING))


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

    def likeness(self, layout: Surroundings) -> Array:
        """None: rules are no measurement."""
        del layout
        return np.zeros(())

    @property
    def parts_measured(self) -> tuple[bool, ...]:
        """Of all that may be chosen."""
        return tuple(known for name in self.aggregation.algorithms
                     for known in self.by_name[name].parts_measured)  # fmt: skip

    def measured(self, gradients: Gradients, layout: Surroundings) -> bool:
        """Whether profiles price all that is chosen."""
        names = self.aggregation.names(gradients, layout)
        return all(self.by_name[name].measured(gradients, layout) for name in names)

    def inside(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """Whether every algorithm that is chosen at a point was measured like this."""
        algorithms = self.aggregation.rules.algorithms
        _, chosen = self.aggregation.chosen(gradients, layout)
        inside: Mask = np.asarray((layout.gpus <= 1) | bool(len(chosen)))
        for name in self.aggregation.names(gradients, layout):
            mine = [at for at, known in enumerate(algorithms) if known.priced_as == name]
            used = np.any(np.isin(chosen, mine), axis=0)
            inside = inside & (~used | self.by_name[name].inside(gradients, layout))
        return np.asarray(inside)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """What any of the chosen lacks."""
        found: dict[str, None] = {}
        for name in self.aggregation.names(gradients, layout):
            found.update(dict.fromkeys(self.by_name[name].why_outside(gradients, layout)))
        return list(found)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """The widest of all that are chosen."""
        found: Array = np.zeros(())
        for name in self.aggregation.names(gradients, layout):
            found = np.maximum(found, self.by_name[name].log_spread(gradients, layout))
        return found


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
        """Of all parts."""
        return tuple(profile for part in self.parts for profile in part.profiles)

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

    def inside(self, gradients: Gradients, layout: Surroundings) -> Mask:
        """Of the part that a point takes."""
        inside = self._joined(layout, lambda part: part.inside(gradients, layout))
        return np.asarray(inside > 0)

    def why_outside(self, gradients: Gradients, layout: Surroundings) -> list[str]:
        """Of the part that a single point takes."""
        (part,) = self.taken(layout)
        return part.why_outside(gradients, layout)

    def log_spread(self, gradients: Gradients, layout: Surroundings) -> Array:
        """Of the part that a point takes."""
        return self._joined(layout, lambda part: part.log_spread(gradients, layout))

    def _joined(self, layout: Surroundings, read: Callable[[Evidence], Any]) -> Array:
        which = self.which(layout)
        first, *others = np.unique(which)
        found = np.asarray(read(self.parts[first]), dtype=np.float64)
        for at in others:
            found = np.where(which == at, read(self.parts[at]), found)
        return found


def held_out_spread(error: float, error_p90: float) -> float:
    """Standard deviation of a logarithm from relative errors on what was held out.

    The wider reading of their median and their 90th percentile. A relative error e is read as the
    factor x of which (x - 1/x) / 2 = e, the mean of x - 1 for a time that is too long and 1 - 1/x
    for one that is too short; so ln x = arcsinh(e).
    """
    median, p90 = np.arcsinh((error, error_p90))
    return float(max(median / NORMAL_MEDIAN, p90 / NORMAL_P90))


def _likeness(device: Mask, link: Mask, tier: Mask) -> Array:
    """4 for the same accelerator, 2 for the same link between nodes, 1 for as many nodes."""
    return np.asarray(4.0 * device + 2.0 * link + 1.0 * tier)


def _within_speeds(software: Software, layout: Layout, limits: tuple[float, float]) -> Mask:
    """Whether the link between nodes is as fast as one of those measured."""
    slow, fast = limits
    speed = 1.0 / software.network(layout).wire_s_per_byte()
    return np.asarray((speed * SAME_SPEED >= slow) & (speed <= fast * SAME_SPEED))


def _same_element(gradients: Gradients) -> Check:
    width = gradients.element_bytes
    what = f"gradients of {width:g} bytes an element; measured {MEASURED_ELEMENT_BYTES}"
    return np.asarray(width == MEASURED_ELEMENT_BYTES), lambda: what


def _sizes(gradients: Gradients, limits: tuple[float, float]) -> Check:
    """Whether every message is as large as measured."""
    sizes = list(gradients.message_bytes) or [0.0]
    low, high = limits

    def text() -> str:
        ends = dict.fromkeys(size_text(size) for size in (min(sizes), max(sizes)))
        return f"messages of {' to '.join(ends)}; measured {size_text(low)} to {size_text(high)}"

    return np.asarray(min(sizes) >= low and max(sizes) <= high), text


def _nodes(layout: Surroundings, profile: Profile) -> Check:
    nodes, most = node_count(layout.gpus, layout.gpus_per_node), profile.max_nodes
    return (
        np.asarray(nodes <= most),
        lambda: f"{_one(nodes):,.0f} nodes; measured {span_text(1, most)}",
    )


def _ranks(layout: Surroundings, profile: Profile, many: int) -> Check:
    """As many ranks; of those measured with forced algorithms a core for each."""
    n, few = layout.gpus, profile.ranks[0]
    own_core = " with a core each" * (many < profile.ranks[1])
    return (
        np.asarray((n >= few) & (n <= many)),
        lambda: f"{_one(n):,.0f} ranks; measured {span_text(few, many)}{own_core}",
    )


def _within(what: str, counts: Array, limits: tuple[int, int]) -> Check:
    few, many = limits
    return (
        np.asarray((counts >= few) & (counts <= many)),
        lambda: f"{_one(counts):,.0f} {what}; measured {span_text(few, many)}",
    )


def _octaves(gradients: Gradients, limits: tuple[float, float]) -> float:
    """Doublings between the measured sizes and the message farthest from them."""
    low, high = limits
    sizes = [max(float(size), 1.0) for size in gradients.message_bytes]
    return max((max(np.log2(low / size), np.log2(size / high), 0.0) for size in sizes), default=0.0)


def _one(values: Array) -> float:
    return float(np.ravel(values)[0])


def _gbps(bytes_per_s: float) -> str:
    return short(8e-9 * bytes_per_s)


def _span_gbps(slow: float, fast: float) -> str:
    if fast <= 0:
        return "one whose speed is not known"
    ends = dict.fromkeys((_gbps(slow), _gbps(fast)))
    return f"{' to '.join(ends)} Gbps"
