"""Dimensions of quantities, for constraints that compare like with like.

A dimension is a sorted tuple of (base unit, exponent); samples and counts have none, so that
``gpus * batch_per_gpu <= 8192`` needs no unit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TypeAlias

from dse import units

Dimension: TypeAlias = tuple[tuple[str, int], ...]

NONE: Dimension = ()
_EXAMPLES = {  # unit -> an amount of its dimension, as people write one
    "samples/s": "1000 samples/s",
    "USD": "2 MUSD",
    "USD/hour": "50 USD/hour",
    "W": "500 kW",
    "s": "100 ms",
    "GB": "10 GB",
    "GB/s": "10 GB/s",
    "FLOP/s": "1 PFLOP/s",
    "J": "100 MJ",
    "USD/W": "10 USD/W",
    "USD/GB": "10 USD/GB",
    "kg": "1000 kg",
}


def multiply(left: Dimension, right: Dimension, sign: int = 1) -> Dimension:
    """Of a product, or with ``sign`` -1 of a quotient."""
    total = dict(left)
    for base, exponent in right:
        total[base] = total.get(base, 0) + sign * exponent
    return tuple(sorted((base, exponent) for base, exponent in total.items() if exponent))


@lru_cache(maxsize=1024)
def of_unit(unit: str) -> tuple[float, Dimension]:
    """Size in base units and dimension of a unit as a user writes it, '' being a bare number.

    Raises :class:`~dse.units.UnitError` where it is not one.
    """
    return units.base(unit) if unit else (1.0, NONE)


def of_key(key: str) -> tuple[float, Dimension]:
    """Size in base units and dimension of a key of ``units.DIMENSIONS``."""
    return of_unit(units.DIMENSIONS[key][0])


def shown(dimension: Dimension) -> str:
    """A unit of the dimension, to tell a user what a quantity is in."""
    if not dimension:
        return "a plain number"
    for unit in _EXAMPLES:
        if of_unit(unit)[1] == dimension:
            return f"in {unit}"
    above = "*".join(_power(base, power) for base, power in dimension if power > 0) or "1"
    below = "*".join(_power(base, -power) for base, power in dimension if power < 0)
    return f"in {above}/{below}" if below else f"in {above}"


def example(dimension: Dimension) -> str:
    """A number with a unit of the dimension, as far as one is commonly written."""
    known = (text for unit, text in _EXAMPLES.items() if of_unit(unit)[1] == dimension)
    return "8192" if not dimension else next(known, "another unit")


def _power(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"
