"""A finished run as a study of an Optuna storage, for optuna-dashboard and other programs.

A search itself keeps its trials in memory: a database takes milliseconds for each.
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from dse.errors import DseError
from dse.search.guided.proposals import directions
from dse.search.guided.table import VIOLATION

_WHOLE = re.compile(r"[0-9]{1,15}")


@dataclass(frozen=True)
class Row:
    """A point: axis -> label (without those that do not apply), objectives (NaN: unknown),
    violation (0: feasible)."""

    config: Mapping[str, str]
    values: tuple[float, ...]
    violation: float


def read_rows(text: str, document: Mapping[str, Any]) -> list[Row]:
    """The rows of a table of points; raises ValueError if it is of another run."""
    reader = csv.DictReader(io.StringIO(text))
    goals = _goals(document)
    columns = set(reader.fieldnames or ())
    if not columns >= {*goals, VIOLATION}:
        raise ValueError("columns are missing")
    axes = [name for name in reader.fieldnames or () if name not in (*goals, VIOLATION)]
    return [
        Row(
            {name: row[name] for name in axes if row[name]},
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

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    front = list(_front_rows(document))
    chosen = front if rows is None else list(rows)
    described = {
        _key(row.config): point for row, point in zip(front, document["front"], strict=True)
    }
    try:
        with _opened(optuna, storage) as place:
            study = _new_study(optuna, place, str(document["study"]["name"]), _goals(document))
            study.set_user_attr("objectives", _goals(document))
            for key in ("command", "engine", "engine_reason", "seed", "created"):
                study.set_user_attr(key, document[key])
            spaces = _distributions(optuna, chosen)
            study.add_trials(
                [_trial(optuna, row, spaces, described.get(_key(row.config))) for row in chosen]
            )
            name = str(study.study_name)
    except (SQLAlchemyError, ImportError, ValueError, OSError) as cause:
        why = " ".join(str(cause).split())[:200]
        raise DseError(
            f"{without_password(storage)}: cannot be used as an Optuna storage: {why}; "
            "write sqlite:///FILE.db or postgresql://USER@HOST/DATABASE"
        ) from cause
    return name, len(chosen)


@contextmanager
def _opened(optuna: Any, storage: str) -> Iterator[Any]:
    """The database, its connections closed at the end."""
    place = optuna.storages.RDBStorage(_driver(storage))
    try:
        yield place
    finally:
        place.remove_session()
        place.engine.dispose()


def without_password(storage: str) -> str:
    """The storage as it may be shown."""
    return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", storage)


def _driver(storage: str) -> str:
    """PostgreSQL by psycopg 3, unless another driver is named."""
    for scheme in ("postgresql://", "postgres://"):
        if storage.startswith(scheme):
            return "postgresql+psycopg://" + storage.removeprefix(scheme)
    return storage


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
        yield Row(config, tuple(float(costs[goal]) for goal in goals), 0.0)


def _key(config: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted((name, label) for name, label in config.items() if label))


def _distributions(optuna: Any, rows: Sequence[Row]) -> dict[str, Any]:
    """Per axis: whole numbers as such, so that plots are drawn to scale; others as categories."""
    labels: dict[str, dict[str, None]] = {}
    for row in rows:
        for name, label in row.config.items():
            labels.setdefault(name, {})[label] = None
    found = {}
    for name, values in labels.items():
        if all(_WHOLE.fullmatch(label) for label in values):
            numbers = [int(label) for label in values]
            found[name] = optuna.distributions.IntDistribution(min(numbers), max(numbers))
        else:
            found[name] = optuna.distributions.CategoricalDistribution(tuple(values))
    return found


def _trial(
    optuna: Any, row: Row, spaces: Mapping[str, Any], point: Mapping[str, Any] | None
) -> Any:
    whole = optuna.distributions.IntDistribution
    params = {
        name: int(label) if isinstance(spaces[name], whole) else label
        for name, label in row.config.items()
    }
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
