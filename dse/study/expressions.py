"""Constraints over columns of results: what they say where the numbers are arrays.

Both sides are computed in base units. Numbers within one part in 1e9 count as equal, so that
rounding in the model cannot decide a constraint. The text is read in ``constraints.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Number:
    """A constant in base units."""

    value: float


@dataclass(frozen=True)
class Name:
    """A column, and the size of its SI unit in base units."""

    name: str
    scale: float


@dataclass(frozen=True)
class Binary:
    """``left sign right`` with a sign of + - * /."""

    sign: str
    left: Node
    right: Node


Node: TypeAlias = Number | Name | Binary


class Limit(NamedTuple):
    """A constraint on one quantity: ``name comparison value``, the value in its SI unit."""

    name: str
    comparison: str
    value: float

    def missed(self, value: float) -> bool:
        """Whether a value of that quantity is beyond it."""
        beyond = value > self.value if self.comparison.startswith("<") else value < self.value
        return beyond and self.comparison in ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class Expression:
    """A parsed comparison of two arithmetic expressions over columns of results."""

    text: str
    comparison: str
    left: Node
    right: Node
    names: frozenset[str]

    @property
    def limit(self) -> Limit | None:
        """What it bounds, if that is one quantity by a number; else None."""
        if isinstance(self.left, Name) and isinstance(self.right, Number):
            return Limit(self.left.name, self.comparison, self.right.value / self.left.scale)
        return None

    def evaluate(self, columns: Mapping[str, npt.ArrayLike]) -> BoolArray:
        """Where the constraint holds; NaN does not meet it.

        ``columns``: for each of :attr:`names` an array in the SI unit of its quantity. They
        broadcast against one another, and the result has the shape of those that are used.
        """
        with np.errstate(all="ignore"):
            left, right = _value(self.left, columns), _value(self.right, columns)
            return self._holds(left, right)

    def violation(self, columns: Mapping[str, npt.ArrayLike]) -> FloatArray:
        """How far the left side is past the right, as a fraction of the right; 0 where it holds.

        Where the right is zero: d/(1+d) of the distance d in base units, which still ranks.
        """
        with np.errstate(all="ignore"):
            left, right = _value(self.left, columns), _value(self.right, columns)
            distance, size = np.abs(left - right), np.abs(right)
            past = np.where(size > 0, distance / size, distance / (1 + distance))
            past = np.where(np.isnan(past), np.inf, np.maximum(past, TOLERANCE))
            return np.asarray(np.where(self._holds(left, right), 0.0, past))

    def excess(self, columns: Mapping[str, npt.ArrayLike]) -> FloatArray:
        """ln of the factor by which the left side is past the right; below 0 as far as it may go.

        Sides that are not both positive have no such factor: there d/(1+|d|) of their distance d,
        in units of the right side or, where that is 0, in base units. Of an equality never below 0.
        Above 0 exactly where the constraint does not hold; NaN where that is not known.
        """
        with np.errstate(all="ignore"):
            left, right = _value(self.left, columns), _value(self.right, columns)
            distance = (left - right) / np.where(right == 0, 1.0, np.abs(right))
            far = distance / (1 + np.abs(distance))
            past = np.where((left > 0) & (right > 0), np.log(left / right), far)
            if self.comparison == "==":
                past = np.abs(past)
            elif self.comparison in (">=", ">"):
                past = -past
            holds = self._holds(left, right)
            return np.asarray(np.where(holds, np.minimum(past, 0.0), np.maximum(past, TOLERANCE)))

    def loosened(self, by: float) -> Expression:
        """The same comparison, easier to meet: a positive right side is ``e^by`` times as large or
        as small, by > 0, and a negative constant moves by as much; other right sides must be
        positive. An equality stays as it is, and so does a comparison with 0.
        """
        if self.comparison == "==":
            return self
        upper = self.comparison in ("<=", "<")
        if isinstance(self.right, Number):
            moved = abs(self.right.value) * (math.expm1(by) if upper else math.expm1(-by))
            return replace(self, right=Number(self.right.value + moved))
        return replace(self, right=Binary("*", Number(math.exp(by if upper else -by)), self.right))

    def _holds(self, left: FloatArray, right: FloatArray) -> BoolArray:
        slack = TOLERANCE * np.sign(right)  # a factor, since inf - inf would be NaN
        if self.comparison == "<=":
            return np.asarray(left <= right * (1 + slack))
        if self.comparison == ">=":
            return np.asarray(left >= right * (1 - slack))
        if self.comparison == "<":
            return np.asarray(left < right * (1 - slack))
        if self.comparison == ">":
            return np.asarray(left > right * (1 + slack))
        return np.asarray((left >= right * (1 - slack)) & (left <= right * (1 + slack)))


def _value(node: Node, columns: Mapping[str, npt.ArrayLike]) -> FloatArray:
    if isinstance(node, Number):
        return np.asarray(node.value)
    if isinstance(node, Name):
        column = np.asarray(columns[node.name], dtype=np.float64)
        return column if node.scale == 1 else np.asarray(column * node.scale)
    left, right = _value(node.left, columns), _value(node.right, columns)
    return np.asarray(apply(node.sign, left, right))


def apply(sign: str, left: Any, right: Any) -> Any:
    """``left sign right`` of numbers or arrays."""
    if sign == "+":
        return left + right
    if sign == "-":
        return left - right
    return left * right if sign == "*" else left / right
