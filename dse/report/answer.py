"""The study's answer in a few sentences."""

from __future__ import annotations

from dse.pricing.constraints import FITS
from dse.pricing.uncertainty import OF_COST
from dse.report import (
    alternatives,
    bills,
    confidence,
    money,
    none_feasible,
    one_age,
    price_days,
    readiness,
    training_runs,
    waterfall,
    what_if,
    without_buying,
)
from dse.report.bill_notes import bill_notes, years_apart
from dse.report.certainty import next_best
from dse.report.certainty.words import chance, chances, exactly, met, middle
from dse.report.certainty.words import sentences as certainty_sentences
from dse.report.deal import deal
from dse.report.design_point import Point
from dse.report.document import Counts, RunDocument, Sense
from dse.report.notes import BASELINE, COMPARED, Note, by_weight, noted
from dse.report.words import (
    CONFIDENCE,
    EVIDENCE,
    aim,
    change,
    compared,
    cost,
    cost_interval,
    count,
    describe,
    gain,
    gain_interval,
    interval,
    many,
    of_addition,
    percent,
    rate_interval,
    says_who,
    show_cost,
    show_gain,
    shown,
    software,
)
from dse.search.certainty.usefulness import SPEED_PER_DOLLAR, WITHIN
from dse.spelling import enumerated
from dse.study.choices import RESOLUTION

LEAST_SAVED = 0.001  # a share of the cost; less is not cheaper

_AS_FAST = 0.005  # what is slower by less is as fast
_OF_POWER = ("machines draw less than their makers allow", "sites differ in cooling")


def answer(document: RunDocument) -> list[str]:
    """The sentences of an answer, see :func:`paragraphs`."""
    return [line for lines in paragraphs(document) for line in lines]


def paragraphs(document: RunDocument) -> list[list[str]]:
    """What to buy, what it gains and costs; what else could be done, and what is nearly as good for
    less; how sure we are; whether it can be signed, what must be known before, the weightiest
    first; and notes. None is empty."""
    noted = [f"Note: {note.text}" for note in notes(document)]
    found = [_bought(document), _instead(document), _unsure(document),
             readiness.lines(document), noted]  # fmt: skip
    return [lines for lines in found if lines]


def said(document: RunDocument) -> list[str]:
    """The answer without what must be known before it is signed, and without its notes."""
    return [*_bought(document), *_instead(document), *_unsure(document)]


def _bought(document: RunDocument) -> list[str]:
    """What to buy, why, what it gains and what it costs."""
    best, base = document.recommended, document.baseline
    joint, *others = (
        _against(document, best, base, sense) for sense in document.objectives.minimized
    )
    worth = f"{_gains(document, best)} and {joint}{''.join(f'; it {more}' for more in others)}."
    worth += f"{_expired(document)}{alternatives.as_good(document)}"
    if best.same_as(base):
        worth = f"That is the baseline itself, which {_costs(document, best)}.{_expired(document)}"
    named = describe(best, identified=True, beside=base)
    return [
        f"Recommended: {named}{_if_slower(document)}.", *_met(document), worth,
        *bills.commitment(document), *_slower(document), *_by_rule(document),
        *training_runs.answer_lines(document),
    ]  # fmt: skip


def _instead(document: RunDocument) -> list[str]:
    """What of the gain is software, and what other money would bring."""
    return [
        *waterfall.said(document), *without_buying.said(document), *what_if.said(document),
        *_next_dollars(document), _nearly(document),
    ]  # fmt: skip


def _unsure(document: RunDocument) -> list[str]:
    """How sure the answer is, and how much was searched for it."""
    lines = [
        *_how_sure(document), *certainty_sentences(document), *next_best.said(document),
        *confidence.said(document), *none_feasible.said(document),
    ]  # fmt: skip
    if document.engine == "guided":
        lines.append(_how_far(document.counts))
    if near := document.runners_up:
        share, listed = f"{100 * near.within:g} %", f"{len(near.rows):,} in all"
        lines.append(
            f"{near.points:,} more choices come within {share} of the best; near.csv lists those "
            f"nearest to each of the best, {listed}."
        )
    return lines


def _met(document: RunDocument) -> list[str]:
    """How likely the limits are met that may be missed, and what is likelier to meet them."""
    said, asked = met(document), document.confidence
    if not said:
        return []
    if asked is not None and not asked.reached:
        return [f"{said}; {exactly(asked.asked)} was asked for, and no purchase comes closer."]
    surer = next_best.surer(document) if asked is None else ""
    return [f"{said}{f'; {surer}' * bool(surer)}."]


