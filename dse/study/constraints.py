"""The text of a constraint -> an expression: ``capital / gpus <= 50 kUSD``. Never eval'd.

    constraint := sum ("<=" | ">=" | "<" | ">" | "==") sum
    sum        := product (("+" | "-") product)*
    product    := factor (("*" | "/") factor)*
    factor     := "-" factor | "(" sum ")" | quantity name | number ["%" | unit (("/" | "*") unit)*]

Dimensions are checked on the way. An amount of money may be in any currency of which a rate is
known; the text then ends in that rate, so that it can be read again without a price list:
``capital <= 2 MEUR (EUR at USD 1.08 of 2026-11-02)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from dse import units
from dse.currencies import USD, Rate, guess, parted, with_rates
from dse.study.expressions import Binary, Expression, Limit, Name, Node, Number, apply
from dse.study.names import suggest
from dse.study.quantities import BUILTINS, QUANTITIES
from dse.units import UnitError

# A dimension is a sorted tuple of (base unit, exponent); samples and counts have none, so that
# ``gpus * batch_per_gpu <= 8192`` needs no unit.
Dimension: TypeAlias = units.Dimensions
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

MAX_LENGTH = 500
MAX_DEPTH = 30
RUN = "time_to_target"  # a quantity of days, where others are of milliseconds
_PERCENT = "%"
_COMPARISONS = ("<=", ">=", "==", "<", ">")
_MIRRORED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "==": "=="}
_CURRENCY = re.compile(r"([kKMGT]?)([A-Z]{3})\b")  # of an amount, with the prefix of its unit
Rates = Callable[[], Mapping[str, Rate]]  # of currencies, by code; asked for where one is needed
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>[^\W\d]\w*)"
    r"|(?P<sign><=|>=|==|=<|=>|!=|[-+*/()<>=])|(?P<odd>\S))"
)
_SLIPS = {
    "=": "==",
    "=<": "<=",
    "=>": ">=",
    "!=": "two constraints",
    "%": "it after a number: 90 %",
}


def _of_unit(unit: str) -> tuple[float, Dimension]:
    """Size in base units and dimension of a unit as a user writes it, '' being a bare number.

    Raises :class:`~dse.units.UnitError` where it is not one.
    """
    return units.base(unit) if unit else (1.0, NONE)


def _multiplied(left: Dimension, right: Dimension, sign: int = 1) -> Dimension:
    """Of a product, or with ``sign`` -1 of a quotient."""
    total = dict(left)
    for base, exponent in right:
        total[base] = total.get(base, 0) + sign * exponent
    return tuple(sorted((base, exponent) for base, exponent in total.items() if exponent))


def _shown(dimension: Dimension) -> str:
    """A unit of the dimension, to tell a user what a quantity is in."""
    if not dimension:
        return "a plain number"
    for unit in _EXAMPLES:
        if _of_unit(unit)[1] == dimension:
            return f"in {unit}"
    above = "*".join(_power(base, power) for base, power in dimension if power > 0) or "1"
    below = "*".join(_power(base, -power) for base, power in dimension if power < 0)
    return f"in {above}/{below}" if below else f"in {above}"


def _example(dimension: Dimension) -> str:
    """A number with a unit of the dimension, as far as one is commonly written."""
    known = (text for unit, text in _EXAMPLES.items() if _of_unit(unit)[1] == dimension)
    return "8192" if not dimension else next(known, "another unit")


def _power(base: str, power: int) -> str:
    return base if power == 1 else f"{base}^{power}"


class ExpressionError(ValueError):
    """The text is no constraint: the problem, its ``offset`` in the text, what would be right."""

    def __init__(self, offset: int, problem: str, remedy: str = "") -> None:
        self.offset, self.problem, self.remedy = offset, problem, remedy
        super().__init__(f"{problem}; {remedy}")


def parse_constraint(text: str, rates: Rates = dict) -> Expression:
    """Read one constraint; raises :class:`ExpressionError`. rates: what is known beside those at
    the end of the text, where a new one is added."""
    if len(text) > MAX_LENGTH:
        raise ExpressionError(0, f"a constraint of {len(text)} characters", "split it")
    return _Parser(text, rates).constraint()


def limit_of(text: str) -> Limit | None:
    """What a constraint, as a document has it, bounds, if that is one quantity by a number; None of
    a word such as ``fits_memory``, and of another version's syntax."""
    try:
        return parse_constraint(text).limit
    except ExpressionError:
        return None


