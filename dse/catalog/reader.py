"""Reading one catalogue file key by key: every number becomes a Fact, every mistake one line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from dse import units
from dse.catalog.facts import (
    CLASSES,
    CLOUD,
    LIST,
    ON_DEMAND,
    QUOTE,
    RENTAL_TERMS,
    STATUSES,
    UNITS,
    Fact,
    PriceTerms,
    day_of,
    last_day,
)
from dse.catalog.store import Source, find, models_dir, models_file, read_file, sources
from dse.currencies import USD, Rate, named_usd, rate_of
from dse.currencies import currency as currency_of
from dse.errors import StudyError
from dse.mistakes import Mistakes, each
from dse.spelling import alternatives
from dse.text_source import is_path

NOT_NEGATIVE = (0.0, "")  # the least that a number may be, and what to write in place of less
_NAME = "name"  # the value is the name of another entry
ANY = "any"  # the unit of the value tells its dimension
_PLAIN = "plain"  # source of a name written without one
_OR_UNKNOWN = "add '{0}:', with value unknown if it is"
# Keys of a price besides those of every fact: the terms of an offer.
TERMS = ("valid_until", "quote", "class", "term")
INCLUDES = "includes"  # what of a node the purchase of an accelerator pays
MONEY = ("usd", "usd_per_hour", "usd_per_kwh")  # dimensions of prices
# What a value as written says: a number, and its unit. Raises UnitError.
Reading: TypeAlias = Callable[[Any], tuple[float, str]]
_FACT_KEYS = ("value", "source", "detail", "date", "status", "vendor")
_PURCHASE = "purchase"  # the key of prices that may say what of a node they pay
_DAY = "write 2026-11-16, 2026-11 or 2026"
T = TypeVar("T")


class File(Protocol):
    """A file that was read: its data, and the place and text of every value in it."""

    @property
    def path(self) -> str: ...
    @property
    def data(self) -> Any: ...
    def error(self, loc: tuple[str | int, ...], problem: str, remedy: str = "") -> StudyError: ...
    def written(self, loc: tuple[str | int, ...]) -> str: ...


class Entry:
    """A mapping of a catalogue file. ``facts`` collects what was read from it and its sections.

    Files of the catalogue itself must cite keys of sources.yaml; a user's own file may cite any
    text, and may write a bare value, of which the file is then the source. ``rates``: what other
    currencies are worth in USD, by code. ``root``: how many steps of ``trail`` lead to the whole
    that it is part of, which is no part of the names of facts. ``shipped``: whether it is of the
    catalogue itself.
    """

    def __init__(
        self,
        file: File,
        data: Mapping[str, Any],
        trail: tuple[str | int, ...] = (),
        facts: list[Fact] | None = None,
        rates: Mapping[str, Rate] | None = None,
        root: int = 0,
    ) -> None:
        self.path, self.trail, self.root = Path(file.path), trail, root
        self.rates: dict[str, Rate] = dict(rates or {})
        self._file = file
        self.facts: list[Fact] = [] if facts is None else facts
        self._data, self._used, self._asked = data, set[str](), set[str]()
        self._sections: list[Entry] = []
        self.shipped = models_dir().resolve() in self.path.resolve().parents

    @classmethod
    def open(cls, path: Path) -> Entry:
        """The whole of a file."""
        file = read_file(path)
        return cls(file, file.data)

    def labels(self) -> tuple[str, ...]:
        """Keys present, in the order of the file."""
        return tuple(self._data)

    def has(self, key: str) -> bool:
        """Whether ``key`` is present."""
        self._asked.add(key)
        return key in self.labels()

    def wrong(self, problem: str, remedy: str = "", *steps: str | int) -> StudyError:
        """The error to raise for the value under ``steps``, which then counts as read."""
        self._used.update(map(str, steps[:1]))
        return self._file.error((*self.trail, *steps), problem, remedy)

    def text(self, key: str, default: str | None = None, example: str = "some text") -> str:
        """A word or sentence; required unless there is a default. example: of one, for errors."""
        value = self._take(key, default, f"add '{key}: {example}'")
        if not isinstance(value, str):
            raise self.wrong(f"{key} is not text", f"write {key}: {example}", key)
        return value

    def choice(self, key: str, *allowed: str, default: str | None = None) -> str:
        """One of the words allowed; required unless there is a default."""
        value = self.text(key, default)
        if value not in allowed:
            raise self.wrong(f"{key} '{value}'", f"write {' or '.join(allowed)}", key)
        return value

    def name(self, key: str) -> str | None:
        """The name of another entry, plain or as a fact; None for ``unknown``."""
        value = self._take(key, remedy=_OR_UNKNOWN.format(key))
        fact = self._fact(value, _NAME, key, (key,))
        if isinstance(value, dict):
            self.facts.append(fact)
        return fact.text if fact.known else None

    def number(
        self, key: str, dimension: str, least: float = 0.0, remedy: str = "", example: str = ""
    ) -> Fact:
        """One number of ``dimension`` (a key of :data:`dse.units.DIMENSIONS`), not below ``least``
        in its SI unit. remedy: what to write in place of a smaller one. example: see
        :func:`dse.units.parse`.
        """
        return self._one(key, dimension, _OR_UNKNOWN.format(key), (least, remedy), example)

    def _one(
        self,
        key: str,
        dimension: str | Reading,
        absent: str = "",
        least: tuple[float, str] = NOT_NEGATIVE,
        example: str = "",
    ) -> Fact:
        fact = self._fact(self._take(key, remedy=absent), dimension, key, (key,), least, example)
        self.facts.append(fact)
        return fact

    def word(self, key: str) -> Fact:
        """A word, such as a day, as the text of a fact that has no number."""
        return self._one(key, _NAME, _OR_UNKNOWN.format(key))

    def one_word(self, key: str, allowed: Sequence[str], default: str = "") -> str:
        """A :meth:`word` of those allowed; the default where the key is absent."""
        word = self.word(key).text if self.has(key) else default
        if word not in (*allowed, default):
            raise self.wrong(f"{key} '{word}'", f"write {', '.join(allowed)}", key)
        return word

    def optional(self, key: str, dimension: str) -> float | None:
        """One number that may be left out, or be unknown."""
        return self.number(key, dimension).value if self.has(key) else None

    def read(self, key: str, reading: Reading) -> Fact:
        """One number by a reading of its own; amounts of money in it may be in any currency."""
        return self._one(key, reading)

    def known(self, key: str, dimension: str, example: str = "") -> float:
        """One number that may not be unknown."""
        value = self._one(key, dimension, f"add '{key}:'", example=example).value
        if value is None:
            raise self.wrong(f"{key} is unknown", "nothing can be predicted without it", key)
        return value

    def positive(self, key: str, dimension: str, example: str = "") -> float:
        """One number above 0. example: see :func:`dse.units.parse`."""
        value = self.known(key, dimension, example)
        if value == 0:
            raise self.wrong(f"{key} is 0", "write a number above 0", key)
        return value

    def s_per_byte(self, key: str) -> float | None:
        """Seconds a byte takes at the bandwidth given; None where the key is absent."""
        return 1 / self.positive(key, "bytes_per_s") if self.has(key) else None

    def series(self, key: str, dimension: str) -> tuple[Fact, ...]:
        """A list of numbers, such as dated prices, or one; empty where the key is absent."""
        values = self._take(key, [])
        alone = not isinstance(values, list)
        found = tuple(
            self._fact(value, dimension, key, (key,) if alone else (key, index))
            for index, value in enumerate([values] if alone else values)
        )
        self.facts.extend(found)
        return found

    def rents(self, key: str) -> dict[str, Fact]:
        """Prices by the hour by the term that they are for, on demand where that is not said: one,
        or a list with one for each term."""
        value = self._take(key, remedy=_OR_UNKNOWN.format(key))
        listed = value if isinstance(value, list) else [value]
        found: dict[str, Fact] = {}

        def read(at: int) -> None:
            steps = (key, at) if isinstance(value, list) else (key,)
            fact = self._fact(listed[at], "usd_per_hour", key, steps)
            term = (fact.offer.term if fact.offer else "") or ON_DEMAND
            if term in found:
                raise self.wrong(f"a second price {term}", "keep one for each term", *steps)
            if term != ON_DEMAND:
                fact = replace(fact, name=f"{fact.name}.{term}")
            found[term] = fact
            self.facts.append(fact)

        each(read, range(len(listed)))
        return found

    def section(self, key: str) -> Entry:
        """The mapping under ``key``; empty where the key is absent."""
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"{key} is not a mapping", f"write {key}: {{name: ...}}", key)
        trail = (*self.trail, key)
        found = Entry(self._file, value, trail, self.facts, self.rates, self.root)
        self._sections.append(found)
        return found

    def skip(self, key: str) -> None:
        """Leave what is under ``key`` to another reader."""
        self._used.add(key)

    def numbers(self, key: str, dimension: str = ANY) -> dict[str, Fact]:
        """All numbers of a section by name; without ``dimension`` each unit tells its own.

        A section that is itself ``{value: unknown}`` has none.
        """
        inner = self.section(key)
        if inner.has("value"):
            if inner._take("value") != "unknown":
                raise inner.wrong(f"{key} holds one value", "name each value in it", "value")
            self._sections.remove(inner)
            return {}
        return {name: inner.number(name, dimension) for name in inner.labels()}

    def known_numbers(self, key: str, dimension: str = "count") -> dict[str, float]:
        """All numbers of a section by name, none of which may be unknown."""
        inner = self.section(key)
        return {name: inner.known(name, dimension) for name in inner.labels()}

    def finish(self) -> None:
        """Raise for a key that nothing has read, here or in a section: it is misspelt or
        misplaced."""
        mistakes, known = Mistakes(), sorted(self._used | self._asked)
        for key in self.labels():
            if key not in self._used:
                near = difflib.get_close_matches(key, known, n=1)
                remedy = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                mistakes.note(self.wrong(f"unknown key '{key}'", remedy, key))
        for section in self._sections:
            mistakes.part(section.finish)
        mistakes.told()

    def _take(self, key: str, default: Any = None, remedy: str = "") -> Any:
        self._used.add(key)
        if key in self._data:
            return self._data[key]
        if default is None:
            raise self.wrong(f"{key} is missing", remedy)
        return default

    def _fact(
        self,
        written: Any,
        dimension: str | Reading,
        key: str,
        steps: tuple[str | int, ...],
        least: tuple[float, str] = NOT_NEGATIVE,
        example: str = "",
    ) -> Fact:
        name = ".".join(str(step) for step in (*self.trail[self.root :], key))
        place = (*self.trail, *steps)
        if isinstance(written, dict):
            place = (*place, "value")
        else:
            if self.shipped and dimension != _NAME:
                raise self.wrong(f"{name} has no source", "write {value: .., source: ..}", *steps)
            written = {"value": written, "source": _PLAIN if self.shipped else self.path.name}
        money = callable(dimension) or dimension in MONEY
        allowed = (*_FACT_KEYS, *(TERMS if money else ()))
        if key == _PURCHASE:
            allowed = (*allowed, INCLUDES)
        for extra in written:
            if extra not in allowed:
                remedy = f"use {', '.join(allowed)}"
                raise self.wrong(f"unknown key '{extra}' in {name}", remedy, *steps, extra)
        if "value" not in written:
            raise self.wrong(f"{name} has no value", "write value: unknown if it is", *steps)
        value, source = written["value"], self._source(written, name, steps)
        status = str(written.get("status", "sourced"))
        if status not in STATUSES:
            raise self.wrong(f"status '{status}'", f"write {' or '.join(STATUSES)}", *steps)
        about = [str(written[part]) for part in ("vendor", "detail") if part in written]
        offer = None
        text = self._file.written(place)
        if money:
            number, unit, offer = self._price(written, dimension, steps, example)
        else:
            number, unit = self._value(value, dimension, steps, example)
        date = self._date(written, "date", steps)
        if number is not None and number < least[0]:
            raise self.wrong(*_too_small(key, text, unit, *least), *steps)
        return Fact(
            name=name,
            value=number,
            unit=unit,
            text=text,
            source=source.key,
            accessed=source.accessed,
            detail="; ".join(about),
            date=date,
            status="unknown" if value == "unknown" else status,
            offer=offer,
        )

    def _price(
        self,
        written: dict[str, Any],
        dimension: str | Reading,
        steps: tuple[str | int, ...],
        example: str,
    ) -> tuple[float | None, str, PriceTerms]:
        """A price in USD, its unit, and its terms."""
        value, rented = written["value"], dimension == "usd_per_hour"
        usual = QUOTE if not self.shipped else CLOUD if rented else LIST
        terms = RENTAL_TERMS if rented else ()
        mistakes = Mistakes()
        mistakes.part(lambda: self._date(written, "date", steps))
        ended = mistakes.part(lambda: self._date(written, "valid_until", steps))
        converted = mistakes.part(lambda: self._rate(value, steps))
        amount = mistakes.part(lambda: self._amount(value, dimension, steps, example))
        price_class = mistakes.part(lambda: self._one_of(CLASSES, written, "class", usual, steps))
        term = mistakes.part(lambda: self._one_of(terms, written, "term", "", steps))
        mistakes.told()
        (currency, rate), (number, unit) = converted(), amount()
        if number is not None and currency:
            # A price to pay is one of whole cents, so that a bill adds up as it is shown.
            number = round(number * rate.usd, 2 if dimension == "usd" else 15)
        offer = PriceTerms(
            price_class=price_class(),
            vendor=str(written.get("vendor", "")),
            quote=str(written.get("quote", "")),
            valid_until=last_day(ended()),
            currency=currency,
            rate=rate.usd,
            rate_date=rate.date,
            file="" if self.shipped else self.path.name,
            includes=str(written.get(INCLUDES, "")),
            term=term(),
        )
        return number, unit, offer

    def _rate(self, value: Any, steps: tuple[str | int, ...]) -> tuple[str, Rate]:
        """The currency of a price and what one of it is worth; empty and 1 of USD."""
        if not isinstance(value, str) or value == "unknown":
            return "", Rate(1.0)
        try:
            code, rate = rate_of(value, self.rates)
        except units.UnitError as cause:
            raise self.wrong(cause.problem, cause.remedy, *steps) from cause
        return "" if code == USD else code, rate

    def _one_of(
        self,
        allowed: tuple[str, ...],
        written: dict[str, Any],
        key: str,
        usual: str,
        steps: tuple[str | int, ...],
    ) -> str:
        """The word under a key, ``usual`` where there is none."""
        found = str(written.get(key, usual))
        if found == usual or found in allowed:
            return found
        remedy = f"write {alternatives(allowed)}" if allowed else f"drop it: {key} is of rents"
        raise self.wrong(f"{key} '{found}'", remedy, *steps, key)

    def _date(self, written: dict[str, Any], key: str, steps: tuple[str | int, ...]) -> str:
        date = str(written.get(key, "unknown"))
        try:
            return "" if date == "unknown" or day_of(date) is None else date
        except ValueError as cause:
            raise self.wrong(f"'{date}' is no date", _DAY, *steps, key) from cause

    def _value(
        self,
        value: Any,
        dimension: str | Reading,
        steps: tuple[str | int, ...],
        example: str = "",
    ) -> tuple[float | None, str]:
        if value == "unknown" or dimension == _NAME:
            return None, "" if callable(dimension) else UNITS.get(dimension, "")
        try:
            if callable(dimension):
                number, unit = dimension(value)
            elif dimension == ANY:
                number, unit = _any_dimension(value)
            else:
                number, unit = units.parse(value, dimension, example), UNITS[dimension]
        except units.UnitError as cause:
            raise self.wrong(cause.problem, cause.remedy, *steps) from cause
        return number, unit

    def _amount(
        self, value: Any, dimension: str | Reading, steps: tuple[str | int, ...], example: str = ""
    ) -> tuple[float | None, str]:
        """The number and unit of an amount in whatever currency; mistakes name it as written."""
        if not isinstance(value, str):
            return self._value(value, dimension, steps, example)
        text = named_usd(value)
        try:
            return self._value(text, dimension, steps, example)
        except StudyError as cause:
            problem = cause.problem.replace(f"'{text}'", f"'{value}'")
            remedy = cause.remedy.replace(USD, currency_of(value))
            raise self.wrong(problem, remedy, *steps) from cause

    def _source(self, written: dict[str, Any], name: str, steps: tuple[str | int, ...]) -> Source:
        key = str(written.get("source", "" if self.shipped else self.path.name))
        known = sources().get(key)
        if known is not None:
            return known
        unstated = key == "none" and written["value"] == "unknown"
        if not self.shipped or unstated or key == _PLAIN:
            return Source(key, key, "", "")
        near = difflib.get_close_matches(key, sources(), n=1)
        remedy = f"did you mean {near[0]}?" if near else "describe it in sources.yaml"
        raise self.wrong(f"{name} cites unknown source '{key}'", remedy, *steps)


def once(read: Callable[[Entry], T]) -> Callable[[Path], T]:
    """The reading of a file by its path, done once and to its last key.

    A mistake in the file raises :class:`~dse.errors.StudyError`.
    """

    @cache
    def of_file(path: Path) -> T:
        entry = Entry.open(path)
        found = read(entry)
        entry.finish()
        return found

    return of_file


def of_catalogue(name: str) -> Callable[[Callable[[Entry], T]], Callable[..., T]]:
    """Decorate the reading of a file of the catalogue, which is :func:`once` then: called without
    an argument, or with the path of another such file."""

    def decorated(read: Callable[[Entry], T]) -> Callable[..., T]:
        of_file = once(read)

        def found(path: Path | None = None) -> T:
            return of_file(path or models_file(name))

        found.__doc__ = read.__doc__
        return found

    return decorated


def of_kind(
    kind: str, own_files: bool = False
) -> Callable[[Callable[[Entry], T]], Callable[[str | Path], T]]:
    """Decorate the reading of an entry of a kind, which is :func:`once` then: called with the
    entry's name, or with its path. own_files: whether a name may be the path of a user's file.

    A name that nothing has raises :class:`~dse.catalog.store.UnknownName`.
    """

    def decorated(read: Callable[[Entry], T]) -> Callable[[str | Path], T]:
        of_file = once(read)

        def found(given: str | Path) -> T:
            named = isinstance(given, str) and not (own_files and is_path(given))
            return of_file(find(kind, str(given)) if named else Path(given))

        found.__doc__ = read.__doc__
        return found

    return decorated


def _too_small(key: str, text: str, unit: str, least: float, remedy: str) -> tuple[str, str]:
    """What is wrong with a number below the least that it may be, and what to write."""
    if least == 0:
        what = ["write a value of at least 0", remedy]
        return f"{text} is negative", "; ".join(filter(None, what))
    bound = f"{least:g} {unit}".rstrip()
    return f"{key} {text} is too small: it must be at least {bound}", remedy


def _any_dimension(value: str | int | float) -> tuple[float, str]:
    """Parse a value by the first dimension its unit fits."""
    for dimension, unit in UNITS.items():
        try:
            return units.parse(value, dimension), unit
        except units.UnitError:
            continue
    raise units.UnitError(f"'{value}' is not a quantity", "write for example 10 GB/s")
