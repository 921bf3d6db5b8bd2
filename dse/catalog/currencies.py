"""Prices in other currencies than USD, at rates that the buyer states."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from dse import units

USD = "USD"
CODE = re.compile(r"[A-Z]{3}")
_WRITTEN = re.compile(r"(?<![A-Za-z])([kKMGT]?)([A-Z]{3})(?![A-Za-z])")


def in_usd(text: str, rates: Mapping[str, float]) -> tuple[str, str, float]:
    """A price as written -> the same text with USD in place of its currency, the currency, and what
    one of it is in USD; the text alone decides where there is none.

    ``25 kEUR`` is ``25 kUSD``, EUR and 1.08 where ``rates`` has EUR: 1.08. Raises
    :class:`~dse.units.UnitError` for a currency without a rate.
    """
    found = _WRITTEN.search(text)
    if found is None or found[2] == USD:
        return text, USD, 1.0
    code = found[2]
    if code not in rates:
        near = difflib.get_close_matches(code, (USD, *rates), n=1, cutoff=0.6)
        guess = f"did you mean {near[0]}? Else " if near else ""
        raise units.UnitError(
            f"'{text}': no rate of the currency {code} is given",
            f"{guess}add 'currencies: {{{code}: ... USD}}' with what one {code} is worth to this "
            "list or one before it, or to a table a column rate with that number",
        )
    return f"{text[: found.start()]}{found[1]}{USD}{text[found.end() :]}", code, rates[code]
