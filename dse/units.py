"""Text with a unit -> SI float, at the file edge only.

A closed pint registry: only the units listed here exist, so that ``Gb/s`` cannot be taken for
gigabarns and ``B`` cannot be taken for bel. Inside the package every number is SI with the unit in
its name (``link_bytes_per_s``); rental stays per hour, electricity and its carbon per kWh, as they
are quoted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from pint import UnitRegistry


class UnitError(ValueError):
    """The text is not a quantity of the wanted dimension; ``remedy`` says what would be."""

    def __init__(self, problem: str, remedy: str = "") -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}; {remedy}" if remedy else problem)


# dimension -> (unit of the returned float, what a user may write instead)
DIMENSIONS: dict[str, tuple[str, str]] = {
    "bytes": ("B", "25 MiB"),
    "bytes_per_s": ("B/s", "100 Gbps or 12.5 GB/s"),
    "seconds": ("s", "5 us"),
    "flops_per_s": ("FLOP/s", "125 TFLOP/s"),
    "watt": ("W", "300 W"),
    "joule": ("J", "2 kWh"),
    "usd": ("USD", "2 MUSD or 35000 USD"),
    "usd_per_hour": ("USD/hour", "3.06 USD/hour"),
    "usd_per_kwh": ("USD/kWh", "0.08 USD/kWh"),
    "kilograms": ("kg", "500 kg or 2 t"),
    "kg_per_kwh": ("kg/kWh", "0.35 kg/kWh or 350 g/kWh"),
    "samples": ("samples", "1e6 samples"),
    "tokens": ("", "300e9 or 300 B"),
    "samples_per_s": ("samples/s", "1000 samples/s"),
    "count": ("", "8"),
    "share": ("", "0.3 or 30 %"),
}
_UNITLESS = {"count", "samples", "share", "tokens"}  # dimensions of which a bare number is one

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
pebi- = 1125899906842624 = Pi-
bit = [information] = bit
byte = 8 * bit = B
bps = bit / second
Bps = byte / second
second = [time] = s = sec
minute = 60 * second = min
hour = 3600 * second = h = hr
day = 24 * hour = d
week = 7 * day
year = 8760 * hour = yr
flop = [operation] = FLOP
flops = flop / second = FLOPS
watt = [power] = W
joule = watt * second = J
watt_hour = watt * hour = Wh
gram = [mass] = g
tonne = 1e6 * gram = t
usd = [money] = USD
sample = [sample]
"""

# What a user may write: closed as well, since a prefix that is right for watts (milli) would turn
# the common slip "25 mbps" into millibits. pint unit -> (spellings, long names, prefixes).
_COUNTED = ("k", "M", "G", "T", "P", "E")
_BINARY = ("Ki", "Mi", "Gi", "Ti", "Pi")
_SMALL = ("m", "u", "n")
_SPELLINGS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "bit": ("b bit", "bit bits", (*_COUNTED, *_BINARY)),
    "byte": ("B byte", "byte bytes", (*_COUNTED, *_BINARY)),
    "bps": ("bps", "", (*_COUNTED, *_BINARY)),
    "Bps": ("Bps", "", (*_COUNTED, *_BINARY)),
    "flop": ("FLOP flop", "", _COUNTED),
    "flops": ("FLOPS flops FLOPs", "", _COUNTED),
    "usd": ("USD usd", "", _COUNTED),
    "sample": ("", "sample samples", _COUNTED),
    "second": ("s sec", "second seconds", _SMALL),
    "minute": ("min", "minute minutes", ()),
    "hour": ("h hr", "hour hours", ()),
    "day": ("d", "day days", ()),
    "week": ("", "week weeks", ()),
    "year": ("yr", "year years", ()),
    "watt": ("W", "watt watts", ("m", "k", "M", "G")),
    "joule": ("J", "joule joules", ("m", "k", "M", "G")),
    "watt_hour": ("Wh", "", ("m", "k", "M", "G", "T")),
    "gram": ("g", "gram grams", ("m", "k")),
    "tonne": ("t", "tonne tonnes", ("k", "M")),
}
_PREFIXES: dict[str, tuple[str, str]] = {  # pint prefix -> (spellings, long name)
    "k": ("k K", "kilo"), "M": ("M", "mega"), "G": ("G", "giga"), "T": ("T", "tera"),
    "P": ("P", "peta"), "E": ("E", "exa"), "m": ("m", "milli"), "u": ("u µ μ", "micro"),
    "n": ("n", "nano"), "Ki": ("Ki", "kibi"), "Mi": ("Mi", "mebi"), "Gi": ("Gi", "gibi"),
    "Ti": ("Ti", "tebi"), "Pi": ("Pi", "pebi"),
}  # fmt: skip

# Counts of what is trained on may be written as they are printed: 300 B tokens. No bytes are meant.
_TRAINED_ON = {"samples": re.compile(r"([kKMGBT]?) *(?:samples?)?"),
               "tokens": re.compile(r"([kKMGBT]?) *(?:tokens?)?")}  # fmt: skip
_SCALES = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}

