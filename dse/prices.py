"""Prices of many points at once: columns in, columns out."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from html import escape
from math import isnan
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse.calibration.evidence import Grade
from dse.errors import StudyError
from dse.model.arrays import distinct
from dse.pricing import constraints, requirements
from dse.pricing.coordinates import Coordinate, listed
from dse.pricing.evaluation import Evaluation
from dse.pricing.load import known_names
from dse.pricing.problem import Problem
from dse.study import QUANTITIES, Value
from dse.study.axes import ACCUMULATION, GLOBAL_BATCH, LINKS, MACHINES, axis_called
from dse.study.definition import written
from dse.study.quantities import TARGET
from dse.study.values import check_name, value_of
from dse.yaml_source import yaml_text

Column: TypeAlias = NDArray[Any]
FORMULA, SILENT = "formula", "silent"
EVIDENCE = (*(grade.name.lower() for grade in Grade), FORMULA, SILENT)
_SHOWN = 10  # rows of a table in a notebook


class Prices(dict[str, Column]):
    """Columns of as many numbers as there are points, by name, units in the names.

    A dict, so that ``pandas.DataFrame(prices)`` and ``polars.DataFrame(prices)`` take it. A column
    with the name of an axis (gpus, ps_servers, ...) holds the values of the points on that axis, as
    asked or as the baseline has them; NaN where a point has none. Only where neither points nor
    study have the axis, it holds what the model takes.
    feasible: whether the point meets all that the study demands. reason: what it misses, or why a
    number is NaN; empty where nothing. evidence: how far its communication is from what was
    measured: inside, near, far, catalogue (not measured), formula, or silent (there is none).
    """

    @property
    def rows(self) -> int:
        """How many points there are."""
        return len(next(iter(self.values()), ()))

    def __repr__(self) -> str:
        return f"<{self.rows:,} points priced: {', '.join(self)}>"

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        head = "".join(f"<th>{escape(name)}</th>" for name in self)
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(_text(c[row]))}</td>' for c in self.values())}</tr>"
            for row in range(min(self.rows, _SHOWN))
        )
        more = f"<p>{self.rows:,} rows</p>" if self.rows > _SHOWN else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def price(problem: Problem, points: Any, intervals: bool = False) -> Prices:
    """Price points; see :meth:`dse.Study.price`."""
    columns, count = _columns(points)
    return priced(problem, _coordinates(problem, columns, count), count, intervals)


def priced(
    problem: Problem, coordinates: Mapping[str, Coordinate], count: int, intervals: bool = False
) -> Prices:
    """Price points of which every axis is known. coordinates: of shape (count,)."""
    rows = [row for row in problem.quantities if row.column not in coordinates]
    columns = {row.column: np.empty(count) for row in rows}
    free = QUANTITIES["memory_slack"].column
    ends = [f"{free}_low", f"{free}_high"] if intervals else []
    columns |= {end: np.empty(count) for end in ends}
    feasible, evidence = np.ones(count, dtype=bool), np.zeros(count, dtype=np.int8)
    reason, texts = np.zeros(count, dtype=np.int16), [""]
    for where, evaluation in problem.scattered(coordinates) if count else []:
        for row in rows:
            columns[row.column][where] = evaluation[row.name]
        for end, values in zip(ends, evaluation.room.free_ends, strict=False):
            columns[end][where] = values
        meets = np.ones(where.shape, dtype=bool)
        first = np.zeros(where.shape, dtype=np.int16)
        for demand, mask in constraints.demands(evaluation, problem.study):
            if mask.all():
                continue
            said = constraints.unmet(demand)
            if said not in texts:
                texts.append(said)
            first[meets & ~mask] = texts.index(said)
            meets &= mask
        feasible[where], reason[where] = meets, first
        evidence[where] = _evidence(problem, evaluation)
    unmet = constraints.unmet(constraints.KNOWN)
    if unmet in texts:
        _name_unknown(problem, coordinates, reason, texts, texts.index(unmet))
    found, unknown = Prices(), np.full(count, np.nan)
    for row in QUANTITIES.values():
        if row.column in coordinates:
            found[row.column] = coordinates[row.column].numbers(np.nan)
        elif row.column in columns:
            found[row.column] = columns[row.column]
        elif row.needs == TARGET:
            found[row.column] = unknown.copy()
    if intervals:
        best = {name: found[QUANTITIES[name].column] for name in problem.sure_of}
        found.update({end: columns[end] for end in ends})
        drawn = problem.intervals(coordinates, best)
        for name in best:
            column = QUANTITIES[name].column
            found.update(zip((f"{column}_low", f"{column}_high"), drawn[name], strict=True))
        rate, step = (QUANTITIES[name].column for name in ("throughput", "step"))
        samples = found[rate] * found[step]
        found[f"{rate}_low"] = samples / found[f"{step}_high"]
        found[f"{rate}_high"] = samples / found[f"{step}_low"]
    found["feasible"] = feasible
    found["evidence"] = np.array(EVIDENCE).take(evidence)
    found["reason"] = np.array(texts).take(reason)
    return found


def _name_unknown(
    problem: Problem,
    coordinates: Mapping[str, Coordinate],
    reason: NDArray[np.int16],
    texts: list[str],
    unknown: int,
) -> None:
    """Tell which machine's or link's fact is unknown, and what would be right, in ``reason``.

    reason: positions in ``texts`` of every point, which grow by what is found.
    """
    quantities = requirements.demanded(problem.study)
    for axis in (name for name in (*MACHINES, *LINKS) if name in coordinates):
        column = coordinates[axis]
        for at in np.unique(column.at[reason == unknown]):
            value = column.values[at]
            if value is None:
                continue
            refusal = requirements.refused(problem, axis, value, written(axis, value), quantities)
            if refusal is not None:
                texts.append("; ".join(filter(None, refusal)))
                reason[(reason == unknown) & (column.at == at)] = len(texts) - 1


def _evidence(problem: Problem, evaluation: Evaluation) -> Column:
    if not problem.step_model.measurable:
        return np.asarray(EVIDENCE.index(FORMULA))
    return np.where(evaluation["comm"] == 0, EVIDENCE.index(SILENT), evaluation.grade)


def _columns(points: Any) -> tuple[dict[str, Any], int]:
    """The columns of points given as rows, as columns or as a data frame."""
    if isinstance(points, Mapping):
        columns: dict[str, Any] = dict(points)
    elif hasattr(points, "columns") and hasattr(points, "__getitem__"):
        columns = {str(name): points[name] for name in points.columns}
    elif isinstance(points, Sequence) and not isinstance(points, str):
        return _of_rows(points)
    else:
        what = f"{type(points).__name__} is not a table"
        raise StudyError("points", 0, 0, what, "give columns by axis, or a list of mappings")
    found: dict[str, Any] = {}
    lengths: dict[str, int] = {}
    for key, given in columns.items():
        name, column = str(key), given
        if isinstance(given, np.ndarray) and (not given.ndim or np.ma.isMaskedArray(given)):
            column = given.tolist()  # what is masked is None
        if getattr(given, "ndim", 1) > 1 or isinstance(given, Set | bytes):
            what = f"column '{name}' is not a list of values"
            raise StudyError("points", 0, 0, what, "give one value for each point")
        if not _is_column(column):
            found[name] = column
            continue
        found[name] = column.to_numpy() if hasattr(column, "to_numpy") else column
        lengths[name] = len(column)
    alone = 1 if found or isinstance(points, Mapping) else 0  # single values are of one point
    count = next(iter(lengths.values()), alone)
    for name, length in lengths.items():
        if length != count:
            first = next(iter(lengths))
            what = f"column '{name}' has {length:,} values, '{first}' has {count:,}"
            raise StudyError("points", 0, 0, what, "give columns of one length")
    return found, count


def _of_rows(points: Sequence[Any]) -> tuple[dict[str, Any], int]:
    for row in points:
        if not isinstance(row, Mapping):
            raise _not_a_point(row, "points")
    names = dict.fromkeys(name for row in points for name in row)
    return {str(name): [row.get(name, _BASELINE) for row in points] for name in names}, len(points)


def _is_column(given: Any) -> bool:
    """Whether these are the values of points; else they have one in common."""
    return hasattr(given, "__len__") and not isinstance(given, str | Mapping)


def _not_a_point(given: Any, place: str) -> StudyError:
    what = f"{type(given).__name__} is not a point"
    return StudyError(place, 0, 0, what, 'write it as {"gpus": 8}')


_BASELINE = object()  # the baseline's value, where a row says nothing


def _coordinates(
    problem: Problem, columns: Mapping[str, Any], count: int, place: str = "points"
) -> dict[str, Coordinate]:
    """Where the points lie on every axis; the baseline's value where they say nothing."""
    baseline: Mapping[str, Value | None] = problem.study.baseline.values
    every = np.zeros(count, dtype=np.int64)
    found = {name: Coordinate((value,), every) for name, value in baseline.items()}
    blank: dict[str, NDArray[np.bool_]] = {}
    if GLOBAL_BATCH in found:
        found.pop(ACCUMULATION, None)  # which follows
    for given, column in columns.items():
        name = axis_called(given)
        values, at = _distinct(column, count)
        read = listed([_axis_value(problem, name, one, place) for one in values])
        if any(blanks := [_is_blank(one) for one in values]):
            blank[name] = np.array(blanks, dtype=bool).take(at)
        # Several spellings may be of one value: "8" is 8, NaN is None.
        several = len(read.values) < len(values)
        found[name] = Coordinate(read.values, read.at.take(at) if several else at)
    for axis in dict.fromkeys(condition.axis for condition in problem.study.conditions):
        if axis in found:
            holds = _holds(problem, axis, found)
            if np.any(holds & blank.get(axis, False)):
                raise _no_value(axis, place)
            found[axis] = _applied(found[axis], holds)
    return found


