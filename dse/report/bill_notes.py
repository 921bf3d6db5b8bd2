"""What the bills of an answer must be read with: old prices, mixed ones, idle parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from dse.catalog.price_spread import OLD_YEARS
from dse.catalog.price_terms import CLOUD, ESTIMATE, LIST, QUOTE, USED
from dse.pricing.bill_of_materials import HOST, SERVER, UNLIKELY, UNSAID, Item
from dse.report.bills import rent_of, total
from dse.report.document import RunDocument
from dse.report.notes import COMPARED, DOUBTFUL, PLAIN, UNSOLD, Note
from dse.report.words import percent
from dse.spelling import enumerated
from dse.study.quantities import PURCHASE, RENT, facts_of

# What is said of prices of a class, the commonest last.
_CLASSES = {
    QUOTE: "your own prices",
    USED: "prices of used hardware",
    CLOUD: "a cloud's prices",
    ESTIMATE: "published estimates",
    LIST: "list prices",
}
# Why more accelerators are paid than train, and what to do about it.
_SOLD = ("sold (sold_in)", "a price list that sells them one by one")
_RENTED_OUT = ("rented out (rented_in)", "rental: {rented_in: 1} where single ones can be rented")
_COMPARED = (("recommended", "the recommended point's"), ("baseline", "the baseline's"))


def bill_notes(document: RunDocument) -> Iterator[Note]:
    """What the bills must be read with: idle parts, remarks, and prices that differ in kind."""
    yield from idle_notes(document)
    yield from remark_notes(document)
    yield from price_notes(document)
    yield from host_notes(document)
    yield from seller_notes(document)


def seller_notes(document: RunDocument) -> Iterator[Note]:
    """That what is recommended comes from several sellers, of whom one may give nothing away with
    the machine of another."""
    found: dict[str, dict[str, None]] = {}
    given: list[Item] = []
    for item in document.bills.get("recommended", ()):
        if item.terms and item.terms.vendor and item.standing.own and item.to_buy:
            found.setdefault(item.terms.vendor, {})[item.item] = None
            if item.usd == 0 and item.terms.vendor != next(iter(found)):
                given.append(item)  # by another than sells the machine, the first line of a bill
    if len(found) < 2:
        return
    parts = [f" From {vendor}: {'; '.join(items)}." for vendor, items in found.items()]
    free = [
        f" {item.item} is counted at USD 0 from {item.terms.vendor}, who does not sell the machine "
        "that it comes with."
        for item in given if item.terms
    ]  # fmt: skip
    yield Note(
        f"What is recommended is of several sellers' offers.{''.join(parts)}{''.join(free)} "
        "Ask whether each sells its parts alone, and whether they fit.", COMPARED,
    )  # fmt: skip


def host_notes(document: RunDocument) -> Iterator[Note]:
    """That one quotation of hosts prices those of several accelerators, or servers, too."""
    found: dict[str, dict[str, None]] = {}
    for name, _ in _COMPARED:
        items = document.bills.get(name, ())
        for item in items:
            if item.item in (HOST, SERVER) and item.price_class == QUOTE and item.usd:
                quote = item.terms.quote if item.terms else ""
                whose = f"{quote} ({item.source})" if quote else f"in {item.source}"
                of = "parameter servers" if item.item == SERVER else items[0].item.partition(",")[0]
                found.setdefault(whose, {})[of] = None
    for whose, kinds in found.items():
        if len(kinds) > 1:
            yield Note(
                f"The host quotation {whose} prices the hosts of {enumerated([*kinds])} alike. "
                "Check that it covers each of them; a price list may give the hosts of an "
                "accelerator their own price (host)."
            )


def price_notes(document: RunDocument) -> Iterator[Note]:
    """What two sums must be compared with in mind: old prices, of other years, unchecked, mixed."""
    bills = {whose: document.bills.get(name, ()) for name, whose in _COMPARED}
    if document.recommended.same_as(document.baseline):
        bills.pop("the baseline's")
    ages = [item.age_years for items in bills.values() for item in items]
    known = [age for age in ages if age is not None]
    if old := _Shares.of(bills, lambda item: (item.age_years or 0.0) > OLD_YEARS):
        apart = max(known) - min(known)
        others = f", and prices lie up to {apart:.1f} years apart" * (apart > OLD_YEARS)
        yield Note(
            f"{old.said} are prices more than {OLD_YEARS:g} years old{others}. Ask for them again.",
            COMPARED if others else DOUBTFUL,
            old.most,
        )
    if unchecked := _Shares.of(bills, lambda item: not item.checked):
        said = f"{unchecked.said} are prices that nobody checked."
        yield Note(said, DOUBTFUL, unchecked.most)
    if undated := _Shares.of(bills, lambda item: item.rent is not None and item.age_years is None):
        said = f"{undated.said} are rents of which no date is known. Ask for them again."
        yield Note(said, DOUBTFUL, undated.most)
    found = {item.price_class for items in bills.values() for item in items}
    if len(known_classes := [name for name in _CLASSES if name in found]) > 1:
        *some, rest = known_classes
        shares = {name: _Shares.of(bills, partial(_is_of, name)) for name in some}
        classes = [f"{share.said} are {_CLASSES[name]}" for name, share in shares.items() if share]
        if classes:  # where a class costs nothing it is no share of the sum
            yield Note(f"{'; '.join(classes)}, the rest {_CLASSES[rest]}.")


def _is_of(price_class: str, item: Item) -> bool:
    return item.price_class == price_class


def remark_notes(document: RunDocument) -> Iterator[Note]:
    """What the bills remark of their lines: that a part is not sold, or a network too large."""
    same = document.recommended.same_as(document.baseline)
    found: dict[tuple[str, str, bool], list[str]] = {}
    for name, whose in _COMPARED[: 1 if same else 2]:
        for item in document.bills.get(name, ()):
            if item.remark and item.obstacle not in (
                UNLIKELY,
                UNSAID,
            ):  # which keeps it from being signed
                said = (item.item, item.remark, item.obstacle is not None)
                found.setdefault(said, []).append(whose)
    for (item_name, remark, hindered), whoses in found.items():
        text = f"{item_name} in {' and '.join(whoses)} bill: {remark}."
        yield Note(text, UNSOLD if hindered else PLAIN)


def idle_notes(document: RunDocument) -> Iterator[Note]:
    """What is bought and not used, since fewer are not sold."""
    same = document.recommended.same_as(document.baseline)
    for name, whose in _COMPARED[: 1 if same else 2]:
        for item in document.bills.get(name, ()):
            if item.idle:
                why, how = _SOLD if item.rent is None else _RENTED_OUT
                yield Note(
                    f"{item.idle:,} of the {item.quantity:,} accelerators in {whose} bill stay "
                    f"idle: fewer are not {why}. Fill the nodes, or give {how}."
                )


class _Shares(NamedTuple):
    """What share of which sums some prices are: ``28 % of the recommended point's sum and 60 % of
    the baseline's``, of those with some, and the largest share."""

    said: str
    most: float

    @classmethod
    def of(
        cls, bills: Mapping[str, Sequence[Item]], chosen: Callable[[Item], bool]
    ) -> _Shares | None:
        """Of the items that are chosen; None where they cost nothing."""
        parts: list[str] = []
        most = 0.0
        for whose, items in bills.items():
            whole = total(items)
            part = sum(item.usd or 0.0 for item in items if chosen(item))
            if whole and part:
                parts.append(f"{percent(part / whole)} of {whose}{' sum' * (not parts)}")
                most = max(most, part / whole)
        return cls(" and ".join(parts), most) if parts else None


def years_apart(document: RunDocument, cost: str) -> float | None:
    """How many years lie between the prices that weigh most in the bills of the recommended point
    and of the baseline, where a cost follows from such prices; None where that is not known, or not
    more than OLD_YEARS."""
    mine, theirs = (document.bills.get(name, ()) for name, _ in _COMPARED)
    if (RENT if rent_of(mine) else PURCHASE) not in facts_of([cost]):
        return None
    ages = [max(items, key=lambda item: item.usd or 0.0).age_years
            for items in (mine, theirs) if total(items)]  # fmt: skip
    known = [age for age in ages if age is not None]
    apart = max(known) - min(known) if len(known) == len(_COMPARED) else 0.0
    return apart if apart > OLD_YEARS else None
