"""A profile's part for allreduce whose algorithm the library chose, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dse.calibration.experiment import STRICT, Count, NonNegative
from dse.model.arrays import Array, Mask
from dse.model.library import Anchor, Composition, LibraryCost

AUTO = "auto"
NORMAL_90 = 1.645  # half of a normal's 90 % interval, in standard deviations
# Per doubling beyond the measured ranks where no rank count could be held out, and per doubling
# beyond the measured sizes: standard deviation of the logarithm. Assumed.
PER_OCTAVE = 0.15


@dataclass(frozen=True)
class LibraryFit:
    """A fitted :class:`~dse.model.library.LibraryCost` and how far off it is.

    coefficients, low, high: value and 90 % interval of each, in the order of ``library.terms``.
    ranks_per_node: least and largest measured. error, error_p90: median and 90th percentile of the
    absolute relative error on the rank counts (or, where one only was measured, the sizes, says
    ``held_out``) that a fit had not seen; textbook_*: the same of one alpha and one beta.
    size_error_p90: on every other size. spread: standard deviation of the logarithm that the
    bootstrap gives a prediction; per_octave: what every doubling of ranks
    away from those measured adds.
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
    spread: NonNegative
    per_octave: NonNegative

    def cost(self) -> LibraryCost:
        """Seconds as a function of (ranks, ranks per node, bytes)."""
        composition = Composition(
            self.family, self.chunk_bytes, self.ring_from_bytes, self.sharing, self.nvls, self.rails
        )
        return LibraryCost(composition, self.edges_bytes, self.coefficients, self.anchors)

    def shape_is_right(self) -> bool:
        """Whether the lists fit together and the edges ascend."""
        columns = 5 + 5 * len(self.edges_bytes)
        return (
            len(self.coefficients) == len(self.low) == len(self.high) == columns
            and list(self.edges_bytes) == sorted(set(self.edges_bytes))
            and all(
                len(a.message_bytes) == len(a.log_ratio) > 0
                and list(a.message_bytes) == sorted(set(a.message_bytes))
                for a in self.anchors
            )
        )

    def log_spread(self, ranks: Array, octaves_bytes: Array) -> Array:
        """Standard deviation of the logarithm of a prediction, so far beyond the measured sizes.

        The error on held-out sizes contains that of the coefficients, so it stands for both.
        """
        inside = np.log1p(self.size_error_p90) / NORMAL_90
        away: Array = np.ones(())  # what no layout anchors counts as one doubling away
        if self.anchors:
            measured = np.unique([anchor.ranks for anchor in self.anchors])
            away = np.abs(np.log2(np.maximum(ranks, 1.0)[..., None] / measured)).min(axis=-1)
        outside = np.hypot(self.per_octave * away, PER_OCTAVE * octaves_bytes)
        return np.asarray(np.hypot(inside, outside))

    def covers(self, ranks_per_node: Array) -> Mask:
        """Whether so many ranks per node lie between the least and the largest measured."""
        low, high = self.ranks_per_node
        return np.asarray((ranks_per_node >= low) & (ranks_per_node <= high))
