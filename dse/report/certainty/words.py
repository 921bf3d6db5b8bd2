"""How sure the answer is, in words: a sentence for the answer, tables for its own section."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from dse.report import words
from dse.report.certainty.facts import Bounds, Certainty, Choice, Decider
from dse.report.certainty.price_flips import flip
from dse.report.certainty.purchases import as_good, named
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.spelling import enumerated

WITH_IT = "with the recommended"  # in whose probability that of the same choice is counted
NOTHING = "This run was made by a version that did not say how sure it is: run the study again."
OUTCOMES = "simulated outcomes"  # what a draw of everything uncertain is to a reader
DIGITS = 6  # of a percentage at most
SURE = 0.995  # a probability that reads 100 %
_WEIGHED = " (recommend: least-regret weighs that)"
OFF_THE_MIDDLE = 0.05  # a best estimate that differs so much from the median is told
_WORDS = {"measured": "Measured", "near": "Near what was measured", "estimated": "Estimated"}


class Row(NamedTuple):
    """A purchase: what it is, its role, cells in the order of :func:`heads`."""

    name: str
    role: str
    cells: tuple[str, ...]


def chance(probability: float, asked: float | None = None) -> str:
    """A probability in percent; what is not certain never reads 0 or 100 %.

    asked: the probability that it is compared with; it gets as many digits as it takes to read
    below that where it is, and not below where it is not.
    """
    if asked is not None:
        for digits in range(DIGITS):
            read = round(100 * probability, digits)
            fair = read not in (0, 100) or probability in (0, 1)
            if fair and (read >= round(100 * asked, DIGITS)) == (probability >= asked):
                return f"{read:.{digits}f} %"
    if 0 < probability < 0.005:
        return "< 1 %"
    if 0.995 < probability < 1:
        return "> 99 %"
    return f"{probability:.0%}".replace("%", " %")


def exactly(asked: float) -> str:
    """A probability that somebody asks for, as it was written: 0.999 is ``99.9 %``."""
    return f"{100 * asked:.{DIGITS}g} %"


def sentences(document: RunDocument) -> list[str]:
    """How sure the answer is, for the answer itself; empty where the document does not say."""
    found = document.certainty
    if found is None:
        return []
    alike, rivals = alike_and_rivals(document)
    asked = document.confidence
    if asked is not None and asked.reached:
        said = _among_the_sure(document, [one for one in rivals if one.meets_all >= asked.asked])
        said += _best_if_not_asked(document, rivals)
    elif asked is not None:
        said = (
            f"no {deal(document).noun} meets the limits more often than this one, in "
            f"{chance(asked.recommended, asked.asked)} of {words.count(found.draws)} {OUTCOMES}"
            f"{_apart(document, rivals)}."
        )
    else:
        or_alike = f", or {_named_alike(document, alike)}," if alike else ""
        said = (
            f"in {chance(best_of(found, alike))} of {words.count(found.draws)} {OUTCOMES} this "
            f"{deal(document).noun}{or_alike} is the best choice{_against(document, rivals)}."
        )
    decide = "" if asked is not None and asked.reached else decided_most(document)
    # Where no choice is sure enough, what a number is worth to the choice is not the question.
    raised = found.raised_by if asked is None or asked.reached else ""
    more = (f"{decide}{flip(document)}", raised)
    return [f"{_WORDS[found.word]}: {said}", *(line.strip() for line in more if line)]


def _apart(document: RunDocument, rivals: list[Choice]) -> str:
    """What would be recommended more often if it did not matter how often limits are met."""
    rival = nearest(rivals) if rivals else None
    if rival is None or rival.beaten is None or rival.beaten >= 0.5:
        return ""
    name = named(document, rival.config)
    return f"; apart from that, {name} is {deal(document).better} in {chance(1 - rival.beaten)}"


def _among_the_sure(document: RunDocument, rivals: list[Choice]) -> str:
    """Whom it beats of those that are as sure as was asked; its own limits are told beside it."""
    asked, found = document.confidence, document.certainty
    assert asked is not None
    assert found is not None
    with_ = f"the limits with at least {exactly(asked.asked)} probability"
    if not rivals:
        return f"no other {deal(document).noun} that might be the best meets {with_}."
    rival = nearest_sure(rivals)
    return (
        f"of the {deal(document).noun}s that meet {with_}, its nearest rival is "
        f"{named(document, rival.config)}; this one is {deal(document).better} in "
        f"{chance(rival.beaten or 0.0)} of {words.count(found.draws)} {OUTCOMES}."
    )


def _best_if_not_asked(document: RunDocument, rivals: list[Choice]) -> str:
    """The purchase that is the best more often than this one, but not as sure as was asked."""
    asked, own = document.confidence, document.certainty.choices[0] if document.certainty else None
    unsure = [one for one in rivals if asked is not None and one.meets_all < asked.asked]
    other = max(unsure, key=lambda one: one.best, default=None)
    if other is None or own is None or other.best <= own.best:
        return ""
    price = words.shown(other.cost, words.aim(document, "minimize").unit)
    return (
        f" {named(document, other.config)}, for {price}, would be the best choice in "
        f"{chance(other.best)}, this one in {chance(own.best)}, but meets every limit in "
        f"{chance(other.meets_all)} only."
    )


def _against(document: RunDocument, rivals: list[Choice]) -> str:
    """Whom it beats, how often."""
    if not rivals:
        return ""
    rival = nearest(rivals)
    won = rival.beaten or 0.0
    if won < 0.5:
        return f"{_loses(document, rival)}{'' if rival.misses else _WEIGHED}"
    name = f"{named(document, rival.config)}{_missed(rival)}"
    return f"; it beats its nearest rival, {name}, in {chance(won)}{_of_those(document, rival)}"


def _loses(document: RunDocument, rival: Choice) -> str:
    """A clause which says in how many draws a rival is better, and in how many it is the best of
    all: only the second may be compared with how often this one is the best of all."""
    lost, them = chance(1 - (rival.beaten or 0.0)), _of_those(document, rival) or " of them"
    return (
        f"; its nearest rival, {named(document, rival.config)}{_missed(rival)}, beats it in "
        f"{lost}{them}, and is the best of all in {chance(rival.best)}"
    )


def _of_those(document: RunDocument, rival: Choice) -> str:
    """Of which outcomes one of two beats the other, with a blank before it; empty where it is of
    all."""
    return "" if rival.decided >= SURE else f" of those in which one is {deal(document).better}"


def _missed(rival: Choice) -> str:
    """Which limits a rival misses, in brackets with a blank before them; empty where it misses
    none."""
    if not rival.misses:
        return ""
    return f" (which misses {enumerated(rival.misses)} in the best estimate)"


def nearest(rivals: list[Choice]) -> Choice:
    """Of the rivals the one that is most likely to be the better buy than the recommended choice;
    of several, the one that is most often the best of all, then the one that misses the least, then
    the cheapest. One that never is the best comes after all that may be."""
    return min(rivals, key=_nearness)


def nearest_sure(rivals: list[Choice]) -> Choice:
    """The same among those that are as sure as was asked, where the best of all may be one that is
    not: whether it ever is the best of all does not matter."""
    return min(rivals, key=lambda rival: _nearness(rival)[1:])


def _nearness(rival: Choice) -> tuple[bool, float, float, float, float]:
    cost = math.inf if rival.cost is None else rival.cost
    return not rival.best, rival.beaten or 0.0, -rival.best, rival.regret, cost


def alike_and_rivals(document: RunDocument) -> tuple[list[Choice], list[Choice]]:
    """The other purchases of the certainty: those that are the same choice as the recommended one,
    since no objective differs by more than the resolution, and the rest, its rivals."""
    found = document.certainty
    assert found is not None
    others = [choice for choice in found.choices[1:] if choice.beaten is not None]
    same = [
        choice for choice in others
        if (as_good(document, choice.config) if choice.alike is None else choice.alike)
    ]  # fmt: skip
    return same, [choice for choice in others if choice not in same]


def best_of(found: Certainty, alike: Sequence[Choice]) -> float:
    """In which share of the draws the recommended choice is the best, as one of its purchases."""
    if found.best is not None:
        return found.best
    own = found.choices[0]
    return min(own.best + sum(choice.best for choice in alike), 1.0)


def _named_alike(document: RunDocument, alike: Sequence[Choice]) -> str:
    """``64 x NVIDIA Tesla P100, on InfiniBand EDR, which is as good to 1 %``."""
    first = max(alike, key=lambda choice: choice.best)
    assert document.choices is not None
    to = words.percent(document.choices.resolution)
    if len(alike) == 1:
        return f"{named(document, first.config)}, which is as good to {to}"
    return f"one of {words.count(len(alike))} others that are as good to {to}"


def middle(document: RunDocument) -> str:
    """In which half of the draws the best estimate of the speed lies, where that matters; with a
    comma before it. What can only be lost, such as communication that is hidden, makes it high."""
    found = document.certainty
    name, unit = document.objectives.maximize, words.aim(document, "maximize").unit
    own = found.choices[0] if found else None
    median = own.middles.get(name) if own else None
    if not own or not median or not own.gain or abs(own.gain / median - 1) < OFF_THE_MIDDLE:
        return ""
    side = "below" if median < own.gain else "above"
    return f", and half of the {OUTCOMES} lie {side} {words.shown(median, unit)}"


def odds(document: RunDocument) -> str:
    """How likely the recommended purchase is the best, and what would change the answer, in short;
    empty where the document does not say."""
    found = document.certainty
    if found is None:
        return ""
    alike, rivals = alike_and_rivals(document)
    asked = document.confidence
    if asked is not None and asked.reached:
        sure = [one for one in rivals if one.meets_all >= asked.asked]
        how = f"that meet{'s' * (not sure)} the limits with {exactly(asked.asked)} probability"
        if not sure:
            best = f" No other {deal(document).noun} {how} might be the best."
            return f"{best}{_best_if_not_asked(document, rivals)}{flip(document)}"
        won = chance(nearest_sure(sure).beaten or 0.0)
        return (
            f" Of those {how}, it beats its nearest rival in {won} of {OUTCOMES}."
            f"{_best_if_not_asked(document, rivals)}{flip(document)}"
        )
    best = f"the best choice in {chance(best_of(found, alike))} of {OUTCOMES}"
    if rivals and (nearest(rivals).beaten or 0.0) < 0.5:
        best += _loses(document, nearest(rivals))
    if alike and document.choices:
        to = words.percent(document.choices.resolution)
        return f" It, or what is as good to {to}, is {best}.{flip(document)}"
    return f" It is {best}.{flip(document)}"


def unsure(document: RunDocument) -> bool:
    """Whether some purchase may miss a limit."""
    return document.certainty is not None and bool(unsure_limits(document.certainty))


def chances(document: RunDocument, config: Mapping[str, str]) -> float | None:
    """The probability that a named point meets every limit; None where nobody knows."""
    found = document.certainty
    if found is None:
        return None
    known = next((choice for choice in found.choices if choice.config == config), None)
    if known is not None:
        return known.meets_all
    asked = document.confidence.front if document.confidence else ()
    return next((share for point, share in zip(document.front, asked, strict=False)
                 if point.config == config), None)  # fmt: skip


def met(document: RunDocument) -> str:
    """The limits that it may miss, each with the probability that it meets it: ``It meets
    time_to_target <= 7 d in 55 % of simulated outcomes``; empty where it is as sure as was asked,
    which is told with that, and where nobody knows."""
    found, asked = document.certainty, document.confidence
    if found is None or (asked is not None and asked.reached):
        return ""
    unsure = [f"{text} in {chance(share)}" for text, share in found.choices[0].met.items()
              if share < SURE]  # fmt: skip
    return f"It meets {enumerated(unsure)} of {OUTCOMES}" if unsure else ""


def decided(document: RunDocument, what: str) -> list[str]:
    """On what it depends whether the recommended point meets each limit that it may miss, the most
    often missed first: ``Whether it meets power <= 9 kW depends on what machines draw while they
    train (97 % of the variance of its power).`` what: the point, in words."""
    found = document.certainty
    by_limit: dict[str, list[Decider]] = {}
    for one in (found.deciding or ()) if found else ():
        by_limit.setdefault(one.limit, []).append(one)
    return [
        f"Whether {what} meets {limit} depends on {enumerated(_shares(document, parts))}."
        for limit, parts in by_limit.items()
    ]


# Where nothing is as sure as was asked, or as is usual.
LOOSEN = "Loosen a limit, or get a quote or a measurement of what decides whether it is met"


def decided_most(document: RunDocument) -> str:
    """The same of the limit that is missed most often, for an answer, with a blank before it."""
    return "".join(f" {one}" for one in decided(document, "it")[:1])


def _shares(document: RunDocument, parts: Sequence[Decider]) -> list[str]:
    """Sources with their shares of the variance, which the first one names."""
    first, *others = parts
    limited = words.objective(document, first.quantity).title if first.quantity else ""
    of = f"its {limited}" if limited else "what is limited"
    return [f"{first.title} ({_share(first.share)} of the variance of {of})",
            *(f"{one.title} ({_share(one.share)})" for one in others)]  # fmt: skip


def limits(document: RunDocument) -> list[str]:
    """Each limit of the study, with the probability that the recommended point meets it, and of
    what is not simulated, such as memory, that it is met in the best estimate."""
    found = document.certainty
    met = found.choices[0].met if found else {}
    others = [text for text in document.constraints if text not in met]
    return [
        *(f"{text} (in the best estimate)" for text in others),
        *(f"{text} ({chance(share)})" for text, share in met.items()),
    ]


def title(found: Certainty) -> str:
    """The word for the answer."""
    return _WORDS[found.word]


def heads(document: RunDocument) -> tuple[str, ...]:
    """Of the columns of :func:`rows`, the name apart."""
    found = document.certainty
    limits = unsure_limits(found) if found else ()
    timed = found is not None and "time_to_target" in found.choices[0].bands
    return (
        "Best choice", "On the front", "Recommended is better", "Expected regret",
        words.aim(document, "maximize").title.capitalize(),
        *(words.aim(document, sense).title.capitalize() for sense in document.objectives.minimized),
        *(("Time to target",) if timed and "time_to_target" not in _objectives(document) else ()),
        *(f"Meets {text}" for text in limits),
    )  # fmt: skip


def unsure_limits(found: Certainty) -> tuple[str, ...]:
    """The constraints that some purchase may miss."""
    return tuple(
        text for text in found.choices[0].met
        if any(choice.met.get(text, 1.0) < SURE for choice in found.choices)
    )  # fmt: skip


def _objectives(document: RunDocument) -> tuple[str, ...]:
    return tuple(document.objectives.named(sense) for sense in document.objectives.senses)


def rows(document: RunDocument) -> Iterator[Row]:
    """The purchases near the front, the recommended one first."""
    found = document.certainty
    if found is None:
        return
    shown = [*_objectives(document)]
    if "time_to_target" in found.choices[0].bands and "time_to_target" not in shown:
        shown.append("time_to_target")
    alike, _ = alike_and_rivals(document)
    for choice in found.choices:
        best = chance(best_of(found, alike) if choice.role == "recommended" else choice.best)
        yield Row(
            named(document, choice.config),
            choice.role,
            (
                WITH_IT if choice in alike else best,
                chance(choice.on_front),
                "" if choice.beaten is None else chance(choice.beaten),
                words.percent(choice.regret),
                *(band(document, choice.bands.get(name), name) for name in shown),
                *(chance(choice.met[text]) for text in unsure_limits(found)),
            ),
        )


def band(document: RunDocument, bounds: Bounds | None, name: str) -> str:
    """A 90 % interval of a quantity; what nobody knows is said to be so."""
    return words.interval(bounds, words.objective(document, name).unit) or words.UNKNOWN


def source_rows(found: Certainty) -> list[tuple[str, str, str, str, str]]:
    """(source, speed from .. to, cost per speed from .. to, their shares of the variance)."""
    return [
        (effect.title, _ends(effect.gain), _ends(effect.cost_per_gain),
         _share(effect.gain_total), _share(effect.cost_total))
        for effect in found.sources
    ]  # fmt: skip


def _ends(bounds: Bounds) -> str:
    return " to ".join(f"{100 * (end - 1):+.0f} %" for end in bounds)


def _share(index: float) -> str:
    return words.percent(min(max(index, 0.0), 1.0))


def scope(document: RunDocument, found: Certainty) -> str:
    """What was drawn, in a sentence."""
    one = deal(document).noun
    of = (
        ""
        if found.whole
        else " The space is too large to look for other hardware than the front's."
    )
    return (
        f"{words.count(found.draws)} {OUTCOMES}, each with everything uncertain (computing, "
        "communication, what accelerators lose to one another, launches, decoding, prices) drawn "
        f"at random, the same for all of {words.count(found.points)} points on and near the front, "
        f"which are {words.count(found.purchases)} {one}s, of which the table has "
        f"{words.count(len(found.choices))}: what differs in software alone is one, with the best "
        f"software for it in each outcome. {one.capitalize()}s that differ from the recommended "
        "one by less than the study's resolution in every objective are the same choice, and count "
        "with it. How often it is better than another leaves out the outcomes in which both are "
        f"worth the same, as where both miss a limit.{of}"
    )
