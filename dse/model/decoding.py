"""How long hosts take to decode the images of a step."""

from __future__ import annotations

import numpy as np

from dse.model.arrays import Array, ArrayLike


def decoding_s(images: ArrayLike, cores: ArrayLike, images_per_core_s: ArrayLike) -> Array:
    """Seconds to decode ``images`` on so many cores: ``images / (cores rate)``.

    Where the cores are not known (NaN) hosts are no limit, 0. Arrays broadcast.
    """
    cores = np.asarray(cores)
    return np.where(np.isfinite(cores), images / (cores * images_per_core_s), 0.0)