class _Parser:
    """Recursive descent; ``self.at`` is the next token as (kind, text, offset)."""

    def __init__(self, written: str, rates: Rates) -> None:
        self.text, self.stated = parted(written)
        self.rates, self.depth = rates, 0
        self.tokens = [
            (str(match.lastgroup), match[str(match.lastgroup)], match.start(str(match.lastgroup)))
            for match in _TOKEN.finditer(self.text)
        ]
        self.names: set[str] = set()

    @property
    def at(self) -> tuple[str, str, int]:
        return self.tokens[0] if self.tokens else ("end", "", len(self.text.rstrip()))

    def constraint(self) -> Expression:
        left, left_dimension = self.sum()
        _, sign, offset = self.at
        if sign not in _COMPARISONS:
            raise self.unexpected("a comparison (<=, >=, <, >, ==)")
        self.tokens.pop(0)
        start = self.at[2]
        right, right_dimension = self.sum()
        if self.tokens:
            if self.at[1] in _COMPARISONS:
                raise ExpressionError(self.at[2], "a second comparison", "write two constraints")
            raise self.unexpected("the end of the constraint")
        if not self.names:
            raise ExpressionError(0, "it names no quantity", "write for example capital <= 2 MUSD")
        if left_dimension != right_dimension:
            sides = (self.text[:offset].strip(), self.text[start:].strip())
            described = (_shown(left_dimension), _shown(right_dimension))
            problem = f"'{sides[0]}' is {described[0]} but '{sides[1]}' is {described[1]}"
            example = "7 d" if sides[0] == RUN else _example(left_dimension)
            remedy = f"write for example {sides[0]} {sign} {example}"
            raise ExpressionError(start, problem, remedy)
        if isinstance(left, Number) and isinstance(right, Name):
            left, right, sign = right, left, _MIRRORED[sign]
        if isinstance(left, Name) and isinstance(right, Number):
            # the common form costs one pass over the column: convert the constant, not the array
            left, right = Name(left.name, 1.0), Number(float(f"{right.value / left.scale:.15g}"))
        said = with_rates(self.text, self.stated)
        return Expression(said, sign, left, right, frozenset(self.names))

    def sum(self) -> tuple[Node, Dimension]:
        node, dimension = self.product()
        while self.at[1] in ("+", "-"):
            _, sign, offset = self.tokens.pop(0)
            right, other = self.product()
            if other != dimension:
                are = f"{_shown(dimension)} and {_shown(other)}"
                word = "added" if sign == "+" else "subtracted"
                raise ExpressionError(offset, f"what is {are} cannot be {word}", "use like units")
            node = self.fold(sign, node, right, offset)
        return node, dimension

    def product(self) -> tuple[Node, Dimension]:
        node, dimension = self.factor()
        while self.at[1] in ("*", "/"):
            _, sign, offset = self.tokens.pop(0)
            right, other = self.factor()
            dimension = _multiplied(dimension, other, 1 if sign == "*" else -1)
            node = self.fold(sign, node, right, offset)
        return node, dimension

    def factor(self) -> tuple[Node, Dimension]:
        kind, text, offset = self.at
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(offset, f"nested more than {MAX_DEPTH} deep", "simplify it")
        if text == "-":
            self.tokens.pop(0)
            node, dimension = self.factor()
            node = self.fold("*", Number(-1.0), node, offset)
        elif text == "(":
            self.tokens.pop(0)
            node, dimension = self.sum()
            if self.at[1] != ")":
                raise self.unexpected(f"')' for the '(' at character {offset + 1}")
            self.tokens.pop(0)
        elif kind == "number":
            node, dimension = self.number()
        elif kind == "word":
            node, dimension = self.name()
        else:
            raise self.unexpected("a quantity, a number or '('")
        self.depth -= 1
        return node, dimension

    def name(self) -> tuple[Node, Dimension]:
        _, text, offset = self.tokens.pop(0)
        if text not in QUANTITIES:
            if text in BUILTINS:
                raise ExpressionError(offset, f"'{text}' stands alone", f"write just {text}")
            remedy = suggest(text, [*QUANTITIES, *BUILTINS], f"use {', '.join(QUANTITIES)}")
            raise ExpressionError(offset, f"'{text}' is not a known quantity", remedy)
        self.names.add(text)
        scale, dimension = _of_unit(units.DIMENSIONS[QUANTITIES[text].dimension][0])
        return Name(text, scale), dimension

    def number(self) -> tuple[Node, Dimension]:
        _, text, offset = self.tokens.pop(0)
        unit = ""
        if self.at[1] == _PERCENT:
            self.tokens.pop(0)
            value = float(f"{float(text.replace('_', '')) / 100:.15g}")
            return Number(self.finite(value, offset)), NONE
        if self.at[0] == "word":
            start = self.at[2]
            self.unit_word("after the number")
            # "2 kUSD / gpus" divides by a quantity, "10 USD/hour" goes on with the unit
            while (
                self.at[1] in ("/", "*")
                and len(self.tokens) > 1
                and self.tokens[1][0] == "word"
                and self.tokens[1][1] not in QUANTITIES
            ):
                self.tokens.pop(0)
                self.unit_word("in the unit")
            unit = self.text[start : self.end].strip()
        scale, dimension = self.unit("".join(unit.split()), offset)
        value = float(f"{float(text.replace('_', '')) * scale:.15g}")
        return Number(self.finite(value, offset)), dimension

    def unit(self, unit: str, offset: int) -> tuple[float, Dimension]:
        """The size of a unit in base units, at its rate where it is of another currency."""
        try:
            return _of_unit(unit)
        except UnitError as cause:
            found = _CURRENCY.match(unit)
            if found is None or cause.remedy:
                remedy = cause.remedy or "use units such as MUSD, kW, ms, GB, USD/hour"
                raise ExpressionError(offset, cause.problem, remedy) from cause
        prefix, code = found.groups()
        known = self.stated if code in self.stated else self.rates()
        if code not in known:
            problem = f"'{unit}' is in a currency of which no rate is given"
            remedy = (
                f"{guess(code, known)}add 'currencies: {{{code}: ... USD}}' with what one {code} "
                "is worth to a price list of the study (prices:), or write it in USD"
            )
            raise ExpressionError(offset, problem, remedy)
        self.stated[code] = known[code]
        try:
            scale, dimension = _of_unit(f"{prefix}{USD}{unit[found.end() :]}")
        except UnitError as cause:
            raise ExpressionError(offset, cause.problem, cause.remedy) from cause
        return scale * known[code].usd, dimension

    def unit_word(self, where: str) -> None:
        _, word, offset = self.tokens.pop(0)
        if word in QUANTITIES:
            raise ExpressionError(offset, f"'{word}' {where} is not a unit", "write * between them")
        self.end = offset + len(word)

    def fold(self, sign: str, left: Node, right: Node, offset: int) -> Node:
        if not (isinstance(left, Number) and isinstance(right, Number)):
            if sign == "/" and right == Number(0.0):
                raise ExpressionError(offset, "division by zero", "divide by something else")
            return Binary(sign, left, right)
        if sign == "/" and right.value == 0:
            raise ExpressionError(offset, "division by zero", "divide by something else")
        return Number(self.finite(apply(sign, left.value, right.value), offset))

    @staticmethod
    def finite(value: float, offset: int) -> float:
        if not math.isfinite(value):
            raise ExpressionError(offset, "the number is not finite", "use a smaller one")
        return value

    def unexpected(self, wanted: str) -> ExpressionError:
        _, text, offset = self.at
        if text in _SLIPS:
            return ExpressionError(offset, f"'{text}' is not known here", f"use {_SLIPS[text]}")
        found = f"'{text}'" if text else "the end"
        return ExpressionError(
            offset, f"{found} where {wanted} should be", "capital <= 2 MUSD is right"
        )