def _expired(document: RunDocument) -> str:
    """How much of the sum is by offers that are none any more, with a blank before it."""
    items = document.bills.get("recommended", ())
    share = bills.expired_share(items)
    paid = money.sum_of(bills.rent_of(items)).lower()
    return f" {percent(share)} of its {paid} is by offers that have expired." if share else ""


def _by_rule(document: RunDocument) -> list[str]:
    """Why this point and no other of the front; empty where an older version said it otherwise."""
    best = document.recommended
    what, _, because = best.why.partition(". Chosen because ")
    if not what.startswith("the "):
        return []
    if what.endswith("every constraint") and met(document):
        what += " in the best estimate"
    reason = "".join(  # what a confidence leaves out is no reason for a rule
        f"{', since' if one.startswith('the study ') else ';'} {one}"
        for one in because.rstrip(".").split("; ") if one
    )  # fmt: skip
    return [f"This is {what.partition('. ')[0].rstrip('.')}, by the rule {best.rule}{reason}."]


def _if_slower(document: RunDocument) -> str:
    """That what is recommended is slower than the baseline; empty where it is not."""
    speedup = document.recommended.speedup
    if speedup is None or speedup >= 1 - _AS_FAST:
        return ""
    return f", which is slower than the baseline ({shown(speedup, 'x')})"


def _slower(document: RunDocument) -> list[str]:
    """What to do if an answer that is slower than the baseline is unwanted."""
    if not _if_slower(document):
        return []
    best, base = document.recommended, document.baseline
    pairs = [(cost(document, base, sense), cost(document, best, sense))
             for sense in document.objectives.minimized]  # fmt: skip
    if not base.misses and all(a is not None and b is not None and a <= b for a, b in pairs):
        return [f"The baseline is faster and {_costs(document, base)}: keep it, since nothing of "
                "this space is better in both."]  # fmt: skip
    faster = [point for point in document.front if (point.speedup or 0) >= 1]
    least = f", which in this space {_costs(document, faster[0])}" if faster else ""
    return [f"If less speed than the baseline's is no use to you, demand speedup >= 1{least}."]


def notes(document: RunDocument) -> list[Note]:
    """What the answer must be read with, the weightiest first: what else keeps it from being
    signed, and the rest."""
    best, base = document.recommended, document.baseline
    missed = [f"About the baseline: {' and '.join(base.misses)}."]
    return [*noted(readiness.more(document)), *by_weight([
        *noted(missed if base.misses else [], BASELINE),
        *noted(training_runs.per_sample(document)), *noted(_left_out(best, base)),
        *noted([] if document.waterfall else _of_software(best, base)),
        *bill_notes(document), *noted(price_days.said(document)),
        *noted(one_age.said(document), COMPARED),
        *noted(document.caveats),
        *noted(training_runs.no_target(document)),
    ])]  # fmt: skip


def _of_software(best: Point, base: Point) -> list[str]:
    """That a speedup is not of the hardware alone."""
    mine, theirs = software(best), software(base)
    if best.pai or mine == theirs or not (mine and theirs):  # the PAI model knows no software
        return []
    return [
        f"The baseline runs {theirs}, the recommended point {mine}: part of the difference in "
        "speed is software."
    ]


def _left_out(best: Point, base: Point) -> list[str]:
    """What a speedup leaves out of a step on more nodes."""
    if best.nodes <= base.nodes or best.terms.waiting_s:
        return []
    mine, theirs = (many(point.nodes, "node") for point in (best, base))
    return [
        f"The recommended point has {mine}, the baseline {theirs}. The speedup leaves out the time "
        "spent waiting for the slowest node."
    ]


def _costs(document: RunDocument, point: Point) -> str:
    return " and ".join(_cost(document, point, sense) for sense in document.objectives.minimized)


def _reached(document: RunDocument, point: Point) -> str:
    """``3x and costs USD 1 M to buy``, with a second cost ``3x, costs .. and draws 5 kW``."""
    first, *more = (_cost(document, point, sense) for sense in document.objectives.minimized)
    gain = show_gain(document, point)
    return f"{gain}, {first} and {more[0]}" if more else f"{gain} and {first}"


def _cost(document: RunDocument, point: Point, sense: Sense) -> str:
    how = aim(document, sense)
    return f"{how.verb} {show_cost(document, point, sense)} {how.tail}".strip()


