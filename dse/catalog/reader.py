"""Reading one catalogue file key by key: every number becomes a Fact, every mistake one line."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse import units
from dse.catalog.facts import STATUSES, UNITS, Fact, day_of
from dse.catalog.store import Source, models_dir, read_file, sources
from dse.errors import StudyError

if TYPE_CHECKING:
    from dse.yaml_source import Source as File

_NAME = "name"  # the value is the name of another entry
ANY = "any"  # the unit of the value tells its dimension
_PLAIN = "plain"  # source of a name written without one
_OR_UNKNOWN = "add '{0}:', with value unknown if it is"
_FACT_KEYS = ("value", "source", "detail", "date", "status", "vendor", "includes")


class Entry:
    """A mapping of a catalogue file. ``facts`` collects what was read from it and its sections.

    Files of the catalogue itself must cite keys of sources.yaml; a user's own file may cite any
    text, and may write a bare value, of which the file is then the source.
    """

    def __init__(
        self,
        file: File,
        data: Mapping[str, Any],
        trail: tuple[str | int, ...] = (),
        facts: list[Fact] | None = None,
    ) -> None:
        self.path, self.trail = Path(file.path), trail
        self._file = file
        self.facts: list[Fact] = [] if facts is None else facts
        self._data, self._used, self._asked = data, set[str](), set[str]()
        self._own = models_dir().resolve() in self.path.resolve().parents

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
        """The error to raise for the value under ``steps``."""
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

    def number(self, key: str, dimension: str) -> Fact:
        """One number of ``dimension`` (a key of :data:`dse.units.DIMENSIONS`)."""
        return self._number(key, dimension, _OR_UNKNOWN.format(key))

    def _number(self, key: str, dimension: str, remedy: str) -> Fact:
        fact = self._fact(self._take(key, remedy=remedy), dimension, key, (key,))
        self.facts.append(fact)
        return fact

    def known(self, key: str, dimension: str) -> float:
        """One number that may not be unknown."""
        value = self._number(key, dimension, f"add '{key}:'").value
        if value is None:
            raise self.wrong(f"{key} is unknown", "nothing can be predicted without it", key)
        return value

    def positive(self, key: str, dimension: str) -> float:
        """One number above 0."""
        value = self.known(key, dimension)
        if value == 0:
            raise self.wrong(f"{key} is 0", "write a number above 0", key)
        return value

    def s_per_byte(self, key: str) -> float | None:
        """Seconds a byte takes at the bandwidth given; None where the key is absent."""
        return 1 / self.positive(key, "bytes_per_s") if self.has(key) else None

    def series(self, key: str, dimension: str) -> tuple[Fact, ...]:
        """A list of numbers, such as dated prices; empty where the key is absent."""
        values = self._take(key, [])
        if not isinstance(values, list):
            raise self.wrong(f"{key} is not a list", f"write {key}: [{{value: ...}}]", key)
        found = tuple(
            self._fact(value, dimension, key, (key, index)) for index, value in enumerate(values)
        )
        self.facts.extend(found)
        return found

    def section(self, key: str) -> Entry:
        """The mapping under ``key``; empty where the key is absent."""
        value = self._take(key, {})
        if not isinstance(value, dict):
            raise self.wrong(f"{key} is not a mapping", f"write {key}: {{name: ...}}", key)
        return Entry(self._file, value, (*self.trail, key), self.facts)

    def numbers(self, key: str, dimension: str = ANY) -> dict[str, Fact]:
        """All numbers of a section by name; without ``dimension`` each unit tells its own.

        A section that is itself ``{value: unknown}`` has none.
        """
        inner = self.section(key)
        if inner.has("value"):
            if inner._take("value") != "unknown":
                raise inner.wrong(f"{key} holds one value", "name each value in it", "value")
            inner._used.update(inner.labels())
            return {}
        return {name: inner.number(name, dimension) for name in inner.labels()}

    def finish(self) -> None:
        """Raise for a key that nothing has read: it is misspelt or misplaced."""
        for key in self.labels():
            if key not in self._used:
                known = sorted(self._used | self._asked)
                near = difflib.get_close_matches(key, known, n=1)
                remedy = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
                raise self.wrong(f"unknown key '{key}'", remedy, key)

    def _take(self, key: str, default: Any = None, remedy: str = "") -> Any:
        self._used.add(key)
        if key in self._data:
            return self._data[key]
        if default is None:
            raise self.wrong(f"{key} is missing", remedy)
        return default

    def _fact(self, written: Any, dimension: str, key: str, steps: tuple[str | int, ...]) -> Fact:
        name = ".".join(str(step) for step in (*self.trail, key))
        place = (*self.trail, *steps)
        if isinstance(written, dict):
            place = (*place, "value")
        else:
            if self._own and dimension != _NAME:
                raise self.wrong(f"{name} has no source", "write {value: .., source: ..}", *steps)
            written = {"value": written, "source": _PLAIN if self._own else self.path.name}
        for extra in written:
            if extra not in _FACT_KEYS:
                remedy = f"use {', '.join(_FACT_KEYS)}"
                raise self.wrong(f"unknown key '{extra}' in {name}", remedy, *steps)
        if "value" not in written:
            raise self.wrong(f"{name} has no value", "write value: unknown if it is", *steps)
        value, source = written["value"], self._source(written, name, steps)
        status = str(written.get("status", "sourced"))
        if status not in STATUSES:
            raise self.wrong(f"status '{status}'", f"write {' or '.join(STATUSES)}", *steps)
        date = self._date(written, steps)
        about = [str(written[part]) for part in ("vendor", "detail") if part in written]
        number, unit = self._value(value, dimension, steps)
        return Fact(
            name=name,
            value=number,
            unit=unit,
            text=self._file.written(place),
            source=source.key,
            accessed=source.accessed,
            detail="; ".join(about),
            date=date,
            status="unknown" if value == "unknown" else status,
        )

    def _date(self, written: dict[str, Any], steps: tuple[str | int, ...]) -> str:
        date = str(written.get("date", "unknown"))
        try:
            return "" if date == "unknown" or day_of(date) is None else date
        except ValueError as cause:
            remedy = "write 2026-11-16, 2026-11 or 2026"
            raise self.wrong(f"'{date}' is no date", remedy, *steps, "date") from cause

    def _value(
        self, value: Any, dimension: str, steps: tuple[str | int, ...]
    ) -> tuple[float | None, str]:
        if value == "unknown" or dimension == _NAME:
            return None, UNITS.get(dimension, "")
        try:
            if dimension == ANY:
                number, unit = _any_dimension(value)
            else:
                number, unit = units.parse(value, dimension), UNITS[dimension]
        except units.UnitError as cause:
            raise self.wrong(cause.problem, cause.remedy, *steps) from cause
        if number < 0:
            raise self.wrong(f"{value} is negative", "write a value of at least 0", *steps)
        return number, unit

    def _source(self, written: dict[str, Any], name: str, steps: tuple[str | int, ...]) -> Source:
        key = str(written.get("source", "" if self._own else self.path.name))
        known = sources().get(key)
        if known is not None:
            return known
        unstated = key == "none" and written["value"] == "unknown"
        if not self._own or unstated or key == _PLAIN:
            return Source(key, key, "", "")
        near = difflib.get_close_matches(key, sources(), n=1)
        remedy = f"did you mean {near[0]}?" if near else "describe it in sources.yaml"
        raise self.wrong(f"{name} cites unknown source '{key}'", remedy, *steps)


def _any_dimension(value: str | int | float) -> tuple[float, str]:
    """Parse a value by the first dimension its unit fits."""
    for dimension, unit in UNITS.items():
        try:
            return units.parse(value, dimension), unit
        except units.UnitError:
            continue
    raise units.UnitError(f"'{value}' is not a quantity", "write for example 10 GB/s")
