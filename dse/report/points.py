"""One design point as the report shows it: configuration, numbers, terms, interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace

import numpy as np

from dse.calibration.evidence import Grade
from dse.catalog import NODE_SHARE
from dse.model import pai
from dse.model.aggregation.tensorwise import Tensorwise
from dse.model.arrays import Array, scalar
from dse.model.device_buffers import PointerQueries
from dse.pricing import constraints, market, memory_remedies
from dse.pricing.bill_of_rent import RENTED, bills
from dse.pricing.coordinates import columns_of
from dse.pricing.evaluation import Evaluation
from dse.pricing.gradient_format import usual_format
from dse.pricing.laid_out import LaidOut
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.pricing.uncertainty import Ends, intervals
from dse.report import (
    goodput,
    gradients,
    layout,
    money,
    own_rates,
    power,
    training_runs,
    words,
)
from dse.report.design_point import (
    Bounds,
    Explained,
    Interval,
    LibraryChoice,
    MessageAlgorithm,
    Mixed,
    Paid,
    PaiStep,
    Point,
)
from dse.report.json_form import number
from dse.report.words import FORMULA, SILENT, duration
from dse.search.guided import continuous_numbers
from dse.search.run import FrontPoint, labels_of
from dse.study import Value
from dse.study.axes import ACCUMULATION, AUTO_FORMAT, AXES, GRADIENT
from dse.study.quantities import COSTS

Values = Mapping[str, Value | None]


def describe(problem: Problem, values: Values) -> Point:
    """Everything the report says of one point."""
    return _described(problem, values, None, _intervals(problem, [values])[0])


def describe_front(
    problem: Problem, front: Sequence[FrontPoint], drawn: Mapping[str, Array]
) -> tuple[Point, ...]:
    """Everything the report says of the points of a front.

    drawn: quantities of its first points where they are drawn already, (draws, points).
    """
    found = _intervals(problem, [point.values for point in front], drawn)
    return tuple(
        _described(problem, point.values, point, interval)
        for point, interval in zip(front, found, strict=True)
    )


def _described(
    problem: Problem,
    values: Values,
    front: FrontPoint | None,
    interval: Interval | None,
) -> Point:
    evaluation = problem.point(values)
    step = evaluation.step
    names = {objective.name for objective in problem.study.objectives} | {"speedup"}
    names |= {row.name for row in problem.of_training}
    points = problem.points_at(values)
    outside = points.why_outside()
    found = Point(
        config=labels_of(problem, values),
        numbers=continuous_numbers(problem.study, values),
        objectives={name: number(evaluation[name]) for name in sorted(names)},
        throughput_samples_per_s=number(evaluation["throughput"]),
        step_s=number(step.step_s),
        extrapolated=bool(outside),
        evidence=_evidence(points, number(step.comm_s)),
        computing=problem.computing_known(points),
        paid=_paid(points),
        why_outside=tuple(outside),
        interval=interval,
        costs={row.name: number(evaluation[row.name]) for row in COSTS},
        gpus=int(scalar(evaluation.points.gpus)),
        nodes=int(scalar(evaluation["nodes"])),
        global_batch=int(scalar(evaluation["global_batch"])),
        memory_slack_bytes=number(evaluation["memory_slack"]),
        out_of_memory=number(evaluation["out_of_memory"]),
        terms={name: number(seconds) for name, seconds in step.items()},
        comm_s=number(step.comm_s),
        library_choice=_library_choice(points),
        pai=_pai_step(points),
        run=training_runs.run_of(problem, evaluation),
        immaterial=points.immaterial(),
        servers=points.serving(),
        ties=front.ties if front else 0,
        tied=tuple(
            {axis: label for axis, label in labels.items() if label != front.labels[axis]}
            for labels in front.tied
        )
        if front
        else (),
        mix=_mix(problem, values, bounded=front is None),
    )
    if not front:
        return found
    return replace(found, others=_others(problem, evaluation, found))


def _mix(problem: Problem, values: Values, bounded: bool) -> tuple[Mixed, ...] | None:
    """Every workload of a mix at a point, with intervals where bounded; None without a mix, or
    where one cannot train."""
    if problem.mix is None or not np.all(problem.point(values)["speedup"]):
        return None
    found = []
    for one, (alone, best) in zip(problem.mix.workloads, problem.mix.trained(values), strict=True):
        point = _described(alone, best, None, None)
        ends = _intervals(alone, [best])[0] if bounded else None
        found.append(Mixed(workload=one.name, share=one.share, speedup=point.speedup,
                           bounds=ends.speedup if ends else None, config=point.config,
                           settings=", ".join(words.settings(point))))  # fmt: skip
    return tuple(found)


def _others(problem: Problem, evaluation: Evaluation, point: Point) -> Mapping[str, float] | None:
    """The quantities that are neither axes nor said of a point already; None where none is."""
    numbers = {
        row.name: number(evaluation[row.name])
        for row in problem.quantities
        if row.name not in point.config and point.quantity(row.name) is None
    }
    return {name: one for name, one in numbers.items() if one is not None} or None


def explained(problem: Problem, values: Values) -> Explained:
    """What `dse explain` says of one point: all of :func:`describe`, and why."""
    point = describe(problem, values)
    checks = constraints.demands(problem.point(values), problem.study)
    points, billed = problem.points_at(values), bills(problem, values)
    (rental,) = points.rentals
    return Explained(
        **vars(point),
        workload=problem.workload.title or problem.workload.name,
        approach=approach_terms(points),
        memory={name: number(of_part) for name, of_part in points.memory.items()},
        memory_short=memory_remedies.shortage(problem, values),
        decoding=decoding(problem, values),
        launching=launching(problem, values),
        own_rates=own_rates.said(problem, values) or None,
        gradients=gradients.beside_baseline(problem, values) or None,
        not_searched=tuple(name for name in values if not _searched(problem, name, values)),
        constraints={name: bool(mask.all()) for name, mask in checks},
        intervals=by_name(point.interval) | {"memory_slack": _free_ends(points)},
        bill=billed[""],
        rented=billed.get(RENTED),
        goodput=goodput.of_point(problem, values),
        target=training_runs.said(problem),
        ownership=money.of_point(problem, values),
        rental=money.terms(rental, points.only.rent.fact),
        power=power.of_point(problem, values),
        layout=layout.of_point(points),
    )


def _free_ends(points: Points) -> Bounds | None:
    """The 90 % interval of the memory that stays free; None where that is not known."""
    low, high = map(scalar, points.room.free_ends)
    return None if math.isnan(low) else (low, high)


def by_name(interval: Interval | None) -> dict[str, Bounds | None]:
    """Intervals by the names of their quantities; None where there is none."""
    named = [field.name for field in fields(Interval) if field.name != "costs"]
    costs = interval.costs if interval else {}
    return {**{name: getattr(interval, name, None) for name in named}, **costs}


def _searched(problem: Problem, name: str, values: Values) -> bool:
    """Whether a search may try a point's value of an axis, by whatever name."""
    value = values[name]
    follows = problem.study.laid_out and (
        name == ACCUMULATION
        or (problem.study.axis(name) is None and str(value) == (AXES[name].usual or "1"))
    )
    if value is None or follows or problem.study.has(name, value):
        return True
    by_itself = name == GRADIENT and problem.study.has(name, AUTO_FORMAT)
    return by_itself and value == usual_format(values)


