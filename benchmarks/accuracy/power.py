"""Watts of whole machines: what their makers say, against hosts like those of the other makers.

No watts that somebody measured are among the facts, so these are the makers' maxima. A host draws
500 W and a share of its accelerators' watts. Where a switch joins these, the share is fitted by
least squares to such machines, and here anew without the one that is judged; there is no interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.board import Line
from dse import catalog
from dse.pricing.hardware import number

# One machine under several names, by the memory of its accelerators, counts once.
MACHINES = ("dgx-2", "dgx-a100-80gb", "dgx-h100", "dgx-b200")


class Machine(NamedTuple):
    """Watts of a machine, of its accelerators, and of its host without their share."""

    maximum: float
    accelerators: float
    host: float


def machines() -> Iterator[Machine]:
    """Those with a switch between their accelerators, whose maker says what they draw."""
    host = number(catalog.default_prices().host_power_w.value)
    for name in MACHINES:
        known = catalog.node(name)
        device = catalog.accelerator(known.accelerator)
        yield Machine(number(known.power_w), known.accelerators * number(device.power_w), host)


def share(known: list[Machine]) -> float:
    """What a host draws besides for each watt of its accelerators, by least squares."""
    watts = np.array([one.accelerators for one in known])
    left = np.array([one.maximum - one.accelerators - one.host for one in known])
    return float(left @ watts / (watts @ watts))


def lines() -> list[Line]:
    """Each machine by the share that the others have."""
    known = list(machines())
    ratio = [
        (one.accelerators * (1 + share([other for other in known if other is not one])) + one.host)
        / one.maximum
        for one in known
    ]
    name = "watts of a machine, its maker's maximum: machine left out of the share of hosts"
    return [Line(name, "dse", np.array(ratio))]
