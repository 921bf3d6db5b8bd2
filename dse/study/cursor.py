"""A value of the file together with its place, so that whoever finds it wrong can say where."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

from dse import units
from dse.errors import StudyError
from dse.mistakes import Mistakes, Unread
from dse.spelling import alternatives
from dse.study.names import misspelt, suggest
from dse.yaml_source import Loc, Source

T = TypeVar("T")
U = TypeVar("U")
FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# Of what a mapping may lack.
_EXAMPLES = {
    "bandwidth": "25 Gbps",
    "from": "1",
    "to": "64",
    "params": "25.6e6",
    "forward_flops": "8.2e9",
    "activation_bytes": "90 MB",
    "input_bytes": "150 kB",
}


@dataclass(frozen=True)
class Cursor:
    """``source.data`` at ``loc``. ``mistaken``: places whose mistake was noted."""

    source: Source
    loc: Loc = ()
    mistaken: frozenset[Loc] = frozenset()

    @property
    def value(self) -> Any:
        """The plain data here. Raises :class:`Unread` where a mistake was noted, a missing key
        included."""
        if not self.readable:
            raise Unread
        data = self.source.data
        for step in self.loc:
            data = data[step]
        return data

    @property
    def readable(self) -> bool:
        """Whether no mistake was noted about this value, nor about one that it is a part of."""
        steps = range(len(self.loc) + 1) if self.mistaken else ()
        return not any(self.loc[:step] in self.mistaken for step in steps)

    @property
    def label(self) -> str:
        """The nearest key above: what the value is called in an error."""
        return next((step for step in reversed(self.loc) if isinstance(step, str)), "the study")

    def at(self, *steps: str | int) -> Cursor:
        """A part of this value."""
        return Cursor(self.source, (*self.loc, *steps), self.mistaken)

    def has(self, key: str) -> bool:
        """Whether this is a mapping with ``key``."""
        return isinstance(self.value, dict) and key in self.value

    def optional(self, key: str, read: Callable[[Cursor], T], absent: U) -> T | U:
        """What ``read`` makes of the value under ``key``; ``absent`` where there is none."""
        return read(self.at(key)) if self.has(key) else absent

    def wrong(self, problem: str, remedy: str = "", *, key: bool = False) -> StudyError:
        """The error to raise about this value, or about its key."""
        return self.source.error(self.loc, problem, remedy, key=key)

    def each(self) -> list[Cursor]:
        """The entries of a list; a single value counts as a list of one."""
        if not isinstance(self.value, list):
            return [self]
        return [self.at(index) for index in range(len(self.value))]

    def keys(
        self, allowed: Collection[str], required: Collection[str], mistakes: Mistakes
    ) -> Cursor:
        """This mapping, each of whose keys must be allowed, and every required one there.

        mistakes: where it is noted that they are not, so that the others can be read.
        """
        if not isinstance(self.value, dict):
            example = ", ".join(f"{key}: .." for key in (required or allowed))
            raise self.wrong(f"{self.label}: {self.shown} is not a mapping", f"write {{{example}}}")
        unknown = [key for key in self.value if key not in allowed]
        others = [key for key in allowed if key not in self.value]
        for key in unknown:
            remedy = suggest(key, others, f"use {alternatives(allowed)}")
            mistakes.note(self.at(key).wrong(f"unknown key '{clipped(key)}'", remedy, key=True))
        missing = [key for key in required if key not in self.value]
        for key in missing:
            if not misspelt(key, unknown, others):
                problem = f"{self.label}: missing key '{key}'"
                mistakes.note(self.wrong(problem, f"add {key}: {_EXAMPLES.get(key, '..')}"))
        return self.without(*unknown, *missing)

    def each_key(self, allowed: Collection[str], read: Callable[[str, Cursor], T]) -> dict[str, T]:
        """What ``read`` makes of each key of this mapping, which must be allowed, and its value."""
        mistakes = Mistakes()
        at = self.keys(allowed, (), mistakes)
        found = mistakes.by_key(lambda key: read(key, at.at(key)), at.given())
        mistakes.told()
        return {key: one() for key, one in found.items()}

    def without(self, *keys: str) -> Cursor:
        """The same, knowing that a mistake was noted about some of its keys."""
        noted = {(*self.loc, key) for key in keys}
        return Cursor(self.source, self.loc, self.mistaken | noted)

    def given(self) -> list[str]:
        """The keys of a mapping that can be read."""
        return [key for key in self.value if self.at(key).readable]

    @property
    def shown(self) -> str:
        """The value, short enough for one line."""
        value = self.value
        if isinstance(value, str):
            return f"'{clipped(value)}'"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, (int, float)):
            finite = isinstance(value, int) or math.isfinite(value)
            return clipped(self.source.written(self.loc) if finite else str(value))
        if value is None:
            return "nothing"
        return "a list" if isinstance(value, list) else "a mapping"

    def text(self, example: str = "a name") -> str:
        """A word."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.wrong(f"{self.label}: {self.shown} is not text", f"write {example}")
        return self.value.strip()

    def check_folder(self) -> None:
        """Raise where this is no name of a report's folder."""
        if not FOLDER.fullmatch(self.value):
            remedy = "use letters, digits, '-', '_' and '.', since it names the report's folder"
            raise self.wrong(f"{self.label}: {self.shown} is not a valid name", remedy)

    def named(
        self,
        kind: str,
        known: Collection[str],
        listing: str = "",
        aliases: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    ) -> str:
        """One of the ``known`` names; ``listing`` says where to find them all, ``aliases`` what
        else they are called."""
        if not isinstance(self.value, str):
            example = f", such as {next(iter(known))}" if known else ""
            raise self.wrong(f"{self.label}: {self.shown} is not a name", f"write a name{example}")
        name = self.value.strip()
        if name not in known:
            remedy = suggest(name, known, listing, aliases)
            raise self.wrong(f"{self.label}: '{clipped(name)}': no such {kind}", remedy)
        return name

    def quantity(
        self,
        dimension: str,
        high: float,
        *,
        low: float = 0.0,
        zero: bool = False,
        example: str = "",
    ) -> float:
        """A finite quantity of ``dimension`` in (0, high], or [0, high] with ``zero``, or
        [low, high] where ``low`` is above 0.

        example: a usual value; of the dimension's where it is empty.
        """
        example = example or units.DIMENSIONS[dimension][1]
        if self.value is None or isinstance(self.value, (list, dict)):
            raise self.wrong(f"{self.label}: {self.shown} is not a value", f"write {example}")
        try:
            number = units.parse(self.value, dimension, example)
        except units.UnitError as cause:
            raise self.wrong(f"{self.label}: {clipped(cause.problem, 120)}", cause.remedy) from None
        least = low or (0.0 if zero else math.nextafter(0.0, 1.0))
        unit = units.DIMENSIONS[dimension][0]
        bound = f"of at least {f'{low:g} {unit}'.rstrip()}" if zero or low else "above 0"
        self._within(number, least, high, f"a value {bound}, such as {example}", example)
        return number

    def whole(self, low: int, high: int) -> int:
        """A whole number in [low, high]; 1e3 is one, '8' in quotes is not."""
        value, example = self.value, f"a whole number from {low} to {high}"
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.wrong(f"{self.label}: {self.shown} is not a number", f"write {example}")
        if isinstance(value, float) and not value.is_integer():
            wrong = "whole" if math.isfinite(value) else "finite"
            raise self.wrong(
                f"{self.label}: {self.shown} is not a {wrong} number", f"write {example}"
            )
        self._within(value, low, high, example, example)
        return int(value)

    def _within(self, number: float, low: float, high: float, bound: str, example: str) -> None:
        """Raise where a number is not in [low, high]. bound: what to write in place of less."""
        if number < low:
            wrong = "negative" if number < 0 else "zero" if number == 0 else "too small"
            raise self.wrong(f"{self.label}: {self.shown} is {wrong}", f"write {bound}")
        if number > high:
            problem = f"{self.label}: {self.shown} is beyond anything that exists"
            raise self.wrong(problem, f"check the unit; write {example}")


def clipped(text: str, length: int = 60) -> str:
    """``text``, with its tail left out where it is long."""
    return text if len(text) <= length else f"{text[: length - 2]}.."
