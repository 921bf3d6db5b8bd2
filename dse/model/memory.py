"""Bytes of one accelerator's memory that a training step needs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.precision import Precision
from dse.model.stack import Footprint

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

    def sample_bytes(self, precision: Precision, written_out: bool, fused: ArrayLike) -> Array:
        """Bytes of one sample. fused: whether one kernel computes attention and keeps no scores."""
        size = precision.activation_bytes
        mask = size if written_out else MASK_BYTES
        elems = self.elems + self.written_out * written_out
        scores = self.scores * (SCORE_ELEMS * size + SCORE_MASKS * mask)
        logits = self.logits * (size + LOSS_BYTES)
        return np.asarray(size * elems + mask * self.masks + logits + np.where(fused, 0.0, scores))


def needed_bytes(
    params: float,
    sample_bytes: ArrayLike,
    batch: ArrayLike,
    precision: Precision,
    state_bytes: ArrayLike,
    footprint: Footprint,
    gpus: ArrayLike = 1,
    memory_bytes: ArrayLike = 0.0,
) -> Array:
    """``(1 + slack) (params (w + master + g + state + copy) + batch a) + buffers + context``.

    The accounting of Rajbhandari et al., "ZeRO", SC 2020, section 3.1, with what software adds: a
    copy of the gradients in buckets and the collectives' buffers where several accelerators sum,
    what the allocator cannot use, and the context with its libraries, for which a framework may
    set a share of ``memory_bytes`` aside. batch: samples of one pass; sample_bytes: a, see
    :meth:`Kept.sample_bytes`; state_bytes: optimizer state per parameter; any broadcastable shapes.
    NaN if the activations are not known.
    """
    several = np.asarray(gpus) > 1
    per_param = precision.weight_bytes + precision.master_bytes + precision.stored_gradient_bytes
    copied = several * (footprint.bucket_copy * precision.gradient_bytes)
    tensors = params * (per_param + np.asarray(state_bytes) + copied)
    tensors = tensors + np.asarray(batch) * sample_bytes
    aside = np.maximum(footprint.context_bytes, footprint.reserved * np.asarray(memory_bytes))
    buffers = several * footprint.communication_bytes
    return np.asarray(tensors * (1 + footprint.slack) + buffers + aside)
