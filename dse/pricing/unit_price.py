"""What one part costs, and how far that may be from what a buyer is asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.catalog import Fact, PriceList, price_spread
from dse.model.arrays import Array
from dse.pricing.draws import log_normal, price_factors


@dataclass(frozen=True)
class UnitPrice:
    """USD, or USD per hour, for one; NaN where not known.

    part: what is paid for; all prices of one part are off by the same factor. log_spread: standard
    deviation of the logarithm of that factor, see :class:`dse.catalog.PriceSpread`. fact: where the
    price is from; None where the study itself has it, or it is not known.
    """

    part: str
    usd: float
    log_spread: float = 0.0
    fact: Fact | None = None

    def drawn(self, draws: int) -> Array:
        """As many draws of it, log-normal, (draws,); itself where there are none."""
        drawn = log_normal(self.usd, self.log_spread, f"price: {self.part}", draws)
        return np.asarray(drawn * price_factors(self.part, draws) if draws else drawn)


FREE = UnitPrice("nothing", 0.0)
UNKNOWN = UnitPrice("an unknown part", float("nan"))


def unit_price(part: str, fact: Fact | None, prices: PriceList) -> UnitPrice:
    """The price that a list or the catalogue has; NaN where it is not known."""
    if fact is None or fact.value is None:
        return UnitPrice(part, float("nan"), fact=fact)
    spread = price_spread().log_spread(fact, prices.as_of)
    return UnitPrice(part, fact.value, spread, fact)
