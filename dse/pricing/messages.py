"""The allreduces that a study needs priced: what its points sum, over how many ranks."""

from __future__ import annotations

import numpy as np

from dse.calibration import Profile
from dse.calibration.planning import Advice, Points, suggest
from dse.errors import StudyError
from dse.model import overlap
from dse.model.aggregation.library_rules import NCCL, Rules, mpi_rules
from dse.model.precision import GRADIENT_BYTES
from dse.model.step import PARAMETER_SERVER
from dse.pricing.aggregations import ruling
from dse.pricing.gradient_format import summed_formats
from dse.pricing.load import load
from dse.pricing.points import DEFAULT_BUCKET_BYTES
from dse.pricing.problem import Problem


def advise(
    profile: Profile,
    study: str,
    budget_s: float,
    max_nodes: int | None = None,
    max_ranks_per_node: int | None = None,
) -> Advice:
    """What to measure next so that ``profile`` narrows the intervals of a study.

    Raises StudyError where the study aggregates over other transports than the profile's; else as
    :func:`dse.calibration.planning.suggest`, which explains the limits.
    """
    problem = load(study)
    used = problem.study.transports
    if profile.transport not in used:
        over = ", ".join(used) or "approaches only"
        what = f"{study} aggregates over {over}, not over {profile.transport}"
        raise StudyError(profile.name, 0, 0, what, "give a profile of a transport of the study")
    wanted = messages_of(problem, profile.transport, profile)
    return suggest(profile, wanted, budget_s, max_nodes, max_ranks_per_node)


def messages_of(problem: Problem, transport: str, profile: Profile | None = None) -> Points:
    """Every distinct (algorithm, ranks, ranks per node, bytes) of the study over ``transport``.

    ranks: the values of ``gpus``; ranks per node: of ``gpus_per_node``, or the accelerators of the
    study's nodes; bytes: the buckets of every bucket size and precision. A continuous axis counts
    with its two ends. Points on one rank, and parameter servers, sum nothing. May be empty.
    Where an MPI's rules choose, what they choose; ``profile`` counts as one of the study's.
    """
    profiles = [*([profile] if profile else []), *problem.profiles.values()]
    names = [name for name in problem.study.aggregations if name.transport == transport]
    rows = [
        (_taken(rules, algorithm, ranks, size), ranks, min(local, ranks), size)
        for algorithm in sorted({name.algorithm for name in names} - {PARAMETER_SERVER})
        for library in [ruling(algorithm, transport, profiles)]
        # NCCL's depend on each machine of the study.
        for rules in [mpi_rules(library) if library and library != NCCL else None]
        for ranks in problem.study.numbers("gpus", 1.0)
        for local in problem.ranks_per_node
        for size in _message_bytes(problem)
        if ranks > 1
    ]
    rows = sorted(set(rows))
    algorithms, *columns = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Points(
        np.array(algorithms, dtype=np.str_),
        *(np.array(column, dtype=np.float64) for column in columns),
    )


def _taken(rules: Rules | None, algorithm: str, ranks: float, message_bytes: float) -> str:
    if rules is None:
        return algorithm
    return rules.algorithms[int(rules(ranks, ranks, message_bytes))].priced_as


def _message_bytes(problem: Problem) -> list[float]:
    widths = {GRADIENT_BYTES[name] for name in summed_formats(problem.study)}
    return sorted({
        bucket.message_bytes
        for width in widths
        for limit in problem.study.numbers("bucket", DEFAULT_BUCKET_BYTES)
        for bucket in overlap.fuse(problem.layers.params * width, limit)
    })  # fmt: skip
