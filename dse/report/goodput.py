"""What failures and checkpoints leave of a run's time, in a document and in words."""

from __future__ import annotations

from collections.abc import Mapping

from dse import catalog
from dse.model.arrays import scalar
from dse.model.goodput import HOPELESS
from dse.pricing.costs import Costs
from dse.pricing.problem import Problem
from dse.report.design_point import Goodput
from dse.report.json_form import number
from dse.report.words import duration, significant
from dse.study import Value


def of_point(problem: Problem, values: Mapping[str, Value | None]) -> Goodput:
    """The goodput of a point."""
    points = problem.points_at(values)
    running = Costs(points).goodput()
    return Goodput(
        share=scalar(running.share),
        between_stops_s=number(running.between_stops_s),
        interval_s=number(running.interval_s),
        stalled=1.0 - scalar(points.calm) or None,
    )


def said(goodput: Goodput) -> str:
    """For `dse explain`: the share that trains, how often the job stops, how often it saves."""
    if goodput.between_stops_s is None:
        return "all of the time trains (failures: ideal)"
    stops = f"a stop every {duration(goodput.between_stops_s)} on average"
    if goodput.share < HOPELESS:
        return f"hardly any of the time trains: {stops}, and a stop costs more than that"
    saves = f"a checkpoint every {duration(goodput.interval_s)}" if goodput.interval_s else ""
    after = f", {saves}" * bool(saves)
    return f"{significant(100 * goodput.share)} % of the time trains: {stops}{after}"


def assumed(problem: Problem, recommended: Mapping[str, Value | None] | None) -> list[str]:
    """What the time of a run rests on besides its steps; nothing where no run is asked for."""
    if problem.study.target is None:
        return []
    if problem.study.failures.ideal:
        return ["No failure and no checkpoint costs time, as the study asks (failures: ideal)."]
    terms = problem.failures
    told = (
        f" At the recommended point {said(of_point(problem, recommended))}." if recommended else ""
    )
    given = problem.study.failures.given
    source = "as the study says" if given else f"from {catalog.failure_terms().title}"
    return [
        f"Time, cost and energy of a run, not speed, count failures and checkpoints.{told} A stop "
        f"costs {duration(float(terms.recover_s))} and half of the time between checkpoints, a "
        f"checkpoint {duration(float(terms.checkpoint_s))} ({source}; docs/money.md)."
    ]
