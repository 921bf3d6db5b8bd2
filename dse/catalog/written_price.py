"""A price as a file has it: a number in some currency, with the terms of an offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dse import units
from dse.catalog.facts import last_day
from dse.catalog.price_terms import CLASSES, CLOUD, LIST, QUOTE, RENTAL_TERMS, PriceTerms
from dse.currencies import USD, Rate, rate_of
from dse.errors import StudyError
from dse.mistakes import Mistakes
from dse.spelling import alternatives

# Keys of a price besides those of every fact: the terms of an offer.
TERMS = ("valid_until", "quote", "class", "term")
INCLUDES = "includes"  # what of a node the purchase of an accelerator pays
MONEY = ("usd", "usd_per_hour", "usd_per_kwh")  # dimensions of prices

# What a value as written says: a number, and its unit. Raises UnitError.
Reading: TypeAlias = Callable[[Any], tuple[float, str]]


@dataclass(frozen=True)
class WrittenPrice:
    """What is written of a price, under ``value`` and the keys of its terms.

    file: the buyer's own that has it; empty for the catalogue's. rates: what other currencies are
    worth in USD, by code. wrong: a mistake (problem, remedy) in it, or in what stands under a key
    of it. amount: reads a value with its unit. date_of: reads the day under a key.
    """

    written: Mapping[str, Any]
    dimension: str | Reading
    file: str
    rates: Mapping[str, Rate]
    wrong: Callable[..., StudyError]
    amount: Callable[[Any], tuple[float | None, str]]
    date_of: Callable[[str], str]

    def read(self) -> tuple[float | None, str, PriceTerms]:
        """The price in USD, its unit, and its terms."""
        rented = self.dimension == "usd_per_hour"
        usual = QUOTE if self.file else CLOUD if rented else LIST
        mistakes = Mistakes()
        mistakes.part(lambda: self.date_of("date"))
        ended = mistakes.part(lambda: self.date_of("valid_until"))
        converted = mistakes.part(self._rate)
        amount = mistakes.part(lambda: self.amount(self.written["value"]))
        price_class = mistakes.part(lambda: self._word("class", CLASSES, usual))
        term = mistakes.part(lambda: self._word("term", RENTAL_TERMS if rented else ()))
        mistakes.told()
        (currency, rate), (number, unit) = converted(), amount()
        if number is not None and currency:
            # A price to pay is one of whole cents, so that a bill adds up as it is shown.
            number = round(number * rate.usd, 2 if self.dimension == "usd" else 15)
        offer = PriceTerms(
            price_class=price_class(),
            vendor=str(self.written.get("vendor", "")),
            quote=str(self.written.get("quote", "")),
            valid_until=last_day(ended()),
            currency=currency,
            rate=rate.usd,
            rate_date=rate.date,
            file=self.file,
            includes=str(self.written.get(INCLUDES, "")),
            term=term(),
        )
        return number, unit, offer

    def _rate(self) -> tuple[str, Rate]:
        """The currency of the price and what one of it is worth; empty and 1 of USD."""
        value = self.written["value"]
        if not isinstance(value, str) or value == "unknown":
            return "", Rate(1.0)
        try:
            code, rate = rate_of(value, self.rates)
        except units.UnitError as cause:
            raise self.wrong(cause.problem, cause.remedy) from cause
        return "" if code == USD else code, rate

    def _word(self, key: str, allowed: tuple[str, ...], usual: str = "") -> str:
        """The word under a key, one of those allowed; ``usual`` where there is none."""
        found = str(self.written.get(key, usual))
        if found == usual or found in allowed:
            return found
        remedy = f"write {alternatives(allowed)}" if allowed else f"drop it: {key} is of rents"
        raise self.wrong(f"{key} '{found}'", remedy, key)
