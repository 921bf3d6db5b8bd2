"""Prices in other currencies than USD, at rates that the buyer states."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from dse import units

USD = "USD"
CODE = re.compile(r"[A-Z]{3}")
_WRITTEN = re.compile(r"(?<![A-Za-z])([kKMGT]?)([A-Z]{3})(?![A-Za-z])")


def rate_of(text: str, rates: Mapping[str, float]) -> tuple[str, float]:
    """The currency of a price as written, and what one of it is in USD.

    ``25 kEUR`` is in EUR, 1.08 where ``rates`` has EUR: 1.08. Raises
    :class:`~dse.units.UnitError` for a currency without a rate.
    """
    code = currency(text)
    if code == USD:
        return USD, 1.0
    if code not in rates:
        near = difflib.get_close_matches(code, (USD, *rates), n=1, cutoff=0.6)
        guess = f"did you mean {near[0]}? Else " if near else ""
        raise units.UnitError(
            f"'{text}': no rate of the currency {code} is given",
            f"{guess}add 'currencies: {{{code}: ... USD}}' with what one {code} is worth to this "
            "list or one before it, or to a table a column rate with that number",
        )
    return code, rates[code]


def currency(text: str) -> str:
    """The code of the currency of a price as written, USD where it has none."""
    found = _WRITTEN.search(text)
    return found[2] if found else USD


def named_usd(text: str) -> str:
    """A price as written with USD in place of its currency, if it has one: ``25 kUSD``."""
    return _WRITTEN.sub(rf"\g<1>{USD}", text, count=1)
