"""The document of a finished run, put together from the outcome of its search."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from dse.calibration import Profile
from dse.calibration.compute_part import compute_text
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.profile import POOLED, Fit
from dse.calibration.ps_part import PS, ServersFit
from dse.calibration.runners.registry import command_for
from dse.pricing import constraints, stock
from dse.pricing.aggregations import FORMULA
from dse.pricing.bill_of_rent import bills
from dse.pricing.offers import part_prices
from dse.pricing.problem import Problem
from dse.report import (
    layout,
    money,
    origin,
    provenance,
    recommendation,
    training_runs,
)
from dse.report.assumptions import assumptions
from dse.report.certainty.build import certainty, drawn_answer
from dse.report.choices import choices
from dse.report.design_point import Baseline, Point, Recommended
from dse.report.document import (
    AxisRange,
    AxisRow,
    CalibrationRow,
    Counts,
    Extrapolated,
    FitErrors,
    Judged,
    Objectives,
    RateRow,
    RunDocument,
    Sample,
    StudyInfo,
    Timings,
    Work,
)
from dse.report.points import describe, describe_front
from dse.report.recommendation import needed, recommended, why
from dse.report.remarks import of_run
from dse.report.repricing import repricing
from dse.report.waterfall import waterfall
from dse.report.what_if import what_if, without_buying
from dse.search.certainty.usefulness import WITHIN
from dse.search.feasible import feasible
from dse.search.guided import number_name
from dse.search.run import Outcome
from dse.study import QUANTITIES
from dse.study.terms import ON_DEMAND

SAMPLED = 2000  # feasible points drawn as the backdrop of the front

UNITS = {name: row.phrase.unit for name, row in QUANTITIES.items() if row.phrase}


def build(
    outcome: Outcome, command: str, seed: int, total_s: float, profiles: Mapping[str, Path]
) -> RunDocument:
    """The document of a finished run; no number in it is NaN."""
    problem, study = outcome.problem, outcome.problem.study
    most, least, *also = (objective.name for objective in study.objectives)
    rule, because = needed(outcome)
    cheap = recommended(outcome.front, WITHIN)
    fast = recommended(outcome.front, "fastest")
    named = {"fastest": fast, "cheapest within 5 %": cheap, "cheapest": 0}
    draws, likely = drawn_answer(outcome, rule, named)
    front = describe_front(problem, outcome.front, draws.drawn_front)
    position, sure = recommendation.chosen(draws, outcome, rule, likely)
    values, row = draws.near.points[position], draws.near.row(position)
    best = describe(problem, values) if row is None else front[row]
    if problem.mix is not None and row is not None:
        best = replace(best, mix=describe(problem, values).mix)
    limits = recommendation.because(sure)
    because = "; ".join(filter(None, [because, limits]))
    baseline = Baseline(
        **vars(describe(problem, study.baseline.values)),
        assumed=tuple(study.baseline.assumed),
    )
    stands = "gpus" not in study.baseline.assumed  # else nobody said that it is there
    unbought = without_buying(problem, baseline, [values]) if stands else None
    every = feasible(problem) if outcome.tally.points != problem.points else None
    runs = problem.workload.shape.runs if problem.workload.shape else ()
    crossed = any(block.cross for block, _ in runs)
    document = RunDocument(
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        study=StudyInfo(
            name=study.name,
            description=study.description,
            path=study.path,
            workload=problem.trained,
            workload_title=problem.trained if problem.mix else problem.workload.title,
            tokens_per_sample=problem.workload.tokens_per_sample,
            sides=tuple((layers, block.share) for block, layers in runs) if crossed else None,
            rental="" if study.rental.term == ON_DEMAND else study.rental.term,
        ),
        command=command,
        versions=origin.versions(),
        hashes=origin.hashes(problem),
        inputs_hash=problem.inputs_hash,
        seed=seed,
        engine=outcome.engine,
        engine_reason=outcome.reason,
        executor=outcome.executor,
        work=Work(
            units=outcome.units,
            resumed=outcome.resumed_units,
            repeated=outcome.repeated_units,
        ),
        counts=Counts(
            points=outcome.tally.points,
            space=problem.points,
            budget=outcome.budget,
            feasible=outcome.tally.feasible,
            priced=outcome.tally.priced,
            front=len(outcome.front),
            ties=sum(point.ties for point in outcome.front),
        ),
        rejected=dict(outcome.tally.rejected if every is None else every.rejected),
        judged=None
        if every is None
        else Judged(points=every.points, feasible=every.feasible, whole=every.whole),
        timings=Timings(search_s=outcome.search_s, total_s=total_s),
        objectives=Objectives(maximize=most, minimize=least, minimize_also=next(iter(also), None)),
        units=UNITS,
        axes=_axes(problem),
        constraints=tuple(constraint.text for constraint in study.constraints),
        baseline=baseline,
        recommended=Recommended(
            **vars(best),
            rule=rule,
            why=limits
            if sure is not None and not sure.reached
            else why(rule, study.objectives, because, bool(study.owned)),
        ),
        cheapest_within_5_percent=front[cheap],
        fastest=front[fast],
        without_buying=unbought,
        front=front,
        choices=choices(
            front,
            [
                np.array([getattr(point, name) for point in outcome.front])
                for name in ("gain", "cost", "other")
            ],
            row,
            study.resolution,
        ),
        bills={
            f"{name}{kind}": items
            for name, values in (
                ("baseline", study.baseline.values),
                ("recommended", values),
                ("cheapest_within_5_percent", outcome.front[cheap].values),
                ("fastest", outcome.front[fast].values),
            )
            for kind, items in bills(problem, values).items()
        },
        certainty=certainty(draws, position, named, recommendation.usually(draws, rule, position)),
        waterfall=waterfall(problem, values),
        what_if=what_if(problem, values),
        sample=sample(problem, seed) if outcome.engine == "exhaustive" else Sample(),
        calibration=tuple(_profile(problem, name, path) for name, path in profiles.items()),
        transports=tuple(provenance.transports(problem)),
        extrapolated=_extrapolated(problem, front),
        target=training_runs.said(problem),
        assumptions=tuple(assumptions(problem, values)),
        sources=tuple(provenance.sources(problem)),
        reproduce=(*_measuring(problem, profiles), command),
        study_text=study.source.text,
        questions=study.questions or None,
        confidence=sure,
        ownership=money.of_point(problem, values),
        owned=tuple(stock.titles(study, problem.standing)) or None,
        repricing=repricing(draws, position),
        prices=part_prices(problem),
        layout=layout.of_point(problem.points_at(values)),
    )
    found, state = of_run(problem, document, values)
    return replace(document, remarks=found, state=state)


def sample(problem: Problem, seed: int) -> Sample:
    """Random feasible points of the space, as columns."""
    generator = np.random.default_rng(seed)
    size = problem.space.size
    count = min(size, 2 * SAMPLED)
    picked = np.unique(generator.integers(0, size, count)) if size > count else np.arange(size)
    points = [problem.space.point(int(index)) for index in picked]
    most, least, *_ = problem.study.objectives
    study_layouts = problem.study.laid_out
    rows: list[tuple[float, float, str, int]] = []
    for where, evaluation in problem.rows(points):
        passed = constraints.met(evaluation, problem.study, len(where))
        gain = np.broadcast_to(evaluation[most.name], passed.shape)
        cost = np.broadcast_to(evaluation[least.name], passed.shape)
        gpus = np.broadcast_to(evaluation.points.gpus, passed.shape)
        for row in np.flatnonzero(passed):
            values = points[int(where[row])]
            aggregation = str(values["aggregation"])
            if study_layouts:
                aggregation = f"TP {values['tensor_parallel']}"
            rows.append((float(cost[row]), float(gain[row]), aggregation, int(gpus[row])))
    # Points come grouped by structure: thin them at random, not by cutting off the last groups.
    kept = np.sort(generator.permutation(len(rows))[:SAMPLED])
    return Sample(
        cost=tuple(float(f"{rows[row][0]:.5g}") for row in kept),  # more than a chart can show
        gain=tuple(float(f"{rows[row][1]:.5g}") for row in kept),
        aggregation=tuple(rows[row][2] for row in kept),
        gpus=tuple(rows[row][3] for row in kept),
    )


def _axes(problem: Problem) -> tuple[AxisRow, ...]:
    study = problem.study
    rows = [
        AxisRow(
            name=axis.name,
            values=(f"{axis.low:g} to {axis.high:g}",) if axis.continuous else tuple(axis.labels),
            default=axis in study.defaults,
            conditional="",
            range=None
            if axis.low is None or axis.high is None
            else AxisRange(name=number_name(axis), low=axis.low, high=axis.high),
        )
        for axis in (*study.axes, *study.defaults)
    ]
    for condition in study.conditions:
        where = " and ".join(
            f"{name} is {' or '.join(str(v) for v in values)}"
            for name, values in condition.requires
        )
        said, values = f"only where {where}", tuple(condition.labels)
        # An axis of several conditions has one row, with the values of all.
        for row in [row for row in rows if row.name == condition.axis]:
            rows.remove(row)
            if row.conditional:
                said = f"{row.conditional}, or where {where}"
                values = tuple(dict.fromkeys((*row.values, *values)))
        rows.append(AxisRow(name=condition.axis, values=values, default=False, conditional=said))
    return tuple(rows)


def _measuring(problem: Problem, profiles: Mapping[str, Path]) -> list[str]:
    """How the profiles measured here are made again; those of others' logs come with their file."""
    return [
        f"{command_for(problem.profiles[name])} --name {Path(path).stem}"
        for name, path in profiles.items()
        if problem.profiles[name].machine
    ]


