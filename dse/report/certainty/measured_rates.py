"""What a study would recommend if a training rate were measured.

As if it were imported: a supposed rate of one accelerator corrects the time of computing as one's
own rates do (:func:`dse.pricing.throughput.corrected`), and the whole space is searched again. So
the answer is that of a run with such a rate, whatever software it picks, and however far one
measurement is believed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dse.calibration.throughput_part import Throughput
from dse.errors import NoFeasiblePoint
from dse.model.arrays import Array
from dse.pricing import anchors, constraints, throughput
from dse.pricing.problem import Problem
from dse.pricing.uncertainty import INTERVAL
from dse.report.certainty.titles import RATE
from dse.report.recommendation import recommended
from dse.search.certainty.study_draws import StudyDraws
from dse.search.run import FrontPoint, run
from dse.study import Value
from dse.study.axes import HARDWARE
from dse.study.choices import alike

MOST_POINTS = 500_000  # of a space that is searched some twenty times
LEAST_LIKELY = 0.05  # another answer that is less likely is not told
_STEPS = 6  # of the rates on each side of the estimate that are looked at
_HALVINGS = 6  # between two of them: to within 0.2 % of the rate

Values = Mapping[str, Value | None]


@dataclass(frozen=True)
class Turned:
    """A rate, as a share of the estimate, from which on another purchase is recommended: its best
    point, None where nothing meets the limits. likely: the probability of such a rate or one
    farther from the estimate."""

    factor: float
    values: Values | None
    likely: float


@dataclass(frozen=True)
class RateTurns:
    """What one accelerator's rate decides. rate: of which a measurement is supposed, its
    ``samples_per_s`` the estimate. lower, higher: None where no rate within the interval changes
    the answer, or hardly ever does."""

    rate: Throughput
    lower: Turned | None
    higher: Turned | None


def rate_turns(found: StudyDraws, name: str, position: int) -> RateTurns | None:
    """Of a rate that the record has; None of another number, where a larger space would have to be
    searched, and where what is recommended hangs on the draws: by a confidence, or by regret.

    position: of the recommended point.
    """
    problem = found.problem
    small = problem.points is not None and problem.points <= MOST_POINTS
    if not name.startswith(f"{RATE}: ") or problem.study.confidence is not None or not small:
        return None
    supposed = _supposed(found, name, position)
    if supposed is None:
        return None
    now = found.near.points[position]
    drawn = np.exp(-found.record.noted[name])  # of the estimated rate
    ends = np.percentile(drawn, INTERVAL)

    def answer(factor: float) -> tuple[Values | None, bool]:
        return _answer(problem, supposed, factor, found.rule, now)

    if answer(1.0)[1]:
        return None
    turned = {end < 1: _turned(_first(answer, end), drawn) for end in ends.tolist()}
    return RateTurns(supposed, turned.get(True), turned.get(False))


def _turned(first: tuple[float, Values | None] | None, drawn: Array) -> Turned | None:
    """With the probability of a rate beyond; None where that is small."""
    if first is None:
        return None
    factor, values = first
    likely = float(np.mean(drawn <= factor if factor < 1 else drawn >= factor))
    return Turned(factor, values, likely) if likely >= LEAST_LIKELY else None


def _supposed(found: StudyDraws, name: str, position: int) -> Throughput | None:
    """A step of one accelerator as the point trains that is most promising with it: the recommended
    one where it has it; None where no point near the front and no baseline has it."""
    problem = found.problem
    order = [position, *found.by_regret(range(len(found.near.points)))]
    for values in [*(found.near.points[at] for at in order), problem.study.baseline.values]:
        points = problem.points_at(values)
        machine = points.machines[int(np.ravel(points.coordinates[points.machine_axis].at)[0])]
        device, precision = machine.accelerator, points.precision.name
        if name != f"{RATE}: {device.name}, {precision}, {points.stack.name}":
            continue
        row = Throughput(
            workload=problem.workload.name,
            accelerator=device.name,
            precision=precision,  # type: ignore[arg-type]
            stack=points.stack.name,
            batch_per_gpu=float(np.ravel(points.batch)[0]),
            samples_per_s=1.0,
            accumulation=int(np.ravel(points.accumulation)[0]),
            optimizer=str(values.get("optimizer") or "momentum"),  # type: ignore[arg-type]
        )
        kind = throughput.kind_of(problem.workload, device, precision, points.stack.name)
        factor = float(np.exp(anchors.log_factor(problem.anchors, kind)))
        profiles = tuple(problem.profiles.values())
        seconds = throughput.modelled_s(row, problem.workload, profiles, factor)
        return replace(row, samples_per_s=row.batch_per_gpu / seconds)
    return None


def _first(
    answer: Callable[[float], tuple[Values | None, bool]], end: float
) -> tuple[float, Values | None] | None:
    """The rate nearest to the estimate, as a share of it, at which the answer is another, and that;
    None where there is none up to ``end``."""
    before = 1.0
    for factor in np.geomspace(1.0, end, _STEPS + 1)[1:].tolist():
        values, other = answer(factor)
        if not other:
            before = factor
            continue
        for _ in range(_HALVINGS):
            middle = float(np.sqrt(before * factor))
            between, turns = answer(middle)
            if turns:
                factor, values = middle, between
            else:
                before = middle
        return factor, values
    return None


def _answer(
    problem: Problem, rate: Throughput, factor: float, rule: str, now: Values
) -> tuple[Values | None, bool]:
    """What is recommended if so many times the rate is measured, and whether that is another
    purchase than now, and not as good."""
    measured = replace(rate, samples_per_s=rate.samples_per_s * factor)
    supposed = replace(problem)
    supposed.__dict__["anchors"] = problem.anchors_with([(measured, problem.workload)])
    try:
        outcome = run(supposed, "exhaustive", None, None, lambda *_: None, 0, 0)
    except NoFeasiblePoint:
        return None, True
    best = outcome.front[recommended(outcome.front, rule)]
    same = all(best.values.get(axis) == now.get(axis) for axis in HARDWARE)
    return best.values, not same and not _as_good(supposed, best, now)


def _as_good(problem: Problem, best: FrontPoint, now: Values) -> bool:
    """Whether what is recommended now meets the limits then, and is as fast and cheap to the
    resolution."""
    evaluation = problem.point(now)
    if not constraints.met(evaluation, problem.study, 1).all():
        return False
    gain, cost, *_ = problem.study.objectives
    pairs = ((best.gain, evaluation[gain.name]), (best.cost, evaluation[cost.name]))
    return all(
        alike(one, float(np.ravel(other)[0]), problem.study.resolution) for one, other in pairs
    )
