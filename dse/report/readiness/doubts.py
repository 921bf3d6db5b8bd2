"""What is uncertain and keeps an answer from being signed: prices, and what was never measured.

A price that the buyer was offered, and that is valid, is certain.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import NamedTuple

from dse.catalog.price_spread import DAYS_PER_YEAR, Standing
from dse.catalog.price_terms import QUOTE
from dse.pricing.bill_of_materials import Item
from dse.report import bills, money, words
from dse.report.certainty import knowledge, price_flips
from dse.report.certainty.advice import DECIDES, OF_AIM
from dse.report.certainty.facts import Certainty, Knowledge, PriceFlip, Turn
from dse.report.certainty.purchases import as_good, instead
from dse.report.certainty.titles import line_title, part_title, rented
from dse.report.deal import deal
from dse.report.document import Reason, RunDocument
from dse.search.certainty.sources import PRICE, source_of
from dse.spelling import enumerated

LARGE = 0.2  # share of a sum that is not signed for on a doubtful price
MOST_RIVALS = 3  # whose quotes are asked for by name


def bill(document: RunDocument) -> tuple[Item, ...]:
    return document.bills.get("recommended", ())


def uncertain(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """What changes the answer within its interval, of which the answer names what is most worth
    knowing: that comes first, and is listed though the answer is as sure as was asked."""
    told = [*_own_prices(document, found), *_measurements(document, found),
            *_rival_prices(document, found)]  # fmt: skip
    most = _most_worth(found)
    if most and part_title(_asked(most).removeprefix(_price_of(""))) in _renewed(document):
        most = None  # a new offer is asked for already
    if most and not any(_asked(most) in one.of for one in told):
        told.append(_About(frozenset([_asked(most)]), _to_know(document, found, most)))
    for one in sorted(told, key=lambda one: most is None or _asked(most) not in one.of):
        yield one.reason


class _About(NamedTuple):
    """A reason, and the names of what it asks for among what is worth knowing."""

    of: frozenset[str]
    reason: Reason


def _most_worth(found: Certainty) -> Knowledge | None:
    """What is most worth knowing; None where little is."""
    first = found.knowledge[0] if found.knowledge else None
    return first if first and first.worth >= DECIDES else None


def _to_know(document: RunDocument, found: Certainty, item: Knowledge) -> Reason:
    price, turns = item.name.startswith(f"{PRICE}: "), knowledge.turned(document, item)
    return Reason(
        kind="rival prices" if price else "measurement",
        action=f"Get {item.how}",
        because=f"to know {item.title} before deciding is worth "
        f"{words.percent(item.worth)} {OF_AIM[found.rule]}, on average{'; ' * bool(turns)}{turns}",
    )


def _own_prices(document: RunDocument, found: Certainty) -> Iterator[_About]:
    """Prices of the recommended point that change the answer within their intervals."""
    told = _renewed(document)
    for flip in found.flips:
        if lapsed(flip) and part_title(flip.part) in told:
            continue
        turns, because = turns_of(document, flip), ""
        if flip.share and not turns and _worth(found, flip):
            worth = f"{words.percent(_worth(found, flip))} {OF_AIM[found.rule]}"
            because = f"to know it before deciding is worth {worth}"
        if flip.share and turns:
            seen = [
                f"; the catalogue also has {price_flips.seen_price(one, rented(flip.part))}"
                for one in flip.seen
            ]
            because = f"{turned(document, flip, turns)}{''.join(seen)}"
        if because:
            because = f"{offered(flip)}; {because}"
            reason = Reason(kind="price", action=_quote_for(document, flip), because=because)
            yield _About(frozenset([_price_of(flip.part)]), reason)


def _renewed(document: RunDocument) -> set[str]:
    """Parts of the recommended point whose offers have expired, of which new ones are asked for."""
    return {line_title(item.item) for item in bill(document) if item.terms and item.terms.expired}


def _price_of(part: str) -> str:
    """The name of a price among what is worth knowing."""
    return f"{PRICE}: {part}"


def _asked(item: Knowledge) -> str:
    """What is asked for to know something: of the parts of a network one price."""
    return source_of(item.name) if item.name.startswith(f"{PRICE}: ") else item.name


def _worth(found: Certainty, flip: PriceFlip) -> float:
    """What it is worth to know a price before deciding, of the rule's aim, where nobody knows at
    which price the answer turns; 0 where that is known, or the price is certain."""
    name = _price_of(flip.part)
    worth = next((item.worth for item in found.knowledge if _asked(item) == name), 0.0)
    certain = flip.known is None or flip.known.standing.offer
    return 0.0 if flip.compared or certain or worth < DECIDES else worth


def _measurements(document: RunDocument, found: Certainty) -> Iterator[_About]:
    """What was never measured and is most worth knowing, where that may change the answer. Asked
    for a confidence, and sure enough, the answer already allows for it."""
    if _sure(document):
        return
    decisive = [item for item in found.knowledge
                if not item.name.startswith(f"{PRICE}: ") and item.worth >= DECIDES]  # fmt: skip
    for item in decisive[:1]:
        yield _About(frozenset([item.name]), _to_know(document, found, item))


def _sure(document: RunDocument) -> bool:
    """Whether the study asks for a confidence, and the answer has it."""
    return document.confidence is not None and document.confidence.reached


def _rival_prices(document: RunDocument, found: Certainty) -> Iterator[_About]:
    """Prices of other purchases that change the answer within their intervals."""
    worth = {_asked(item): item.worth for item in reversed(found.knowledge)}  # the most counts
    own = {flip.part for flip in found.flips if flip.share}
    rivals = {
        flip.part: f"{part_title(flip.part)} ({turned(document, flip, turns, of=False)})"
        for flip in found.flips
        if not flip.share and (turns := turns_of(document, flip))
    }
    # Where no flip is known, as of what least regret recommends.
    for item in () if _sure(document) else found.knowledge:
        part = _asked(item).removeprefix(_price_of(""))
        if part != _asked(item) and part not in own and item.worth >= DECIDES:
            known = f"worth {words.percent(item.worth)} {OF_AIM[found.rule]} to know"
            renting = "renting " * rented(part)
            rivals.setdefault(part, f"{renting}{part_title(part)} ({known})")
    names = sorted(rivals, key=lambda part: -worth.get(_price_of(part), 0.0))
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
    yield _About(frozenset(map(_price_of, names[:MOST_RIVALS])), reason)


def ages(document: RunDocument, _: Certainty) -> Iterator[Reason]:
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
        if item.price_class == QUOTE and item.standing.offer
    }  # fmt: skip
    names = [name for name in dict.fromkeys(titles) if name not in quoted]
    if names:
        yield Reason(
            kind="prices of different ages",
            action=f"Get {'quotes of one day' if names[1:] else 'a quote'} for {enumerated(names)}",
            because=f"at prices of one age ({found.month}) recommended is "
            f"{words.describe(instead)}",
        )


def large_prices(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """Prices that are a large share of the sum and no valid offer, where they change the sum and
    not the answer. What a cloud publishes of late is what it asks."""
    for flip in found.flips:
        most = _most_worth(found)
        asked = most is not None and _asked(most) == _price_of(flip.part)
        told = asked or turns_of(document, flip) or _worth(found, flip)
        if flip.share >= LARGE and not told and _asked_anew(flip):
            yield Reason(
                kind="doubtful sum",
                action=_quote_for(document, flip),
                because=f"{offered(flip)}; that moves the sum, not the answer"
                if flip.compared else offered(flip),
            )  # fmt: skip
    yield from _large_items(document, {part_title(flip.part) for flip in found.flips})


def _large_items(document: RunDocument, told: Set[str]) -> Iterator[Reason]:
    """The same of the bill's lines, where the study weighs no money and so no price turns it."""
    items = bill(document)
    whole = bills.total(items)
    for item in items:
        share = (item.usd or 0.0) / whole if whole else 0.0
        stands, is_rent = item.standing, item.rent is not None
        if share < LARGE or not stands.asked_anew(is_rent) or line_title(item.item) in told:
            continue
        renting = "renting " * is_rent
        kind = "your own" if stands.own else "the catalogue's"
        price = words.shown(item.unit_usd, "USD/hour" if item.rent else "USD")
        yield Reason(
            kind="doubtful sum",
            action=f"Get a quote for {renting}{bills.ordered(item)} "
            f"({words.percent(share)} of the {money.sum_of(item.rent).lower()})",
            because=f"{kind} {price} is {_age(stands)}",
        )