_LETTER_BIT = re.compile(r"(^|[A-Za-z])b$")  # of a size, a slip far more often than meant
# Beyond these no quantity is meant, and products of some would no longer be numbers.
SMALLEST, LARGEST = 1e-30, 1e30
LEAST = {"bytes_per_s": 125.0}  # no link and no memory is slower than 1 kbps
DIGITS = 12  # of results: beyond them one kind of processor differs from another
LONGEST = 100  # characters of a quantity; nothing sensible is longer
_NOT_KNOWN = "has a unit that is not known here"
_CURRENCY = re.compile(r"[kKMGT]?[A-Z]{3}")  # how one begins, well spelt or not
_UNIT = re.compile(r"^[A-Za-zµμ]+(?:\s*[/*]\s*[A-Za-zµμ]+){0,3}$")
# A comma only parts thousands: "2,5 ms" must not be read as 25 ms.
_QUANTITY = re.compile(
    r"^\s*([+-]?(?:\d{1,3}(?:,\d{3})+\b(?:\.\d*)?|\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    r"|[+-]?\.?(?:nan|inf(?:inity)?)(?![A-Za-z]))\s*([^\s\d,.].*)?$",
    re.IGNORECASE,
)


@cache
def registry() -> UnitRegistry[Any]:
    """The closed registry, built on first use (importing pint costs a quarter of a second)."""
    import pint

    closed: UnitRegistry[Any] = pint.UnitRegistry(None, cache_folder=None)
    closed.load_definitions(_DEFINITIONS.strip().splitlines())
    return closed


def significant(value: float, digits: int = DIGITS) -> float:
    """A number with so many significant digits."""
    return float(f"{value:.{digits}g}")


