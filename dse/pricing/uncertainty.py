"""How far off the computing of a point may be; of its communication see its evidence."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from dse.calibration.spread import NORMAL_MEDIAN
from dse.model.arrays import Array

# Median error of the roofline on accelerators and networks it was not fitted to (nothing in it is
# fitted): `make accuracy`, 14 rows of 2017. Carried into every interval.
COMPUTE_ERROR_MEDIAN = 0.32


def compute_factors(
    accelerators: Sequence[str], precision: str, log_spreads: Sequence[float], draws: int
) -> Array:
    """Factors of the roofline's error, (draws, accelerators).

    Log-normal; log_spreads: of measured efficiencies, which add their own interval. Points on the
    same accelerator at the same precision err together, so that the error cancels in their ratio;
    on others independently.
    """
    normal = np.stack([
        np.random.default_rng(crc32(f"{name} {precision}".encode())).standard_normal(draws)
        for name in accelerators
    ], axis=-1)  # fmt: skip
    width = np.hypot(COMPUTE_ERROR_MEDIAN / NORMAL_MEDIAN, np.asarray(log_spreads))
    return np.asarray(np.exp(width * normal))
