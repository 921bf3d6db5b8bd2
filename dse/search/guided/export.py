"""Every point that a guided search priced: as a table, and as a study of an Optuna storage.

A search itself keeps its trials in memory: a database takes milliseconds for each.
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dse.errors import DseError
from dse.search.guided.archive import Archive
from dse.search.guided.points import continuous_numbers, number_name
from dse.search.guided.proposals import directions
from dse.units import significant

VIOLATION = "violation"  # 0 where the point meets every constraint
_WHOLE = re.compile(r"[0-9]{1,15}")
SQLITE = "sqlite:///"


@dataclass(frozen=True)
class Row:
    """A point: axis -> label (without those that do not apply), the numbers of continuous
    axes, objectives (NaN: unknown), violation (0: feasible)."""

    config: Mapping[str, str]
    numbers: Mapping[str, float]
    values: tuple[float, ...]
    violation: float


def points_csv(archive: Archive, labels: list[dict[str, str]]) -> str:
    """A column per axis, then the numbers of continuous ones, the objectives, the violation.

    labels: of every point of the archive, axis -> its value as text. Rows are in the order of
    pricing; an objective that cannot be computed is empty.
    """
    goals = [objective.name for objective in archive.problem.study.objectives]
    space, names = archive.space, [*dict.fromkeys(name for row in labels for name in row)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    found = archive.problem.numbers([space.values(point) for point in archive.points], goals)
    rows = np.column_stack([*found.values(), archive.numbers[:, -1]]).tolist()
    writer.writerow([*names, *map(number_name, space.continuous), *goals, VIOLATION])
    for point, row, numbers in zip(archive.points, labels, rows, strict=True):
        placed = map(significant, continuous_numbers(space.study, space.values(point)).values())
        shown = ["" if number != number else significant(number) for number in numbers]
        writer.writerow([*(row.get(name, "") for name in names), *placed, *shown])
    return out.getvalue()


def read_rows(text: str, document: Mapping[str, Any]) -> list[Row]:
    """The rows of a table of points; raises ValueError if it is of another run."""
    reader = csv.DictReader(io.StringIO(text))
    goals = _goals(document)
    spans = [span["name"] for span in _spans(document).values()]
    others = (*spans, *goals, VIOLATION)
    if not set(reader.fieldnames or ()) >= set(others):
        raise ValueError("columns are missing")
    axes = [name for name in reader.fieldnames or () if name not in others]
    return [
        Row(
            {name: row[name] for name in axes if row[name]},
            {name: float(row[name]) for name in spans},
            tuple(float(row[goal] or "nan") for goal in goals),
            float(row[VIOLATION]),
        )
        for row in reader
    ]


def export(
    document: Mapping[str, Any], rows: Sequence[Row] | None, storage: str
) -> tuple[str, int]:
    """Write rows, or where there are none the front, as a new study; (its name, trials).

    The study is called as the run's is, with a number where that name is taken. Raises
    :class:`DseError` where the storage cannot be used.
    """
    import optuna
    from sqlalchemy.exc import SQLAlchemyError

    if not storage.startswith(SQLITE) or storage.removeprefix(SQLITE) in ("", ":memory:"):
        raise DseError(f"an Optuna storage is an SQLite file; write {SQLITE}FILE.db")
    file = Path(storage.removeprefix(SQLITE))
    is_new = not file.exists()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    front = list(_front_rows(document))
    exported = front if rows is None else list(rows)
    described = {_key(row): point for row, point in zip(front, document["front"], strict=True)}
    try:
        with _opened(optuna, storage) as place:
            study = _new_study(optuna, place, str(document["study"]["name"]), _goals(document))
            study.set_user_attr("objectives", _goals(document))
            for key in ("command", "engine", "engine_reason", "seed", "created"):
                study.set_user_attr(key, document[key])
            spans = _spans(document)
            spaces = _distributions(optuna, exported, spans)
            study.add_trials(
                [_trial(optuna, row, spaces, spans, described.get(_key(row))) for row in exported]
            )
            name = str(study.study_name)
    except (
        SQLAlchemyError, optuna.exceptions.OptunaError, ImportError, ValueError, OSError,
        RuntimeError,
    ) as cause:  # fmt: skip
        if is_new:
            with suppress(OSError):
                file.unlink(missing_ok=True)
        raise DseError(
            f"{storage}: cannot be used as an Optuna storage: {_said(cause)}; "
            "name one, or a new file in a folder that you may write to"
        ) from cause
    return name, len(exported)


def _said(cause: BaseException) -> str:
    """What the database said itself, in one line, without what the layers above it add."""
    while cause.__cause__ is not None:
        cause = cause.__cause__
    text = " ".join(str(getattr(cause, "orig", None) or cause).split())
    return text.partition(" (Background on this error")[0][:200]


@contextmanager
def _opened(optuna: Any, storage: str) -> Iterator[Any]:
    """The database, its connections closed at the end."""
    place = optuna.storages.RDBStorage(storage)
    try:
        yield place
    finally:
        place.remove_session()
        place.engine.dispose()


def _new_study(optuna: Any, storage: Any, name: str, goals: list[str]) -> Any:
    taken = {summary.study_name for summary in optuna.get_all_study_summaries(storage)}
    free, number = name, 1
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    study = optuna.create_study(storage=storage, study_name=free, directions=directions(len(goals)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(goals)
    return study


def _goals(document: Mapping[str, Any]) -> list[str]:
    """The maximised objective, then the minimised."""
    return [str(name) for name in document["objectives"].values()]


def _front_rows(document: Mapping[str, Any]) -> Iterator[Row]:
    goals = _goals(document)
    for point in document["front"]:
        config = {name: label for name, label in point["config"].items() if label}
        costs = {**point["costs"], **point}
        yield Row(
            config, point.get("numbers", {}), tuple(float(costs[goal]) for goal in goals), 0.0
        )


def _key(row: Row) -> tuple[tuple[str, str | float], ...]:
    return (*sorted(row.config.items()), *sorted(row.numbers.items()))


def _spans(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Continuous axis -> name of its numbers and their limits."""
    return {str(axis["name"]): axis["range"] for axis in document["axes"] if axis.get("range")}


