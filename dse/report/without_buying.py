"""What the hardware of the baseline does with the best software of the study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from dse.pricing.problem import Problem
from dse.report.design_point import Baseline, Point, WithoutBuying
from dse.report.points import describe
from dse.report.waterfall import waterfall
from dse.search.best_software import best_software, missed
from dse.study import Value

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
