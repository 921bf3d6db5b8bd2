"""One design point as the report shows it: configuration, numbers, terms, interval."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dse.model.arrays import Array
from dse.pricing import approached, closed, constraints, ruled
from dse.pricing.caveats import folded_ranks, why_unpriced
from dse.pricing.objectives import by_goal
from dse.pricing.outside import why_outside
from dse.pricing.problem import Problem
from dse.pricing.setting import Setting
from dse.report.design_point import (
    ApproachTerms,
    Bounds,
    Costs,
    Explained,
    Fusion,
    Interval,
    PaiStep,
    PaiTerms,
    Point,
    Queries,
    RuledAlgorithm,
    RuledAlgorithms,
    StepTerms,
    Summing,
)
from dse.search.guided import continuous_numbers
from dse.search.run import FrontPoint, labels_of
from dse.study import Value

INTERVAL = (5.0, 95.0)  # percentiles: a 90 % interval


def describe(
    problem: Problem, values: Mapping[str, Value | None], front: FrontPoint | None = None
) -> Point:
    """Everything the report says of one point."""
    evaluation = problem.point(values)
    step = evaluation.step
    names = {objective.name for objective in by_goal(problem.study.objectives)} | {"speedup"}
    setting = problem.setting(values)
    outside = why_outside(setting)
    return Point(
        config=labels_of(problem, values),
        numbers=continuous_numbers(problem.study, values),
        objectives={name: _scalar(evaluation[name]) for name in sorted(names)},
        throughput_samples_per_s=_scalar(evaluation["throughput"]),
        step_s=_scalar(step.step_s),
        extrapolated=bool(outside),
        why_outside=tuple(outside),
        interval=_interval(problem, values),
        costs=Costs(
            capital=_scalar(evaluation["capital"]),
            hourly=_scalar(evaluation["hourly"]),
            tco=_scalar(evaluation["tco"]),
            power=_scalar(evaluation["power"]),
        ),
        gpus=int(np.ravel(evaluation.gpus)[0]),
        nodes=int(np.ravel(evaluation["nodes"])[0]),
        global_batch=int(np.ravel(evaluation["global_batch"])[0]),
        memory_slack_bytes=_scalar(evaluation["memory_slack"]),
        terms=StepTerms(
            forward_s=_scalar(step.forward_s),
            backward_s=_scalar(step.backward_s),
            exposed_s=_scalar(step.exposed_s),
            optimizer_s=_scalar(step.optimizer_s),
            stalled_s=_scalar(step.stalled_s),
        ),
        comm_s=_scalar(step.comm_s),
        chosen=_ruled(setting),
        closed=_pai_step(setting),
        ties=front.ties if front else 0,
        tied=tuple(dict(labels) for labels in front.tied) if front else (),
    )


def explained(problem: Problem, values: Mapping[str, Value | None]) -> Explained:
    """What `dse explain` says of one point: all of :func:`describe`, and why."""
    point = describe(problem, values)
    checks = constraints.checks(problem.point(values), problem.study)
    chosen = [entry.algorithm for entry in point.chosen.chosen] if point.chosen else []
    return Explained(
        **vars(point),
        approach=approach_terms(problem.setting(values)),
        why_unpriced=why_unpriced(problem, values),
        folded_ranks=0 if problem.closed else folded_ranks(values, chosen),
        not_searched=tuple(
            name
            for name, value in values.items()
            if value is not None and not problem.study.has(name, value)
        ),
        constraints={reason: bool(mask.all()) for reason, mask in checks},
    )


def _ruled(setting: Setting) -> RuledAlgorithms | None:
    found = ruled.described(setting)
    if found is None:
        return None
    chosen = (
        RuledAlgorithm(**{**entry, "bytes": (entry["bytes"][0], entry["bytes"][1])})
        for entry in found["chosen"]
    )
    return RuledAlgorithms(rules=found["rules"], source=found["source"], chosen=tuple(chosen))


def _pai_step(setting: Setting) -> PaiStep | None:
    found = closed.described(setting)
    return None if found is None else PaiStep(**{**found, "terms": PaiTerms(**found["terms"])})


def approach_terms(setting: Setting) -> ApproachTerms | None:
    """What the approach of a point does; None where it has none."""
    found = approached.described(setting)
    if found is None:
        return None
    parts = {
        "queries": Queries(**found["queries"]),
        "sum": Summing(**found["sum"]),
        "fusion": None if found["fusion"] is None else Fusion(**found["fusion"]),
        "unverified": tuple(found["unverified"]),
    }
    return ApproachTerms(**{**found, **parts})


def _interval(problem: Problem, values: Mapping[str, Value | None]) -> Interval | None:
    """90 % interval from the profile's draws and its held-out error; None if nothing is measured.

    Every draw prices the whole step of the point and of the baseline, so that what both have in
    common cancels in the speedup. The error that the draws do not show, that of rank counts the fit
    has not seen, multiplies the communication of each draw (see Problem.draws).
    """
    alone = bool(np.all(problem.setting(values).gpus <= 1))
    if not problem.is_measured(values) and not alone:
        return None
    if not problem.is_measured(problem.study.baseline.values):
        return None  # an interval that takes the baseline for certain would be too narrow
    best = problem.point(values)
    if not np.all(np.isfinite(best.step.step_s)):
        return None  # a layout without a price, say
    sampled = problem.sampled
    evaluation = sampled.point(values, speedup=False)
    baseline = np.ravel(sampled.baseline["throughput"])
    speedup = np.ravel(evaluation["throughput"]) / baseline
    return Interval(
        speedup=_percentiles(speedup, best["speedup"]),
        step_s=_percentiles(evaluation.step.step_s, best.step.step_s),
    )


def _percentiles(draws: Array, best: Array) -> Bounds:
    """The interval of the draws, stretched to the best fit where all draws miss it."""
    low, high = np.percentile(draws, INTERVAL)
    point = float(np.ravel(best)[0])
    return min(float(low), point), max(float(high), point)


def _scalar(value: Array) -> float | None:
    """A JSON number; None for what is unknown."""
    number = float(np.ravel(value)[0])
    return number if math.isfinite(number) else None
