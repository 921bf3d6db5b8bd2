"""What a point has in common with what was measured, thing by thing, and what to say where not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from dse.calibration.evidence import SAME_KIND, Surroundings
from dse.calibration.number_text import gbps, size_text, span_text
from dse.calibration.profile import Profile
from dse.calibration.spread import octaves_of_speed, octaves_outside
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import Gradients, Layout
from dse.model.aggregation.composed import Software
from dse.model.arrays import Array, Mask

MEASURED_ELEMENT_BYTES = 4  # calibration sums float32
# Messages of fewer bytes are bound by what is done per element, not per byte. Assumed.
SMALL_BYTES = 64 * 1024.0


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


def distance(checks: Iterable[Check]) -> tuple[Array, Mask]:
    """Doublings of all checks together, and whether any finds something of another kind."""
    octaves: Array = np.zeros(())
    unlike: Mask = np.asarray(False)
    for check in checks:
        octaves, unlike = octaves + check.octaves, unlike | check.unlike
    return octaves, unlike


def nodes_of(layout: Layout) -> Array:
    """Nodes of the points."""
    return node_count(layout.gpus, layout.gpus_per_node)


def on_several(layout: Layout) -> Mask:
    """Whether the points have several nodes."""
    return np.asarray(nodes_of(layout) > 1)


def kind_check(same: Mask, text: Callable[[], str]) -> Check:
    """Something that is of the kind measured, or of another."""
    return Check(np.zeros(()), ~np.asarray(same), text)


def element_check(gradients: Gradients, profile: Profile) -> Check:
    """Bytes of an element: they matter where the host adds the elements, and to small messages."""
    width = gradients.element_bytes
    small = gradients.message_bytes.min(axis=0, initial=np.inf) < SMALL_BYTES
    matters = (profile.gamma_s_per_byte > 0) | small
    octaves = np.where(matters, abs(np.log2(width / MEASURED_ELEMENT_BYTES)), 0.0)
    what = f"gradients of {width:g} bytes per element (measured: {MEASURED_ELEMENT_BYTES})"
    return Check(octaves, np.asarray(False), lambda: what)


def size_check(gradients: Gradients, limits: tuple[float, float]) -> Check:
    """Whether every message is as large as measured; doublings of the one farthest from that."""
    given, (low, high) = gradients.message_bytes, limits
    sizes = given if len(given) else np.zeros(1)

    def text() -> str:
        ends = dict.fromkeys(map(size_text, (float(sizes.min()), float(sizes.max()))))
        return f"messages of {' to '.join(ends)} (measured: {size_text(low)} to {size_text(high)})"

    return Check(octaves_outside(sizes, limits).max(axis=0), np.asarray(False), text)


def node_check(layout: Surroundings, measured: tuple[int, int]) -> Check:
    """No more nodes; where one was measured, several are of another kind."""
    nodes, (few, most) = nodes_of(layout), measured
    return Check(
        octaves_outside(nodes, (1, most)) if most > 1 else np.zeros(()),
        np.asarray((nodes > 1) & (most <= 1)),
        lambda: f"{counted(nodes, 'node')} (measured: {span_text(few, most)})",
    )


def rank_check(
    counts: Array, measured: tuple[int, int], where: str = "", cores: float = np.inf
) -> Check:
    """As many ranks, on no more cores than there were: beyond, those measured shared them."""
    few, many = measured
    most = min(many, cores)

    def text() -> str:
        here = f"{counted(counts, 'rank')}{where}"
        if most < few:
            shared = counted(np.asarray(cores), "core")
            return f"{here} with a core each (measured: {span_text(few, many)} on {shared})"
        own = " with a core each" * (most < many)
        return f"{here} (measured: {span_text(few, most)}{own})"

    return Check(octaves_outside(counts, (few, most)), np.asarray(False), text)


def count_check(
    what: str, counts: Array, limits: tuple[int, int], where: str = "", measured_where: str = ""
) -> Check:
    """As many of something as measured."""

    def text() -> str:
        return f"{counted(counts, what)}{where} (measured: {span_text(*limits)}{measured_where})"

    return Check(octaves_outside(counts, limits), np.asarray(False), text)


def speed_check(
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
        lambda: link_text(speed, limits),
    )


def only(values: Array) -> float:
    """That of a single point."""
    return float(np.ravel(values)[0])


def counted(counts: Array, what: str) -> str:
    """'1 node', '8 nodes', of a single point."""
    count = only(counts)
    return f"{count:,.0f} {what}{'s' * (count != 1)}"


def link_text(
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

    here = only(bytes_per_s)
    own = told((here, here), "a link of ", "a link", name)
    return f"{own} (measured: {told(limits, '', 'one', measured)})"


def likeness(device: Mask, link: Mask, tier: Mask, of_kind: Mask) -> Array:
    """4 for the same accelerator, 2 for the same link between nodes, 1 for one node or several as
    measured; SAME_KIND more for accelerator, nodes and the kind of that link together."""
    same = device & tier & of_kind
    return np.asarray(SAME_KIND * same + 4.0 * device + 2.0 * link + 1.0 * tier)
