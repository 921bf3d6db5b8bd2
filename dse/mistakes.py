"""Reading a file to its end although parts of it are wrong, so that all mistakes are told at once.

Parts that do not depend on one another are read apart, and each keeps its mistake. What depends on
a part that is mistaken is not read, so that no mistake is told twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar, cast

from dse.errors import StudyError, together

T = TypeVar("T")
U = TypeVar("U")
K = TypeVar("K", bound=Hashable)
_NOTHING = object()


class Unread(Exception):
    """Something is not known, since what it depends on is mistaken, which was noted."""


@dataclass(frozen=True)
class Part(Generic[T]):
    """What was read of a part, by calling it. Raises :class:`Unread` where that was mistaken."""

    _value: object = _NOTHING

    def __call__(self) -> T:
        if self._value is _NOTHING:
            raise Unread
        return cast("T", self._value)

    def otherwise(self, default: T) -> T:
        """The same, or ``default`` where that was mistaken."""
        return default if self._value is _NOTHING else self()


class Mistakes:
    """The mistakes found so far."""

    def __init__(self) -> None:
        self._found: list[StudyError] = []
        self._unread = False

    def note(self, mistake: StudyError) -> None:
        """Keep a mistake, and go on."""
        self._found.extend(mistake.mistakes)

    def part(self, read: Callable[[], T]) -> Part[T]:
        """What ``read`` returns. Its mistakes are kept, and it may depend on other parts."""
        try:
            return Part(read())
        except StudyError as mistake:
            self.note(mistake)
        except Unread:
            self._unread = True
        return Part()

    def parts(self, read: Callable[[U], T], things: Iterable[U]) -> list[Part[T]]:
        """What ``read`` makes of each thing."""
        return [self.part(partial(read, thing)) for thing in things]

    def by_key(self, read: Callable[[K], T], keys: Iterable[K]) -> dict[K, Part[T]]:
        """What ``read`` makes of each key, by key."""
        return {key: self.part(partial(read, key)) for key in keys}

    def told(self) -> None:
        """Raise all mistakes as one error, in the order of each file; :class:`Unread` where there
        are none, but something was not read."""
        files = list(dict.fromkeys(one.file for one in self._found))
        told = {str(one): one for one in self._found}  # of an alias of YAML, the same mistake
        ordered = sorted(told.values(), key=lambda one: (files.index(one.file), one.line,
                                                         one.column))  # fmt: skip
        if ordered:
            raise together(ordered)
        if self._unread:
            raise Unread


def each(read: Callable[[U], T], things: Iterable[U]) -> tuple[T, ...]:
    """What ``read`` makes of each thing. Raises all of their mistakes as one error."""
    mistakes = Mistakes()
    found = mistakes.parts(read, things)
    mistakes.told()
    return tuple(part() for part in found)
