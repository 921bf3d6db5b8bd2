"""The points near a front taken apart, so that a page can price them at other prices."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.catalog.extras import ONCE, PER_NODE, SHARE
from dse.model.arrays import Array, scalar
from dse.pricing import extras, market, power
from dse.pricing.composition import Composition, composition
from dse.pricing.evaluation import Evaluation
from dse.pricing.problem import Problem
from dse.pricing.unit_price import UnitPrice
from dse.report.confidence import uncertain
from dse.report.repricing.candidates import DRAWS, Candidates, candidates, movable
from dse.report.repricing.dependence import (
    BILLED,
    ELECTRICITY,
    HELD,
    PRICED,
    PUE,
    moves,
    needed,
)
from dse.report.repricing.facts import (
    Chances,
    Drawn,
    Extras,
    Part,
    Quantities,
    RepricedPoint,
    Repricing,
    Terms,
)
from dse.search.certainty.study_draws import StudyDraws
from dse.search.run import labels_of
from dse.study import Study
from dse.study.quantities import QUANTITIES, SECONDS_PER_HOUR

SHOWN = ("speedup", "throughput", "time_to_target")  # beside what the study compares


def repricing(found: StudyDraws, position: int, named: Sequence[int]) -> Repricing | None:
    """What a page needs; None where no price changes what the study compares or limits.

    position: of the recommended point among those near the front. named: positions on the front of
    others that the answer names.
    """
    problem, study = found.problem, found.problem.study
    compared = [objective.name for objective in study.objectives]
    limited = [name for c in study.constraints if c.expression for name in c.expression.names]
    if not moves([*compared, *limited]):
        return None
    looked = candidates(found, [position, *(found.near.front.index(at) for at in named)])
    names = [*compared, *_of_priced_limits(study), *SHOWN, *PRICED]
    evaluations = [problem.point(values) for values in looked.points]
    parts = [composition(problem.points_at(values)) for values in looked.points]
    priced = _priced(parts)
    return Repricing(
        recommended=looked.near.index(position),
        compared=found.rule,
        confidence=study.confidence,
        limits=movable(study),
        uncertain=tuple(uncertain(study)),
        near=len(looked.near),
        parts=tuple(_part(found.problem, price, rented) for price, rented in priced),
        terms=_terms(found),
        points=tuple(
            RepricedPoint(
                config=labels_of(problem, values),
                immaterial=problem.points_at(values).immaterial(),
                gpus=scalar(evaluation["gpus"]),
                nodes=scalar(evaluation["nodes"]),
                purchase=int(purchase),
                bought=_quantities(priced, part.bought, rented=False),
                rented=_quantities(priced, part.rented, rented=True),
                servers=part.servers,
                hosts=part.hosts,
                adds=part.adds,
                housed_w=_finite(part.housed_w),
                numbers={name: _of(evaluation, name) for name in needed(names)},
                retired=_retired(study, priced, part),
            )
            for values, evaluation, purchase, part in zip(
                looked.points, evaluations, looked.purchases, parts, strict=True
            )
        ),
        chances=tuple(
            Chances(
                met=float(met[at]),
                best=float(found.best[found.purchases[at]]),
                regret=float(found.regrets[at]),
                alone=float(found.regrets_alone[at]),
            )
            for met in [found.drawn.meets_all.mean(axis=0)]
            for at in looked.near
        ),
        drawn=_drawn(found, looked, evaluations, [price for price, _ in priced]),
        sells_new=market.sells_new(study, problem.prices),
    )


def _of_priced_limits(study: Study) -> list[str]:
    """The quantities of limits that prices may change."""
    return [name for c in study.constraints if c.expression and moves(c.expression.names)
            for name in sorted(c.expression.names)]  # fmt: skip


def _priced(parts: Iterable[Composition]) -> list[tuple[UnitPrice, bool]]:
    """Every part with its price, and whether it is rented, each once."""
    found: dict[tuple[str, str, bool], tuple[UnitPrice, bool]] = {}
    for one in parts:
        for rented, items in ((False, one.bought), (True, one.rented)):
            for price, _ in items:
                found.setdefault(_key(price, rented), (price, rented))
    return [found[key] for key in sorted(found, key=lambda key: (key[2], key[0], key[1]))]


def _part(problem: Problem, price: UnitPrice, rented: bool) -> Part:
    """A part as the page holds it: of a rent the price on demand."""
    if not (rented and problem.rental.has(price.fact) and problem.rental.price_share):
        return Part(part=price.part, usd=_finite(price.usd), rented=rented)
    on_demand = _finite(price.usd / problem.rental.price_share)
    return Part(part=price.part, usd=on_demand, rented=True, of_term=True)


def _key(price: UnitPrice, rented: bool) -> tuple[str, str, bool]:
    return price.part, repr(price.usd), rented


def _quantities(
    priced: Sequence[tuple[UnitPrice, bool]],
    items: Iterable[tuple[UnitPrice, float]],
    rented: bool,
) -> Quantities:
    at = {_key(*one): position for position, one in enumerate(priced)}
    summed: dict[int, float] = {}
    for price, count in items:
        where = at[_key(price, rented)]
        summed[where] = summed.get(where, 0.0) + count
    return tuple((where, _finite(count)) for where, count in sorted(summed.items()))


def _retired(
    study: Study, priced: Sequence[tuple[UnitPrice, bool]], part: Composition
) -> int | None:
    """The position of the price of machines that are no longer sold new, where that matters."""
    if part.retired is None or not market.wants_new(study):
        return None
    return next(at for at, one in enumerate(priced) if _key(*one) == _key(part.retired, False))


def _terms(found: StudyDraws) -> Terms:
    prices, ownership = found.problem.prices, found.problem.study.ownership
    sums = {basis: [0.0, 0.0] for basis in (SHARE, ONCE, PER_NODE)}
    years = prices.amortisation_years.value or 1.0
    for line in extras.lines(prices):
        yearly = line.extra.yearly
        sums[line.extra.basis][yearly] += line.price.usd / (years if yearly else 1.0)
    return Terms(
        electricity_usd_per_kwh=prices.electricity_usd_per_kwh.value,
        pue=prices.pue.value,
        amortisation_years=prices.amortisation_years.value,
        carbon_kg_per_kwh=prices.carbon_kg_per_kwh.value,
        residual_value=ownership.residual_value,
        utilisation=ownership.utilisation,
        rent_share=found.problem.rental.price_share,
        extras=Extras(
            share=(sums[SHARE][0], sums[SHARE][1]),
            once_usd=(sums[ONCE][0], sums[ONCE][1]),
            node_usd=(sums[PER_NODE][0], sums[PER_NODE][1]),
        ),
    )


def _drawn(
    found: StudyDraws,
    looked: Candidates,
    best: Sequence[Evaluation],
    prices: Sequence[UnitPrice],
) -> Drawn:
    """The first draws of what costs follow from; what a price list adds beside the hardware is the
    same in all of them."""
    study = found.problem.study
    wanted = needed([*(one.name for one in study.objectives), *_of_priced_limits(study)])
    columns = {}
    for name in wanted:
        drawn = _draws_of(looked, name)
        if drawn is not None:
            exact = np.array([_of(one, name) or np.nan for one in best], dtype=np.float64)
            factors = drawn / exact
            if name == BILLED:  # of machines that cost nothing the bill does not tell the hours
                factors = np.where(looked.quantities["hourly"] > 0, factors, 1.0)
            columns[name] = _packed(factors)
    fixed = [mask for text, mask in looked.met.items() if text not in movable(study)]
    met = np.logical_and.reduce(fixed) if fixed else None
    share = np.asarray(found.problem.sampled.rental.billing.price_share)
    rates = _drawn_rates(found.problem)
    watts = looked.quantities["power"] / rates.get(PUE, np.ones(1))[:, np.newaxis]
    watts = watts / np.array([_of(one, "power") or np.nan for one in best])
    return Drawn(
        count=DRAWS,
        prices=_packed(np.stack([_factors(price, DRAWS) for price in prices], axis=1)),
        rent_share=_packed(share[:DRAWS]) if share.ndim else "",
        rates={name: _packed(factors) for name, factors in rates.items()},
        housed=_packed(watts),
        columns=columns,
        met="" if met is None or met.all() else _text(np.packbits(met, axis=None)),
    )


def _drawn_rates(problem: Problem) -> dict[str, Array]:
    """Factors of the rates that are not certain, (draws,) each."""
    sampled = problem.drawn(DRAWS)
    price, factors = power.electricity(problem), np.asarray(power.pue(sampled))
    found = {ELECTRICITY: _factors(price, DRAWS)} if price.log_spread else {}
    if factors.ndim:
        found[PUE] = factors / (problem.prices.pue.value or np.nan)
    return found


def _factors(price: UnitPrice, count: int) -> Array:
    """The factor of a price in each draw, (draws,)."""
    return UnitPrice(price.part, 1.0, price.log_spread).drawn(count)


def _draws_of(looked: Candidates, name: str) -> Array | None:
    """(draws, points); None where it is the same in all."""
    known = looked.quantities
    if name == BILLED:
        hourly = np.where(known["hourly"] > 0, known["hourly"], np.nan)
        return np.asarray(known["per_run"] * SECONDS_PER_HOUR / hourly)
    if name == HELD:
        return np.asarray(known["energy"] / known["power"])
    return known.get(name)


def _of(evaluation: Evaluation, name: str) -> float | None:
    if name == BILLED:
        return _finite(scalar(evaluation.billed_s))
    if name == HELD:
        if evaluation.convergence is None:
            return None
        return _finite(scalar(evaluation.held_s))
    if QUANTITIES[name].needs_target and evaluation.convergence is None:
        return None
    return _finite(scalar(evaluation[name]))


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _packed(values: Array) -> str:
    """What a 32-bit number cannot hold is the largest that it can; NaN stays."""
    most = float(np.finfo(np.float32).max)
    return _text(np.ascontiguousarray(np.clip(values, -most, most), dtype="<f4"))


def _text(values: NDArray[np.generic]) -> str:
    return base64.b64encode(values.tobytes()).decode("ascii")
