"""What a user's own training rates do to a study, and what they say of one of its points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse import catalog
from dse.calibration.throughput_part import Throughput
from dse.model.arrays import scalar
from dse.pricing import throughput
from dse.pricing.problem import Problem
from dse.report.words import significant
from dse.spelling import enumerated
from dse.study import Value

Values = Mapping[str, Value | None]


def said(problem: Problem, values: Values | None, where: str = "this very configuration") -> str:
    """How many rates correct the time of computing and, of a point that they measured, what they
    say beside the prediction; without a full stop, '' where no rate counts.

    where: what the point is called.
    """
    if problem.study.efficiency.compute is not None or not problem.step_model.measurable:
        return ""
    profiles = tuple(problem.profiles.values())
    own = throughput.own_rates(profiles)
    telling = [rate for rate in own if not throughput.by_host(rate, profiles)]
    if not telling:
        told = "In all of your training rates the host's launches decide: they correct nothing"
        return told if own else ""
    names = enumerated(list(dict.fromkeys(own[rate][0] for rate in telling)))
    correct = "training rate corrects" if len(telling) == 1 else "training rates correct"
    text = f"{len(telling)} {correct} the time of computing (from {names})"
    measured = [rate.samples_per_s for rate in own if values and is_of(problem, values, rate)]
    predicted = scalar(problem.point(values)["throughput"]) if values else np.nan
    if not measured or not np.isfinite(predicted):
        return text
    rates = " to ".join(dict.fromkeys(significant(of(measured), 3) for of in (min, max)))
    return f"{text}; at {where} you measured {rates} samples/s (dse: {significant(predicted, 3)})"


def is_of(problem: Problem, values: Values, rate: Throughput) -> bool:
    """Whether a rate was measured at a point, with any optimizer, and on whatever network where it
    does not say which."""
    points = problem.points_at(values)
    gpus, per_node = scalar(points.gpus), scalar(points.gpus_per_node)
    measured = (
        rate.accelerator, rate.precision, rate.stack, rate.batch_per_gpu, rate.accumulation,
        rate.gpus, min(rate.gpus, rate.gpus_per_node),
    )  # fmt: skip
    asked = (
        points.machines[0].accelerator.name, points.precision.name, points.stack.name,
        scalar(points.batch), scalar(points.accumulation), gpus, min(gpus, per_node),
    )  # fmt: skip
    same = not rate.layers and measured == asked and _is_over(values, rate)
    return same and catalog.named_workload(rate.workload).name == problem.workload.name


def _is_over(values: Values, rate: Throughput) -> bool:
    """Whether a point sums gradients as a rate says, over the network that it says, if any."""
    if not rate.stated:
        return True
    if values.get("aggregation") != rate.aggregation:
        return False
    if rate.gpus <= rate.gpus_per_node:
        return True
    between = rate.inter_node or catalog.node(str(rate.node)).inter_node
    return values.get("inter_node") in (None, between)