def point_values(problem: Problem, point: Mapping[str, Any]) -> dict[str, Value | None]:
    """The values of one point on every axis; the baseline's where it says nothing."""
    if not hasattr(point, "items"):
        raise _not_a_point(point, "point")
    columns = {str(name): [value] for name, value in point.items()}
    found = _coordinates(problem, columns, 1, "point")
    return problem.applicable(
        {name: column.values[int(column.at[0])] for name, column in found.items()}
    )


def _distinct(column: Any, count: int) -> tuple[tuple[Any, ...], NDArray[np.int64]]:
    """The values of a column, as they were given, and the positions of points among them."""
    if not _is_column(column):
        return (column,), np.zeros(count, dtype=np.int64)
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        found, at = distinct(column)
        return tuple(found.tolist()), at
    texts = column.tolist() if isinstance(column, np.ndarray) else column
    places: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
    try:
        at = np.fromiter(map(places.__getitem__, texts), dtype=np.int64, count=count)
    except TypeError:  # mappings, such as links, are no keys: their text stands for them
        by_text = {repr(value): value for value in texts}
        return tuple(by_text.values()), listed([repr(value) for value in texts]).at
    return tuple(places), at


def _is_blank(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, an empty text, or what a library calls so."""
    if isinstance(value, float | np.floating):
        return isnan(value)
    return value is None or value is np.ma.masked or str(value) in ("", "<NA>")  # NA of pandas


def _no_value(axis: str, place: str) -> StudyError:
    return StudyError(place, 0, 0, f"{axis} has no value", "give one, or leave the axis out")


def _axis_value(problem: Problem, axis: str, value: Any, place: str) -> Value | None:
    """What a user's value of an axis means; None for a blank. place: where errors say it is."""
    if value is _BASELINE:
        return problem.study.baseline.values.get(axis)
    check_name(problem.study, axis, place)
    known = problem.study.axis(axis)
    if _is_blank(value):
        if known is None:
            return None
        raise _no_value(axis, place)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping | list | tuple):
        value = yaml_text(value, place, inline=True)
    if known is not None and not isinstance(value, str | bool) and value in known.values:
        return known.values[known.values.index(value)]
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if known is not None and (text := str(value)) in known.labels:
        return known.values[known.labels.index(text)]
    return value_of(problem.study, axis, str(value), known_names(), place)


def _holds(problem: Problem, axis: str, found: Mapping[str, Coordinate]) -> NDArray[np.bool_]:
    """Whether points have a conditional axis."""
    holds: NDArray[np.bool_] = np.asarray(False)
    for condition in problem.study.conditions:
        if condition.axis == axis:
            mine: NDArray[np.bool_] = np.asarray(True)
            for name, allowed in condition.requires:
                column = found[name]
                mine = mine & np.array([v in allowed for v in column.values])[column.at]
            holds = holds | mine
    return holds


def _applied(column: Coordinate, holds: NDArray[np.bool_]) -> Coordinate:
    """A conditional axis with no value where its condition does not hold."""
    if np.all(holds):
        return column
    values = (*column.values, None)
    return Coordinate(values, np.where(holds, column.at, len(values) - 1))


def labels(columns: Iterable[Mapping[str, str]]) -> dict[str, list[str]]:
    """Configurations of points as columns, in the order of their axes."""
    rows = list(columns)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name, "") for row in rows] for name in names}
