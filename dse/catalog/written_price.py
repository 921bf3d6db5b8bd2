"""A price as a file has it: a number in some currency, with the terms of an offer."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from dse import units
from dse.catalog.facts import last_day
from dse.catalog.price_terms import CLASSES, CLOUD, LIST, QUOTE, RENTAL_TERMS, PriceTerms
from dse.currencies import USD, Rate, rate_of
from dse.errors import StudyError
from dse.mistakes import Mistakes

# Keys of a price besides those of every fact: the terms of an offer.
TERMS = ("currency", "rate", "discount", "valid_until", "quote", "class", "term")
INCLUDES = "includes"  # what of a node a price pays
# Dimensions of prices, and how what they are per is written.
PER = {"usd": "", "usd_per_hour": "/hour", "usd_per_kwh": "/kWh"}

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

    @property
    def in_currency(self) -> str:
        """`` EUR``, where the currency is not written with the number."""
        return f" {self._given}" if self._given and self.written["value"] != "unknown" else ""

    @property
    def _given(self) -> str:
        return str(self.written.get("currency", ""))

    def read(self) -> tuple[float | None, str, PriceTerms]:
        """The price in USD after its discount, its unit, and its terms."""
        written, dimension = self.written, self.dimension
        value, given = written["value"], self._given
        per = "" if callable(dimension) else PER[dimension]
        if given and value != "unknown":
            self._check_sign(value)
            amount, *rest = f"{value}".split("/", 1)  # 2.10/hour
            value = f"{amount} {given}{f'/{rest[0]}' if rest else '' if '/' in given else per}"
        rates = dict(self.rates)
        mistakes = Mistakes()
        made = mistakes.part(lambda: self.date_of("date"))
        if "rate" in written:
            own = mistakes.part(lambda: self._rate(written["rate"]))

        def converting() -> tuple[str, Rate]:
            if "rate" in written:  # the rate of an offer is of the offer's day
                rates[given[:3]] = Rate(own(), made.otherwise(""))
            if not isinstance(value, str) or value == "unknown":
                return "", Rate(1.0)
            try:
                code, rate = rate_of(value, rates)
            except units.UnitError as cause:
                raise self.wrong(cause.problem, cause.remedy) from cause
            return "" if code == USD else code, rate

        converted = mistakes.part(converting)
        # Without the rate, so that its lack hides no other mistake.
        parsed = mistakes.part(lambda: self.amount(value))
        classed = mistakes.part(self._class)
        reduced = mistakes.part(self._discount)
        termed = mistakes.part(self._term)
        ended = mistakes.part(lambda: self.date_of("valid_until"))
        mistakes.part(lambda: self._check_days(made(), ended()))
        mistakes.told()
        (currency, rate), (number, unit), price_class = converted(), parsed(), classed()
        discount, until, before = reduced(), ended(), None
        if number is not None:
            # A price to pay is one of whole cents, so that a bill adds up as it is shown.
            places = 2 if dimension == "usd" and (currency or discount) else 15
            number = round(number * rate.usd, places) if currency else number
            if discount:
                before, number = number, round(number * (1 - discount), places)
        offer = PriceTerms(
            price_class=price_class,
            vendor=str(written.get("vendor", "")),
            quote=str(written.get("quote", "")),
            valid_until=last_day(until),
            before_discount=before,
            discount=discount,
            currency=currency,
            rate=rate.usd,
            rate_date=rate.date,
            file=self.file,
            includes=str(written.get(INCLUDES, "")),
            term=termed(),
        )
        return number, unit, offer

    def _check_sign(self, value: Any) -> None:
        """Refuse a number with a sign or a k beside a currency that is given by itself."""
        meant = units.sum_meant(str(value))
        if meant is None or not re.search(r"[$€£kKMG]", str(value)):
            return
        problem = f"'{value}' beside the currency {self._given}"
        if meant.currency not in ("", self._given):
            raise self.wrong(problem, f"write the number alone, and {meant.currency} if that is it")
        raise self.wrong(problem, f"write {meant.amount:.15g}")

    def _class(self) -> str:
        """What kind of price it is."""
        usual = QUOTE if self.file else CLOUD if self.dimension == "usd_per_hour" else LIST
        found = str(self.written.get("class", usual))
        if found not in CLASSES:
            remedy = f"write {', '.join(CLASSES[:-1])} or {CLASSES[-1]}"
            raise self.wrong(f"class '{found}'", remedy, "class")
        return found

    def _term(self) -> str:
        """The term that a rent is for; empty where that is not said."""
        found = str(self.written.get("term", ""))
        if found and self.dimension != "usd_per_hour":
            raise self.wrong("term is of rents", "drop it, or give the rent (hourly)", "term")
        if found and found not in RENTAL_TERMS:
            remedy = f"write {', '.join(RENTAL_TERMS[:-1])} or {RENTAL_TERMS[-1]}"
            raise self.wrong(f"term '{found}'", remedy, "term")
        return found

    def _check_days(self, date: str, until: str) -> None:
        """Refuse an offer of a day to come, and one that ends before it is made."""
        if not self.file or not date:
            return
        made = datetime.date.fromisoformat(f"{date}-01-01"[:10])  # at the earliest
        last = last_day(until)
        if last is not None and made > last:
            raise self.wrong(
                f"valid_until {until} is before its date, {date}", "correct one", "valid_until"
            )
        if made > datetime.date.today() + datetime.timedelta(days=1):  # it may be tomorrow there
            raise self.wrong(f"date {date} is in the future", "write the day of the offer", "date")

    def _rate(self, value: Any) -> float:
        """What one of a currency is in USD: ``1.08``, or ``1.08 USD``."""
        if not self._given:
            raise self.wrong("a rate, but no currency", "add currency: EUR", "rate")
        text = value if isinstance(value, str) and USD in value else f"{value} {USD}"
        try:
            rate = units.parse(text, "usd", example="1.08")
        except units.UnitError as cause:
            problem = cause.problem.replace(f"'{text}'", f"'{value}'")
            raise self.wrong(f"rate {problem}", cause.remedy, "rate") from cause
        if rate <= 0:
            raise self.wrong(f"rate {value} is not positive", "write a rate such as 1.08",
                             "rate")  # fmt: skip
        return rate

    def _discount(self) -> float:
        """A share in [0, 1)."""
        if "discount" not in self.written:
            return 0.0
        value = self.written["discount"]
        try:
            share = units.parse(value, "share")
        except units.UnitError as cause:
            problem = f"discount {cause.problem}"
            raise self.wrong(problem, "write for example 10 %", "discount") from cause
        if not 0 <= share < 1:
            if "%" in str(value) or not 1 <= share < 100:
                problem = f"a discount of {value} is not between 0 and 100 %"
                raise self.wrong(problem, "write for example 10 %", "discount")
            problem = f"a discount of {value} is {100 * share:g} %"
            raise self.wrong(problem, f"write {value} %", "discount")
        return share