def _gains(document: RunDocument, point: Point) -> str:
    best = document.recommended.config
    theirs = document.baseline.config
    new = any(theirs.get(axis) != best.get(axis) for axis in ("accelerator", "node"))
    base = describe(document.baseline, identified=new, beside=document.recommended)
    times = shown(point.speedup, "x")
    if document.objectives.maximize == "throughput":
        return f"It trains {show_gain(document, point)}, {times} the baseline ({base}),"
    if point.speedup is not None and abs(point.speedup - 1) < RESOLUTION:
        if times == "1x":
            return f"It runs as fast as the baseline ({base})"
        return f"It runs about as fast as the baseline ({times}; {base})"
    return f"It runs {times} as fast as the baseline ({base})"


def _against(document: RunDocument, point: Point, base: Point, sense: Sense) -> str:
    mine, theirs = cost(document, point, sense), cost(document, base, sense)
    if mine is None or theirs is None:
        return f"{_cost(document, point, sense)}; that of the baseline is unknown"
    both, now = _cost(document, point, sense), compared(mine, theirs)
    if not theirs:
        why = ", since the baseline stands there already" * bool(document.owned and mine)
        return f"{both}, {now}{why or ' as the baseline' * (not mine)}"
    both = f"{both} against {show_cost(document, base, sense)}"
    then = one_age.reversal(document) if document.objectives.named(sense) == "capital" else None
    if then is None or document.one_age is None:
        apart = years_apart(document, document.objectives.named(sense))
        return f"{both}, {now}{f', at prices {apart:.1f} years apart' if apart else ''}"
    return (
        f"{both}: {now} at prices of different ages, {change(then)} at prices of one age "
        f"({document.one_age.month})"
    )


def _next_dollars(document: RunDocument) -> list[str]:
    """What more money buys beyond the point with the most speed for its cost."""
    best = document.recommended
    mine, paid = gain(document, best), cost(document, best)
    if best.rule != SPEED_PER_DOLLAR or not mine or not paid:
        return []
    stands = max((gain(document, point) or 0.0 for point in document.front
                  if cost(document, point) == 0), default=0.0)  # fmt: skip
    dearer = [
        (more / extra, extra, point)
        for point in document.front
        if (extra := (cost(document, point) or 0.0) - paid) > 0
        and (more := (gain(document, point) or 0.0) - mine) > 0
    ]
    if not dearer:
        alone = document.fastest.config == best.config
        told = alone and document.cheapest_within_5_percent.config == best.config  # by the next
        return [] if told else ["No other choice is faster."]
    rate, extra, point = max(dearer, key=lambda found: found[:2])
    how = aim(document, "minimize")
    share = percent(rate / ((mine - stands) / paid))
    buys = f"{deal(document).brings} {share} as much speed for their money"
    if not how.unit.startswith("USD"):
        buys = f"bring {share} as much speed as the first"
    return [
        f"The next {shown(extra, how.unit)} {buys}: {show_gain(document, point)} with "
        f"{describe(point, beside=best)}."
    ]


def _nearly(document: RunDocument) -> str:
    cheap, fast = document.cheapest_within_5_percent, document.fastest
    least, said = aim(document, "minimize").least, describe(cheap, beside=document.baseline)
    if cheap.config == fast.config:
        if fast.config == document.recommended.config:
            return (
                f"It is also the fastest choice{_within_limits(document)}; nothing cheaper comes "
                "within 5 % of its speed."
            )
        return (
            f"The fastest choice{_within_limits(document)} reaches {_reached(document, fast)}: "
            f"{said}; "
            f"nothing cheaper comes within 5 % of its speed{_less_sure(document, fast)}."
        )
    price, whole, less = cost(document, cheap), cost(document, fast), ""
    if price is not None and whole:
        saved, top = percent(1 - price / whole), show_gain(document, fast)
        if show_gain(document, cheap) == top:
            alike = f"as fast as the fastest choice to three digits ({top}) and {saved} cheaper"
            if cheap.config == document.recommended.config:
                return f"It is {alike}."
            sure = _less_sure(document, cheap)
            return f"One choice is {alike}; it {_costs(document, cheap)}: {said}{sure}."
        cheaper = price < (1 - LEAST_SAVED) * whole
        less = f", {saved} cheaper than the fastest ({top})" if cheaper else f" ({top})"
    if cheap.config == document.recommended.config:
        also = "" if document.recommended.rule == WITHIN else "also "
        return f"It is {also}the {least} choice within 5 % of the fastest{less}."
    return (
        f"The {least} choice within 5 % of the fastest reaches {_reached(document, cheap)}"
        f"{less}: {said}{_less_sure(document, cheap)}."
    )


