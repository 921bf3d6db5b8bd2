"""What a rented run is billed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike


@dataclass(frozen=True)
class Billing:
    """price_share: of the price on demand that the term costs. minimum_s: the least that a run is
    billed; unit_s: billed are whole units, 0 for none; start_up_s: billed before the first step.
    in_use: share of the paid hours in which machines are in use; less than 1 of a commitment, whose
    runs pay for the hours in between."""

    price_share: ArrayLike = 1.0
    minimum_s: float = 0.0
    unit_s: float = 0.0
    start_up_s: ArrayLike = 0.0
    in_use: float = 1.0


def billed_s(held_s: ArrayLike, billing: Billing) -> Array:
    """Seconds that a run is billed which holds its machines for so long; any shape.

    ``unit * ceil(max((held + start_up) / in_use, minimum) / unit)``. It never falls as ``held_s``
    rises.
    """
    paid = (np.asarray(held_s) + billing.start_up_s) / billing.in_use
    seconds = np.maximum(paid, billing.minimum_s)
    if not billing.unit_s:
        return np.asarray(seconds)
    # Rounding may lift a whole number of units by a part in 1e16; that is no unit more.
    units = np.ceil(seconds / billing.unit_s * (1 - 1e-12))
    return np.asarray(units * billing.unit_s)