def _distributions(
    optuna: Any, rows: Sequence[Row], spans: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Per axis: a continuous one in SI units, whole numbers as such, so that plots are drawn to
    scale; others as categories, by their labels.
    """
    labels: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, label in row.config.items():
            labels.setdefault(name, {})[label] = None
    found = {
        span["name"]: optuna.distributions.FloatDistribution(
            span["low"], span["high"], log=span["low"] > 0
        )
        for span in spans.values()
    }
    for name, values in labels.items():
        if name in spans:
            continue
        if all(_WHOLE.fullmatch(label) for label in values):
            numbers = [int(label) for label in values]
            found[name] = optuna.distributions.IntDistribution(min(numbers), max(numbers))
        else:
            found[name] = optuna.distributions.CategoricalDistribution(tuple(values))
    return found


def _trial(
    optuna: Any,
    row: Row,
    spaces: Mapping[str, Any],
    spans: Mapping[str, Any],
    point: Mapping[str, Any] | None,
) -> Any:
    whole = optuna.distributions.IntDistribution
    params: dict[str, Any] = {
        name: int(label) if isinstance(spaces[name], whole) else label
        for name, label in row.config.items()
        if name not in spans
    }
    params |= row.numbers
    known = all(math.isfinite(value) for value in row.values)
    notes: dict[str, Any] = {"on_front": point is not None, "feasible": row.violation == 0}
    if point is not None:
        notes |= {name: point[name] for name in ("step_s", "throughput_samples_per_s", "gpus",
                                                 "nodes", "global_batch", "ties")}  # fmt: skip
        notes |= {f"cost_{name}": value for name, value in point["costs"].items()}
    return optuna.create_trial(
        state=optuna.trial.TrialState.COMPLETE if known else optuna.trial.TrialState.FAIL,
        values=list(row.values) if known else None,
        params=params,
        distributions={name: spaces[name] for name in params},
        user_attrs=notes,
        constraints={VIOLATION: row.violation},
    )
