"""The table of the front."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

from dse.report import choices, training_runs, words
from dse.report.design_point import Point
from dse.report.document import Choice, RunDocument
from dse.study.axes import HARDWARE, spoken

NOT_APPLICABLE = "–"
DASHES = (
    "A dash means that the value does not matter there: one accelerator aggregates nothing, and "
    "one node needs neither network nor servers."
)
FEW = 2  # values that a cell names
MOST_ROWS = 6  # of the front in report.md
MARKS = {"recommended": "★", "fastest": "▲", "within 5 % of fastest": "◆"}


@dataclass(frozen=True)
class FrontRow:
    """A row of the front: cells as (what to sort by, text), and how many points are as good.

    ``number``: of the front point that stands for it; ``others``: of those in its row. ``axes``:
    where these and all equals differ, with all values that are as good.
    """

    number: int
    name: str
    mark: str
    cells: tuple[tuple[str | float, str], ...]
    ties: int
    axes: tuple[tuple[str, str], ...]
    others: tuple[int, ...]


@dataclass(frozen=True)
class FrontTable:
    """The front, with a column for each axis that varies along it. note: on what it leaves out."""

    heads: tuple[tuple[str, bool], ...]
    rows: tuple[FrontRow, ...]
    constant: tuple[tuple[str, str], ...]
    note: str = ""


def axis_names(document: RunDocument) -> list[str]:
    """The axes in the document's order, of a mix those that its workloads share."""
    names = [axis.name for axis in document.axes]
    return [name for name in names if name in HARDWARE or not document.recommended.mix]


def _split_axes(
    document: RunDocument, points: Iterable[Point]
) -> tuple[list[str], list[tuple[str, str]]]:
    """(axes that vary over ``points``, (axis, label) of the others that apply at all).

    An axis is the same also if there are points of one node to which it does not matter.
    """
    seen: dict[str, dict[str, None]] = {name: {} for name in axis_names(document)}
    for point in points:
        for name, labels in seen.items():
            if words.matters(point, name) or point.nodes > 1:
                labels[words.label(point, name)] = None
    varying = [name for name, labels in seen.items() if len(labels) > 1]
    constant = [(spoken(name), next(iter(labels))) for name, labels in seen.items()
                if len(labels) == 1 and next(iter(labels))]  # fmt: skip
    return varying, constant


def role(document: RunDocument, point: Point) -> str:
    """What the answer calls this point, empty for an ordinary point of the front."""
    fastest = document.fastest.config == point.config
    near = document.cheapest_within_5_percent.config == point.config and not fastest
    roles = (
        ("recommended", document.recommended.config == point.config),
        ("within 5 % of fastest", near),
        ("fastest", fastest),
    )
    return ", ".join(name for name, is_so in roles if is_so)


def front_table(document: RunDocument) -> FrontTable:
    """The front by rising cost, the constant axes apart."""
    found = choices.rows(document)
    points = [document.front[row.front[0]] for row in found]
    varying, constant = _split_axes(document, points)
    free = {
        axis: labels
        for axis, labels in found[0].varies.items()
        if axis not in varying and all(row.varies.get(axis) == labels for row in found)
    }
    some = {axis for row in found for axis in row.varies if axis not in free}
    varying = [axis for axis in axis_names(document) if axis in {*varying, *some}]
    columns = {spoken(axis) for axis in varying}
    anything = {spoken(axis): f"any of {', '.join(labels)}" for axis, labels in free.items()}
    constant = [(head, anything.get(head, label)) for head, label in constant
                if head not in columns]  # fmt: skip
    heads = [("#", True), *((head, True) for head, *_ in _measures(document)),
             (words.capital(words.BEHIND), False), ("GPUs", True)]  # fmt: skip
    varying = [name for name in varying if name != "gpus"]
    heads += [(words.capital(spoken(name)), _numbers(_labels(document, name))) for name in varying]
    heads.append(("Alike", True))
    rows = [_front_row(document, row, varying, free) for row in found]
    dashes = DASHES if any(point.nodes == 1 for point in points) else ""
    return FrontTable(tuple(heads), tuple(rows), tuple(constant), dashes)


