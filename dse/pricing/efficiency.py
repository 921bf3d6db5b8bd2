"""What share of its peak arithmetic an accelerator reaches: the study's, measured, or assumed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.hardware_names import same_device
from dse.calibration.spread import NORMAL_90
from dse.catalog import Accelerator
from dse.model.products import ProductLaw, product_s

# Share of an accelerator's peaks that training reaches, unless the study says otherwise: what Wang
# et al. (IISWC 2019) assume for every resource. Recalled, not checked against the paper's text.
DEFAULT_EFFICIENCY = 0.7
# Units of an accelerator that does not tell them: those of most of recent years.
USUAL_UNITS = 108.0


@dataclass(frozen=True)
class Reached:
    """A measured share of the peak, in (0, 1], with the ends of its interval, and by which profile.

    The peak is the catalogue's: a product that beats it reaches 1. sustained: whether it was
    measured for minutes and not in short bursts. filled: share of the peak that the product
    measured would reach by the law if nothing but its tiles kept it from it.
    """

    share: float
    low: float
    high: float
    profile: str
    sustained: bool = False
    filled: float = 1.0

    @property
    def log_spread(self) -> float:
        """Standard deviation of the logarithm, the interval read as a 90 % one."""
        return float(np.log(self.high / self.low)) / (2 * NORMAL_90)

    @property
    def efficiency(self) -> float:
        """The efficiency at which a law predicts what was measured."""
        return min(self.share / self.filled, 1.0)


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
                filled = _filled(part.shape, accelerator, precision)
                return Reached(share, low, high, profile.name, part.sustained, filled)
    return None


def _filled(shape: tuple[int, int, int] | None, accelerator: Accelerator, precision: str) -> float:
    """Share of the peak that a product reaches by the law at efficiency 1; 1 if it is not known."""
    if shape is None:
        return 1.0
    law = catalog.computing().law(accelerator, precision)
    ideal = ProductLaw(
        1.0, np.inf, 1.0, law.extra_k, small_tile=law.small_tile,
        units=accelerator.units or USUAL_UNITS,
    )  # fmt: skip
    m, k, n = (np.asarray(float(size)) for size in shape)
    moved = np.zeros(())
    return float(2 * m * k * n / product_s(m, n, k, np.ones(()), moved, ideal, False))


def log_spreads(
    given: float | None, profiles: Iterable[Profile], chips: Iterable[Accelerator], precision: str
) -> list[float]:
    """How uncertain the share is that each reaches, (accelerators,); 0 where it is not measured."""
    every = tuple(profiles)
    found = [measured(every, chip, precision) if given is None else None for chip in chips]
    return [one.log_spread if one else 0.0 for one in found]
