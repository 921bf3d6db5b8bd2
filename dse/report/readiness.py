"""Whether an answer is ready to be signed, and if not, what to get first.

One list of reasons, the weightiest first: what stands there is as fast; what is ordered cannot be
had so; a limit that is missed; a price whose uncertainty alone changes the answer, what was never
measured and does, and prices of rivals that do, of which what is most worth knowing is first; an
answer that prices of one age change; sums that are doubtful though they change no answer. A price
that the buyer was offered, and that is valid, is certain. Every reason is something to do; what
nobody can do anything about, such as odds or what the baseline once cost, is a condition that
whoever signs accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, NamedTuple

from dse.catalog import sources
from dse.catalog.price_spread import DAYS_PER_YEAR
from dse.catalog.price_terms import QUOTE
from dse.pricing.anchors import NOBODY
from dse.pricing.bill_of_materials import RACK, TIERS, UNSOLD, Item
from dse.pricing.problem import GIVEN
from dse.report import bills, one_age, without_buying, words
from dse.report.certainty import words as sure_words
from dse.report.certainty.advice import OF_AIM
from dse.report.certainty.facts import Certainty, Knowledge, KnownPrice, PriceFlip, Turn
from dse.report.certainty.titles import part_title, rented
from dse.report.certainty.verdict import COMPUTING
from dse.report.deal import buys, deal
from dse.report.design_point import Point
from dse.report.document import Readiness, Reason, RunDocument
from dse.report.words import SILENT
from dse.search.certainty.sources import PRICE
from dse.spelling import enumerated
from dse.study.axes import HARDWARE
from dse.study.choices import RESOLUTION

MOST_ACTIONS = 6  # that are told at once
MOST_CONDITIONS = 3  # that are told of what can be signed
LARGE = 0.2  # share of a sum that is not signed for on a doubtful price
LIKELY = 0.9  # probability that a limit holds with, where the study asks for none
MOST_RIVALS = 3  # whose quotes are asked for by name
DECIDES = 0.01  # of the rule's aim; what is worth less to know decides between equals


def readiness(document: RunDocument) -> Readiness | None:
    """Of an answer; None where the document does not say how sure it is."""
    if document.certainty is None:
        return None
    reasons = tuple(reason for kind in _KINDS for reason in kind(document, document.certainty))
    return Readiness(ready=not reasons, reasons=reasons)


def verdict(document: RunDocument) -> str:
    """Whether it can be signed, in a sentence; empty where nobody knows."""
    found = document.readiness
    if found is None:
        return ""
    if found.ready and (accepted := conditions(document)):
        return f"Ready to sign, if you accept: {'; '.join(accepted)}."
    if found.ready:
        return (
            "Ready to sign: no price within its interval, no limit, and nothing that was not "
            "measured changes the answer, and no large price is doubtful."
        )
    return "Not ready to sign. First:" if actions(document) else "Not ready to sign."


def conditions(document: RunDocument) -> list[str]:
    """What whoever signs accepts, the weightiest first, as clauses."""
    said = [clause for kind in _CONDITIONS if (clause := kind(document))]
    return said[:MOST_CONDITIONS]


def actions(document: RunDocument) -> list[str]:
    """What to get or do first, each with the reason."""
    return [_said(reason) for reason in _first(document)]


def more(document: RunDocument) -> list[str]:
    """The other reasons."""
    reasons = document.readiness.reasons if document.readiness else ()
    first = _first(document)
    return [_said(reason) for reason in reasons if reason not in first]


def lines(document: RunDocument) -> list[str]:
    """The verdict for a terminal: a line, the actions below it, and how many reasons follow."""
    said = verdict(document)
    if not said:
        return []
    rest = and_more(len(more(document)))
    numbered = [f"  {at}. {action}" for at, action in enumerate(actions(document), 1)]
    return [said, *numbered, *([rest] if rest else [])]


def facts(document: RunDocument) -> dict[str, Any]:
    """For its template."""
    return {
        "ready": document.readiness is not None and document.readiness.ready,
        "verdict": verdict(document),
        "actions": actions(document),
        "more": and_more(len(more(document))),
    }


def and_more(count: int) -> str:
    """How many reasons follow among the notes; empty for none."""
    return f"And {count} more in the notes below." if count else ""


def _first(document: RunDocument) -> list[Reason]:
    reasons = document.readiness.reasons if document.readiness else ()
    return [reason for reason in reasons if reason.action][:MOST_ACTIONS]


def _said(reason: Reason) -> str:
    if reason.action:
        return f"{reason.action}: {reason.because}."
    return f"{reason.because[:1].upper()}{reason.because[1:]}."


def _bill(document: RunDocument) -> tuple[Item, ...]:
    return document.bills.get("recommended", ())


def _free(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """That the baseline's machines, with other software, are as fast as what is recommended."""
    without, best = document.without_buying, document.recommended
    if without is None or without.missed or _same_machines(without.config, best.config):
        return
    mine, theirs = words.gain(document, without), words.gain(document, best)
    settings = without_buying.settings(document)
    if not mine or not theirs or mine < theirs or not settings or not _no_dearer(document, without):
        return
    action = (
        f"Use the baseline's machines with {settings} first if they are yours, or make yours the "
        "baseline"
    )
    if document.owned:
        action = f"Use your present machines with {settings} first"
    elif not buys(document):
        action = f"Keep renting the baseline's machines, with {settings}, if you rent them"
    speed = words.show_gain(document, best)
    because = f"that is as fast as this {deal(document).noun} ({speed}), and costs nothing"
    if mine > (1 + RESOLUTION) * theirs:
        because = f"they are faster for nothing, {without_buying.reached(document)}, not {speed}"
    if not buys(document):
        because = f"they reach {without_buying.reached(document)}, not {speed}, for no more rent"
    yield Reason(kind="without buying", action=action, because=because)