def _evidence(points: Points, comm_s: float | None) -> str:
    """What stands behind the price of communication: a key of ``words.EVIDENCE``."""
    if not points.problem.step_model.measurable:
        return FORMULA
    if comm_s == 0:
        return SILENT
    return Grade(int(np.max(points.grade()))).name.lower()


def _paid(points: Points) -> Paid | None:
    """The accelerators of a single point that are paid for; None where all of them train, or whole
    machines are named anyway, but for racks of these that are not all used."""
    machine, problem, bill = points.only, points.problem, points.bill
    name = machine.accelerator.name
    renting = market.rents(problem.study)
    paid = int(scalar(bill.rented if renting else bill.accelerators))
    size = int(problem.rental().rented_in(name) if renting else machine.sold_in)
    if machine.node is not None:
        bought = int(scalar(bill.bought))
        if renting or bought == int(scalar(bill.nodes)):
            return None
        racks, trays = bought // int(machine.at_once), int(machine.at_once)
        chips = bought * int(machine.sold_in)
        return Paid(accelerators=chips, units=racks, size=trays, kind="racks", verb="bought")
    if paid <= int(scalar(bill.training)):
        return None
    whole = renting or problem.prices.includes.get(name) == NODE_SHARE
    return Paid(
        accelerators=paid,
        units=paid // size,
        size=size,
        kind="machines" if whole else "boards",
        verb="rented" if renting else "bought",
    )


