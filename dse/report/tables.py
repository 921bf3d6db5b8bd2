"""The tables of the answer: the named points side by side, the front, and the rows of front.csv."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dse.report import words
from dse.report.words import Document, Point

NOT_APPLICABLE = "–"
NAMED = (
    ("baseline", "Baseline"),
    ("recommended", "Recommended"),
    ("cheapest_within_5_percent", "{Least} within 5 % of fastest"),
    ("fastest", "Fastest"),
)


@dataclass(frozen=True)
class Cell:
    """One cell: its text, a quieter second line, and whether it differs from the baseline."""

    text: str
    note: str = ""
    changed: bool = False


@dataclass(frozen=True)
class Comparison:
    """Named points as columns. ``rows``: (heading, cells); ``constant``: axes that agree."""

    heads: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    constant: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FrontRow:
    """A row of the front: cells as (what to sort by, text), and the points equal to it.

    ``tied`` holds for every listed equal only what differs from this row.
    """

    number: int
    name: str
    cells: tuple[tuple[str | float, str], ...]
    ties: int
    tied: tuple[str, ...]
    more: int


@dataclass(frozen=True)
class FrontTable:
    """The front, with a column for each axis that varies along it."""

    heads: tuple[tuple[str, bool], ...]
    rows: tuple[FrontRow, ...]
    constant: tuple[tuple[str, str], ...]


def axis_names(document: Document) -> list[str]:
    """The axes in the document's order."""
    return [str(axis["name"]) for axis in document["axes"]]


def heading(axis: str) -> str:
    """An axis as the heading of a column."""
    return axis.replace("_", " ")


def split_axes(
    document: Document, points: Iterable[Point]
) -> tuple[list[str], list[tuple[str, str]]]:
    """(axes that vary over ``points``, (axis, label) of the others that apply at all)."""
    seen: dict[str, dict[str, None]] = {name: {} for name in axis_names(document)}
    for point in points:
        for name, labels in seen.items():
            labels[point["config"].get(name, "")] = None
    varying = [name for name, labels in seen.items() if len(labels) > 1]
    constant = [(heading(name), next(iter(labels))) for name, labels in seen.items()
                if len(labels) == 1 and next(iter(labels))]  # fmt: skip
    return varying, constant


def role(document: Document, point: Point) -> str:
    """What the answer calls this point, empty for an ordinary point of the front."""
    found = [key for key, _ in NAMED[1:] if document[key]["config"] == point["config"]]
    names = {"recommended": "recommended", "fastest": "fastest",
             "cheapest_within_5_percent": "within 5 % of fastest"}  # fmt: skip
    if "fastest" in found and "cheapest_within_5_percent" in found:
        found.remove("cheapest_within_5_percent")
    return ", ".join(names[key] for key in found)


def front_rows(document: Document) -> tuple[list[str], list[list[object]]]:
    """(header, rows) of front.csv: every axis, then the objectives and what they rest on."""
    axes = axis_names(document)
    objective = document["objectives"]["minimize"]
    header = [*axes, "speedup", objective, "step_s", "throughput_samples_per_s", "extrapolated"]
    rows: list[list[object]] = []
    for point in document["front"]:
        price = words.cost(document, point)
        rows.append(
            [
                *(point["config"].get(axis, "") for axis in axes),
                point["speedup"],
                "" if price is None else price,
                point["step_s"],
                point["throughput_samples_per_s"],
                "true" if point["extrapolated"] else "false",
            ]
        )
    return header, rows


def comparison(document: Document) -> Comparison:
    """Baseline, recommended, cheapest within 5 % and fastest; points that coincide share a column."""
    least = words.objective(document, document["objectives"]["minimize"]).least.capitalize()
    heads: list[str] = []
    points: list[Point] = []
    for key, title in NAMED:
        point, title = document[key], title.replace("{Least}", least)
        same = [at for at, other in enumerate(points) if other["config"] == point["config"]]
        if same:
            heads[same[0]] += f" = {title[0].lower()}{title[1:]}"
        else:
            heads.append(title)
            points.append(point)
    varying, constant = split_axes(document, points)
    rows = [*_measures(document, points), *(_axis(document, name, points) for name in varying)]
    return Comparison(tuple(heads), tuple(rows), tuple(constant))


