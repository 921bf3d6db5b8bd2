"""The best software of a study on given hardware, whether or not its space has that hardware."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

import numpy as np

from dse.model.arrays import Mask
from dse.model.money import WATT_PER_KILOWATT, Cost
from dse.pricing import constraints, market
from dse.pricing.evaluation import Evaluation
from dse.pricing.points import Points
from dse.pricing.problem import Problem
from dse.search.cells import PRICED_POINTS
from dse.study import Study, Value
from dse.study.axes import HARDWARE

MOST_POINTS = 4_000_000  # ways of training that are tried: seconds
# What no training goes without; every other demand is met where it can be.
_NEEDED = (constraints.COMPUTABLE, constraints.KNOWN, constraints.HOSTED, constraints.FITS,
           constraints.MIXED)  # fmt: skip

Values = Mapping[str, Value | None]


def best_software(
    problem: Problem, owned: Values, kept: Collection[str] = (), tried: Iterable[Values] = ()
) -> dict[str, Value | None] | None:
    """The point with the most of what the study maximizes, on the hardware of ``owned``.

    It takes every software setting of the study's space, and costs what ``owned`` costs, since
    that is there: no more hosts for parameter servers than ``owned`` has. Of points that can train
    at all those come first that miss the fewest of the study's demands, then the fastest, then the
    first. ``owned`` itself takes part. kept: software axes that stay as well. tried: points whose
    values of continuous axes are tried, beside that of ``owned``. None if there are more than
    :data:`MOST_POINTS` of them, or none can train.
    """
    points = [owned, *tried]
    values = {
        axis.name: tuple(dict.fromkeys(point.get(axis.name) for point in points))
        for axis in problem.study.axes if axis.continuous
    }  # fmt: skip
    values |= {name: (owned.get(name),) for name in (*HARDWARE, *kept)}
    narrowed = problem.narrowed(values)
    if narrowed.space.size > MOST_POINTS:
        return None
    own = problem.points_at(owned)
    best, key = None, (np.inf, np.inf)
    evaluation = Evaluation(own)
    cost, servers = evaluation.cost, own.bill.servers

    def judged(points: Points, shape: tuple[int, ...]) -> tuple[tuple[float, float], int]:
        """The best of some points, and its position."""
        there = Evaluation(points, paid=cost)
        enough = np.asarray(points.bill.servers <= servers)
        return _best(there, problem.study, enough, shape)

    found, _ = judged(own, (1,))
    if found < key:
        best, key = dict(owned), found
    for box in narrowed.space.boxes(PRICED_POINTS):
        found, at = judged(narrowed.placed(box), box.shape)
        if found < key:
            best, key = narrowed.space.point(box.first + at), found
    if best is None:
        return None
    return {**dict.fromkeys(name for name in problem.space.names), **best}


def missed(problem: Problem, owned: Values, values: Values) -> tuple[str, ...]:
    """The demands that a point fails on the hardware of ``owned``, which stands there already.

    Nobody needs to sell it, and where the study buys its machines, nothing is paid for it: its
    purchase price is 0, and owning it costs its electricity alone.
    """
    evaluation = problem.point(values)
    evaluation = replace(evaluation, paid=_standing(problem, owned))
    checks = constraints.demands(evaluation, problem.study)
    return tuple(name for name, mask in checks if not mask.all() and name != constraints.SOLD)


def _standing(problem: Problem, owned: Values) -> Cost:
    """What a point costs of which nothing must be bought; rent is paid on."""
    cost = problem.point(owned).cost
    if market.rents(problem.study):
        return cost
    known = problem.prices.electricity_usd_per_kwh.value
    electricity = cost.power_w / WATT_PER_KILOWATT * (np.nan if known is None else known)
    nothing = np.zeros_like(cost.capital_usd)
    return replace(
        cost, capital_usd=nothing, hardware_usd=nothing, tco_usd_per_hour=np.asarray(electricity)
    )


def _best(
    priced: Evaluation, study: Study, enough: Mask, shape: tuple[int, ...]
) -> tuple[tuple[float, float], int]:
    """(demands missed, gain with its sign turned) of the best point that can train, and its
    position; (inf, inf) where none can."""
    fails = np.zeros(shape, dtype=np.int64)
    gain = np.broadcast_to(constraints.compared(priced, study)[0], shape)
    able = np.broadcast_to(enough, shape) & np.isfinite(gain)
    for name, mask in constraints.demands(priced, study):
        if name in _NEEDED:
            able &= mask
        else:
            fails += ~np.broadcast_to(mask, shape)
    if not able.any():
        return (np.inf, np.inf), 0
    fewest = fails[able].min()
    at = int(np.argmax(np.where(able & (fails == fewest), gain, -np.inf)))
    return (float(fewest), -float(gain.flat[at])), at
