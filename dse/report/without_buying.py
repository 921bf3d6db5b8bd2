"""What the hardware of the baseline does with the best software of the study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dse.pricing import constraints
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.deal import deal
from dse.report.design_point import Baseline, Point, WithoutBuying
from dse.report.document import RunDocument
from dse.report.points import describe
from dse.report.tables import NOT_APPLICABLE, heading
from dse.report.waterfall import waterfall
from dse.search.best_software import MOST_POINTS, best_software, missed
from dse.study import Value
from dse.study.choices import RESOLUTION

UNSAID = 0.002  # a change of speed by less is not worth a word
NOT_TRIED = (
    "What the baseline's hardware does with other software was not searched: there are more than "
    f"{MOST_POINTS / 1e6:g} million ways to train on it."
)
# Costs of a run, and what they are in proportion to.
_OF_RUN = {"per_run": "hourly", "energy": "power"}


def without_buying(
    problem: Problem, baseline: Baseline, tried: Iterable[Mapping[str, Value | None]]
) -> WithoutBuying | None:
    """The named point; None where there are too many ways of training to try them all.

    tried: points whose values of continuous axes are tried.
    """
    owned = problem.study.baseline.values
    values = best_software(problem, owned, tried=tried)
    if values is None:
        return None
    point = _priced_as(describe(problem, values), baseline)
    return WithoutBuying(
        **vars(point), missed=missed(problem, owned, values), steps=waterfall(problem, values)
    )


def _priced_as(point: Point, owned: Point) -> Point:
    """The point with the bill of another, whose hardware it is."""
    ratios = {name: (owned.costs.get(of) or 0.0) / (point.costs.get(of) or 1.0) or None
              for name, of in _OF_RUN.items()}  # fmt: skip
    objectives = {
        name: owned.costs[name] if name in owned.costs
        else value * ratio if value is not None and (ratio := ratios.get(name)) else value
        for name, value in point.objectives.items()
    }  # fmt: skip
    interval = point.interval
    if interval is not None:
        costs = owned.interval.costs if owned.interval else {}
        bounds = {
            name: costs.get(name, ends) if name in owned.costs
            else (ends[0] * ratio, ends[1] * ratio) if (ratio := ratios.get(name)) else ends
            for name, ends in interval.costs.items()
        }  # fmt: skip
        interval = replace(interval, costs=bounds)
    return replace(point, objectives=objectives, costs=owned.costs, interval=interval)


def said(document: RunDocument) -> list[str]:
    """What can be had for nothing, in a sentence; nothing where the document does not know."""
    point, base = document.without_buying, document.baseline
    if point is None or document.recommended.same_as(base):
        return []
    kept, changed = deal(document).kept, settings(document)
    mine, theirs = words.gain(document, point), words.gain(document, base)
    if not changed or not mine or not theirs or mine < (1 + RESOLUTION) * theirs:
        return [f"{kept}: no software of this study makes the baseline's hardware faster "
                f"by {words.percent(RESOLUTION)} or more."]  # fmt: skip
    fails = constraints.reasons(point.missed)
    but = f"; but {' and '.join(fails)}" if fails else ""
    return [f"{kept}, the baseline's hardware reaches {reached(document)} with {changed}{but}."]


def settings(document: RunDocument) -> str:
    """What to set on the baseline's hardware: ``bucket 1 MiB, batch per GPU 64``."""
    point = document.without_buying
    return ", ".join(
        f"{heading(change.axis)} {change.after or NOT_APPLICABLE}"
        for step in (point.steps if point else ())
        if step.factor is None or abs(step.factor - 1) >= UNSAID
        for change in step.changes
    )


def reached(document: RunDocument) -> str:
    """What that hardware reaches with them: ``1.62x (90 % confidence: 1.1x to 1.7x)``."""
    point = document.without_buying
    assert point is not None
    gain, ends = words.with_interval(
        words.gain(document, point),
        words.gain_interval(document, point),
        words.aim(document, "maximize").unit,
    )
    return f"{gain} ({words.CONFIDENCE}: {ends})" if " to " in ends else gain
