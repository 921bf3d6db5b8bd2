"""The filters over the front on the page: by what is bought, how many, how it sums, how sure.

A row of the table stands for all that is as good, so a filter keeps it where any of that fits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dse.report import choices, words
from dse.report.choices import Row
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.tables import capital

Value: TypeAlias = tuple[int, str]  # its place among others, and what people call it


@dataclass(frozen=True)
class Filter:
    """A filter: what it is called, its values, and for every row of the front which of them its
    points have, those included that are as good as its first."""

    title: str
    values: tuple[str, ...]
    of_rows: tuple[tuple[int, ...], ...]


def filters(document: RunDocument) -> tuple[Filter, ...]:
    """The filters that part the front at all, each with its values in their own order."""
    found = choices.rows(document)
    named: tuple[tuple[str, Callable[[Row], Iterable[Value]]], ...] = (
        ("Accelerator", _axis(document, "accelerator")),
        ("Machine", _axis(document, "node")),
        ("GPUs", _gpus(document)),
        ("Algorithm", _axis(document, "aggregation")),
        (capital(words.BEHIND), _behind(document)),
    )
    of_all = ((title, [{*of(row)} for row in found]) for title, of in named)
    return tuple(one for title, of_rows in of_all if (one := _filter(title, of_rows)))


def keys(document: RunDocument, found: Sequence[Filter]) -> tuple[str, ...]:
    """For every row of the front its values of all filters: ``0 1,2 0``, places of the values."""
    columns = [one.of_rows for one in found]
    return tuple(
        " ".join(",".join(map(str, places[at])) for places in columns)
        for at in range(len(choices.rows(document)))
    )


def _points(document: RunDocument, row: Row) -> list[Point]:
    return [row.point, *(document.front[at] for at in row.others)]


def _axis(document: RunDocument, name: str) -> Callable[[Row], Iterable[Value]]:
    """The values of an axis, by their place on it."""
    labels = next((list(axis.values) for axis in document.axes if axis.name == name), [])

    def value(label: str) -> Value:
        known = words.title(name, label) if name != "aggregation" and label else label
        return labels.index(label) if label in labels else -1, known or "none"

    def values(row: Row) -> Iterable[Value]:
        own = [words.label(point, name) for point in _points(document, row)]
        return map(value, (*own, *row.any_of(name)))

    return values


def _gpus(document: RunDocument) -> Callable[[Row], Iterable[Value]]:
    def values(row: Row) -> Iterable[Value]:
        counts = [point.gpus for point in _points(document, row)]
        counts += [int(label) for label in row.any_of("gpus") if label.isdecimal()]
        return ((count, words.count(count)) for count in counts)

    return values


def _behind(document: RunDocument) -> Callable[[Row], Iterable[Value]]:
    return lambda row: ((0, capital(words.says_who(point)[0])) for point in _points(document, row))


def _filter(title: str, of_rows: list[set[Value]]) -> Filter | None:
    values = sorted({value for own in of_rows for value in own})
    if all(own == of_rows[0] for own in of_rows):
        return None
    places = tuple(tuple(sorted(values.index(one) for one in own)) for own in of_rows)
    return Filter(title, tuple(text for _, text in values), places)