def thinned(rows: Sequence[FrontRow]) -> list[FrontRow]:
    """At most :data:`MOST_ROWS`: those that the answer names, and others evenly along the front."""
    named = [at for at, row in enumerate(rows) if row.name]
    others = [at for at, row in enumerate(rows) if not row.name]
    free = max(MOST_ROWS - len(named), 0)
    if len(others) > free:
        others = [others[at * len(others) // free] for at in range(free)]
    return [rows[at] for at in sorted((*named, *others))]


def _measures(document: RunDocument) -> list[tuple[str, str, Callable[[float | None], str]]]:
    """The columns of numbers, as heading, quantity, and how a value reads: what the study aims at,
    the time of a run to its target, the step, tokens and use of the peak, and replicas."""
    aims = document.objectives.names
    timed = [training_runs.TIME.name] if document.target is not None else []
    phrases = {name: words.objective(document, name) for name in (*aims, *timed)}
    own: list[tuple[str, str, Callable[[float | None], str]]] = [
        *((words.capital(how.title), name, partial(words.shown, unit=how.unit))
          for name, how in phrases.items()),
        ("Step", "step", words.duration),
    ]  # fmt: skip
    told: list[tuple[str, str, Callable[[float | None], str]]] = [
        ("Tokens/s per GPU", "tokens_per_s_per_gpu", lambda value: words.count(value or 0.0)),
        ("MFU", "mfu", lambda value: words.percent(value or 0.0)),
        ("DP", "data_parallel", lambda value: words.count(value or 0.0)),
    ]
    known = document.baseline.quantity
    told = [one for one in told if known(one[1]) is not None and one[1] not in aims]
    return own + (told if known("tokens_per_s") is not None else [])


def _sortable(value: float | None) -> float:
    """What is unknown comes last."""
    return inf if value is None else value


def _labels(document: RunDocument, name: str) -> list[str]:
    return next(list(axis.values) for axis in document.axes if axis.name == name)


def _numbers(labels: Sequence[str]) -> bool:
    """Whether an axis is shown as numbers, to the right."""
    return all(label.replace(".", "", 1).isdigit() for label in labels)


def _front_row(
    document: RunDocument, row: Choice, varying: Sequence[str], free: Container[str]
) -> FrontRow:
    """free: axes of which the whole front may have any value."""
    points = [document.front[at] for at in row.front]
    point, number = points[0], row.front[0] + 1
    cells: list[tuple[str | float, str]] = [
        (number, str(number)),
        *((_sortable(point.quantity(name)), show(point.quantity(name)))
          for _, name, show in _measures(document)),
        (words.says_who(point),) * 2,
        (point.gpus, _any_of(row.varies.get("gpus"), words.count(point.gpus))),
    ]  # fmt: skip
    for name in varying:
        label, labels = words.label(point, name), _labels(document, name)
        text = _any_of(row.varies.get(name), label or NOT_APPLICABLE)
        cells.append((labels.index(label) if label in labels else -1, text))
    names = [name for one in points for name in role(document, one).split(", ") if name]
    name = ", ".join(dict.fromkeys(names))
    mark = "".join(sign for word, sign in MARKS.items() if word in names)
    axes = tuple(
        (spoken(axis), ", ".join(labels)) for axis, labels in row.varies.items()
        if axis not in free
    )  # fmt: skip
    others = tuple(at + 1 for at in row.front[1:])
    ties = sum(one.ties for one in points) + len(others)
    return FrontRow(number, name, mark, tuple(cells), ties, axes, others)


def _any_of(labels: Sequence[str] | None, alone: str) -> str:
    """``16 MiB or 64 MiB``, ``any of 5``; the one alone where nothing else is as good."""
    if not labels:
        return alone
    return " or ".join(labels) if len(labels) <= FEW else f"any of {len(labels)}"


def equals(point: Point) -> list[tuple[str, str]]:
    """(axis, values) in which the listed equals of a point differ from it; each axis by itself."""
    seen: dict[str, dict[str, None]] = {}
    for other in point.tied:
        for axis, label in other.items():
            seen.setdefault(axis, {})[label or NOT_APPLICABLE] = None
    return [(spoken(axis), ", ".join(labels)) for axis, labels in seen.items()]
