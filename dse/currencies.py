"""Amounts of money in other currencies than USD, at rates that the buyer states."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import NamedTuple

from dse import units

USD = "USD"
CODE = re.compile(r"[A-Z]{3}")
_WRITTEN = re.compile(r"(?<![A-Za-z])([kKMGT]?)([A-Z]{3})(?![A-Za-z])")


class Rate(NamedTuple):
    """What one of a currency is worth: USD, and the day of that, empty where nobody says it."""

    usd: float
    date: str = ""

    def of(self, code: str) -> str:
        """``EUR at USD 1.08 of 2026-11-02``."""
        return f"{code} at USD {self.usd:.10g}{f' of {self.date}' * bool(self.date)}"


class Converted:
    """What may have been given in another currency than USD: its code, USD for one of it, and of
    what day that is; empty, 1 and empty where it was not."""

    currency: str
    rate: float
    rate_date: str

    @property
    def converted(self) -> str:
        """``EUR at USD 1.08 of 2026-11-02``; empty where nothing was converted."""
        return Rate(self.rate, self.rate_date).of(self.currency) if self.currency else ""


# Rates at the end of a text: ``2 MEUR (EUR at USD 1.08 of 2026-11-02)``.
_STATED = r"([A-Z]{3}) at USD ([\d.]+(?:[eE][+-]?\d+)?)(?: of ([\d-]+))?"
_AT_THE_END = re.compile(rf"\s*\(({_STATED}(?:, {_STATED})*)\)\s*$")
_ONE = re.compile(_STATED)


def with_rates(text: str, rates: Mapping[str, Rate]) -> str:
    """The text with rates at its end, so that it says all that an amount in it depends on."""
    said = ", ".join(rate.of(code) for code, rate in rates.items())
    return f"{text} ({said})" if said else text


def parted(text: str) -> tuple[str, dict[str, Rate]]:
    """A text without the rates at its end, and these: the reverse of :func:`with_rates`."""
    found = _AT_THE_END.search(text)
    if found is None:
        return text, {}
    rates = {code: Rate(float(usd), date) for code, usd, date in _ONE.findall(found[1])}
    return text[: found.start()], rates


def rate_of(text: str, rates: Mapping[str, Rate]) -> tuple[str, Rate]:
    """The currency of a price as written, and what one of it is in USD.

    ``25 kEUR`` is in EUR, at that of ``rates``. Raises
    :class:`~dse.units.UnitError` for a currency without a rate.
    """
    code = currency(text)
    if code == USD:
        return USD, Rate(1.0)
    if code not in rates:
        raise units.UnitError(
            f"'{text}': no rate of the currency {code} is given",
            f"{guess(code, rates)}add 'currencies: {{{code}: ... USD}}' with what one {code} is "
            f"worth to this list or one before it; in a table, the row 'currencies {code},... USD'",
        )
    return code, rates[code]


def guess(code: str, rates: Mapping[str, Rate]) -> str:
    """``did you mean EUR? Else ``: the known currency that a code may be meant for."""
    near = difflib.get_close_matches(code, (USD, *rates), n=1)
    return f"did you mean {near[0]}? Else " if near else ""


def currency(text: str) -> str:
    """The code of the currency of a price as written, USD where it has none."""
    found = _WRITTEN.search(text)
    return found[2] if found else USD


def named_usd(text: str) -> str:
    """A price as written with USD in place of its currency, if it has one: ``25 kUSD``."""
    return _WRITTEN.sub(rf"\g<1>{USD}", text, count=1)
