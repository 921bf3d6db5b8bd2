"""A study with what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dse.currencies import Rate
from dse.pricing.problem import Problem
from dse.report.live.prices import repriced
from dse.report.live.questions import LIVE_RULES, Question, Refused
from dse.report.live.values import gridded, narrowed
from dse.study import Constraint
from dse.study.constraints import ExpressionError, parse_constraint

FITS = "fits_memory"


def changed(problem: Problem, asked: Question) -> Problem:
    """The problem with what is asked. Raises :class:`Refused`."""
    if asked.rule not in LIVE_RULES:
        raise Refused(f"there is no rule '{asked.rule}'; use {', '.join(LIVE_RULES)}")
    study = narrowed(gridded(problem.study, asked.ranges), asked.values)
    study = replace(study, confidence=asked.confidence)
    if asked.limits is not None:
        own = {constraint.text: constraint for constraint in study.constraints}
        limits = tuple(own.get(text) or _limit(text, problem.prices.rates) for text in asked.limits)
        study = replace(study, constraints=limits)
    return replace(problem, study=study, prices=repriced(problem, asked.prices))


def _limit(text: str, rates: Mapping[str, Rate]) -> Constraint:
    if text == FITS:
        return Constraint(text, None, 0, 0)
    try:
        found = parse_constraint(text, lambda: rates)
        return Constraint(found.text, found, 0, 0)
    except ExpressionError as cause:
        said = [f"'{text}': {cause.problem}", cause.remedy]
        raise Refused("; ".join(filter(None, said))) from None