def _less_sure(document: RunDocument, point: Point) -> str:
    """That a point meets the limits less surely than was asked; empty where it does, or nobody
    asked or knows."""
    asked, met = document.confidence, chances(document, point.config)
    if asked is None or met is None or met >= asked.asked:
        return ""
    if point.config == document.recommended.config:
        return ""
    return (
        f"; it meets the limits in {chance(met, asked.asked)} of simulated outcomes only, and "
        f"{exactly(asked.asked)} was asked for"
    )


def _within_limits(document: RunDocument) -> str:
    """Where the study has limits, memory apart: what is beyond them was not looked at."""
    return " within the limits" * any(limit != FITS for limit in document.constraints)


def _choice_by_rules(point: Point) -> str:
    """That the algorithm follows from rules, where it does."""
    if not point.library_choice or not point.library_choice.algorithms:
        return ""
    taken = enumerated(dict.fromkeys(one.name for one in point.library_choice.algorithms))
    return (
        f" Its algorithm was not measured; according to {point.library_choice.rules} it is {taken}."
    )


def _how_far(counts: Counts) -> str:
    """How much of the space a guided search saw, and why it ended."""
    points, space, budget = counts.points, counts.space, counts.budget
    priced = f"The search was guided: it priced {count(points)} points"
    if points == space:
        return f"{priced}, which are all there are, so the front is exact."
    if budget and points < budget:
        return (
            f"{priced} of the {count(budget)} allowed and stopped, since more brought no gain; "
            "others may be better."
        )
    return f"{priced}, and others may be better."


def _how_sure(document: RunDocument) -> list[str]:
    """Ranges of speed and price, and what stands behind the time of communication; a line each."""
    point = document.recommended
    name, sentence = says_who(point)
    bounds = gain_interval(document, point)
    if bounds is None:
        again = "not computed by the version that made this run; run the study again."
        lines = [f"{CONFIDENCE}: {again}{_money_interval(document)}"]
    else:
        ends = interval(bounds, aim(document, "maximize").unit, gain(document, point))
        same = ""
        rates = interval(rate_interval(point), "samples/s")
        if document.objectives.maximize == "speedup" and point.same_as(document.baseline) and rates:
            same, ends = "It is the baseline, so its speedup is 1x by definition. ", rates
        errors = training_runs.errors(document)
        lines = [
            f"{same}{CONFIDENCE}: {ends} (errors of computing, communication{errors})"
            f"{middle(document)}.{_money_interval(document)}",
            _beside_the_baseline(document),
        ]
    evidence = sentence if bounds is None or name != EVIDENCE["inside"][0] else ""
    lines.append(f"{evidence}{_choice_by_rules(point)}")
    return [line.strip() for line in lines if line]


def _money_interval(document: RunDocument) -> str:
    """What is not sure of the first cost."""
    bounds, how = cost_interval(document, document.recommended), aim(document, "minimize")
    if bounds is None:
        return ""
    if document.owned and tuple(bounds) == (0.0, 0.0):
        return " All of it stands there already."
    if bounds[0] == bounds[1]:
        return f" Its {how.title} is computed with your own prices."
    name = document.objectives.minimize
    whose = "The" if of_addition(document, name) else "Its"
    ends = interval(bounds, how.unit, cost(document, document.recommended))
    return f" {whose} {how.title} is {ends}{_why_unsure(document, name)}."


def _why_unsure(document: RunDocument, name: str) -> str:
    """What of the recommended bill gives a cost its interval, with a colon before it."""
    if name not in OF_COST:
        return ""
    items = [] if name == "power" else document.bills.get("recommended", ())
    causes = bills.why_unsure(items)
    if name == "power" or (name == "tco" and not causes):
        causes = [*_OF_POWER]
    return f": {enumerated(causes)}" if causes else ""


def _beside_the_baseline(document: RunDocument) -> str:
    """Both intervals whose ratio is the speedup: of steps that take as many samples, else of
    samples per second."""
    point, base = document.recommended, document.baseline
    if point.interval is None or base.interval is None or point.same_as(base):
        return ""
    shared = "errors that both share do not change the speedup"
    mine, theirs = (interval(rate_interval(one), "samples/s") for one in (point, base))
    if document.objectives.maximize == "throughput":
        times = interval(point.interval.speedup, "x")
        return f" The baseline trains {theirs}; {shared}, {times}."
    if point.global_batch != base.global_batch:
        return f" It trains {mine}, the baseline {theirs}; {shared}."
    mine, theirs = (interval(i.step_s, "s") for i in (point.interval, base.interval))
    return f" A step takes {mine}, the baseline's {theirs}; {shared}."
