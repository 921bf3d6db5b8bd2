"""Bytes of one accelerator's memory that a training step needs."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device, Layers
from dse.model.precision import Precision

# CUDA context, library handles and workspaces. Recalled, not checked against a document.
WORKSPACE_BYTES = 1.5e9


def needed_bytes(
    layers: Layers, batch: ArrayLike, precision: Precision, state_bytes: ArrayLike
) -> Array:
    """Weights, master weights, gradients, optimizer state, activations and workspace.

    ``params * (w + master + g + state) + batch * activations * a + workspace``, the accounting of
    Rajbhandari et al., "ZeRO", SC 2020, section 3.1. batch: samples per accelerator; state_bytes:
    optimizer state per parameter; any broadcastable shapes. NaN if the activations are not known.
    """
    per_param = precision.weight_bytes + precision.master_bytes + precision.stored_gradient_bytes
    fixed = layers.total_params * (per_param + np.asarray(state_bytes)) + WORKSPACE_BYTES
    kept = layers.activation_elems * precision.activation_bytes
    return np.asarray(fixed + np.asarray(batch) * kept)


def slack_bytes(
    layers: Layers, device: Device, batch: ArrayLike, precision: Precision, state_bytes: ArrayLike
) -> Array:
    """Bytes of the accelerator's memory left over; negative means it does not fit."""
    return np.asarray(device.memory_bytes - needed_bytes(layers, batch, precision, state_bytes))
