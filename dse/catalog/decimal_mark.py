"""Numbers of a table with a decimal comma or a decimal point.

``8000,50`` and ``1.234,5`` have a comma, ``12.5`` and ``1,234.50`` a point. ``8.000`` and ``8,000``
may be eight thousand or eight: the other numbers of the table decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from dse.units import UnitError

POINT, COMMA = ".", ","
MARKS = (POINT, COMMA)
_NUMBER = re.compile(r"[+-]?(\d[\d.,]*\d)(?![\d_.,])")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*")


def usual(texts: Iterable[str], otherwise: str = "") -> str:
    """The mark that the numbers of a table have, as far as they tell; ``otherwise`` where none
    does, and empty where some have a point and some a comma."""
    found = {mark for text in texts for mark in [mark_of(text)] if mark}
    return otherwise if not found else "" if len(found) > 1 else found.pop()


def mark_of(text: str) -> str:
    """The decimal mark that the number at the beginning of a text has for certain, else empty."""
    number = _number(text)
    marks = [character for character in number if character in MARKS]
    if not marks:
        return ""
    last, other = marks[-1], POINT if marks[-1] == COMMA else COMMA
    whole, _, fraction = number.rpartition(last)
    if other in marks:  # 1.234,5
        parted = re.fullmatch(rf"\d{{1,3}}(?:{re.escape(other)}\d{{3}})+", whole)
        return last if parted else ""
    if len(marks) > 1:  # 1.234.567
        return other if _THOUSANDS.fullmatch(number) else ""
    return "" if _either(whole, fraction) else last


def with_point(text: str, mark: str) -> str:
    """The text with its number written with a decimal point, and nothing between thousands.

    mark: the usual one of the table, see :func:`usual`, for a number that does not tell. Raises
    :class:`~dse.units.UnitError` where that is empty.
    """
    number = _number(text)
    own = mark_of(text)
    if not own and len(parts := re.split(r"[.,]", number)) == 2:
        whole, fraction = parts
        if _either(whole, fraction) and not mark:
            raise UnitError(
                f"'{text}' may be {whole}{fraction} or {whole}.{fraction}",
                f"write {whole}{fraction}, or {_short(whole, fraction)} if that is meant",
            )
        own = mark
    if not own:
        return text
    parting = POINT if own == COMMA else COMMA
    return text.replace(number, number.replace(parting, "").replace(own, POINT), 1)


def of_thousands(text: str, mark: str) -> bool:
    """Whether what may part thousands in the number does so, where the decimal mark is this one."""
    return bool(mark) and mark not in _number(text)


def _number(text: str) -> str:
    """The number at the beginning of a text, without its sign; empty where there is none."""
    found = _NUMBER.match(text.strip())
    return found[1] if found else ""


def _short(whole: str, fraction: str) -> str:
    """``8.0`` for 8.000, and 8.1250 for 8.125: a decimal number that cannot be thousands."""
    kept = fraction.rstrip("0")
    return f"{whole}.{kept or '0'}" if len(kept) < 3 else f"{whole}.{fraction}0"


def _either(whole: str, fraction: str) -> bool:
    """Whether a mark between these may part thousands as well as be a decimal mark."""
    return len(fraction) == 3 and 1 <= len(whole) <= 3 and not whole.startswith("0")
