"""What share of its peak arithmetic an accelerator reaches: the study's, measured, or assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dse.calibration import Profile
from dse.calibration.hardware_names import same_device
from dse.calibration.spread import NORMAL_90
from dse.catalog import Accelerator

# Share of an accelerator's peaks that training reaches, unless the study says otherwise: what Wang
# et al. (IISWC 2019) assume for every resource. Recalled, not checked against the paper's text.
DEFAULT_EFFICIENCY = 0.7


@dataclass(frozen=True)
class Reached:
    """A measured share of the peak, in (0, 1], with the ends of its interval, and by which profile.

    The peak is the catalogue's: a product that beats it reaches 1.
    """

    share: float
    low: float
    high: float
    profile: str

    @property
    def log_spread(self) -> float:
        """Standard deviation of the logarithm, the interval read as a 90 % one."""
        return float(np.log(self.high / self.low)) / (2 * NORMAL_90)


def measured(
    profiles: Iterable[Profile], accelerator: Accelerator, precision: str
) -> Reached | None:
    """What the first profile that timed large products on this accelerator says; None if none."""
    peak = accelerator.peak_flops_per_s.get(precision)
    if not peak:
        return None
    for profile in profiles:
        for part in profile.compute:
            if part.precision == precision and same_device(part.device, accelerator.name):
                share, low, high = (
                    min(value / peak, 1.0) for value in (part.flop_per_s, part.low, part.high)
                )
                return Reached(share, low, high, profile.name)
    return None


def compute_log_spread(
    given: float | None, profiles: Iterable[Profile], accelerator: Accelerator, precision: str
) -> float:
    """How uncertain the measured share is; 0 where it is not measured."""
    found = measured(profiles, accelerator, precision) if given is None else None
    return found.log_spread if found else 0.0
