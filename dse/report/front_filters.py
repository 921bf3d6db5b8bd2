"""The filters over the front on the page: by what is bought, how many, how it sums, how sure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dse.report import words
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.tables import capital


@dataclass(frozen=True)
class Filter:
    """A filter: what it is called, its values, and which of them every front point has."""

    title: str
    values: tuple[str, ...]
    of_points: tuple[int, ...]


def filters(document: RunDocument) -> tuple[Filter, ...]:
    """The filters that part the front at all, each with its values in their own order."""
    named = (
        ("Accelerator", _axis(document, "accelerator")),
        ("Machine", _axis(document, "node")),
        ("GPUs", lambda point: (point.gpus, words.count(point.gpus))),
        ("Algorithm", _axis(document, "aggregation")),
        ("Basis", lambda point: (0, capital(words.says_who(point)[0]))),
    )
    return tuple(found for title, of in named if (found := _filter(document, title, of)))


def keys(document: RunDocument) -> tuple[str, ...]:
    """For every front point its values of all filters, as places joined by spaces."""
    columns = [one.of_points for one in filters(document)]
    return tuple(
        " ".join(str(places[at]) for places in columns) for at in range(len(document.front))
    )


def _axis(document: RunDocument, name: str) -> Callable[[Point], tuple[int, str]]:
    """(place on the axis, what people call it) of a point's value."""
    labels = next((list(axis.values) for axis in document.axes if axis.name == name), [])

    def value(point: Point) -> tuple[int, str]:
        label = words.label(point, name)
        known = words.title(name, label) if name != "aggregation" and label else label
        return labels.index(label) if label in labels else -1, known or "none"

    return value


def _filter(
    document: RunDocument, title: str, of: Callable[[Point], tuple[int, str]]
) -> Filter | None:
    found = [of(point) for point in document.front]
    values = sorted(set(found))
    if len(values) < 2:
        return None
    places = tuple(values.index(one) for one in found)
    return Filter(title, tuple(text for _, text in values), places)
