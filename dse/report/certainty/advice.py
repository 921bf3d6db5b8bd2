"""What would raise the certainty of an answer the most, in a sentence or two."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from dse.calibration.evidence import ByLayoutEvidence
from dse.calibration.number_text import time_text
from dse.calibration.planning.advice import Advice, suggest
from dse.catalog.store import shipped_studies
from dse.errors import DseError
from dse.pricing.drawn_points import drawn_quantities
from dse.pricing.draws import Variation
from dse.pricing.messages import messages_of
from dse.pricing.problem import Problem
from dse.report import own_rates
from dse.report.certainty.facts import Knowledge
from dse.report.certainty.titles import Place, how, title
from dse.report.deal import deal_of
from dse.report.words import many, percent
from dse.search.certainty.sensitivity import ALONE_DRAWS, DEAD, Effect
from dse.search.certainty.sources import COMMUNICATION, COMPUTING
from dse.search.certainty.usefulness import (
    CHEAPEST,
    FASTEST,
    KNEE,
    SPEED_PER_DOLLAR,
    WITHIN,
)
from dse.study import Value

BUDGET_S = 600.0  # of the runs that are suggested
# What a share of the rule's aim is a share of.
OF_AIM: Mapping[str, str] = {
    CHEAPEST: "of the cost",
    WITHIN: "of the cost",
    FASTEST: "of the speed",
    SPEED_PER_DOLLAR: "of the speed per dollar",
    KNEE: "of the gain beyond the line between the ends of the front",
}
NARROWED = 0.9  # of the interval is what runs must leave at most, else they are not suggested
THROUGHPUT, SPEEDUP = "throughput", "speedup"
DECIDES = 0.01  # of the rule's aim; what is worth less to know decides between equals
LEAST_WORTH = 0.005  # of the rule's aim; what is worth less to know is not listed


def raising(
    problem: Problem,
    point: Mapping[str, Value | None],
    sources: Sequence[Effect],
    names: Mapping[str, frozenset[str]],
    knowledge: Sequence[Knowledge],
    place: Place,
    rule: str,
) -> str:
    """What is most worth knowing, where it can change the answer; else that nothing is, and what
    makes the largest share of the variance.

    point: the recommended one. sources: by falling share. names: of the draws of each source.
    knowledge: by falling worth. place: of the recommended point. rule: by which points are
    compared.
    """
    if knowledge and knowledge[0].worth >= DECIDES:
        first = knowledge[0]
        return (
            f"{_capital(first.how)} would settle most: to have it before deciding is worth "
            f"{percent(first.worth)} {OF_AIM[rule]}, on average."
        )
    nothing = (
        "No single measurement or quote would change the answer by much: to have one before "
        f"deciding is worth less than {percent(DECIDES)} {OF_AIM[rule]}, on average."
    )
    if not sources:
        return f"{nothing} Nothing uncertain moves the recommended point's speedup or cost."
    largest = sources[0]
    means = means_for(problem, point, names[largest.source], place) or how(largest.source, place)
    narrows = f"{means} would narrow it"
    if largest.source.startswith(COMPUTING) and own_rates.measured_at(problem, point):
        narrows = _beside_own_rate(problem)
    spread = "speed" if largest.gain_total >= largest.cost_total else "cost per speed"
    share = min(max(largest.gain_total, largest.cost_total), 1.0)
    return (
        f"{nothing} The largest part of the spread of its {spread}, {percent(share)}, comes from "
        f"{title(largest.source)}; {narrows}."
    )


def _beside_own_rate(problem: Problem) -> str:
    """What narrows the time of computing where the user measured the recommended point."""
    base = problem.study.baseline.values
    relative = any(objective.name == SPEEDUP for objective in problem.study.objectives)
    if relative and not own_rates.measured_at(problem, base):
        machine = problem.points_at(base).machines[0].accelerator
        means = how(COMPUTING, Place(machine.title))
        return f"{means}, as the baseline trains, would narrow it"
    return "your own training rate of this very configuration is counted in already"


def _capital(text: str) -> str:
    return text if text.startswith("'") else text[:1].upper() + text[1:]


def means_for(
    problem: Problem,
    point: Mapping[str, Value | None],
    names: frozenset[str],
    place: Place,
) -> str:
    """How to find out more about communication, by whose it is; empty for anything else, and where
    no run that is known of narrows it.

    names: of the draws. What leaves the recommended point's own speed alone is not found out by
    measuring its network.
    """
    if not all(name.startswith(COMMUNICATION) for name in names):
        return ""
    if _moves(problem, point, names):
        return measured(problem, point, place.transport)
    if _moves(problem, problem.study.baseline.values, names):
        return "a measurement of the baseline's network or of the time of its step"
    rivals = f"{deal_of(problem.study).noun}s"
    return f"a measurement of the network of the {rivals} that it is compared with"


def _moves(problem: Problem, point: Mapping[str, Value | None], names: frozenset[str]) -> bool:
    """Whether these draws change a point's own speed, all others at the best fit."""
    alone = Variation(alone=names)
    drawn = drawn_quantities(problem, [point], (THROUGHPUT,), alone, ALONE_DRAWS)[THROUGHPUT]
    return bool(np.ptp(np.log(drawn[:, 0])) > DEAD)


def measured(problem: Problem, point: Mapping[str, Value | None], transport: str) -> str:
    """The runs that `dse calibrate suggest` lists for a profile that prices the point; empty where
    none narrows the interval by a tenth."""
    placed = problem.points_at(point)
    evidence = placed.summing.evidence
    prices = evidence.taken(placed) if isinstance(evidence, ByLayoutEvidence) else (evidence,)
    pricing = {id(profile) for part in prices for profile in part.profiles}
    for label, profile in problem.profiles.items():
        if id(profile) not in pricing:  # it measured another network, or another machine
            continue
        if profile.transport != transport or not (profile.fits or profile.auto or profile.network):
            continue
        try:
            found = suggest(profile, messages_of(problem, transport, profile), BUDGET_S)
        except DseError:
            continue
        if found.runs and found.width_then <= NARROWED * found.width_now:
            return _runs(found, label, problem.study.path)
    return ""


def _runs(found: Advice, profile: str, study: str) -> str:
    kept = "" if os.path.isfile(study) else ", once the study is saved there"
    if shipped_studies().resolve() in Path(study).resolve().parents:
        study = Path(study).stem  # which it is known by
    return (
        f"{time_text(found.cost_s)} of runs on {many(found.capacity.nodes, 'node')} "
        f"('dse calibrate suggest {profile} --study {study}'{kept})"
    )
