"""Whether an aggregation was measured like this, why not, and how wide its error is.

Here are the interface and its grades. All arrays broadcast to the points' shape S, see
:class:`~dse.model.aggregation.base.Layout`. The messages of gradients have the same sizes at all
points, (messages,), or sizes of their own at each, (messages, *S).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse.calibration.profile import Profile
from dse.model.aggregation.base import Gradients, Layout
from dse.model.arrays import Array, Mask

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
    a closed formula prices whole steps, in which measurements have no part. spread, socket_spread:
    standard deviation of the logarithm of such prices where they could be checked; over sockets."""

    why: str
    everywhere: bool = False
    spread: float = 0.0
    socket_spread: float = 0.0
    profile: None = None
    profiles: tuple[()] = ()

    def likeness(self, layout: Surroundings) -> Array:
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
        sockets = np.isfinite(layout.socket_bytes_per_s) & (layout.gpus > layout.gpus_per_node)
        spread = np.where(sockets, self.socket_spread, self.spread)
        return np.where(layout.gpus <= 1, 0.0, spread)
