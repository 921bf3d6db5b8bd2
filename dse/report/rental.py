"""The terms that a study rents on, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dse import catalog
from dse.pricing.problem import Problem
from dse.report.words import duration, percent, shown
from dse.study import Value
from dse.study.quantities import RENT, SECONDS_PER_HOUR, facts_of
from dse.study.rental import ON_DEMAND, SPOT

LEAST_START = 0.1  # of the time or cost of a run; less is not worth a note


def said(problem: Problem) -> str:
    """For `dse explain`: the term, what it costs, how a run is billed."""
    billing = problem.rental.billing
    share = problem.rental.price_share
    price = "" if share == 1 else f", {percent(share)} of what is priced on demand"
    parts = [f"{duration(billing.start_up_s)} of start-up"] if billing.start_up_s else []
    parts += [f"at least {duration(billing.minimum_s)}"] if billing.minimum_s else []
    if billing.unit_s > 1:
        parts.append(f"whole units of {duration(billing.unit_s)}")
    billed = f"; a run is billed {' and '.join(parts)}" * bool(parts)
    return f"{problem.study.rental.term}{price}{billed}"


def assumed(problem: Problem) -> Iterator[str]:
    """What rents rest on; nothing where nobody asks for them."""
    study = problem.study
    rented = RENT in facts_of(objective.name for objective in study.objectives)
    if not rented and study.rental.term == ON_DEMAND and not study.rental.given:
        return
    yield f"Rented: {said(problem)}."
    if started := float(np.ravel(problem.start_up_s)[0]):
        yield (
            f"The time of a run, and so speedup, begins with the {duration(started)} in which its "
            "machines start; its energy does not count them."
        )
    if study.rental.committed:
        use = study.ownership.utilisation
        cost = "assumes that its other hours are of use, too" if use == 1 else (
            f"holds its share of the other hours, as machines are in use {percent(use)} of all"
        )  # fmt: skip
        yield f"A commitment is paid whether or not it is used: what a run costs {cost}."
    facts = [fact for fact in catalog.rental_facts().facts if fact.status == "unverified"]
    own = study.rental.given
    unchecked = [fact.name for fact in facts if study.rental.term in fact.name
                 and "discount" not in own]  # fmt: skip
    if unchecked:
        yield f"The discount of {study.rental.term} was not checked: give your own (discount)."


def start_note(problem: Problem, values: Mapping[str, Value | None]) -> Iterator[str]:
    """How much of a run's time and rent goes by while its machines start, where that is much."""
    point, start_s = problem.point(values), problem.rental.billing.start_up_s

    def number(name: str) -> float:
        return float(np.ravel(point[name])[0])

    parts = []
    if problem.start_up_s and start_s >= LEAST_START * number("time_to_target"):
        parts.append(f"{percent(start_s / number('time_to_target'))} of the time")
    if "per_run" in {objective.name for objective in problem.study.objectives}:
        usd, per_run = number("hourly") * start_s / SECONDS_PER_HOUR, number("per_run")
        if per_run > 0 and usd >= LEAST_START * per_run:
            parts.append(f"{percent(usd / per_run)} of the cost ({shown(usd, 'USD')})")
    if parts:
        yours = "start_up" in problem.study.rental.given
        remedy = "" if yours else "; give yours as rental: {start_up: 5 min}"
        bought = "" if problem.start_up_s else (
            " and none of its time: the study also weighs a purchase, whose machines stand ready"
        )  # fmt: skip
        yield (
            f"The {duration(start_s)} in which machines start{'' if yours else ', a usual time,'} "
            f"are {' and '.join(parts)} of a run{bought}{remedy}."
        )


def spot_note(problem: Problem) -> Iterator[str]:
    """That nobody has published how long today's spot machines stay."""
    if problem.study.rental.term == SPOT and "spell" not in problem.study.rental.given:
        yield (
            "How long spot machines stay is known of V100s of 2022 and 2023 alone, whose spells "
            "were of very unequal length; for newer accelerators it may be far from that. Machines "
            "of one zone are taken away together."
        )
