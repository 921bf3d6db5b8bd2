"""On what terms a price is offered: class, seller, quote, validity, discount, currency."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from dse.currencies import Converted

LIST, QUOTE, USED, CLOUD, ESTIMATE = "list", "quote", "used", "cloud", "estimate"
CLASSES = (LIST, QUOTE, USED, CLOUD, ESTIMATE)
ON_DEMAND = "on-demand"
RENTAL_TERMS = (ON_DEMAND, "1-year", "3-year", "spot")  # as a study says them


@dataclass(frozen=True)
class PriceTerms(Converted):
    """The terms of a price.

    price_class: one of :data:`CLASSES`: what a seller or maker publishes, what was offered to the
    buyer, what used hardware goes for, what a cloud charges by the hour, what somebody who does not
    sell it writes that it costs. vendor: who sells it. quote: the number of the quotation.
    valid_until: its last day. currency, rate: in which it was given, USD for one of it; empty and 1
    where that was USD. rate_date: the day of the rate, empty where nobody says it. file: name of
    the buyer's own price list, or of the study, that has it; empty for the catalogue's. includes:
    what of a node it pays, ``card`` or ``node-share``; empty where that is not said.
    term: of a rent, one of :data:`RENTAL_TERMS`; empty where that is not said, so that it counts as
    one on demand. rent_class: of a rent, that of its sellers; empty where it is not known.
    log_spread: of a price made of several offers, by how much these differ, as a standard deviation
    of logarithms; None where they are too few to tell.
    """

    price_class: str
    vendor: str = ""
    quote: str = ""
    valid_until: datetime.date | None = None
    currency: str = ""
    rate: float = 1.0
    rate_date: str = ""
    file: str = ""
    includes: str = ""
    term: str = ""
    rent_class: str = ""
    log_spread: float | None = None

    def expired(self, day: datetime.date) -> bool:
        """Whether it is no longer valid on a day."""
        return self.valid_until is not None and day > self.valid_until
