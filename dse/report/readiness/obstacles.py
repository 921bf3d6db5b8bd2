"""What keeps an answer from being signed though no number is in doubt.

What stands there is as fast, what is ordered cannot be had so, limits are missed, parts stay idle.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from dse.catalog.price_spread import OLD_YEARS
from dse.pricing.bill_of_materials import (
    CABLE,
    CARD,
    RACK,
    TIERS,
    UNLIKELY,
    UNSAID,
    UNSOLD,
    UPLINK,
    Item,
    Terms,
)
from dse.report import bills, without_buying, words
from dse.report.certainty import next_best
from dse.report.certainty import words as sure_words
from dse.report.certainty.facts import Certainty
from dse.report.certainty.titles import line_title, part_title
from dse.report.confidence import USUAL
from dse.report.deal import buys, deal
from dse.report.design_point import Point
from dse.report.document import Reason, RunDocument
from dse.report.readiness.doubts import bill, lapsed, offered, turned, turns_of
from dse.spelling import enumerated
from dse.study.axes import HARDWARE
from dse.study.choices import RESOLUTION


def free(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """That the baseline's machines, with other software, are as fast as what is recommended, or are
    that. A rent of the same machines goes on, and what stands there costs nothing."""
    without, best = document.without_buying, document.recommended
    if without is None or without.missed:
        return
    same = _same_machines(without.config, best.config)
    if same and (not buys(document) or stands_there(document)):
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
    if same:
        because = f"this {deal(document).noun} is of the same machines ({speed}), which you need "
        because += "not buy again"
    elif mine > (1 + RESOLUTION) * theirs:
        because = f"they are faster for nothing, {without_buying.reached(document)}, not {speed}"
    if not buys(document):
        because = f"they reach {without_buying.reached(document)}, not {speed}, for no more rent"
    yield Reason(kind="without buying", action=action, because=because)


def _same_machines(*configs: Mapping[str, str]) -> bool:
    first, second = ([config.get(axis) for axis in HARDWARE] for config in configs)
    return first == second


def stands_there(document: RunDocument) -> bool:
    """Whether nothing has to be bought, since all that is recommended is owned."""
    return bool(document.owned) and document.recommended.quantity("capital") == 0


def _no_dearer(document: RunDocument, without: Point) -> bool:
    """Whether the baseline's machines cost no more than what is recommended: those that stand there
    cost nothing more, and a rent goes on."""
    if document.owned:
        return document.baseline.quantity("capital") == 0
    if buys(document):
        return True
    mine, theirs = (words.cost(document, point) for point in (without, document.recommended))
    return mine is not None and theirs is not None and mine <= theirs


def expired(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """Offers of the recommended point that are past their last day, or old without one, and what
    the next may do. What else is so is asked for where that changes the answer."""
    offers: dict[str, dict[str, str]] = {}
    for item in bill(document):
        if item.terms and item.terms.expired:
            offers.setdefault(_past(item, item.terms), {})[item.item] = bills.ordered(item)
    for past, names in offers.items():
        titles = {line_title(name) for name in names}
        turns = [
            f"; {offered(flip)}; {turned(document, flip, turns)}"
            for flip in found.flips
            if lapsed(flip)
            and part_title(flip.part) in titles
            and (turns := turns_of(document, flip))
        ]
        yield Reason(
            kind="expired offer",
            action=f"Get a new offer for {enumerated([*names.values()])}",
            because=f"{past}{''.join(turns)}",
        )


def _past(item: Item, terms: Terms) -> str:
    """Why an offer is one no longer: ``quotation Q-1 (vendor.csv) was valid until 2026-10-31``."""
    name = f"quotation {terms.quote} ({item.source})" if terms.quote else (
        f"the offer in {item.source}"
    )  # fmt: skip
    if terms.valid_until:
        return f"{name} was valid until {terms.valid_until}"
    return f"{name} is of {item.price_date}, more than {OLD_YEARS:g} years old without a last day"


def unpaid(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """That what is ordered has a price of 0, all of it."""
    items = bill(document)
    given = _all_given(document)
    if not given:
        return
    named = enumerated([bills.ordered(item) for item in given])
    price, stands = "price", ", or write what stands there already under owned"
    if items[0].rent:
        price, stands = "rent", ""
    yield Reason(
        kind="price of 0",
        action=f"Give the {price} of {named}{stands}",
        because=f"{enumerated(list(dict.fromkeys(item.source for item in given)))} says USD 0, so "
        f"that this {deal(document).noun} seems to cost nothing",
    )


def _all_given(document: RunDocument) -> list[Item]:
    """What is ordered at a price of 0, where all of it is; empty where some costs something."""
    items = bill(document)
    return bills.at_no_charge(items) if bills.total(items) == 0 else []


def unsaid(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """That nobody said whether a price of the buyer's own includes servers."""
    for item in bill(document):
        if item.obstacle == UNSAID:
            quote = item.terms.quote if item.terms else ""
            offer = f"quotation {quote} ({item.source})" if quote else f"the price in {item.source}"
            yield Reason(
                kind=UNSAID,
                action=f"Ask whether {offer} of {line_title(item.item)} includes the servers, and "
                "write includes: card or includes: node-share with it",
                because="it is taken to include them, as the catalogue's price does",
            )