def _profile(problem: Problem, name: str, path: Path) -> CalibrationRow:
    profile = problem.profiles[name]
    return CalibrationRow(
        name=profile.name,
        transport=profile.transport,
        system=profile.system,
        device=profile.device,
        source=profile.source,
        library=f"{profile.library} {profile.version}",
        machine=dict(profile.machine),
        date=profile.date,
        link=profile.link,
        link_bytes_per_s=profile.link_bytes_per_s,
        ranks=profile.ranks,
        message_bytes=profile.message_bytes,
        split=f"{profile.split}: {profile.split_reason}",
        gamma_s_per_byte=profile.gamma_s_per_byte,
        algorithms={
            algorithm: FitErrors(
                error_median=fit.error,
                error_p90=fit.error_p90,
                textbook_error_median=fit.textbook_error,
                held_out=held_out,
            )
            for algorithm, fit, held_out in _parts(profile)
        },
        compute=tuple(map(compute_text, profile.compute)),
        rates=tuple(
            RateRow(
                workload=rate.what,
                accelerator=rate.accelerator,
                precision=rate.precision,
                stack=rate.stack,
                gpus=rate.gpus,
                batch_per_gpu=rate.batch_per_gpu,
                accumulation=rate.accumulation,
                samples_per_s=rate.samples_per_s,
            )
            for rate in profile.throughput
        ),
        path=str(path),
        hash=profile.content_hash,
    )


def _parts(profile: Profile) -> Iterator[tuple[str, Fit | LibraryFit | ServersFit, str]]:
    """(algorithm, its fit, what its error was judged on) for all that a profile holds."""
    for algorithm, fit in profile.fits.items():
        yield algorithm, fit, "ranks" if algorithm != POOLED else "algorithms"
    if profile.auto is not None:
        yield AUTO, profile.auto, profile.auto.held_out
    for transport, part in profile.ps.items():
        yield f"{PS}-{transport}", part, "workers and servers"


def _extrapolated(problem: Problem, front: Sequence[Point]) -> Extrapolated:
    return Extrapolated(
        front=sum(point.extrapolated for point in front),
        why="The measured range is of ranks, nodes, message sizes, algorithms and links; where "
        "the library chose the algorithm, also of ranks per node and of the accelerator. Element "
        "sizes count where the host adds the elements, and for small messages."
        if problem.step_model.measurable
        else f"{FORMULA[0].upper()}{FORMULA[1:]}.",
    )
