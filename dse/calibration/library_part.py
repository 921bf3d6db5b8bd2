"""A profile's part for allreduce whose algorithm the library chose, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dse.calibration.experiment import STRICT, Count, NonNegative
from dse.calibration.spread import NORMAL_90, PER_OCTAVE, widened
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.measured_library import Anchor, Composition, LibraryCost
from dse.model.arrays import Array, ArrayLike, Mask

AUTO = "auto"


@dataclass(frozen=True)
class LibraryFit:
    """A fitted :class:`~dse.model.aggregation.measured_library.LibraryCost` and how far off it is.

    coefficients, low, high: value and 90 % interval of each, in the order of ``library.terms``.
    ranks_per_node: least and largest measured. error, error_p90: median and 90th percentile of the
    absolute relative error on the rank counts (or, where one only was measured, the sizes, says
    ``held_out``) that a fit had not seen; textbook_*: the same of one alpha and one beta.
    size_error_p90: on every other size. per_octave, per_octave_local: standard deviation of the
    logarithm that a doubling of nodes, and of ranks per node, away from those measured adds.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    family: Literal["mpi", "nccl"]
    chunk_bytes: NonNegative
    ring_from_bytes: NonNegative
    sharing: NonNegative
    nvls: bool
    rails: Annotated[float, Field(ge=1)]
    edges_bytes: tuple[NonNegative, ...]
    coefficients: tuple[NonNegative, ...]
    low: tuple[NonNegative, ...]
    high: tuple[NonNegative, ...]
    anchors: tuple[Anchor, ...]
    ranks_per_node: tuple[Count, Count]
    held_out: Literal["ranks", "sizes"]
    error: NonNegative
    error_p90: NonNegative
    size_error_p90: NonNegative
    textbook_error: NonNegative
    textbook_error_p90: NonNegative
    residual: NonNegative
    per_octave: NonNegative
    per_octave_local: NonNegative

    def cost(self) -> LibraryCost:
        """Seconds as a function of (ranks, ranks per node, bytes)."""
        composition = Composition(
            self.family, self.chunk_bytes, self.ring_from_bytes, self.sharing, self.nvls, self.rails
        )
        return LibraryCost(composition, self.edges_bytes, self.coefficients, self.anchors)

    def wrong(self) -> str:
        """What is wrong with it that no single value shows; empty if nothing."""
        columns = 5 + 5 * len(self.edges_bytes)
        fitting = (
            len(self.coefficients) == len(self.low) == len(self.high) == columns
            and list(self.edges_bytes) == sorted(set(self.edges_bytes))
            and all(
                len(a.message_bytes) == len(a.seconds) > 0 < min(a.seconds)
                and list(a.message_bytes) == sorted(set(a.message_bytes))
                for a in self.anchors
            )
        )
        return "" if fitting else "edges, coefficients and anchors do not fit together"

    def log_spread(
        self,
        ranks: Array,
        ranks_per_node: Array,
        octaves: Array,
        message_bytes: ArrayLike,
        unlike: bool | Mask = False,
    ) -> Array:
        """Standard deviation of the logarithm of a prediction.

        octaves: doublings beyond what was measured, but for the layout: of sizes, of the link's
        speed. unlike: see :func:`.spread.log_spread`.

        The error on held-out sizes contains that of the coefficients, so it stands for both. Away
        from every measured layout come on top: per doubling of nodes and of ranks per node between
        it and the nearest one; what the composition is off there, at the size of the message; and
        between nodes the factor by which fewer ranks a node than measured may be slower.
        """
        inside = np.log1p(self.size_error_p90) / NORMAL_90
        n, g = (np.maximum(np.asarray(v, dtype=np.float64), 1.0) for v in (ranks, ranks_per_node))
        local, nodes = np.minimum(n, g), node_count(n, g)
        away = np.zeros(np.broadcast_shapes(n.shape, g.shape))
        if self.anchors:
            away = np.hypot(*self._from_nearest(n, g, message_bytes))
        # Fewer ranks on a node than measured may reach fewer of its cards: down to a card a rank.
        fewest = min((a.ranks_per_node for a in self.anchors if a.nodes > 1), default=1.0)
        missing = np.where(nodes > 1, np.maximum(fewest / local, 1.0), 1.0)
        cards = np.log(missing) / NORMAL_90
        outside = np.hypot(away, PER_OCTAVE * octaves)
        return np.asarray(np.hypot(np.hypot(inside, cards), outside) * widened(unlike))

    def _from_nearest(
        self, ranks: Array, ranks_per_node: Array, message_bytes: ArrayLike
    ) -> tuple[Array, Array]:
        """Spread by the distance to the nearest measured layout, and by what is off there."""
        nodes, local = node_count(ranks, ranks_per_node), np.minimum(ranks, ranks_per_node)
        distance = np.stack(np.broadcast_arrays(*(
            self.per_octave * np.abs(np.log2(nodes / a.nodes))
            + self.per_octave_local * np.abs(np.log2(local / min(a.ranks, a.ranks_per_node)))
            for a in self.anchors
        )))  # fmt: skip
        nearest, least = np.argmin(distance, axis=0), np.min(distance, axis=0)
        cost = self.cost()
        off = np.zeros(np.broadcast_shapes(least.shape, np.shape(message_bytes)))
        for number, anchor in enumerate(self.anchors):
            mine = (nearest == number) & (least > 0)
            if np.any(mine):
                ratio = np.log(cost.correction(anchor, np.asarray(message_bytes, dtype=np.float64)))
                off = np.where(mine, np.abs(ratio) / NORMAL_90, off)
        return least + np.zeros_like(off), off
