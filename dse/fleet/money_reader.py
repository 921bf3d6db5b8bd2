"""The money of a fleet study: what a GPU-hour costs, and amounts in other currencies."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from dse import catalog, units
from dse.catalog.price_terms import QUOTE, PriceTerms
from dse.currencies import USD, Rate, currency, guess, named_usd
from dse.fleet.study import Money
from dse.mistakes import Mistakes, Part, Unread
from dse.study.cursor import Cursor, clipped
from dse.study.schema import whole

T = TypeVar("T")
_LOWEST_SHARE = 1e-6


def given(top: Cursor, key: str) -> bool:
    """Whether a fleet study has a value under a key."""
    return top.has(key) and top.at(key).value is not None


@dataclass(frozen=True)
class FleetRates:
    """What other currencies are worth by the price list that a fleet study names under ``money``.
    top: the whole study."""

    top: Cursor

    @cached_property
    def known(self) -> Mapping[str, Rate]:
        """By code; a mistake in the list raises :class:`~dse.errors.StudyError`."""
        money = self.top.at("money") if given(self.top, "money") else None
        if money is None or not money.has("prices"):
            return {}
        return catalog.read_prices(_price_list(money.at("prices"))).rates

    def usd(
        self, at: Cursor, dimension: str, most: float, example: str
    ) -> tuple[float, PriceTerms | None]:
        """A price as written, in USD, and its terms where it is in another currency."""
        written = at.value
        code = currency(written) if isinstance(written, str) else USD
        if code == USD:
            return at.quantity(dimension, most, example=example), None
        if code not in self.known:
            raise at.wrong(
                f"{at.label}: {at.shown} is in a currency of which no rate is given",
                f"{guess(code, self.known)}add 'currencies: {{{code}: ... USD}}' with what one "
                f"{code} is worth to a price list under money (prices: FILE), or write it in USD",
            )
        rate = self.known[code]
        in_usd = replace(at, source=at.source.renamed({at.loc: named_usd(written)}, {}))
        terms = PriceTerms(QUOTE, currency=code, rate=rate.usd, rate_date=rate.date)
        return in_usd.quantity(dimension, most / rate.usd, example=example) * rate.usd, terms


def money_of(at: Cursor, rates: FleetRates) -> Money:
    """What a fleet study says of money; mistakes raise :class:`~dse.errors.StudyError`."""
    mistakes = Mistakes()

    def optional(key: str, read: Callable[[Cursor], T], absent: Any) -> Part[T]:
        return mistakes.part(lambda: read(at.at(key)) if at.has(key) else absent)

    mistakes.part(lambda: _check_priced(at))
    busy = optional("busy", share_of, 1.0)
    hour = optional(
        "gpu_hour", lambda place: rates.usd(place, "usd_per_hour", 1e6, "2 USD/hour")[0], None
    )
    accelerator = optional(
        "accelerator", lambda place: place.named("accelerator", catalog.names("accelerators")), ""
    )
    years = optional("amortisation_years", lambda place: place.quantity("count", 100.0), None)
    prices = optional("prices", _price_list, None)
    counts = {
        key: optional(key, lambda place: int(whole(place.value)), 1)
        for key in ("gpus", "gpus_per_nic")
    }
    mistakes.told()
    return Money(
        gpus=counts["gpus"](),
        busy=busy(),
        gpu_hour_usd=hour(),
        accelerator=accelerator(),
        years=years(),
        gpus_per_nic=counts["gpus_per_nic"](),
        prices=prices(),
    )


def _check_priced(at: Cursor) -> None:
    if len(at.given()) < len(at.value):
        raise Unread  # a key is misspelt
    if at.has("gpu_hour") == at.has("accelerator"):
        wrong = "both gpu_hour and accelerator" if at.has("gpu_hour") else "no price of a GPU-hour"
        remedy = "write gpu_hour: 2 USD/hour, or accelerator: v100-sxm2-16gb"
        raise at.wrong(f"money: {wrong}", remedy)


def _price_list(at: Cursor) -> Path:
    path = Path(os.path.dirname(at.source.path), at.value)
    if not os.path.isfile(path):
        problem = f"prices: no file '{clipped(at.value)}'"
        raise at.wrong(problem, "paths are relative to the study's folder")
    return path


def share_of(at: Cursor) -> float:
    """A share of a whole, more than nothing: 0.7, or 70 %."""
    try:
        share = units.parse(at.value, "share")
    except units.UnitError:
        share = 0.0
    if not _LOWEST_SHARE <= share <= 1:
        remedy = "write a number above 0 and at most 1, such as 0.7, or a percentage, such as 70 %"
        raise at.wrong(f"{at.label}: {at.shown} is not a share", remedy)
    return share
