"""What training leaves of an accelerator's memory."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device, Layers
from dse.model.memory import needed_bytes
from dse.model.precision import Precision
from dse.model.stack import Stack


def slack_bytes(
    layers: Layers,
    device: Device,
    stack: Stack,
    batch: ArrayLike,
    precision: Precision,
    state_bytes: ArrayLike,
    gpus: ArrayLike = 1,
) -> Array:
    """Bytes of an accelerator's memory left over; negative: it does not fit; NaN: not known.

    Its size less :func:`.memory.needed_bytes`, of the same arguments.
    """
    fused = stack.fuses(layers.family) & np.isfinite(device.attention_flops)
    written_out = layers.family in stack.footprint.written_out
    needed = needed_bytes(
        layers.total_params,
        layers.kept.sample_bytes(precision, written_out, fused),
        batch,
        precision,
        state_bytes,
        stack.footprint,
        gpus,
        device.memory_bytes,
    )
    return np.asarray(device.memory_bytes - needed)