def _asked_anew(flip: PriceFlip) -> bool:
    return flip.known is not None and flip.known.standing.asked_anew(rented(flip.part))


def lapsed(flip: PriceFlip) -> bool:
    """Whether a price is an offer past its last day."""
    return flip.known is not None and flip.known.own and flip.known.expired


def turns_of(document: RunDocument, flip: PriceFlip) -> list[Turn]:
    """To what the answer turns at prices within the interval of one that is no valid offer."""
    known = flip.known
    if known is None or known.standing.offer:
        return []
    low, high = known.bounds
    rise = flip.rise if flip.rise and flip.rise.factor <= high else None
    fall = flip.fall if flip.fall and flip.fall.factor >= low else None
    return [turn for turn in (rise, fall) if turn and not as_good(document, turn.config)]


def _quote_for(document: RunDocument, flip: PriceFlip) -> str:
    """What to ask for, as it is ordered: modules on their boards."""
    title, share = part_title(flip.part), price_flips.share_of(document, flip)
    renting = "renting " * rented(flip.part)
    named = (bills.ordered(item) for item in bill(document) if item.item.split(", ")[0] == title)
    return f"Get a quote for {renting}{next(named, title)} ({share})"


def offered(flip: PriceFlip) -> str:
    """What is known of a price: ``the catalogue's USD 12,500 is 4.4 years old, and offers may be
    USD 6,000 to USD 26,000``."""
    known, price = flip.known, price_flips.usd(flip)
    assert known is not None
    kind = "your own" if known.own else "the catalogue's"
    said = f"{kind} {price or 'prices'} {'is' if price else 'are'} {_age(known.standing)}"
    low, high = known.bounds
    if low == high:
        return said
    if price:
        least, most = price_flips.usd(flip, low), price_flips.usd(flip, high)
        return f"{said}, and offers may be {least} to {most}"
    below, above = (words.percent(abs(end - 1)) for end in (low, high))
    return f"{said}, and offers may be {below} lower to {above} higher"


def _age(known: Standing) -> str:
    if not known.checked:
        return "unchecked"
    if known.age_years is None:
        return "without a date"
    if known.age_years < 1:
        days = round(known.age_years * DAYS_PER_YEAR)
        return f"{days} day{'s' * (days != 1)} old"
    return f"{known.age_years:.1f} years old"


def turned(document: RunDocument, flip: PriceFlip, turns: list[Turn], of: bool = True) -> str:
    """At what price the answer is another: ``above USD 14,000 the answer is ..``, or of several
    prices ``at prices 20 % higher the answer is ..``. of: what it is then, too."""
    said = []
    for turn in turns:
        price = price_flips.usd(flip, turn.factor)
        side = "above" if turn.factor > 1 else "below"
        more = "higher" if turn.factor > 1 else "lower"
        at = f"{side} {price}" if price else (
            f"at prices {words.percent(abs(turn.factor - 1))} {more}"
        )  # fmt: skip
        then = instead(document, turn.config)
        answer = f" the answer is {then}" if turn.config else f" {then}"
        said.append(f"{at}{answer * of}")
    return " and ".join(said) if of else f"the answer {' and '.join(said)}"