def all_significant(value: Any, digits: int = DIGITS) -> Any:
    """The same with so many significant digits of every number that is not whole."""
    if isinstance(value, float):
        return significant(value, digits)
    if isinstance(value, Mapping):
        return {key: all_significant(one, digits) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [all_significant(one, digits) for one in value]
    return value


def parse(text: str | float | int, dimension: str, example: str = "") -> float:
    """Read ``text`` as a quantity of ``dimension`` (a key of :data:`DIMENSIONS`), in its SI unit.

    example: what would be right, where something else than for other quantities is usual.
    Raises :class:`UnitError` for a number without its unit, an unknown unit, a unit of another
    dimension, or a value that is not finite, below :data:`LEAST` or :data:`SMALLEST`, or beyond
    :data:`LARGEST`. Sign and zero are the caller's to judge.
    """
    target, usual = DIMENSIONS[dimension]
    dimensionless = dimension in _UNITLESS
    remedy = f"write for example {example or usual}"
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise UnitError(f"{text!r} is not a quantity", remedy)
    if isinstance(text, (int, float)):
        if dimensionless:
            return _finite(text, f"{text:.20g}" if isinstance(text, float) else "the number")
        raise UnitError(f"{text} has no unit", remedy)
    match = _QUANTITY.match(text) if len(text) <= LONGEST else None
    if match is None:
        raise UnitError(f"'{text}' is not a quantity", remedy)
    number = _finite(re.sub(r"[,_]|\.(?=[ni])", "", match[1].lower()), text)
    unit = (match[2] or "").strip()
    if not unit:
        if dimensionless:
            return number
        raise UnitError(f"{text.strip()} has no unit", remedy)
    if dimension == "share" and unit == "%":
        return _finite(f"{number / 100:.15g}", text)
    if (trained := _TRAINED_ON.get(dimension)) and (counted := trained.fullmatch(unit)):
        return _finite(f"{number * _SCALES[counted[1]]:.15g}", text)
    if dimension == "bytes" and _LETTER_BIT.search(unit):
        spelt = f"{match[1]} {unit[:-1]}"
        raise UnitError(f"'{text}' is in bits", f"write {spelt}B, or {spelt}bit if bits are meant")
    try:
        factor = _factor(unit, target)
    except UnitError as cause:
        problem = cause.problem
        money = _CURRENCY.match(unit)
        if problem == _NOT_KNOWN and "USD" in target and money and money[0] not in _vocabulary():
            problem = "is in a currency that is not known here"
        raise UnitError(f"'{text}' {problem}", cause.remedy or remedy) from cause
    if number.is_integer() and factor.is_integer():  # as many digits as a PiB has
        return _finite(number * factor, text, LEAST.get(dimension, SMALLEST))
    # 15 digits: 5 us is 5e-06, not the 4.9999999999999996e-06 of the product.
    return _finite(f"{number * factor:.15g}", text, LEAST.get(dimension, SMALLEST))


def _finite(number: float | str, text: str, least: float = SMALLEST) -> float:
    try:
        value = float(number)
    except OverflowError:  # an int beyond the largest float
        value = math.inf
    if not math.isfinite(value):
        raise UnitError(f"{text} is not a finite number", "write a finite value")
    if value and not least <= abs(value) <= LARGEST:
        size = "large" if abs(value) > LARGEST else "small"
        raise UnitError(f"{text} is too {size} to be meant", "check the number and its unit")
    return value


@cache
def _vocabulary() -> dict[str, str]:
    """Every spelling of a unit that is accepted -> its name in the registry."""
    words: dict[str, str] = {}
    for name, (short, long, prefixes) in _SPELLINGS.items():
        words.update(dict.fromkeys((*short.split(), *long.split()), name))
        for prefix in prefixes:
            short_prefixes, long_prefix = _PREFIXES[prefix]
            heads = product(short_prefixes.split(), short.split() or long.split())
            for head, tail in (*heads, *product([long_prefix], long.split())):
                words[head + tail] = prefix + name
    return words


def _spelt(word: str) -> str:
    """The registry's name of ``word``; another case is taken where only one meaning fits."""
    words = _vocabulary()
    if word in words:
        return words[word]
    near = {spelt: name for spelt, name in words.items() if spelt.lower() == word.lower()}
    if not near:
        raise UnitError(_NOT_KNOWN)
    milli_or_mega = word[0] in "mM" and not any(spelt.startswith(word[0]) for spelt in near)
    if len(set(near.values())) > 1 or milli_or_mega:
        raise UnitError(f"is ambiguous: '{word}'", f"write {' or '.join(near)}")
    return next(iter(near.values()))


_BASES = {"[information]": "bit", "[time]": "s", "[operation]": "FLOP", "[power]": "W",
          "[money]": "USD", "[sample]": "sample", "[mass]": "g"}  # fmt: skip
Dimensions: TypeAlias = tuple[tuple[str, int], ...]  # (base unit, exponent) pairs, sorted

_BYTES: Dimensions = (("bit", 1),)
_RATE: Dimensions = (("bit", 1), ("s", -1))
_SPEED: Dimensions = (("FLOP", 1), ("s", -1))
# The commonest units as pint reads them (a test compares): a study that writes no other is read
# without importing pint, a quarter of the time of `dse check`.
_COMMON: dict[str, tuple[float, Dimensions]] = {
    "B": (8.0, _BYTES), "GB": (8e9, _BYTES), "KiB": (8192.0, _BYTES), "MiB": (8388608.0, _BYTES),
    "GiB": (8589934592.0, _BYTES), "Gbps": (1e9, _RATE), "B/s": (8.0, _RATE),
    "GB/s": (8e9, _RATE), "TB/s": (8e12, _RATE), "FLOP/s": (1.0, _SPEED),
    "TFLOP/s": (1e12, _SPEED), "s": (1.0, (("s", 1),)), "us": (1e-6, (("s", 1),)),
    "ms": (1e-3, (("s", 1),)), "MB": (8e6, _BYTES), "Mbps": (1e6, _RATE),
    "min": (60.0, (("s", 1),)), "h": (3600.0, (("s", 1),)), "kUSD": (1e3, (("USD", 1),)),
    "W": (1.0, (("W", 1),)), "kW": (1e3, (("W", 1),)), "samples": (1.0, (("sample", 1),)),
    "USD": (1.0, (("USD", 1),)), "MUSD": (1e6, (("USD", 1),)),
    "USD/hour": (1 / 3600, (("USD", 1), ("s", -1))),
    "USD/kWh": (1 / 3.6e6, (("USD", 1), ("W", -1), ("s", -1))),
    "kg": (1e3, (("g", 1),)), "kg/kWh": (1e3 / 3.6e6, (("W", -1), ("g", 1), ("s", -1))),
}  # fmt: skip


def _by_pint(unit: str) -> tuple[float, Dimensions]:
    """One ``unit`` in pint's hands: its size in base units, and its dimension."""
    if not _UNIT.match(unit):  # nothing but known names, / and * reaches pint's parser
        raise UnitError(_NOT_KNOWN)
    spelt = re.sub(r"[^\W\d_]+", lambda m: _spelt(m[0]), unit)
    quantity: Any = registry().Quantity(1.0, spelt).to_base_units()
    powers = ((_BASES[name], round(power)) for name, power in quantity.dimensionality.items())
    return float(quantity.magnitude), tuple(sorted(powers))


@lru_cache(maxsize=1024)
def _size(unit: str) -> tuple[float, Dimensions]:
    """Like :func:`_by_pint`. The errors lack the text in which the unit stood."""
    return _COMMON.get(unit) or _by_pint(unit)


def _factor(unit: str, target: str) -> float:
    """How many ``target`` one ``unit`` is."""
    size, dimensions = _size(unit)
    target_size, wanted = _size(target) if target else (1.0, ())
    if dimensions != wanted:
        raise UnitError("has the wrong unit")
    return size / target_size


def base(unit: str) -> tuple[float, Dimensions]:
    """A unit's size in base units, and its dimension as (base unit, exponent) pairs.

    Samples count as a plain number. Raises :class:`UnitError` where ``unit`` is not known.
    """
    try:
        size, dimensions = _size(unit)
    except UnitError as cause:
        raise UnitError(f"'{unit}' {cause.problem}", cause.remedy) from cause
    return size, tuple(pair for pair in dimensions if pair[0] != "sample")


def rounded(number: float) -> str:
    """To three digits, thousands marked: 1,760 or 0.0123."""
    return f"{float(f'{number:.3g}'):,.12g}"