def _library_choice(points: Points) -> LibraryChoice | None:
    """What a library chooses by its rules at a point; None where no rules choose."""
    authority = points.aggregation.authority
    if isinstance(points, LaidOut) or authority is None:
        return None
    if not points.problem.step_model.measurable:
        return None
    algorithms = tuple(
        MessageAlgorithm(
            name=choice.name,
            algorithm=choice.algorithm,
            messages=choice.messages,
            bytes=(choice.least_bytes, choice.most_bytes),
        )
        for choice in points.aggregation.choices(points.gradients, points.layout)
    )
    if not algorithms and np.any(points.gpus > 1):
        return None  # a profile measured what the library chose here
    return LibraryChoice(rules=authority, algorithms=algorithms)


def _pai_step(points: Points) -> PaiStep | None:
    """The step by the PAI paper's model; None under another."""
    model = points.problem.step_model
    if not isinstance(model, pai.PaiStep):
        return None
    return PaiStep(
        architecture=model.architecture(points),
        ideal=points.overlap == pai.IDEAL,
        terms={name: scalar(seconds) for name, seconds in model.terms(points).items()},
    )


def approach_terms(points: Points) -> Mapping[str, float | None] | None:
    """Seconds that parts of a point's approach add to its step; None where it has none."""
    model, known = points.aggregation, points.problem.step_model.measurable
    if points.summing.approach is None or not known or not isinstance(model, Tensorwise):
        return None
    without = {
        "driver queries": replace(model, queries=PointerQueries()),
        "sums": replace(model, sum_s_per_byte=None, sum_start_s=0.0),
    }
    step_s = points.step_time().step_s
    return {
        part: number(step_s - points.summed_by(other).step_time().step_s)
        for part, other in without.items()
    }


def _intervals(
    problem: Problem,
    points: Sequence[Values],
    drawn: Mapping[str, Array] | None = None,
) -> list[Interval | None]:
    """90 % intervals of points; None for a point that has none. drawn: see
    :func:`describe_front`."""
    names = (*problem.sure_of, "throughput")
    best = problem.numbers(points, names)
    known = {name: best[name] for name in problem.sure_of}
    if drawn is not None and drawn["throughput"].shape[1] >= len(points):
        first = {name: drawn[name][:, : len(points)] for name in names}
        each = [(np.arange(len(points)), first)]
        found = intervals(known, each)
    else:
        found = problem.intervals(columns_of(points), known)
    samples = best["throughput"] * best["step"]
    return [_interval(found, at, float(samples[at])) for at in range(len(points))]


def _interval(found: Mapping[str, Ends], at: int, samples: float) -> Interval | None:
    """The interval of the point at a position, whose step takes so many samples; None if there is
    none."""
    bounds = {
        name: (float(ends.low[at]), float(ends.high[at]))
        for name, ends in found.items()
        if not np.isnan(ends.low[at])
    }
    if not bounds:
        return None
    speedup, step_s = bounds.pop("speedup", None), bounds.pop("step", None)
    rate = None
    if step_s:
        rate = (samples / step_s[1], samples / step_s[0])
    return Interval(speedup=speedup, step_s=step_s, throughput_samples_per_s=rate, costs=bounds)


def decoding(problem: Problem, values: Values) -> str | None:
    """What the hosts of a point decode where its step lasts as long, in words; else None."""
    points = problem.points_at(values)
    longest = scalar(points.decoding_s)
    step_s = scalar(points.step_time().step_s)  # NaN where it has no price
    if not longest or not longest >= step_s:
        return None
    fed = f"each accelerator is fed {scalar(points.fed_per_s):,.0f} samples a second"
    if not isinstance(problem.study.input, str):
        return fed
    machine = points.machines[0]
    host = machine.node.title if machine.node else "a usual host"
    return f"{fed} by {machine.cores:g} CPU cores of {host} (stack {points.stack.name})"


def launching(problem: Problem, values: Values) -> str | None:
    """What a launch takes where launches decide how long both passes of a point take; else None."""
    if not problem.step_model.measurable:
        return None
    points = problem.points_at(values)
    if not np.any(points.host_decides):
        return None
    each = duration(scalar(points.stack.launch_s * points.device.launch))
    return f"{each} a row of work (stack {points.stack.name})"
