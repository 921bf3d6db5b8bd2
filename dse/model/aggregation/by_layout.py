"""One aggregation whose costs are known from several places, each for layouts of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.aggregation.base import Bucketed, Gradients, Layout, MessageChoice
from dse.model.arrays import Array, Mask


@dataclass(frozen=True)
class ByLayout(Bucketed):
    """The price of every point is that of one of several parts.

    which: position of the part in ``parts``, for every point of a layout.
    """

    parts: tuple[Bucketed, ...]
    which: Callable[[Layout], NDArray[np.intp]]

    @property
    def leading_axes(self) -> int:  # type: ignore[override]
        """As the parts have."""
        return max(part.leading_axes for part in self.parts)

    @property
    def updates_on_servers(self) -> bool:  # type: ignore[override]
        """As the parts do, which are all of a kind."""
        return all(part.updates_on_servers for part in self.parts)

    @property
    def authority(self) -> str | None:  # type: ignore[override]
        """Of the first part that has one."""
        return next((part.authority for part in self.parts if part.authority), None)

    @property
    def axes(self) -> frozenset[str]:
        """Those of all parts."""
        return frozenset().union(*(part.axes for part in self.parts))

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Those of all parts."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.algorithms))

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """Of each point by its part; parts that no point takes are not priced."""
        return self._joined(layout, lambda part: part.message_s(message_bytes, gradients, layout))

    def priced(self, layout: Layout) -> Mask:
        """Whether its part has a price there."""
        return np.asarray(self._joined(layout, lambda part: part.priced(layout)) > 0)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether all parts that a point takes are bounded."""
        taken = np.unique(self.which(layout))
        return all(self.parts[at].bounded(gradients, layout) for at in taken)

    def choices(self, gradients: Gradients, layout: Layout) -> tuple[MessageChoice, ...]:
        """Those of the part that a single point takes."""
        part = self.parts[int(self.which(layout).flat[0])]
        return part.choices(gradients, layout)

    def _joined(self, layout: Layout, read: Callable[[Bucketed], Any]) -> Array:
        return joined(self.which(layout), lambda at: read(self.parts[at]))


def joined(which: NDArray[np.intp], read: Callable[[int], Any]) -> Array:
    """What ``read`` gives for each position in ``which``, by point; of no other position."""
    first, *others = np.unique(which)
    found = np.asarray(read(first), dtype=np.float64)
    for at in others:
        found = np.where(which == at, read(at), found)
    return found
