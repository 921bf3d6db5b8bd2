"""Bills of materials: what is ordered for the points that the answer names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from dse.pricing.bill_of_materials import OF_SITE, OWNED, Item, Rent
from dse.pricing.bill_of_rent import RENTED
from dse.report import money
from dse.report.design_point import Point
from dse.report.document import RunDocument
from dse.report.front_columns import Column, csv_text
from dse.report.words import UNKNOWN, percent
from dse.spelling import enumerated

_TITLES = {
    "recommended": "Recommended",
    "baseline": "Baseline",
    "cheapest_within_5_percent": "Within 5 % of the fastest",
    "fastest": "Fastest",
}


class Line(NamedTuple):
    """A line of a bill as it is shown. hours: that are paid, empty of what is bought. past: that
    its price is no offer any more."""

    item: str
    quantity: str
    unit: str
    total: str
    price: str
    source: str
    hours: str = ""
    owned: str = ""
    to_buy: str = ""
    past: str = ""


class Table(NamedTuple):
    """A bill as it is shown: whose, its lines, their sum and what that is, what to know of its
    prices, whether it is of a rent, and whether some of it stands there already."""

    title: str
    lines: tuple[Line, ...]
    total: str
    note: str
    sum_of: str = "Purchase price"
    rented: bool = False
    owned: bool = False


def tables(document: RunDocument) -> tuple[Table, ...]:
    """The bills, each once; points that order the same share one."""
    found: dict[tuple[Item, ...], list[str]] = {}
    for kind in ("", RENTED):
        for name, title in _TITLES.items():
            if items := document.bills.get(f"{name}{kind}"):
                found.setdefault(items, []).append(title)
    return tuple(
        Table(
            f"{_title(titles)}{', rented' * (bool(rent_of(items)) and document.buys)}",
            tuple(map(_line, items)),
            to_the_cent(total(items)),
            _below(items),
            money.sum_of(rent_of(items)),
            rent_of(items) is not None,
            any(item.owned is not None for item in items),
        )
        for items, titles in found.items()
    )


def _below(items: Sequence[Item]) -> str:
    """What is said of a bill below it."""
    return " ".join(filter(None, [money.billed(rent_of(items)), _note(items)]))


def rent_of(items: Sequence[Item]) -> Rent | None:
    """For how long the items of a bill are rented; None where they are bought."""
    return items[0].rent if items else None


def _title(titles: Sequence[str]) -> str:
    """One heading for all names of a point; the fastest is within 5 % of the fastest."""
    kept = [title for title in titles if "Fastest" not in titles or "Within" not in title]
    return ", ".join([kept[0], *(title.lower() for title in kept[1:])])


def left_out(document: RunDocument) -> str:
    """What the bills do not have."""
    if not document.buys:
        return "Not included: storage, data that leaves the cloud, support, and taxes."
    named = {item.item.lower() for items in document.bills.values() for item in items if item.extra}
    beside = [
        what for what in ("storage", "management network", "spares", "support", "installation")
        if not any(name.startswith(what) for name in named)
    ]  # fmt: skip
    missing = enumerated(("racks", *beside))
    given = " (extras of a price list)" * bool(beside)
    return f"Not included: {missing}{given}; freight and taxes."


def priced_in(document: RunDocument, point: Point) -> list[str]:
    """Of what dates the prices of a named point are, ``prices of 2018-07 to 2025-03``, and of what
    is rented, for how long at what price an hour; nothing of a point without a bill."""
    bought = [item for item in _of(document, point) if item.usd]
    dates = sorted({item.price_date[:7] for item in bought if item.price_date})
    if not bought:
        return []
    rented = money.rented(bought, point.config)
    if not dates:
        undated = "prices without a date" if len(bought) > 1 else "price without a date"
        return [*rented, undated]
    some = " and without a date" * any(not item.price_date for item in bought)
    of = "prices" if len(bought) > 1 else "price"
    dated = f"{of} of {' to '.join(dict.fromkeys((dates[0], dates[-1])))}{some}"
    return [*rented, dated]


def _of(document: RunDocument, point: Point) -> Sequence[Item]:
    """The bill of a named point; empty of any other."""
    named = {"recommended": document.recommended, "fastest": document.fastest,
             "cheapest_within_5_percent": document.cheapest_within_5_percent}  # fmt: skip
    return next((document.bills.get(name, ()) for name, one in named.items()
                 if one.config == point.config), ())  # fmt: skip


def lines(items: Sequence[Item]) -> list[str]:
    """A bill as plain text."""
    widths = max((len(item.item) for item in items), default=0)
    return [
        f"{item.quantity:>8,} x {item.item:<{widths}}  {_at(item):>17}"
        f"  = {to_the_cent(item.usd):>16}  ({_price(item)}{'; ' * bool(item.source)}{item.source})"
        f"{_owned_of(item)}{f'  {past(item)}' * bool(past(item))}"
        for item in items
    ]


def machines_owned(document: RunDocument, point: Point) -> str:
    """How many of the machines of a named point stand there already: ``4 owned, 1 to buy``; empty
    where none does."""
    machine = next(iter(_of(document, point)), None)
    return _owned_of(machine).strip() if machine else ""


def heading(items: Sequence[Item]) -> str:
    """What a bill is, above its lines."""
    rent = rent_of(items)
    return f"bill of the rent: {money.billed(rent)}" if rent else "bill of materials"


def _at(item: Item) -> str:
    """Unit price, and of what is rented the hours."""
    for_hours = f" for {money.hours(item.rent.hours)}" if item.rent else ""
    return f"at {_unit(item):>14}{for_hours}"


def _owned_of(item: Item) -> str:
    return f"  {item.owned:,} owned, {item.to_buy:,} to buy" if item.owned else ""


def bills_csv(document: RunDocument) -> str:
    """All bills, a line of a bill each."""
    rows = [(name, item) for name, items in document.bills.items() for item in items]
    names = Column("point", "point", "", [name for name, _ in rows])
    return csv_text([names, *(Column(name, name, "", [cell(item) for _, item in rows])
                              for name, cell in COLUMNS.items())])  # fmt: skip


def _offered(name: str) -> Callable[[Item], Any]:
    """What an offer says by that name."""
    return lambda item: (getattr(item.terms, name) or None) if item.terms else None


def _bought(item: Item) -> int | None:
    """How many are bought; None of what is rented. What the site has is not bought."""
    if item.rent is not None:
        return None
    return 0 if item.price_class == OF_SITE else item.to_buy


def _cell(value: float | None) -> float | None:
    """A number without the last digits of its arithmetic: sums still add up to the cent."""
    return None if value is None else round(value, 6)


# By its name in bom.csv, the cell of an item, None where it is empty.
COLUMNS: Mapping[str, Callable[[Item], Any]] = {
    "item": lambda item: item.item,
    "quantity": lambda item: item.quantity,
    "unit_usd": lambda item: _cell(item.unit_usd),
    "usd": lambda item: _cell(item.usd),
    "price_class": lambda item: item.price_class,
    "price_date": lambda item: item.price_date,
    "age_years": lambda item: None if item.age_years is None else round(item.age_years, 2),
    "checked": lambda item: item.checked,
    "source": lambda item: item.source,
    "list_usd": lambda item: item.terms and _cell(item.terms.list_usd),
    "discount": _offered("discount"),
    "converted": _offered("converted"),
    "quote": _offered("quote"),
    "valid_until": _offered("valid_until"),
    "remark": lambda item: item.remark,
    "hours": lambda item: item.rent and item.rent.hours,
    "term": lambda item: item.rent and item.rent.term,
    "owned": lambda item: None if item.rent else item.owned or 0,
    "to_buy": _bought,
}


def total(items: Sequence[Item]) -> float | None:
    """The sum of a bill; None where a price is not known."""
    sums = [item.usd for item in items]
    return None if None in sums else sum(usd for usd in sums if usd is not None)


def _line(item: Item) -> Line:
    return Line(
        item.item, f"{item.quantity:,}", _unit(item), to_the_cent(item.usd), _price(item),
        item.source, money.hours(item.rent.hours) if item.rent else "", *_standing(item),
        past(item),
    )  # fmt: skip


def _unit(item: Item) -> str:
    """The unit price; of what is rented, of an hour; none of what stands there."""
    if item.price_class == OWNED:
        return ""
    return f"{to_the_cent(item.unit_usd)}{'/h' * (item.rent is not None)}"


def _standing(item: Item) -> tuple[str, str]:
    """How many stand there already, and how many are bought; what the site has is not."""
    if item.owned is None:
        return "", "" if item.price_class == OF_SITE else f"{item.quantity:,}"
    return f"{item.owned:,}", f"{item.to_buy:,}"


def _price(item: Item) -> str:
    """Class, seller, date and age of a price: ``list, 2022-07-01, 4.4 years old``."""
    if item.price_class == OWNED:
        return "stands there already"
    parts = [item.price_class]
    if item.terms and item.terms.vendor:
        parts.append(item.terms.vendor)
    if item.rent:
        parts.append(money.term(item.rent.term))
    if item.price_date:
        parts.append(item.price_date)
    elif item.rent:
        parts.append("no date")
    if item.age_years is not None:
        parts.append(f"{item.age_years:.1f} years old")
    if not item.checked:
        parts.append("not checked")
    if terms := item.terms:
        parts += [f"quotation {terms.quote}"] * bool(terms.quote)
        off = f"{percent(terms.discount)} off {to_the_cent(terms.list_usd)}"
        parts += [off] * bool(terms.discount)
        parts += [terms.converted] * bool(terms.converted)
        parts += [f"valid until {terms.valid_until}"] * bool(terms.valid_until)
    parts += [item.remark] if item.remark else []
    return ", ".join(parts)


def past(item: Item) -> str:
    """That the price of a line is no offer any more: ``offer expired on 2026-11-10``; empty where
    it is one, or never was."""
    terms = item.terms
    if terms is None or not terms.expired or not item.to_buy:
        return ""
    return f"offer expired on {terms.valid_until}" if terms.valid_until else "offer too old"


def _note(items: Sequence[Item]) -> str:
    whole = total(items)
    unchecked = sum(item.usd or 0.0 for item in items if not item.checked)
    if not whole or not unchecked:
        return ""
    return f"{percent(unchecked / whole)} of the sum are prices that nobody checked."


def to_the_cent(value: float | None) -> str:
    """``USD 100,000.00``."""
    return UNKNOWN if value is None else f"USD {value:,.2f}"
