"""How far off the computing of a point may be; of its communication see its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

import numpy as np

from dse.calibration.evidence import NORMAL_MEDIAN
from dse.model.arrays import Array
from dse.pricing.efficiency import compute_log_spread

if TYPE_CHECKING:
    from dse.pricing.points import Points

# Median error of the roofline on accelerators and networks it was not fitted to (nothing in it is
# fitted): `make accuracy`, 14 rows of 2017. Carried into every interval.
COMPUTE_ERROR_MEDIAN = 0.32


def compute_error(points: Points) -> Array:
    """One factor per draw and accelerator for the error of the roofline; shape (draws, ...).

    Log-normal; a measured efficiency adds its own interval. Points on the same accelerator at the
    same precision err together, so that the error cancels in their ratio; on others independently.
    """
    peak, problem = points.precision.name, points.problem
    normal = np.stack([
        np.random.default_rng(crc32(f"{machine.accelerator.name} {peak}".encode()))
        .standard_normal(problem.draw_count)
        for machine in points.machines
    ], axis=-1)  # fmt: skip
    chosen, profiles = problem.study.efficiency.compute, problem.profiles.values()
    spread = points.machine(lambda m: compute_log_spread(chosen, profiles, m.accelerator, peak))
    at = points.coordinates[points.machine_axis].at
    width = np.hypot(COMPUTE_ERROR_MEDIAN / NORMAL_MEDIAN, spread)
    return np.asarray(np.exp(width * normal[:, at]))
