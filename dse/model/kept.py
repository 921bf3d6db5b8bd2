"""What a sample keeps on the accelerator until its backward pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.precision import Precision

# What a block of a transformer keeps for each token and hidden unit: Korthikanti et al., 2022,
# section 4.1, whose 34 bytes in 16 bits are 16 elements and the masks of two dropouts; and for each
# attention score the softmax, what dropout makes of it, and its mask: 5 bytes.
BLOCK_ELEMS, BLOCK_MASKS = 16.0, 2.0
SCORE_ELEMS, SCORE_MASKS = 2.0, 1.0
# More elements where operations are written out. GELU as 0.5 x (1 + tanh(...)) keeps the tanh and
# the factor of x, 4 each; a normalisation keeps its scale for every element, 1 in each of two.
WRITTEN_OUT_ELEMS = 10.0
MASK_BYTES = 1.0  # in any number format; written out, an element of the format
# A loss keeps fp32 logits, their log-softmax and their gradient beside the logits themselves.
LOSS_BYTES = 12.0


@dataclass(frozen=True)
class Kept:
    """What one sample keeps for the backward pass; NaN where it is not known.

    elems: elements in the format of activations. masks: of dropouts. written_out: elements more
    where operations are written out. scores: of attention, with masks of their own. logits:
    elements of the largest output.
    """

    elems: float
    masks: float = 0.0
    written_out: float = 0.0
    scores: float = 0.0
    logits: float = 0.0

    @classmethod
    def of_blocks(cls, width: float, scores: float, logits: float) -> Kept:
        """Of a transformer. width: tokens times hidden size, summed over its blocks."""
        return cls(
            BLOCK_ELEMS * width, BLOCK_MASKS * width, WRITTEN_OUT_ELEMS * width, scores, logits
        )

    @property
    def known(self) -> bool:
        """Whether memory can be judged."""
        return not np.isnan(self.elems)

    def sample_bytes(
        self, precision: Precision, written_out: bool, fused: ArrayLike
    ) -> dict[str, Array]:
        """Bytes of one sample by the names of :data:`dse.model.memory.PARTS`. fused: whether one
        kernel computes attention and keeps no scores."""
        size = precision.activation_bytes
        mask = size if written_out else MASK_BYTES
        elems = self.elems + self.written_out * written_out
        scores = self.scores * (SCORE_ELEMS * size + SCORE_MASKS * mask)
        return {
            "activations_bytes": np.asarray(size * elems + mask * self.masks),
            "logits_bytes": np.asarray(self.logits * (size + LOSS_BYTES)),
            "scores_bytes": np.where(fused, 0.0, scores),
        }
