"""The fastest layout of a point whose hardware is known, and runs that tell of a stack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from dse.calibration.throughput_part import LayoutRate
from dse.pricing import constraints
from dse.pricing.coordinates import Coordinate, listed
from dse.pricing.evaluation import Evaluation
from dse.pricing.layout_tables import LayoutTable
from dse.pricing.problem import Problem
from dse.study import ConfiguredWorkload, Value
from dse.study.axes import ACCUMULATION, BATCH, GLOBAL_BATCH, LAYOUT, MACHINES, MICRO_BATCH, TABLED
from dse.study.definition import Baseline, written


def baseline(problem: Problem) -> Baseline | None:
    """The baseline of a study, with the fastest layout where it does not give one; None where none
    fits.

    Of machines, numbers of accelerators and software that are not given either it has the first
    with which a layout fits.
    """
    study, base = problem.study, problem.study.baseline
    given = {name: base.values[name] for name in TABLED
             if name in base.values and name not in base.assumed}  # fmt: skip
    axes = [name for name in ("gpus", *MACHINES, "stack") if name in base.assumed]
    for values in product(*(study.values(name) for name in axes)):
        own = dict(zip(axes, values, strict=True))
        found = fastest(problem, {**base.values, **own}, given)
        if found is not None:
            own |= found
            labels = {name: written(name, one) for name, one in own.items()}
            return replace(base, values={**base.values, **own}, labels={**base.labels, **labels})
    return None


def fastest(
    problem: Problem, values: Mapping[str, Value], given: Mapping[str, Value]
) -> Mapping[str, Value] | None:
    """The axes of the layout that is fastest of those that fit; None where none does.

    values: of the other axes. given: of those of layouts that are not to be chosen.
    """
    table = problem.tables({**_fixed(problem, values), "gpus": values["gpus"]})
    return _fastest_of(problem, values, table, table.rows(given))


def _fixed(problem: Problem, values: Mapping[str, Value]) -> dict[str, Value | None]:
    return {name: values.get(name) for name in problem.looped_names}


def _fastest_of(
    problem: Problem, values: Mapping[str, Value], table: LayoutTable, rows: NDArray[np.int64]
) -> Mapping[str, Value] | None:
    """Of some rows of a table."""
    if not len(rows):
        return None
    fixed = _fixed(problem, values)
    rest = {name: listed([one]) for name, one in values.items()
            if name not in fixed and name not in TABLED}  # fmt: skip
    rest[LAYOUT] = Coordinate(table, rows)  # type: ignore[arg-type]
    found = Evaluation(problem.points_on(fixed, rest, 1), compared=False)
    fits = np.ones(rows.shape, dtype=bool)
    for demand, mask in constraints.built_in(found, problem.study):
        if demand not in (constraints.SOLD, constraints.KNOWN):  # prices are another matter
            fits &= mask
    if not fits.any():
        return None
    rate = constraints.expected(found["throughput"], found, problem.study)
    rate = np.where(fits, np.broadcast_to(rate, rows.shape), -np.inf)
    return table.values(int(rows[rate.argmax()]))


def telling(problem: Problem) -> Iterator[Mapping[str, object]]:
    """Three runs that tell most of a stack, as columns of their rates: without tensor parallelism,
    with it, and a pipeline over nodes; each the fastest of the study's own layouts that fit the
    fewest of its accelerators. Those that the study has not are left out."""
    base, tables = problem.study.baseline.values, problem.tables
    given = problem.study.workload
    name = given.config if isinstance(given, ConfiguredWorkload) else str(given)
    tokens = _whole(base.get("sequence") or tables.tokens)
    counts = sorted({int(n) for n in problem.study.numbers("gpus", 1)})
    seen: list[Mapping[str, object]] = []
    for kinds in _TELLING:
        for (split, piped), gpus in product(kinds, counts):
            table = tables({**_fixed(problem, base), "gpus": gpus})
            one, alone = (np.isin(np.arange(len(table)), table.rows({axis: 1}))
                          for axis in ("tensor_parallel", "pipeline_parallel"))  # fmt: skip
            node = np.max(problem.points_at({**base, "gpus": gpus}).domain)
            rows = np.flatnonzero((one != split) & (alone != piped) & (gpus > node or not piped))
            best = _fastest_of(problem, {**base, "gpus": gpus}, table, rows)
            if best is None:
                continue
            told = {**base, **best, "workload": name, "gpus": gpus, "sequence": tokens,
                    MICRO_BATCH: best[BATCH], ACCUMULATION: None,
                    GLOBAL_BATCH: _whole(best[GLOBAL_BATCH]) * tables.tokens // tokens}  # fmt: skip
            run = {row.name: told[row.name] for row in fields(LayoutRate)
                   if told.get(row.name) is not None}  # fmt: skip
            if run not in seen:
                seen.append(run)
                yield run
                break


# Whether tensor ranks split layers, and whether stages are over nodes: what is wanted, or else.
_TELLING = (
    ((False, False), (False, True)),
    ((True, False), (True, True)),
    ((True, True), (False, True)),
)


def _whole(value: object) -> int:
    return int(str(value))