def unsold(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    for item in bill(document):
        if item.obstacle == UNSOLD:
            yield Reason(
                kind="not sold",
                action=f"Find a seller of {bills.ordered(item)} and get an offer",
                because=f"it is {item.remark}",
            )


def unbuildable(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """What cannot be built so."""
    actions = {
        RACK: "Plan racks that feed such a node, and say what they supply: prices: "
        "{rack_power: 40 kW}",
        TIERS: "Get a design and an offer for so large a network",
    }
    for item in bill(document):
        if item.obstacle in actions:
            because = (item.remark or "").removesuffix(" (rack_power)")
            yield Reason(kind=item.obstacle, action=actions[item.obstacle], because=because)


def unlikely(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """Prices of the buyer's own that are hardly meant: of what is ordered, and of what another
    price may make the better buy."""
    why: dict[str, dict[str, None]] = {}  # the parts, each once: of a rate of currency several
    told = {item.item for item in _all_given(document)}
    for item in (*bill(document), *(document.prices if buys(document) else ())):
        if item.item not in told and item.obstacle == UNLIKELY and item.remark:
            why.setdefault(item.remark, {})[_part(item.item)] = None
    for remark, names in why.items():
        action = f"Check the price of {enumerated([*names])}"
        yield Reason(kind=UNLIKELY, action=action, because=remark)


def _part(line: str) -> str:
    """What a line of a bill is of: of a network the part, whatever its tier."""
    first, _, rest = line.partition(", ")
    network = line_title(line).startswith("the network")
    return (
        f"the {(first if first in (CARD, CABLE, UPLINK) else 'switch').lower()} ({rest})"
        if network
        else line_title(line)
    )


def missed(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """Limits that are met less surely than was asked."""
    asked = document.confidence
    if asked is not None and not asked.reached:
        limits = enumerated(asked.limits or ["every limit"])
        yield Reason(
            kind="limits",
            action=sure_words.LOOSEN,
            because=f"no point meets {limits} with {sure_words.exactly(asked.asked)} probability; "
            f"this one does with {sure_words.chance(asked.recommended, asked.asked)}",
        )


def doubtful_limits(document: RunDocument, found: Certainty) -> Iterator[Reason]:
    """Limits that may well be missed, where the study does not say how sure they must be."""
    if document.confidence is not None:
        return
    met = found.choices[0].met
    unsure = [f"{text} in {sure_words.chance(share)}" for text, share in met.items()
              if share < USUAL]  # fmt: skip
    if not unsure:
        return
    this = f"this meets {enumerated(unsure)} of simulated outcomes only"
    if none := next_best.surest(document):
        action = sure_words.LOOSEN
        yield Reason(kind="limits", action=action, because=f"{this}, and {none}")
    else:
        then = next_best.usually(document) or "what meets the limits with that probability"
        yield Reason(
            kind="limits",
            action=f"Run it again with --confidence {USUAL:.0%}, which recommends {then}",
            because=this,
        )


def idle(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    for item in bill(document):
        if item.idle:
            sold, seller = "sold", "a seller of"
            if item.rent is not None:
                sold, seller = "rented out", "somebody who rents out"
            yield Reason(
                kind="idle",
                action=f"Fill the nodes, or find {seller} fewer {item.item.split(',')[0]}",
                because=f"{item.idle:,} of the {item.quantity:,} stay idle, since fewer are not "
                f"{sold} at once",
            )
