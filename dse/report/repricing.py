"""The points near the front as the page prices them at prices of its reader."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dse.model.arrays import Array, scalar
from dse.pricing.hardware import HOST_OF
from dse.pricing.linear_cost import ELECTRICITY, linear_cost
from dse.pricing.problem import Problem
from dse.report import words
from dse.report.certainty.titles import RENTED, part_title
from dse.report.document import Repricing, RunDocument
from dse.report.json_form import plain
from dse.search.certainty.study_draws import StudyDraws
from dse.search.certainty.usefulness import CHEAPEST, FASTEST, SPEED_PER_DOLLAR, WITHIN
from dse.search.run import labels_of
from dse.study import Value

_OF_NETWORK = {"nic": "Network card", "switch_port": "Switch port", "cable": "Cable",
               "uplink": "Cable between switches"}  # fmt: skip
_ALONE = {"host": "Host", "rack": "Rack", ELECTRICITY: "Electricity"}
RULES = (SPEED_PER_DOLLAR, WITHIN, CHEAPEST, FASTEST)  # that a page can follow, the usual one first


def repricing(found: StudyDraws, position: int) -> Repricing | None:
    """The points near the front, without those that another beats at whatever prices; None where no
    unit price changes the study's first cost. position: of the recommended one among them."""
    problem, points = found.problem, found.near.points[: found.near.feasible]
    most, least, *_ = (objective.name for objective in problem.study.objectives)
    form = linear_cost(problem, points, least)
    if form is None or not form.prices:
        return None
    gains = np.array([scalar(problem.point(values)[most]) for values in points])
    kept = _of_use([*form.quantities, form.constant, -gains], position)
    limits = [one.limit for one in problem.study.constraints if one.limit]
    most_usd = [one.value for one in limits if one.name == least and one.comparison[0] == "<"]
    return Repricing(
        recommended=kept.index(position),
        points=tuple(_name(problem, points[at]) for at in kept),
        gain=_rounded(gains[kept]),
        parts=tuple(_title(price.part) for price in form.prices),
        units=tuple(price.unit for price in form.prices),
        usd=tuple(price.usd for price in form.prices),
        quantities=tuple(_rounded(row[kept]) for row in form.quantities),
        constant=_rounded(form.constant[kept]),
        most=min(most_usd, default=None),
    )


def _of_use(columns: Sequence[Array], position: int) -> list[int]:
    """The points that no other is as good as in all columns, the least being the best, and of equal
    ones the first; with that at ``position``. columns: (points,) each."""
    rows = np.array(columns)
    as_good = np.all(rows[:, :, np.newaxis] <= rows[:, np.newaxis, :], axis=0)  # as another
    beaten = np.any(as_good & (~as_good.T | np.triu(np.ones_like(as_good), 1)), axis=0)
    return [at for at, one in enumerate(beaten) if not one or at == position]


def _rounded(values: Array) -> tuple[float, ...]:
    """To eleven digits, so that sums of such numbers are right to 1e-10."""
    return tuple(float(f"{value:.11g}") for value in values)


def _name(problem: Problem, values: Mapping[str, Value | None]) -> str:
    points = problem.points_at(values)
    gpus, nodes = scalar(points.gpus), scalar(points.bill.nodes)
    return words.describe(words.Named(labels_of(problem, values), points.immaterial(), gpus, nodes))


def _title(part: str) -> str:
    """What a buyer calls a part."""
    part, _, term = part.partition(f"{RENTED}, ")
    if term:
        return f"{_title(part + RENTED)}, {term}"
    kind, _, name = part.partition(" of ")
    if part.startswith(HOST_OF):
        return f"Host of {words.title('accelerator', part.removeprefix(HOST_OF))}"
    if kind in _OF_NETWORK:
        return f"{_OF_NETWORK[kind]}, {words.title('inter_node', name) if name else 'of the study'}"
    return _ALONE.get(part) or words.capital(part_title(part))


def facts(document: RunDocument) -> dict[str, Any] | None:
    """What the section says, and what its script computes from; None where no price counts."""
    found = document.repricing
    if found is None:
        return None
    paid = [row[found.recommended] for row in found.quantities]
    texts = [repr(usd).removesuffix(".0") for usd in found.usd]
    prices = list(enumerate(zip(found.parts, found.units, texts, strict=True)))
    gain, cost = (words.objective(document, name) for name in document.objectives.names[:2])
    said = {"gain_unit": gain.unit, "cost_unit": cost.unit.replace("hour", "h")}
    rule = document.recommended.rule
    return {
        "own": [price for price, count in zip(prices, paid, strict=True) if count],
        "others": [price for price, count in zip(prices, paid, strict=True) if not count],
        "rules": RULES,
        "rule": rule if rule in RULES else RULES[0],
        "of_report": rule,
        "gain": words.capital(gain.title),
        "cost": words.capital(cost.title),
        "data": json.dumps({**plain(found), **said}),
    }
