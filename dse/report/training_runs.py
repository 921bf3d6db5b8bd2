"""A whole run to the study's target: how long it takes, what it costs, how sure its length is."""

from __future__ import annotations

import math

import numpy as np

from dse.model.arrays import scalar
from dse.pricing import target
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.design_point import Point, Run
from dse.report.json_form import number
from dse.study.quantities import QUANTITIES

# What stands beside a speed, by quantity.
TIME, COST, ENERGY = QUANTITIES["time_to_target"], QUANTITIES["per_run"], QUANTITIES["energy"]
LEAST_START = 0.1  # of the time of a run; less is not worth a word
BESIDE = {row.name: row.phrase for row in (TIME, COST, ENERGY) if row.phrase}


def run_of(problem: Problem, evaluation: Evaluation) -> Run | None:
    """The run of a single point; None where the study has no target."""
    curve = problem.convergence
    if curve is None:
        return None
    ends = curve.fitted if all(map(math.isfinite, curve.fitted)) else None
    return Run(
        samples=number(evaluation["samples_to_target"]),
        time_to_target=number(evaluation["time_to_target"]),
        per_run=number(evaluation["per_run"]),
        energy=number(evaluation["energy"]),
        start_up_s=scalar(evaluation.start_up_s) or None,
        fitted_batches=ends,
        extrapolated=bool(np.ravel(curve.beyond(evaluation["global_batch"]))[0]),
    )


def said(problem: Problem) -> str | None:
    """The target in words: ``masked-word accuracy 0.72 on Wikipedia (from ..)``; None without."""
    given = problem.study.target
    if given is None:
        return None
    if quality := target.quality_of(problem.study):
        return f"{quality.quality} (from {quality.started_from})"
    if given.tokens is not None:
        return _many(words.scaled(given.tokens, words.COUNTS), "token")
    if given.epochs is not None:
        passes = _many(words.significant(given.epochs), "epoch")
        return (
            f"{passes} of {_many(words.scaled(given.epoch_samples or 0.0, words.COUNTS), 'sample')}"
        )
    return _many(words.scaled(given.samples or 0.0, words.COUNTS), "sample")


def _many(amount: str, what: str) -> str:
    return f"{amount} {what}{'s' * (amount != '1')}"


def start(point: Point) -> str:
    """How much of the time of a run its machines take to start, where that is much of it."""
    before, lasts = point.run and point.run.start_up_s, point.quantity(TIME.name)
    if not before or lasts is None or before < LEAST_START * lasts:
        return ""
    share = words.percent(before / lasts)
    return f"{words.duration(before)} of its time ({share}) is the start-up of the machines"
