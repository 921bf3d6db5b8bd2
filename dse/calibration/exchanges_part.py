"""A profile's part for what ranks of a layout send one another: each operation over two tiers."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, log
from typing import Any, ClassVar

from dse.calibration.experiment import STRICT, Count, NonNegative, Positive
from dse.calibration.number_text import percent, short, span_text
from dse.calibration.spread import NORMAL_90, held_out_spread

ALLREDUCE, HALVES = "allreduce", ("all_gather", "reduce_scatter")
ALLTOALL, SEND = "alltoall", "send"
UNITS = {
    "call_s": (1e6, "us a call"), "link_bytes_per_s": (1e-9, "GB/s of a link"),
    "hop_s": (1e6, "us a hop"), "cards_bytes_per_s": (1e-9, "GB/s of a node's cards"),
}  # fmt: skip
NUMBERS = tuple(UNITS)


@dataclass(frozen=True)
class ExchangeFit:
    """One operation as :class:`dse.model.parallel.exchanges.Tiers` prices it, with all shares 1.

    call_s, link_bytes_per_s: on one node, what a call takes and a rank's link reaches. hop_s,
    cards_bytes_per_s: across nodes, what a hop takes and all network cards of a node reach;
    cards_share: of their speed. All are 0 where they were not measured or that is not known.
    ranks, nodes, message_bytes: least and largest measured. error, error_p90: median and 90th
    percentile of the relative error on rank counts (or sizes) that were left out. low, high:
    ends of the 90 % intervals of NUMBERS, by bootstrap.
    """

    __pydantic_config__: ClassVar[Any] = STRICT

    call_s: NonNegative
    link_bytes_per_s: NonNegative
    hop_s: NonNegative
    cards_bytes_per_s: NonNegative
    cards_share: NonNegative
    ranks: tuple[Count, Count]
    nodes: tuple[Count, Count]
    message_bytes: tuple[Positive, Positive]
    error: NonNegative
    error_p90: NonNegative
    low: tuple[NonNegative, ...]
    high: tuple[NonNegative, ...]

    def log_spread(self, number: str) -> float:
        """Standard deviation of the logarithm of one of NUMBERS: by its interval, and by what the
        whole was off on what was left out."""
        low, high = (ends[NUMBERS.index(number)] for ends in (self.low, self.high))
        return hypot(log(high / low) / 2 / NORMAL_90, held_out_spread(self.error, self.error_p90))


def exchange_text(operation: str, fit: ExchangeFit) -> str:
    """One line: what was reached, where, and how far off it is."""
    parts = []
    for (number, (scale, unit)), *ends in zip(UNITS.items(), fit.low, fit.high, strict=True):
        value, low, high = (short(scale * each) for each in (getattr(fit, number), *ends))
        if getattr(fit, number):
            parts.append(f"{value} ({low} to {high}) {unit}")
    ranks, nodes = (span_text(*ends) for ends in (fit.ranks, fit.nodes))
    missed = f"what was left out missed by {percent(fit.error)}"
    return f"{operation} in layouts: {', '.join(parts)}; ranks {ranks}, nodes {nodes}; {missed}"
