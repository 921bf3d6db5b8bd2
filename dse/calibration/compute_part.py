"""The compute speed in a profile: what large matrix products reach on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dse.calibration.experiment import STRICT, ComputeSpeed, Count, Experiment, Positive
from dse.calibration.files import rounded
from dse.calibration.number_text import short

GIGA = 1e9
LARGE_SHARE = 1.0 / 8.0  # of the operations of the largest product: what counts as large


@dataclass(frozen=True)
class ComputeFit:
    """Floating-point operations per second of one device at one precision.

    sustained: whether one product ran for as long as there was time; flop_per_s: of that, once the
    device was warm, with low and high its slowest and fastest moments, shape its (m, k, n) and
    products 1. Otherwise the median over large products in short bursts: all with an eighth or more
    of the operations of the largest, whose cost is arithmetic; low, high: the slowest and the
    fastest of them; products: how many. training_flop_per_s: of profiles of 2026, which measured
    small networks; nothing is priced by it.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    device: str
    precision: str
    library: str
    version: str
    flop_per_s: Positive
    low: Positive
    high: Positive
    products: Count
    training_flop_per_s: Positive | None = None
    peak_flops_per_s: Positive | None = None
    sustained: bool = False
    shape: tuple[Count, Count, Count] | None = None

    def wrong(self) -> str:
        """What is wrong with it that no single value shows; empty if nothing."""
        ordered = self.low <= self.flop_per_s <= self.high
        return "" if ordered else f"{self.flop_per_s:g} FLOP/s is outside of its low and high"


def compute_text(part: ComputeFit) -> str:
    """One line: the speed reached, and on which products."""
    speeds = [short(value / GIGA) for value in (part.flop_per_s, part.low, part.high)]
    over = "for as long as there was time" if part.sustained else f"over {part.products} products"
    return (
        f"{part.device}: large {part.precision} matrix products reach {speeds[0]} GFLOP/s "
        f"({speeds[1]} to {speeds[2]} {over}; {part.library} {part.version})"
    )


def compute_parts(experiments: Sequence[Experiment]) -> tuple[ComputeFit, ...]:
    """One part per device and precision for which a matrix product was measured."""
    groups: dict[tuple[str, str], list[ComputeSpeed]] = {}
    for speed in (s for e in experiments for s in e.compute):
        groups.setdefault((speed.device, speed.precision), []).append(speed)
    return tuple(
        _part(mine) for _, mine in sorted(groups.items()) if any(s.kind == "matmul" for s in mine)
    )


def _part(speeds: Sequence[ComputeSpeed]) -> ComputeFit:
    products = [s for s in speeds if s.kind == "matmul"]
    peaks = [s.peak_flops_per_s for s in speeds if s.peak_flops_per_s is not None]
    lasting = max((s for s in speeds if s.kind == "sustained"), key=lambda s: s.flops, default=None)
    least, first = LARGE_SHARE * max(s.flops for s in products), products[0]
    large = [s.flop_per_s for s in products if s.flops >= least]
    reached, shape = (float(np.median(large)), min(large), max(large)), None
    if lasting is not None:  # one product that ran for long tells in place of short bursts
        fastest_s = lasting.min_s or lasting.median_s
        reached = (lasting.flop_per_s, lasting.flops / lasting.p95_s, lasting.flops / fastest_s)
        m, k, n = lasting.shape
        shape = (m, k, n)
    flop_per_s, low, high = map(rounded, reached)
    return ComputeFit(
        device=first.device,
        precision=first.precision,
        library=first.library,
        version=first.version,
        flop_per_s=flop_per_s,
        low=low,
        high=high,
        products=len(large) if lasting is None else 1,
        peak_flops_per_s=max(peaks) if peaks else None,
        sustained=lasting is not None,
        shape=shape,
    )
