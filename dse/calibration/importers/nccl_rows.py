"""One row of nccl-tests, and what a set of rows reveals about the run.

Every layout is: size, count, type, then redop and root or neither, then for out-of-place and
in-place each time (us), algbw, busbw (GB/s) and the number of wrong values (before 2.13 the largest
relative error); with -I four more per half; with -S a date and a time at the end.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from dse.calibration.importers.text import integer

# nccl-tests and rccl-tests: type -> our name, bytes per element
TYPES = MappingProxyType({
    "char": ("int8", 1), "int8": ("int8", 1), "uint8": ("uint8", 1),
    "int": ("int32", 4), "int32": ("int32", 4), "uint32": ("uint32", 4),
    "int64": ("int64", 8), "uint64": ("uint64", 8),
    "half": ("float16", 2), "bfloat16": ("bfloat16", 2), "float": ("float32", 4),
    "double": ("float64", 8),
    "f8e4m3": ("float8_e4m3", 1), "f8e5m2": ("float8_e5m2", 1),
    "fp8_e4m3": ("float8_e4m3", 1), "fp8_e5m2": ("float8_e5m2", 1),
})  # fmt: skip
# busbw / algbw as n grows: doc/PERFORMANCE.md of nccl-tests; x (n-1)/n
BUS_FACTOR = MappingProxyType({"allreduce": 2, "all_gather": 1, "reduce_scatter": 1, "alltoall": 1})
MAX_INFERRED_RANKS = 64  # beyond, the printed digits of busbw and time do not tell n from n + 1
AGREEING_ROWS = 2
MISSING = "N/A"

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,6})?(?:e[+-]?\d{1,2})?")
_STAMP = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
_BANDWIDTH_TOLERANCE = 0.02  # of algbw against size/time: no rounding, only damage, is as large
_ROUNDED_TOLERANCE = 0.10  # where a number is printed as 1.2e+07
_SHORTEST, _PLAIN, _LONG = 3, 4, 8  # tokens before the middle; per half; per half with -I


@dataclass(frozen=True)
class NcclRow:
    """A row as printed. root: None where the layout has no such column. time, busbw: the text.

    wrong, wrong_in_place: NaN where printed as N/A. min_us: with -I.
    """

    line: int
    size: int
    count: int
    type: str
    redop: str
    root: int | None
    time: str
    busbw: str
    wrong: float
    wrong_in_place: float
    min_us: float | None

    @property
    def seconds(self) -> float:
        return float(self.time) / 1e6

    @property
    def whole(self) -> bool:
        """Whether count elements are all the bytes, not one rank's share of them."""
        return self.count * TYPES[self.type][1] == self.size

    @property
    def in_place_unchecked(self) -> bool:
        """Only the out-of-place result could be checked: alltoall and sendrecv have no other."""
        return math.isnan(self.wrong_in_place) and not math.isnan(self.wrong)


def starts_row(tokens: Sequence[str]) -> bool:
    """Whether size, count and type are there: a row, whole or broken."""
    return (
        len(tokens) >= _SHORTEST
        and integer(tokens[0]) is not None
        and integer(tokens[1]) is not None
        and tokens[2] in TYPES
    )


def parse_row(tokens: Sequence[str], line: int) -> NcclRow | None:
    """The row, or None where it is broken: columns are missing or contradict one another."""
    kept = list(tokens)
    while kept and _STAMP.fullmatch(kept[-1]):
        kept.pop()
    if not starts_row(kept):
        return None
    half = _LONG if len(kept) >= _SHORTEST + 2 * _LONG else _PLAIN
    middle, values = kept[_SHORTEST : -2 * half], kept[-2 * half :]
    if not 2 * half <= len(kept) - _SHORTEST <= 2 * half + 2:
        return None
    root = integer(middle[-1].removeprefix("-")) if middle else None
    redop = middle[0] if middle and (len(middle) == 2 or root is None) else ""
    if (redop and not redop.isalpha()) or (len(middle) == 2 and root is None):
        return None
    out, inside = values[:half], values[half:]
    size = int(kept[0])
    if not (_consistent(size, out) and _consistent(size, inside)):
        return None
    signed = -root if root is not None and middle[-1].startswith("-") else root
    return NcclRow(
        line, size, int(kept[1]), kept[2], redop, signed, out[0], out[2], _wrong(out[3]),
        _wrong(inside[3]), float(out[4]) if half == _LONG else None,
    )  # fmt: skip


def _consistent(size: int, half: Sequence[str]) -> bool:
    """All numbers are numbers, and algbw is size / time."""
    numbers = [*half[:3], *half[_PLAIN:]]
    if not all(_NUMBER.fullmatch(token) for token in numbers):
        return False
    if half[3] != MISSING and not _NUMBER.fullmatch(half[3]):
        return False
    time_us, algbw = float(half[0]), float(half[1])
    if time_us <= 0:
        return size == 0
    rounded = any("e" in token for token in half[:2])
    tolerance = _ROUNDED_TOLERANCE if rounded else _BANDWIDTH_TOLERANCE
    expected = size / time_us / 1e3
    return abs(algbw - expected) <= 0.01 + tolerance * expected


def _wrong(token: str) -> float:
    return math.nan if token == MISSING else float(token)


def sums_for_all(row: NcclRow) -> bool:
    """Whether the columns are those of an allreduce; those of others do not tell which it is."""
    reduces = row.redop not in ("", "none")
    return reduces and row.root in (None, -1) and row.whole and not row.in_place_unchecked


def ranks_from_bandwidth(collective: str, rows: Sequence[NcclRow]) -> int | None:
    """The rank count that the bandwidths prove; None where they prove none.

    busbw/algbw = f (n-1)/n with f of BUS_FACTOR, so n = f / (f - busbw/algbw). algbw is size/time;
    time and busbw lie within half a unit of their last digit, which gives an interval of n for
    every row; what all rows allow is their intersection. It proves a count where it holds that one
    only, AGREEING_ROWS rows have intervals narrower than 1, and it is MAX_INFERRED_RANKS at most.
    """
    if collective not in BUS_FACTOR:
        return None
    factor = Fraction(BUS_FACTOR[collective])
    low, high, narrow = Fraction(1), None, 0
    for row in rows:
        scale = Fraction(1000, row.size)  # 1 / (GB/s), per us
        time, bus = Fraction(row.time), Fraction(row.busbw)
        slack_time, slack_bus = _half_unit(row.time), _half_unit(row.busbw)
        least = max(Fraction(0), bus - slack_bus) * (time - slack_time) * scale
        most = (bus + slack_bus) * (time + slack_time) * scale
        if least >= factor:
            return None
        row_low = factor / (factor - least)
        low = max(low, row_low)
        if most < factor:
            row_high = factor / (factor - most)
            high = row_high if high is None else min(high, row_high)
            narrow += row_high - row_low < 1
    if high is None or math.ceil(low) != math.floor(high):
        return None
    count = math.ceil(low)
    proven = narrow >= AGREEING_ROWS and 2 <= count <= MAX_INFERRED_RANKS
    return count if proven else None


def _half_unit(token: str) -> Fraction:
    """Half of the last printed digit: 0.005 of '12.34', 0.5 of '66108', 50000 of '1.2e+06'."""
    digits, _, exponent = token.partition("e")
    decimals = len(digits.partition(".")[2])
    return Fraction(1, 2) * Fraction(10) ** (int(exponent or 0) - decimals)
