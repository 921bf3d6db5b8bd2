"""A catalogue workload as the arrays that the model takes."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.catalog import rows_of_work
from dse.model import compute
from dse.model.arrays import Array
from dse.model.kept import (
    BLOCK_ELEMS,
    BLOCK_MASKS,
    MASK_BYTES,
    SCORE_ELEMS,
    SCORE_MASKS,
    Kept,
)
from dse.model.precision import HALF
from dse.model.work import Attention, Moved, Products, Work
from dse.pricing import hardware

# Share of the pairs of queries and keys that count.
UNMASKED = {rows_of_work.ATTENTION: 1.0, rows_of_work.CAUSAL_ATTENTION: 0.5}


def model_layers(workload: catalog.Workload) -> compute.Layers:
    """A catalogue workload as arrays for the model.

    Layers whose output size is not known get a share of the kept activations in proportion to their
    FLOPs: the roofline's memory side is then an estimate for the whole network, not per layer.
    """
    kept = _kept(workload)
    outputs = workload.layer_output_elems
    if np.isnan(outputs).any():
        share = workload.layer_forward_flops / max(workload.layer_forward_flops.sum(), 1.0)
        outputs = share * (kept.elems + kept.masks / HALF if kept.known else 0.0)
    return compute.Layers(
        workload.layer_params,
        workload.layer_forward_flops,
        outputs,
        kept,
        # A workload whose input size is not known is taken to be fed without delay.
        workload.input_bytes if workload.input_bytes is not None else 0.0,
        model_work(workload),
        workload.family,
    )


def _kept(workload: catalog.Workload) -> Kept:
    """What a sample keeps for the backward pass, from its bytes in 16 bits.

    Those of a transformer, which are given without the scores too, are told apart by kind.
    """
    whole = hardware.number(workload.activation_bytes)
    logits = rows_of_work.logits(workload.work or ())
    if workload.activation_bytes_without_scores is None:
        return Kept(elems=whole / HALF, logits=logits)
    blocks = workload.activation_bytes_without_scores
    width = blocks / (BLOCK_ELEMS * HALF + BLOCK_MASKS * MASK_BYTES)
    scores = (whole - blocks) / (SCORE_ELEMS * HALF + SCORE_MASKS * MASK_BYTES)
    return Kept.of_blocks(width, scores, logits)


def model_work(workload: catalog.Workload) -> Work | None:
    """The rows of work of a catalogue workload as arrays for the model; None where it has none."""
    if workload.work is None:
        return None
    at = {name: index for index, name in enumerate(workload.layer_names)}

    def arrays(kinds: Collection[str], *keys: str) -> tuple[NDArray[np.intp], list[Array]]:
        rows = [row for row in workload.work or () if row.kind in kinds]
        layer = np.array([at[row.layer] for row in rows], dtype=np.intp)
        # What does not apply, None in a row, is NaN in an array.
        return layer, [np.array([getattr(row, key) for row in rows], np.float64) for key in keys]

    layer, (m, n, k, groups, steps, inputs) = arrays(
        rows_of_work.PRODUCTS, "m", "n", "k", "groups", "steps", "input_elems"
    )
    convolution = ~np.isnan(inputs)
    products = Products(
        layer, m, n, k, groups, steps, np.where(convolution, inputs, groups * m * k),
        groups * m * n, convolution,
    )  # fmt: skip
    layer, (queries, keys, size, heads) = arrays(UNMASKED, "m", "n", "k", "groups")
    unmasked = np.array([UNMASKED[row.kind] for row in workload.work if row.kind in UNMASKED])
    attention = Attention(layer, queries, keys, heads, size, unmasked)
    layer, moved = arrays((rows_of_work.ELEMENT_WISE,), "fused_elems", "eager_elems", "kernels")
    return Work(products, attention, Moved(layer, *moved))