def _same_machines(*configs: Mapping[str, str]) -> bool:
    first, second = ([config.get(axis) for axis in HARDWARE] for config in configs)
    return first == second


def _no_dearer(document: RunDocument, without: Point) -> bool:
    """Whether the baseline's machines cost no more than what is recommended: those that stand there
    cost nothing more, and a rent goes on."""
    if document.owned:
        return document.baseline.quantity("capital") == 0
    if buys(document):
        return True
    mine, theirs = (words.cost(document, point) for point in (without, document.recommended))
    return mine is not None and theirs is not None and mine <= theirs


def _expired(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """Offers of the recommended point that are past their last day, and what the next may do. What
    else is past its day is asked for where that changes the answer."""
    offers: dict[tuple[str, str, str], dict[str, None]] = {}
    for item in _bill(document):
        if item.terms and item.terms.expired:
            offers.setdefault(_quote(item), {})[bills.ordered(item)] = None
    for (quote, source, until), names in offers.items():
        name = f"quotation {quote} ({source})" if quote else f"the offer in {source}"
        turns = [
            f"; {_offered(flip)}; {_turned(document, flip, turns)}"
            for flip in found.flips
            if _lapsed(flip)
            and part_title(flip.part) in names
            and (turns := _turns(document, flip))
        ]
        yield Reason(
            kind="expired offer",
            action=f"Get a new offer for {enumerated([*names])}",
            because=f"{name} was valid until {until}{''.join(turns)}",
        )


def _lapsed(flip: PriceFlip) -> bool:
    """Whether a price is an offer past its last day."""
    return flip.known is not None and flip.known.own and flip.known.expired


def _quote(item: Item) -> tuple[str, str, str]:
    terms = item.terms
    return (terms.quote, item.source, terms.valid_until) if terms else ("", item.item, "")


def _unsold(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    for item in _bill(document):
        if item.obstacle == UNSOLD:
            yield Reason(
                kind="not sold",
                action=f"Find a seller of {bills.ordered(item)} and get an offer",
                because=f"it is {item.remark}",
            )


def _obstacles(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """What cannot be built so."""
    actions = {
        RACK: "Plan racks that feed such a node (rack_power)",
        TIERS: "Get a design and an offer for so large a network",
    }
    for item in _bill(document):
        if item.obstacle in actions:
            because = (item.remark or "").removesuffix(" (rack_power)")
            yield Reason(kind=item.obstacle or "", action=actions[item.obstacle], because=because)


def _missed(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """Limits that are met less surely than was asked."""
    asked = document.confidence
    if asked is not None and not asked.reached:
        limits = " and ".join(asked.limits) or "every limit"
        yield Reason(
            kind="limits",
            action="Loosen a limit, or measure more to be surer",
            because=f"no point meets {limits} with {sure_words.exactly(asked.asked)} probability; "
            f"this one does with {sure_words.chance(asked.recommended, asked.asked)}",
        )


def _uncertain(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """What changes the answer within its interval, of which the answer names what is most worth
    knowing: that comes first, and is listed though the answer is as sure as was asked."""
    told = [*_own_prices(document, found), *_measurements(document, found),
            *_rival_prices(document, found)]  # fmt: skip
    most = _most_worth(found)
    if most and told and not any(most.name in one.of for one in told):
        told.append(_About(frozenset([most.name]), _to_know(found, most)))
    for one in sorted(told, key=lambda one: most is None or most.name not in one.of):
        yield one.reason


class _About(NamedTuple):
    """A reason, and the names of what it asks for among what is worth knowing."""

    of: frozenset[str]
    reason: Reason


def _most_worth(found: Certainty) -> Knowledge | None:
    """What is most worth knowing; None where little is."""
    first = found.knowledge[0] if found.knowledge else None
    return first if first and first.worth >= DECIDES else None


def _to_know(found: Certainty, item: Knowledge) -> Reason:
    price = item.name.startswith(f"{PRICE}: ")
    return Reason(
        kind="rival prices" if price else "measurement",
        action=f"Get {item.how}",
        because=f"to know {item.title} before deciding is worth "
        f"{words.percent(item.worth)} {OF_AIM[found.rule]}, on average",
    )


def _own_prices(document: RunDocument, found: Certainty) -> Iterator[_About]:
    """Prices of the recommended point that change the answer within their intervals."""
    told = {item.item for item in _bill(document) if item.terms and item.terms.expired}
    for flip in found.flips:
        if _lapsed(flip) and part_title(flip.part) in told:
            continue
        turns, because = _turns(document, flip), ""
        if flip.share and not turns and _worth(found, flip):
            worth = f"{words.percent(_worth(found, flip))} {OF_AIM[found.rule]}"
            because = f"to know it before deciding is worth {worth}"
        if flip.share and turns:
            seen = [
                f"; the catalogue also has {sure_words.seen_price(one, rented(flip.part))}"
                for one in flip.seen
            ]
            because = f"{_turned(document, flip, turns)}{''.join(seen)}"
        if because:
            because = f"{_offered(flip)}; {because}"
            reason = Reason(kind="price", action=_quote_for(document, flip), because=because)
            yield _About(frozenset([f"{PRICE}: {flip.part}"]), reason)


def _worth(found: Certainty, flip: PriceFlip) -> float:
    """What it is worth to know a price before deciding, of the rule's aim, where nobody knows at
    which price the answer turns; 0 where that is known, or the price is certain."""
    name = f"{PRICE}: {flip.part}"
    worth = next((item.worth for item in found.knowledge if item.name == name), 0.0)
    certain = flip.known is None or (flip.known.own and not flip.known.expired)
    return 0.0 if flip.compared or certain or worth < DECIDES else worth


def _measurements(document: RunDocument, found: Certainty) -> Iterator[_About]:
    """What was never measured and is most worth knowing, where that may change the answer. Asked
    for a confidence, and sure enough, the answer already allows for it."""
    if _sure(document):
        return
    decisive = [item for item in found.knowledge
                if not item.name.startswith(f"{PRICE}: ") and item.worth >= DECIDES]  # fmt: skip
    for item in decisive[:1]:
        yield _About(frozenset([item.name]), _to_know(found, item))


def _sure(document: RunDocument) -> bool:
    """Whether the study asks for a confidence, and the answer has it."""
    return document.confidence is not None and document.confidence.reached


def _rival_prices(document: RunDocument, found: Certainty) -> Iterator[_About]:
    """Prices of other purchases that change the answer within their intervals."""
    worth = {item.name: item.worth for item in found.knowledge}
    own = {flip.part for flip in found.flips if flip.share}
    rivals = {
        flip.part: f"{part_title(flip.part)} ({_turned(document, flip, turns, of=False)})"
        for flip in found.flips
        if not flip.share and (turns := _turns(document, flip))
    }
    # Where no flip is known, as of what least regret recommends.
    for item in () if _sure(document) else found.knowledge:
        part = item.name.removeprefix(f"{PRICE}: ")
        if part != item.name and part not in own and item.worth >= DECIDES:
            known = f"worth {words.percent(item.worth)} {OF_AIM[found.rule]} to know"
            renting = "renting " * rented(part)
            rivals.setdefault(part, f"{renting}{part_title(part)} ({known})")
    names = sorted(rivals, key=lambda part: -worth.get(f"{PRICE}: {part}", 0.0))
    if not names:
        return
    rest = len(names) - MOST_RIVALS
    listed = [rivals[part] for part in names[:MOST_RIVALS]] + [f"{rest} more"] * (rest > 0)
    quotes = "quotes" if listed[1:] else "a quote"
    reason = Reason(
        kind="rival prices",
        action=f"Get {quotes} for {enumerated(listed)}",
        because=f"within what sellers may ask, another {deal(document).noun} is the answer",
    )
    yield _About(frozenset(f"{PRICE}: {part}" for part in names[:MOST_RIVALS]), reason)


def _ages(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """That the answer is another at prices of one age. What the baseline would cost then decides
    nothing that is bought."""
    found = document.one_age
    if found is None or found.instead is None:
        return
    instead = document.front[found.instead - 1]
    compared = (document.recommended.config, instead.config)
    titles = [words.title("accelerator", config["accelerator"]) for config in compared]
    quoted = {
        item.item for item in document.prices
        if item.price_class == QUOTE and not (item.terms and item.terms.expired)
    }  # fmt: skip
    names = [name for name in dict.fromkeys(titles) if name not in quoted]
    if names:
        yield Reason(
            kind="prices of different ages",
            action=f"Get {'quotes of one day' if names[1:] else 'a quote'} for {enumerated(names)}",
            because=f"at prices of one age ({found.month}) recommended is "
            f"{words.describe(instead)}",
        )


def _large_prices(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """Prices that are a large share of the sum and no valid offer, where they change the sum and
    not the answer. What a cloud publishes of late is what it asks."""
    for flip in found.flips:
        most = _most_worth(found)
        asked = most is not None and most.name == f"{PRICE}: {flip.part}"
        told = asked or _turns(document, flip) or _worth(found, flip)
        if flip.share >= LARGE and not told and not _certain(flip):
            yield Reason(
                kind="doubtful sum",
                action=_quote_for(document, flip),
                because=f"{_offered(flip)}; that moves the sum, not the answer"
                if flip.compared else _offered(flip),
            )  # fmt: skip
    yield from _large_items(document, {part_title(flip.part) for flip in found.flips})


def _large_items(document: RunDocument, told: Set[str]) -> Iterator[Reason]:
    """The same of the bill's lines, where the study weighs no money and so no price turns it."""
    items = _bill(document)
    whole = bills.total(items)
    for item in items:
        share = (item.usd or 0.0) / whole if whole else 0.0
        own = item.source not in sources()
        known = KnownPrice(own=own, age_years=item.age_years, checked=item.checked)
        fresh = item.age_years is not None and item.age_years <= bills.OLD_YEARS
        certain = item.checked and (own or (item.rent is not None and fresh))
        if share < LARGE or certain or item.item.split(", ")[0] in told:
            continue
        renting = "renting " * (item.rent is not None)
        kind = "your own" if own else "the catalogue's"
        price = words.shown(item.unit_usd, "USD/hour" if item.rent else "USD")
        yield Reason(
            kind="doubtful sum",
            action=f"Get a quote for {renting}{bills.ordered(item)} "
            f"({words.percent(share)} of the cost)",
            because=f"{kind} {price} is {_age(known)}",
        )


def _doubtful_limits(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """Limits that may well be missed, where the study does not say how sure they must be."""
    if document.confidence is not None:
        return
    met = found.choices[0].met
    unsure = [f"{text} in {sure_words.chance(share)}" for text, share in met.items()
              if share < LIKELY]  # fmt: skip
    if unsure:
        yield Reason(
            kind="limits",
            action=f"Ask for what meets the limits surely (--confidence {LIKELY:.0%})",
            because=f"this meets {' and '.join(unsure)} of simulated outcomes only",
        )


def _idle(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    for item in _bill(document):
        if item.idle:
            sold = "sold" if item.rent is None else "rented out"
            yield Reason(
                kind="idle",
                action=f"Fill the nodes, or find a seller of fewer {item.item.split(',')[0]}",
                because=f"{item.idle:,} of the {item.quantity:,} stay idle, since fewer are not "
                f"{sold} at once",
            )


_KINDS: tuple[Callable[[RunDocument, Certainty], Iterator[Reason]], ...] = (
    _free, _expired, _unsold, _obstacles, _missed, _uncertain, _ages, _large_prices,
    _doubtful_limits, _idle,
)  # fmt: skip


def _odds(document: RunDocument) -> str:
    """That it is not the best in most draws."""
    found = document.certainty
    assert found is not None
    alike, rivals = sure_words.alike_and_rivals(document)
    asked = document.confidence
    if asked is not None and asked.reached:
        sure = [one for one in rivals if one.meets_all >= asked.asked]
        best = sure_words.nearest(sure).beaten if sure else 1.0
        better = deal(document).better
        said = f"it is {better} than another that is as sure in {{}} of simulated outcomes only"
    else:
        best = sure_words.best_of(found.choices[0], alike) if rivals else 1.0
        said = "it is the best choice in {} of simulated outcomes only"
    return said.format(sure_words.chance(best)) if best is not None and best < 0.5 else ""


def _reversed(document: RunDocument) -> str:
    """That the difference to the baseline's price hangs on the age of prices."""
    then, now = one_age.reversal(document), one_age.ratio(document)
    if then is None or now is None or document.one_age is None:
        return ""
    return (
        f"the comparison with the baseline's price, {words.change(now)}, reads "
        f"{words.change(then)} at prices of one age ({document.one_age.month})"
    )


def _unmeasured(document: RunDocument) -> str:
    """That communication lies beyond what was measured."""
    point = document.recommended
    if words.evidence(point) in _MEASURED:
        return ""
    first = words.says_who(point)[1].partition(";")[0].partition(":")[0]
    first = first.partition(", where")[0].rstrip(".")
    return f"{first[:1].lower()}{first[1:]}"


def _untimed(document: RunDocument) -> str:
    """That nobody timed such computing."""
    kind = document.recommended.computing
    return COMPUTING.get(kind, "") if kind in (NOBODY, GIVEN) else ""


def _extrapolated(document: RunDocument) -> str:
    """That the length of a run is not one that was observed."""
    named = (("its", document.recommended), ("the baseline's", document.baseline))
    whose = [name for name, point in named if point.run and point.run.extrapolated]
    return f"{' and '.join(whose)} samples to the target are extrapolated" if whose else ""


# The weightiest first.
_CONDITIONS: tuple[Callable[[RunDocument], str], ...] = (
    _odds, _reversed, _unmeasured, _untimed, _extrapolated,
)  # fmt: skip
_MEASURED = ("inside", SILENT)  # communication, or none


def _turns(document: RunDocument, flip: PriceFlip) -> list[Turn]:
    """To what the answer turns at prices within the interval of one that is no valid offer."""
    known = flip.known
    if known is None or _offer(known):
        return []
    low, high = known.bounds
    rise = flip.rise if flip.rise and flip.rise.factor <= high else None
    fall = flip.fall if flip.fall and flip.fall.factor >= low else None
    return [turn for turn in (rise, fall) if turn and not sure_words.as_good(document, turn.config)]


def _offer(known: KnownPrice) -> bool:
    """Whether a price is certain: the buyer's own, checked, and not past its last day."""
    return known.own and known.checked and not known.expired


def _certain(flip: PriceFlip) -> bool:
    """Whether a price needs no other offer: an offer, or a rent of late that was checked. That an
    offer is past its last day is another reason."""
    known = flip.known
    if known is None or (known.own and known.checked):
        return True
    fresh = known.age_years is not None and known.age_years <= bills.OLD_YEARS
    return rented(flip.part) and known.checked and fresh


def _quote_for(document: RunDocument, flip: PriceFlip) -> str:
    """What to ask for, as it is ordered: modules on their boards."""
    title, share = part_title(flip.part), words.percent(flip.share)
    renting = "renting " * rented(flip.part)
    named = (bills.ordered(item) for item in _bill(document) if item.item.split(", ")[0] == title)
    return f"Get a quote for {renting}{next(named, title)} ({share} of the cost)"


def _offered(flip: PriceFlip) -> str:
    """What is known of a price: ``the catalogue's USD 12,500 is 4.4 years old, and offers may be
    USD 6,000 to USD 26,000``."""
    known, price = flip.known, sure_words.usd(flip)
    assert known is not None
    kind = "your own" if known.own else "the catalogue's"
    said = f"{kind} {price or 'prices'} {'is' if price else 'are'} {_age(known)}"
    low, high = known.bounds
    if low == high:
        return said
    if price:
        return (
            f"{said}, and offers may be {sure_words.usd(flip, low)} to {sure_words.usd(flip, high)}"
        )
    below, above = (words.percent(abs(end - 1)) for end in (low, high))
    return f"{said}, and offers may be {below} lower to {above} higher"


def _age(known: KnownPrice) -> str:
    if not known.checked:
        return "from memory"
    if known.age_years is None:
        return "without a date"
    if known.age_years < 1:
        days = round(known.age_years * DAYS_PER_YEAR)
        return f"{days} day{'s' * (days != 1)} old"
    return f"{known.age_years:.1f} years old"


def _turned(document: RunDocument, flip: PriceFlip, turns: list[Turn], of: bool = True) -> str:
    """At what price the answer is another: ``above USD 14,000 the answer is ..``, or of several
    prices ``at prices 20 % higher the answer is ..``. of: what it is then, too."""
    said = []
    for turn in turns:
        price = sure_words.usd(flip, turn.factor)
        side = "above" if turn.factor > 1 else "below"
        more = "higher" if turn.factor > 1 else "lower"
        at = f"{side} {price}" if price else (
            f"at prices {words.percent(abs(turn.factor - 1))} {more}"
        )  # fmt: skip
        then = sure_words.other(document, turn.config)
        answer = f" the answer is {then}" if turn.config else f" {then}"
        said.append(f"{at}{answer * of}")
    return " and ".join(said) if of else f"the answer {' and '.join(said)}"
