"""What is bought beside the hardware: storage, spares, support, installation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dse import units
from dse.catalog.facts import Fact

SHARE, ONCE, PER_NODE = "share", "once", "per node"
_YEARLY = re.compile(r"\s*(?:/|per)\s*(?:year|yr|a)\s*$")
_NODE = re.compile(r"\s*(?:/|per)\s*node\s*$")
_YEAR = " a year"
_EXAMPLES = "write 10 %, 8 %/year, 25 kUSD, 300 USD/node or 20 USD/node/year"


@dataclass(frozen=True)
class Extra:
    """A line of the bill that no part of the hardware makes.

    fact: its number, and by its unit what that is of: a share of the price of the hardware, USD
    once, USD for each node; ``a year`` with it where it is paid for each year.
    """

    name: str
    fact: Fact

    @property
    def title(self) -> str:
        """What it is called on the bill."""
        text = self.name.replace("_", " ").replace("-", " ")
        return text[:1].upper() + text[1:]

    @property
    def yearly(self) -> bool:
        """Whether it is paid for each year that the hardware is written off over."""
        return self.fact.unit.endswith(_YEAR)

    @property
    def basis(self) -> str:
        """What its number is of: :data:`SHARE`, :data:`ONCE` or :data:`PER_NODE`."""
        return self.fact.unit.removesuffix(_YEAR)


def reading(value: Any) -> tuple[float, str]:
    """The number and unit of an extra as it is written, amounts in USD. Raises UnitError."""
    text = str(value)
    rest, yearly = _YEARLY.subn("", text)
    rest, of_nodes = _NODE.subn("", rest)
    suffix = _YEAR if yearly else ""
    if rest.strip().endswith("%") and not of_nodes:
        number = units.parse(rest.strip().removesuffix("%").strip(), "count")
        if number > 1000:
            raise units.UnitError(f"'{text}' is absurd", _EXAMPLES)
        return float(f"{number / 100:.15g}"), SHARE + suffix
    try:
        return units.parse(rest, "usd"), (PER_NODE if of_nodes else ONCE) + suffix
    except units.UnitError as cause:
        raise units.UnitError(cause.problem, _EXAMPLES) from cause