def _measures(document: Document, points: Sequence[Point]) -> list[tuple[str, tuple[Cell, ...]]]:
    aims = document["objectives"]
    bounds = [point.get("interval") or {} for point in points]
    rows = [("Speedup", [Cell(words.shown(p["speedup"], "x"),
                              words.interval(b.get("speedup"), "x"))
                         for p, b in zip(points, bounds, strict=True)])]  # fmt: skip
    target = words.objective(document, aims["minimize"])
    if aims["minimize"] != "step":
        rows.append((capital(target.title), [Cell(words.show_cost(document, p)) for p in points]))
    rows.append(("Throughput", [Cell(words.shown(p["throughput_samples_per_s"], "samples/s"))
                                for p in points]))  # fmt: skip
    rows.append(("Step time", [Cell(words.duration(p["step_s"]), words.interval(b.get("step_s"), "s"))
                               for p, b in zip(points, bounds, strict=True)]))  # fmt: skip
    for name in points[0]["costs"]:
        if name != aims["minimize"]:
            how = words.objective(document, name)
            cells = [Cell(words.shown(p["costs"].get(name), how.unit)) for p in points]
            rows.append((capital(how.title), cells))
    rows.append(("GPUs", [Cell(words.count(p["gpus"]), _nodes(p)) for p in points]))
    rows.append(("Global batch", [Cell(words.count(p["global_batch"])) for p in points]))
    rows.append(("Free memory per GPU", [Cell(words.size(p["memory_slack_bytes"])) for p in points]))
    rows.append(("Says who", [Cell(capital(words.says_who(p)[0])) for p in points]))
    return [(head, tuple(cells)) for head, cells in rows]


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _nodes(point: Point) -> str:
    return f"{words.count(point['nodes'])} {'node' if point['nodes'] == 1 else 'nodes'}"


def _axis(document: Document, name: str, points: Sequence[Point]) -> tuple[str, tuple[Cell, ...]]:
    base = document["baseline"]
    given = base["config"].get(name, "")
    assumed = name in base.get("assumed", ())
    cells = []
    for point in points:
        label = point["config"].get(name, "")
        note = "assumed" if assumed and point["config"] == base["config"] else ""
        cells.append(Cell(label or NOT_APPLICABLE, note, label != given))
    return capital(heading(name)), tuple(cells)


def front_table(document: Document) -> FrontTable:
    """The front by rising cost, the constant axes apart."""
    front = document["front"]
    varying, constant = split_axes(document, front)
    aims = document["objectives"]
    gain, cost = (words.objective(document, aims[key]).title for key in ("maximize", "minimize"))
    heads = [("#", True), (capital(gain), True), (capital(cost), True), ("Step", True),
             ("GPUs", True)]  # fmt: skip
    varying = [name for name in varying if name != "gpus"]
    heads += [(capital(heading(name)), _ordered(document, name)) for name in varying]
    heads += [("Says who", False), ("Equals", True)]
    rows = [_front_row(document, at, point, varying) for at, point in enumerate(front, 1)]
    return FrontTable(tuple(heads), tuple(rows), tuple(constant))


def _ordered(document: Document, name: str) -> bool:
    """Whether an axis is shown as numbers, to the right."""
    labels = next(axis["values"] for axis in document["axes"] if axis["name"] == name)
    return bool(labels) and all(str(label)[:1].isdigit() and _number(str(label)) for label in labels)


def _number(label: str) -> bool:
    return label.replace(".", "", 1).isdigit()


def _rank(document: Document, name: str, label: str) -> float:
    labels = next(axis["values"] for axis in document["axes"] if axis["name"] == name)
    return float(labels.index(label)) if label in labels else -1.0


def _front_row(document: Document, number: int, point: Point, varying: Sequence[str]) -> FrontRow:
    config = point["config"]
    cells: list[tuple[str | float, str]] = [
        (number, str(number)),
        (_sortable(words.gain(document, point)), words.show_gain(document, point)),
        (_sortable(words.cost(document, point)), words.show_cost(document, point)),
        (point["step_s"], words.duration(point["step_s"])),
        (point["gpus"], words.count(point["gpus"])),
    ]
    for name in varying:
        label = config.get(name, "")
        cells.append((_rank(document, name, label), label or NOT_APPLICABLE))
    cells.append((words.says_who(point)[0],) * 2)
    tied = [differences(config, other) for other in point["tied"]]
    left = max(0, point["ties"] - len(tied))
    return FrontRow(number, role(document, point), tuple(cells), point["ties"], tuple(tied), left)


def differences(config: Point, other: Point) -> str:
    """What sets an equal point apart: ``batch per gpu 64, bucket 25 MiB``."""
    parts = [f"{heading(axis)} {label or NOT_APPLICABLE}" for axis, label in other.items()
             if label != config.get(axis, "")]  # fmt: skip
    return ", ".join(parts) or "the same values"


def _sortable(value: float | None) -> float:
    return float("inf") if value is None else value
