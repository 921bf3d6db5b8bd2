"""Text with a unit -> SI float, at the file edge only.

A closed pint registry: only the units listed here exist, so that ``Gb/s`` cannot be taken for
gigabarns and ``B`` cannot be taken for bel. Inside the package every number is SI with the unit in
its name (``link_bytes_per_s``); rental stays per hour and electricity per kWh, as it is quoted.
"""

from __future__ import annotations

import math
import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pint import UnitRegistry


class UnitError(ValueError):
    """The text is not a quantity of the wanted dimension; ``remedy`` says what would be."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}; {remedy}" if remedy else problem)


# dimension -> (pint unit of the returned float, what a user may write instead)
DIMENSIONS: dict[str, tuple[str, str]] = {
    "bytes": ("byte", "25 MiB"),
    "bytes_per_s": ("byte/second", "100 Gbps or 12.5 GB/s"),
    "seconds": ("second", "5 us"),
    "flops_per_s": ("flop/second", "125 TFLOP/s"),
    "watt": ("watt", "300 W"),
    "joule": ("joule", "2 kWh"),
    "usd": ("usd", "2 MUSD or 35000 USD"),
    "usd_per_hour": ("usd/hour", "3.06 USD/hour"),
    "usd_per_kwh": ("usd/kilowatt_hour", "0.08 USD/kWh"),
    "samples": ("sample", "1e6 samples"),
    "samples_per_s": ("sample/second", "1000 samples/s"),
    "count": ("", "8"),
}

_DEFINITIONS = """
kilo- = 1e3 = k- = K-
mega- = 1e6 = M-
giga- = 1e9 = G-
tera- = 1e12 = T-
peta- = 1e15 = P-
exa- = 1e18 = E-
milli- = 1e-3 = m-
micro- = 1e-6 = u- = µ- = μ-
nano- = 1e-9 = n-
kibi- = 1024 = Ki-
mebi- = 1048576 = Mi-
gibi- = 1073741824 = Gi-
tebi- = 1099511627776 = Ti-
bit = [information] = bit
byte = 8 * bit = B
bps = bit / second
second = [time] = s = sec
minute = 60 * second = min
hour = 3600 * second = h = hr
day = 24 * hour = d
year = 8760 * hour = yr
flop = [operation] = FLOP
flops = flop / second = FLOPS
watt = [power] = W
joule = watt * second = J
watt_hour = watt * hour = Wh
usd = [money] = USD
sample = [sample]
"""

_BITS = re.compile(r"(?<![A-Za-z])([kKMGTP]i?)?b(?=/s|/second|\b)(?!ps)")
_UNIT = re.compile(r"^[A-Za-zµμ]+(?:\s*[/*]\s*[A-Za-zµμ]+){0,3}$")
_QUANTITY = re.compile(
    r"^\s*([+-]?(?:\d[\d_,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?:nan|inf(?:inity)?))\s*(\S.*)?$",
    re.IGNORECASE,
)


@cache
def registry() -> UnitRegistry[Any]:
    """The closed registry, built on first use (importing pint costs a quarter of a second)."""
    import pint

    closed: UnitRegistry[Any] = pint.UnitRegistry(None, cache_folder=None)
    closed.load_definitions(_DEFINITIONS.strip().splitlines())
    return closed


def parse(text: str | float | int, dimension: str) -> float:
    """Read ``text`` as a quantity of ``dimension`` (a key of :data:`DIMENSIONS`), in its SI unit.

    Raises :class:`UnitError` for a number without its unit, an unknown unit, a unit of another
    dimension, or a value that is not finite. Sign and zero are the caller's to judge.
    """
    target, example = DIMENSIONS[dimension]
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise UnitError(f"{text!r} is not a quantity", f"write for example {example}")
    if isinstance(text, (int, float)):
        if dimension in {"count", "samples"}:
            return _finite(float(text), str(text))
        raise UnitError(f"{text} has no unit", f"write for example {example}")
    match = _QUANTITY.match(text)
    if match is None:
        raise UnitError(f"'{text}' is not a quantity", f"write for example {example}")
    number = _finite(float(match[1].replace(",", "").replace("_", "")), text)
    unit = (match[2] or "").strip()
    if not unit:
        return parse(number, dimension)
    # 15 digits: 5 us is 5e-06, not the 4.9999999999999996e-06 of the product.
    return float(f"{number * _factor(unit, target, text, example):.15g}")


def _finite(number: float, text: str) -> float:
    if not math.isfinite(number):
        raise UnitError(f"{text} is not a finite number", "write a finite value")
    return number


@cache
def _factor(unit: str, target: str, text: str, example: str) -> float:
    import pint

    known = registry()
    unknown = UnitError(
        f"'{unit}' in '{text}' is not a unit known here", f"write for example {example}"
    )
    if not _UNIT.match(unit):  # nothing but names, / and * reaches pint's expression parser
        raise unknown
    try:
        quantity = known.Quantity(1.0, _BITS.sub(lambda m: f"{m[1] or ''}bit", unit))
    except pint.errors.PintError as cause:
        raise unknown from cause
    if not quantity.check(known.Quantity(1.0, target or "").dimensionality):
        raise UnitError(f"'{text}' has the wrong unit", f"write for example {example}")
    return float(quantity.to(target).magnitude)
