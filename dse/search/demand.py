"""The allreduces that a study needs priced: what its points sum, over how many ranks."""

from __future__ import annotations

import numpy as np

from dse.calibration import Profile
from dse.calibration.belief import Points
from dse.calibration.suggest import Advice, suggest
from dse.errors import StudyError
from dse.model import overlap
from dse.model.precision import PRECISIONS
from dse.model.step import PARAMETER_SERVER
from dse.search import tables
from dse.search.load import load
from dse.search.problem import Problem
from dse.search.setting import DEFAULT_BUCKET_BYTES
from dse.study import Value, split_aggregation


def advise(
    profile: Profile, study: str, budget_s: float, max_ranks: int | None, max_nodes: int | None
) -> Advice:
    """What to measure next so that ``profile`` narrows the intervals of a study.

    Raises StudyError where the study aggregates over other transports than the profile's; else as
    :func:`dse.calibration.suggest.suggest`, which explains the limits.
    """
    problem = load(study)
    used = transports(problem)
    if profile.transport not in used:
        what = f"{study} aggregates over {', '.join(used)}, not over {profile.transport}"
        raise StudyError(profile.name, 0, 0, what, "give a profile of one of these transports")
    return suggest(profile, demand(problem, profile.transport), budget_s, max_ranks, max_nodes)


def demand(problem: Problem, transport: str) -> Points:
    """Every distinct (algorithm, ranks, ranks per node, bytes) of the study over ``transport``.

    ranks: the values of ``gpus``; ranks per node: of ``gpus_per_node``, or the accelerators of the
    study's nodes; bytes: the buckets of every bucket size and precision. A continuous axis counts
    with its two ends. Points on one rank, and parameter servers, sum nothing. May be empty.
    """
    algorithms = _algorithms(problem, transport)
    rows = [
        (algorithm, ranks, min(local, ranks), size)
        for algorithm in algorithms
        for ranks in _numbers(problem, "gpus", 1.0)
        for local in _ranks_per_node(problem)
        for size in _message_bytes(problem)
        if ranks > 1
    ]
    rows = sorted(set(rows))
    names, *columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Points(
        np.array(names, dtype=np.str_),
        *(np.array(column, dtype=np.float64) for column in columns),
    )


def transports(problem: Problem) -> tuple[str, ...]:
    """Every transport the study's aggregations use."""
    return tuple(sorted({split_aggregation(str(v))[1] for v in _values(problem, "aggregation")}))


def _algorithms(problem: Problem, transport: str) -> list[str]:
    pairs = [split_aggregation(str(value)) for value in _values(problem, "aggregation")]
    return sorted({name for name, over in pairs if over == transport and name != PARAMETER_SERVER})


def _values(problem: Problem, name: str) -> tuple[Value, ...]:
    """The values of an axis, conditional ones included; the two ends of a continuous one."""
    study, found = problem.study, list[Value]()
    for axis in (*study.axes, *study.defaults):
        if axis.name == name:
            ends = axis.low is not None and axis.high is not None
            found += [axis.low, axis.high] if ends else axis.values  # type: ignore[list-item]
    for condition in study.conditions:
        if condition.axis == name:
            found += condition.values
    return tuple(dict.fromkeys(found))


def _numbers(problem: Problem, name: str, default: float) -> list[float]:
    return [float(v) for v in _values(problem, name)] or [default]  # type: ignore[arg-type]


def _ranks_per_node(problem: Problem) -> list[float]:
    given = {axis.name for axis in problem.study.axes}
    if "node" not in given or "gpus_per_node" in given:
        return _numbers(problem, "gpus_per_node", 1.0)
    rows = tables.machines("node", _values(problem, "node"), problem.prices)
    return sorted({float(row.node.accelerators) for row in rows if row.node})


def _message_bytes(problem: Problem) -> list[float]:
    names = _values(problem, "precision") or ("fp32",)
    widths = {PRECISIONS[str(name)].gradient_bytes for name in names}
    return sorted({
        bucket.message_bytes
        for width in widths
        for limit in _numbers(problem, "bucket", DEFAULT_BUCKET_BYTES)
        for bucket in overlap.fuse(problem.layers.params * width, limit)
    })  # fmt: skip
