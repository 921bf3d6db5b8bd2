"""How sure the answer of a run is, computed from draws of the points near its front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp

import numpy as np

from dse import catalog
from dse.calibration.ps_part import PS
from dse.catalog.facts import UNCHECKED
from dse.catalog.price_spread import age_years, price_spread
from dse.model.arrays import Array, scalar
from dse.pricing import offers
from dse.pricing.hardware import HOST_OF
from dse.pricing.problem import Problem
from dse.pricing.rental import Rental
from dse.pricing.uncertainty import INTERVAL
from dse.report.certainty.facts import (
    RECOMMENDED,
    Certainty,
    Choice,
    KnownPrice,
    PriceFlip,
    SourceEffect,
    Turn,
)
from dse.report.certainty.titles import NETWORK, RENTED, price_title, rented, title
from dse.report.design_point import Bounds
from dse.report.json_form import number
from dse.report.recommendation import LEAST_REGRET, by_need, recommended
from dse.search.certainty.flips import flips
from dse.search.certainty.sensitivity import effects
from dse.search.certainty.sources import sources
from dse.search.certainty.study_draws import StudyDraws, study_draws
from dse.search.run import Outcome, labels_of
from dse.study import Wire
from dse.text_source import is_path

RIVALS = 6  # listed
LEAST_MISSED = 0.01  # of the rule's aim, by a choice that might as well be another
LEAST_LIKELY = 0.01  # a rival that is the best in fewer draws is not listed
LEAST_SHARE = 0.01  # of a variance, by a source that is listed
_DEVIATIONS = 1.6449  # of a normal distribution, to the ends of its middle 90 %


def drawn_answer(outcome: Outcome, rule: str, named: Mapping[str, int]) -> tuple[StudyDraws, int]:
    """The points near the front in every draw, and the position of the recommended one.

    named: positions on the front, by what the answer calls them. What least regret recommends is
    compared by the rule that the study's need gives.
    """
    best = [] if rule == LEAST_REGRET else [recommended(outcome.front, rule)]
    compared = by_need(outcome)[0] if rule == LEAST_REGRET else rule
    found = study_draws(outcome, compared, [*best, *named.values()])
    at = found.near.front.index(best[0]) if best else found.by_regret(range(found.near.feasible))[0]
    return found, found.as_the_library_does(at)


def certainty(
    found: StudyDraws, position: int, named: Mapping[str, int], usual: int | None = None
) -> Certainty:
    """How sure the recommendation is.

    position: of the recommended point among those of ``found``. named: positions of others on the
    front, by what the answer calls them. usual: position of what the usual confidence would
    recommend; None where that is the recommended one.
    """
    listed = dict(_listed(found, position, named, usual))
    choices = tuple(_choice(found, at, role, position) for at, role in listed.items())
    return Certainty(
        draws=len(found.worths),
        points=len(found.near.points),
        purchases=len(found.best),
        whole=found.near.whole,
        rule=found.rule,
        best=found.best_choice(position),
        choices=choices,
        sources=tuple(_sources(found, position, choices[0].missed)),
        flips=tuple(_flips(found, position, [*listed])),
    )


def _listed(
    found: StudyDraws, position: int, named: Mapping[str, int], usual: int | None
) -> Iterator[tuple[int, str]]:
    """The recommended purchase, the named ones, then rivals by falling probability: the position of
    the point that is best of each, and what the answer calls it.

    Rivals are those that are likely to be the best; the one that is expected to miss the least,
    where that is no more than the recommended one misses, or no rival is likely; that of the usual
    confidence; and, asked for a confidence, the one that wins most often of those that are as sure.
    """
    yield position, RECOMMENDED
    seen = {int(found.purchases[position])}
    for role, place in named.items():
        at = found.near.front.index(place)
        if found.purchases[at] not in seen:
            seen.add(int(found.purchases[at]))
            yield at, role
    rivals = [int(one) for one in np.argsort(-found.best, kind="stable") if int(one) not in seen]
    told = {one for one in rivals[:RIVALS] if found.best[one] >= LEAST_LIKELY}
    if others := _others(found, position):
        closest, own = found.by_regret(others)[0], found.regrets[position]
        least = max(found.problem.study.resolution, LEAST_MISSED)
        if not told or (own > least and found.regrets[closest] <= own):
            told.add(int(found.purchases[closest]))
        if found.problem.study.confidence is not None:
            purchases = dict.fromkeys(found.purchases[others].tolist())
            told.add(min(purchases, key=lambda one: found.beats(position, one)))
    if usual is not None:
        told.add(int(found.purchases[usual]))
    for purchase in rivals:
        if purchase in told:
            yield found.by_regret(np.flatnonzero(found.purchases == purchase).tolist())[0], ""


def _others(found: StudyDraws, position: int) -> list[int]:
    """Positions of the points that are other choices than the recommended one, meet every limit in
    the best estimate, and are as sure as was asked."""
    same = found.choice(position)[found.purchases]
    return [at for at in _sure(found) if at < found.near.feasible and not same[at]]


def _sure(found: StudyDraws) -> list[int]:
    """Positions of the points that are as sure to meet the limits as the study asks for."""
    asked = found.problem.study.confidence or 0.0
    return [int(at) for at in np.flatnonzero(found.drawn.meets_all.mean(axis=0) >= asked)]


def _choice(found: StudyDraws, at: int, role: str, position: int) -> Choice:
    problem, values = found.problem, found.near.points[at]
    purchase = int(found.purchases[at])
    gain, cost, *_ = (one.name for one in problem.study.objectives)
    best = problem.point(values)
    exact = {name: scalar(best[name]) for name in found.drawn.quantities}
    bands = {name: _band(draws[:, at], exact[name])
             for name, draws in found.drawn.quantities.items()}  # fmt: skip
    return Choice(
        role=role,
        config=labels_of(problem, values),
        gain=number(exact[gain]),
        cost=number(exact[cost]),
        bands={name: bounds for name, bounds in bands.items() if bounds},
        on_front=float(found.on_front[purchase]),
        best=float(found.best[purchase]),
        met={text: float(np.mean(mask[:, at])) for text, mask in found.drawn.met.items()},
        meets_all=float(np.mean(found.drawn.meets_all[:, at])),
        beaten=found.beats(position, purchase) if purchase != found.purchases[position] else None,
        decided=found.differ(position, purchase),
        regret=float(found.regrets[at]),
        alike=bool(found.choice(position)[purchase]),
    )


def _band(drawn: Array, best: float) -> Bounds | None:
    """A 90 % interval, stretched to the best estimate as everywhere; None where it is unknown."""
    if not (np.isfinite(best) and np.all(np.isfinite(drawn))):
        return None
    low, high = np.percentile(drawn, INTERVAL)
    return min(float(low), best), max(float(high), best)


def _sources(found: StudyDraws, position: int, missed: Sequence[str]) -> Iterator[SourceEffect]:
    """The sources of the recommended point, the largest first. missed: limits that it may miss."""
    asked = sources(found.asked)
    for one in effects(found.problem, found.near.points[position], asked):
        limits = {text: one.limits.get(text, 0.0) for text in missed}
        if max(one.gain, one.cost, *limits.values()) >= LEAST_SHARE:
            yield SourceEffect(source=one.source, title=title(one.source), gain_total=one.gain,
                               cost_total=one.cost, limits=limits)  # fmt: skip


def _flips(found: StudyDraws, position: int, listed: Sequence[int]) -> Iterator[PriceFlip]:
    """What each price decides, among the points that are as sure as the study asks for.

    listed: positions of the purchases that are listed; a price that only rivals pay is left out
    where it decides nothing.
    """
    sure = _sure(found)
    if position not in sure:  # the surest where none is sure enough
        return
    points, own = [found.near.points[at] for at in sure], sure.index(position)
    rivals = [sure.index(at) for at in listed if at in sure and at != position]

    def turn(end: tuple[float, int] | None) -> Turn | None:
        if end is None:
            return None
        factor, at = end
        return Turn(factor=factor, config=labels_of(found.problem, points[at]) if at >= 0 else {})

    (rental,) = found.problem.points_at(points[own]).rentals
    for flip in flips(found.problem, points, found.rule, found.purchases[sure], own, rivals):
        if flip.share or flip.rise or flip.fall:
            yield PriceFlip(
                part=flip.part,
                title=price_title(flip.part),
                share=flip.share,
                of=flip.of,
                rise=turn(flip.rise),
                fall=turn(flip.fall),
                known=known_price(found.problem, flip.part, rental),
            )


def known_price(problem: Problem, part: str, rental: Rental) -> KnownPrice | None:
    """Of a part by its name in draws of prices; None of what has no price of its own.

    Of a network, whose parts are asked for together, the widest interval and the oldest day. A rent
    is that of a term.
    """
    prices = problem.prices.rented(rental.study.term)
    facts = [fact for fact in _facts(problem, part, prices) if fact.value is not None]
    if not facts:
        return None
    usd = facts[0].value
    if usd is not None and rented(part):
        usd *= scalar(rental.share_of(facts[0]))
    spread = max(price_spread().log_spread(fact, prices.as_of) for fact in facts)
    ages = [age_years(fact, prices.as_of) for fact in facts]
    dated = [age for age in ages if age is not None]
    return KnownPrice(
        usd=usd if len(facts) == 1 else None,
        bounds=(exp(-_DEVIATIONS * spread), exp(_DEVIATIONS * spread)),
        own=all(catalog.own(fact) for fact in facts),
        expired=any(prices.lapsed(fact) for fact in facts),
        date=min(fact.date for fact in facts),
        age_years=max(dated) if len(dated) == len(ages) else None,
        checked=all(fact.status not in UNCHECKED for fact in facts),
        estimate=any(map(catalog.estimated, facts)),
    )


def _facts(problem: Problem, part: str, prices: catalog.PriceList) -> Iterator[catalog.Fact]:
    """The prices that count."""
    name = part.removesuffix(RENTED)
    if part.startswith(NETWORK):
        fabric = part.removeprefix(NETWORK)
        if fabric in catalog.names("fabrics"):
            own = prices.fabric_usd.get(fabric, {})
            parts = {**catalog.fabric(fabric).prices_usd, **own}
            if not _cards_paid(problem, fabric):
                del parts["nic"]
            yield from parts.values()
    elif part.startswith(HOST_OF):
        yield prices.host_of(part.removeprefix(HOST_OF))
    elif name in catalog.names("nodes") or is_path(name):
        node = catalog.node(name)
        fact = prices.rent_of(node) if rented(part) else prices.purchase_of(node)
        yield from [fact] if fact else []
    else:
        group = prices.accelerator_hourly_usd if rented(part) else prices.accelerator_usd
        named = {"host": prices.host_usd, "rack": prices.rack_usd}
        fact = group.get(name) or named.get(part)
        yield from [fact] if fact else []


def _cards_paid(problem: Problem, fabric: str) -> bool:
    """Whether some point, or the baseline, pays network cards; machines come with those of their
    own network, servers of parameters do not."""
    if any(name.algorithm == PS for name in problem.study.named_aggregations):
        return True
    base = problem.study.baseline.values
    node, link = base.get("node"), base.get("inter_node")
    wired = (link.fabric if isinstance(link, Wire) else link) == fabric
    own = node is not None and catalog.node(str(node)).inter_node == link
    return (wired and not own) or offers.cards_charged(problem, fabric)
