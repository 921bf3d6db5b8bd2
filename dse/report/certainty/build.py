"""How sure the answer of a run is, computed from draws of the points near its front."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dse import catalog
from dse.calibration.ps_part import PS
from dse.model.arrays import Array
from dse.pricing import market
from dse.pricing.bill_of_materials import bill_of_materials
from dse.pricing.problem import Problem
from dse.pricing.uncertainty import INTERVAL
from dse.report.certainty.advice import LEAST_WORTH, means_for, raising
from dse.report.certainty.facts import (
    Bounds,
    Certainty,
    Choice,
    Decider,
    Deciding,
    Knowledge,
    NextBest,
    Ordered,
    PriceFlip,
    SourceEffect,
    Turn,
)
from dse.report.certainty.known_prices import known_price, seen_prices
from dse.report.certainty.measured_rates import rate_turns
from dse.report.certainty.titles import Place, how, price_title, title
from dse.report.certainty.verdict import verdict
from dse.report.certainty.words import SURE
from dse.report.confidence import USUAL
from dse.report.design_point import Point
from dse.report.recommendation import LEAST_REGRET, by_need, recommended
from dse.search.certainty.flips import flips
from dse.search.certainty.information import value_of_all, values_of
from dse.search.certainty.sensitivity import Effect, dead_axes, effects
from dse.search.certainty.sources import sources
from dse.search.certainty.study_draws import StudyDraws, study_draws
from dse.search.run import Outcome, labels_of
from dse.study import AggregationName, Value, Wire

RIVALS = 6  # listed
LEAST_MISSED = 0.01  # of the rule's aim, by a choice that might as well be another
LEAST_LIKELY = 0.01  # a rival that is the best in fewer draws is not listed
MOST_KNOWLEDGE = 5
LEAST_DECIDING = 0.1  # of a variance, by a source that is told beside the largest


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
    found: StudyDraws,
    position: int,
    named: Mapping[str, int],
    point: Point,
    usual: tuple[int, bool] | None = None,
) -> Certainty:
    """How sure the recommendation is.

    position: of the recommended point among those of ``found``. named: positions of others on the
    front, by what the answer calls them. point: the recommended one, as the report describes it.
    usual: position of what the usual confidence would recommend, and whether that reaches it; None
    where nothing else is to be told of.
    """
    problem, values = found.problem, found.near.points[position]
    place = _place(values, point)
    asked = sources(found.record.asked)
    by_source = effects(problem, values, asked)
    knowledge = [*_knowledge(found, position, place)]
    word, why = verdict(point)
    living = [effect for effect in by_source if effect.moves]
    instead, reached = usual or (None, True)
    if instead is not None and reached and found.purchases[instead] == found.purchases[position]:
        instead = None  # it differs in software alone
    told = {name: at for name, at in (("by_regret", _as_steady(found, position)),
            ("usual", instead)) if at is not None}  # fmt: skip
    listed = dict(_listed(found, position, named, [*told.values()]))
    choices = tuple(_choice(found, at, role, position) for at, role in listed.items())
    return Certainty(
        draws=len(found.worths),
        points=len(found.near.points),
        purchases=len(found.best),
        whole=found.near.whole,
        best=found.best_choice(position),
        rule=found.rule,
        word=word,
        why=why,
        raised_by=raising(problem, values, living, asked, knowledge, place, found.rule),
        choices=choices,
        sources=tuple(map(_source, living)),
        dead_sources=tuple(title(effect.source) for effect in by_source if effect.dead),
        dead_axes=tuple(dead_axes(problem, values)),
        knowledge=tuple(knowledge),
        all_known=value_of_all(found.worths_of_purchases),
        flips=tuple(_flips(found, position, [*listed])),
        next_best=_next_best(found, position, told, reached),
        deciding=tuple(_deciding(problem, by_source, choices[0])) or None,
    )


def _source(effect: Effect) -> SourceEffect:
    return SourceEffect(
        source=effect.source,
        title=title(effect.source),
        gain=effect.gain,
        cost_per_gain=effect.cost_per_gain,
        gain_total=effect.gain_total,
        cost_total=effect.cost_total,
    )


def _deciding(problem: Problem, by_source: Sequence[Effect], own: Choice) -> Iterator[Decider]:
    """Of each limit that the recommended point may miss, the most often missed first, the source
    with the largest share, and the next where it has a share that counts and both fit into one."""
    limits = {one.text: one.limit for one in problem.study.constraints}
    for text, met in sorted(own.met.items(), key=lambda one: one[1]):
        if met >= SURE:
            return
        shares = sorted(((effect.limits.get(text, 0.0), effect.source) for effect in by_source),
                        reverse=True)  # fmt: skip
        limit, told = limits.get(text), 0.0
        for share, source in shares[:2]:
            if share > 0 and (not told or (share >= LEAST_DECIDING and told + share <= 1)):
                quantity = limit.name if limit else ""
                yield Decider(
                    limit=text, quantity=quantity, source=source, title=title(source), share=share
                )
            told += share


def _as_steady(found: StudyDraws, position: int) -> int | None:
    """The position of the point that is expected to miss the least of all that are other choices
    than the recommended one; None where it misses more, and where that misses hardly anything."""
    own, at = found.regrets[position], _closest(found, position)
    if at is None or own <= max(found.problem.study.resolution, LEAST_MISSED):
        return None
    return at if found.regrets[at] <= own else None


def _closest(found: StudyDraws, position: int) -> int | None:
    """The position of the point that is expected to miss the least of all that are other choices,
    meet every limit in the best estimate, and are as sure as was asked; None where there is no
    such."""
    others = _others(found, position)
    return found.by_regret(others)[0] if others else None


def _nearest_sure(found: StudyDraws, position: int) -> int | None:
    """The purchase that wins most often against the recommended choice, of those that are as sure
    as was asked; None where no confidence is asked for, and where there is no such."""
    if found.problem.study.confidence is None:
        return None
    others = dict.fromkeys(found.purchases[_others(found, position)].tolist())
    return min(others, key=lambda one: found.beats(position, one), default=None)


def _others(found: StudyDraws, position: int) -> list[int]:
    """Positions of the points that are other choices than the recommended one, meet every limit in
    the best estimate, and are as sure as was asked."""
    others = ~found.choice(position)[found.purchases]
    others[found.near.feasible :] = False
    others &= found.drawn.meets_all.mean(axis=0) >= (found.problem.study.confidence or 0.0)
    return [int(at) for at in np.flatnonzero(others)]


def _next_best(
    found: StudyDraws, position: int, at: Mapping[str, int], reached: bool
) -> NextBest | None:
    """at: the position of each that is told of. reached: whether any has the usual confidence."""
    choices = {name: _choice(found, one, "", position) for name, one in at.items()}
    return NextBest(confidence=USUAL, reached=reached, **choices) if choices else None


def _place(values: Mapping[str, object], point: Point) -> Place:
    """Where the recommended point trains."""
    name, joined, node = (values.get(axis) for axis in ("aggregation", "inter_node", "node"))
    if joined is None and node is not None:
        joined = catalog.node(str(node)).inter_node
    return Place(
        machine=_machine(values),
        transport=name.transport if isinstance(name, AggregationName) else "",
        servers=isinstance(name, AggregationName) and name.algorithm == PS,
        nodes=int(point.nodes),
        network=(joined.fabric if isinstance(joined, Wire) else str(joined or "")) or "",
    )


def _machine(values: Mapping[str, object]) -> str:
    node, accelerator = values.get("node"), values.get("accelerator")
    if node is not None:
        accelerator = catalog.node(str(node)).accelerator
    return catalog.accelerator(str(accelerator)).title


def _listed(
    found: StudyDraws, position: int, named: Mapping[str, int], others: Sequence[int]
) -> Iterator[tuple[int, str]]:
    """The recommended purchase, the named ones, then rivals by falling probability, or where none
    is likely the one that would miss the least, with others that are told of and, of those that are
    as sure as was asked, the nearest: the position of the point that is best of each, and what the
    answer calls it."""
    yield position, "recommended"
    seen = {int(found.purchases[position])}
    for role, place in named.items():
        at = found.near.front.index(place)
        purchase = int(found.purchases[at])
        if purchase not in seen:
            seen.add(purchase)
            yield at, role
    rivals = [int(one) for one in np.argsort(-found.best, kind="stable") if int(one) not in seen]
    likely = [one for one in rivals if found.best[one] >= LEAST_LIKELY][:RIVALS]
    told = {int(found.purchases[at]) for at in others}
    if not likely and (near := _closest(found, position)) is not None:
        told.add(int(found.purchases[near]))
    if (sure := _nearest_sure(found, position)) is not None:
        told.add(sure)
    for purchase in [one for one in rivals if one in told or one in likely]:
        of_it = np.flatnonzero(found.purchases == purchase)
        at = found.by_regret(of_it.tolist())[0]
        yield at, ""


def _choice(found: StudyDraws, at: int, role: str, position: int) -> Choice:
    problem, values = found.problem, found.near.points[at]
    purchase = int(found.purchases[at])
    gain, cost, *_ = (one.name for one in problem.study.objectives)
    best = problem.point(values)
    exact = {name: float(np.ravel(best[name])[0]) for name in found.drawn.quantities}
    bands = {
        name: bounds for name, draws in found.drawn.quantities.items()
        if (bounds := _band(draws[:, at], exact[name]))
    }  # fmt: skip
    return Choice(
        role=role,
        config=labels_of(problem, values),
        gain=_finite(exact[gain]),
        cost=_finite(exact[cost]),
        bands=bands,
        middles={name: float(np.median(found.drawn.quantities[name][:, at])) for name in bands},
        on_front=float(found.on_front[purchase]),
        best=float(found.best[purchase]),
        alike=bool(found.choice(position)[purchase]),
        met={text: float(np.mean(mask[:, at])) for text, mask in found.drawn.met.items()},
        meets_all=float(np.mean(found.drawn.meets_all[:, at])),
        beaten=found.beats(position, purchase) if purchase != found.purchases[position] else None,
        decided=found.differ(position, purchase),
        misses=tuple(
            constraint.text
            for constraint in problem.study.constraints
            if constraint.expression and not np.all(constraint.expression.evaluate(best))
        ),
        regret=float(found.regrets[at]),
        ordered=_ordered(problem, values),
    )


def _ordered(problem: Problem, values: Mapping[str, Value | None]) -> Ordered | None:
    """What is ordered of a purchase, where more accelerators are than train."""
    if market.rents(problem.study):
        return None
    items = bill_of_materials(problem.points_at(values))
    first = next((item for item in items if item.idle), None)
    if first is None:
        return None
    return Ordered(accelerators=first.quantity, boards=first.boards or "")


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _band(drawn: Array, best: float) -> Bounds | None:
    """A 90 % interval, stretched to the best estimate as everywhere; None where it is unknown."""
    if not (np.isfinite(best) and np.all(np.isfinite(drawn))):
        return None
    low, high = np.percentile(drawn, INTERVAL)
    return min(float(low), best), max(float(high), best)


def _knowledge(found: StudyDraws, position: int, place: Place) -> Iterator[Knowledge]:
    """What is worth knowing, the most first; what is found out together counts once.

    What is worth less than LEAST_WORTH is left out, at the first look or then.
    """
    problem, looked = found.problem, values_of(found.record.noted, found.worths_of_purchases)
    point = found.near.points[position]
    values = {name: found.value_of_knowing(name) for name in looked if looked[name] >= LEAST_WORTH}
    told = set[str]()
    for name in sorted(values, key=lambda name: -values[name]):
        if values[name] < LEAST_WORTH:
            return
        means = means_for(problem, point, frozenset({name}), place) or how(name, place)
        if means not in told and len(told) < MOST_KNOWLEDGE:
            told.add(means)
            yield Knowledge(
                name=name,
                title=title(name),
                worth=values[name],
                how=means,
                deciding=_deciding_rate(found, name, position),
            )


def _deciding_rate(found: StudyDraws, name: str, position: int) -> Deciding | None:
    """From which measured rates on the answer is another."""
    turns = rate_turns(found, name, position)
    if turns is None or not (turns.lower or turns.higher):
        return None
    rate = turns.rate
    lower, higher = (
        _turn(found, one.factor, one.values, one.likely) if one else None
        for one in (turns.lower, turns.higher)
    )
    return Deciding(
        accelerator=rate.accelerator,
        precision=rate.precision,
        batch=rate.batch_per_gpu,
        optimizer=rate.optimizer,
        samples_per_s=rate.samples_per_s,
        lower=lower,
        higher=higher,
    )


def _sure(found: StudyDraws) -> list[int]:
    """Positions of the points that are as sure to meet the limits as the study asks for."""
    asked = found.problem.study.confidence or 0.0
    return [int(at) for at in np.flatnonzero(found.drawn.meets_all.mean(axis=0) >= asked)]


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
    for flip in flips(found.problem, points, found.rule, found.purchases[sure], own, rivals):
        rise, fall = (
            end and _turn(found, end[0], points[end[1]] if end[1] >= 0 else None)
            for end in (flip.rise, flip.fall)
        )
        if not flip.share and not rise and not fall:
            continue
        turns = {sign: turn for sign, turn in ((1, rise), (-1, fall)) if turn}
        yield PriceFlip(
            part=flip.part,
            title=price_title(flip.part),
            share=flip.share,
            of=flip.of,
            rise=rise,
            fall=fall,
            compared=flip.compared,
            known=known_price(found.problem, flip.part),
            seen=tuple(seen_prices(found.problem, flip.part, points[own], turns)),
        )


def _turn(
    found: StudyDraws,
    factor: float,
    values: Mapping[str, Value | None] | None,
    likely: float | None = None,
) -> Turn:
    """values: of what is recommended then; None where nothing meets the limits."""
    if values is None:
        return Turn(factor=factor, likely=likely)
    config, ordered = labels_of(found.problem, values), _ordered(found.problem, values)
    return Turn(factor=factor, config=config, ordered=ordered, likely=likely)
