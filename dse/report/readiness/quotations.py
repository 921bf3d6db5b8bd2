"""Parts of a bill that are offered by others than sell its machines: what one vendor gives away, or
asks for support and installation, is for the machines of that vendor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dse.pricing.bill_of_materials import HOST_FOR, Item
from dse.report import bills
from dse.report.certainty.facts import Certainty
from dse.report.certainty.titles import line_title
from dse.report.document import Reason, RunDocument
from dse.report.readiness.doubts import bill
from dse.spelling import enumerated

_NETWORK = "the network ("  # as the titles of its parts begin


def given(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """Reasons for parts at a price of 0 in another offer than the machine's, where something else
    may contain them. What the study itself gives away, its author knows of."""
    items, study = bill(document), Path(document.study.path).name
    machine = items[0] if items else None
    if machine is None or not bills.total(items):
        return
    for item in bills.at_no_charge(items):
        if item is machine or item.obstacle or item.source == study or _same(item, machine):
            continue
        sold = line_title(machine.item)
        yield Reason(
            kind="price of 0",
            action=f"Get the price of {bills.ordered(item)} with {sold}",
            because=f"USD 0 is the price of {offer(item)}, which does not sell {sold} and may have "
            "it in the price of something else",
        )


def mixed(document: RunDocument, _: Certainty) -> Iterator[Reason]:
    """Reasons for parts and extras of a quotation that sells other machines than this bill's."""
    items = bill(document)
    if not items or not items[0].to_buy:
        return
    machine, found = items[0], dict[str, list[Item]]()
    for item in items[1:]:
        if item.to_buy and item.usd and _quote(item) not in ("", _quote(machine)):
            found.setdefault(_quote(item), []).append(item)
    for quote, parts in found.items():
        theirs = [line_title(one.item) for one in document.prices
                  if _quote(one) == quote and _sells_machines(one)]  # fmt: skip
        if not theirs:
            continue  # of one who sells parts, or services, alone
        sold = line_title(machine.item)
        whose = offer(machine) if _quote(machine) else "without a quotation of its own"
        names = enumerated(list(dict.fromkeys(part.item.partition(",")[0] for part in parts)))
        their = enumerated(list(dict.fromkeys(theirs)))
        it, holds = ("them", "they hold") if parts[1:] else ("it", "it holds")
        yield Reason(
            kind="mixed quotations",
            action=f"Get {names} offered with {sold}, or ask whether {holds} for that, too",
            because=f"this bill has {it} from {offer(parts[0])}, which sells {their}; "
            f"{sold} is {'of ' * bool(_quote(machine))}{whose}",
        )


def offer(item: Item) -> str:
    """Whose offer a line is of: ``quotation Q-1 (vendor.csv)``, ``the offer in vendor.csv``."""
    quote = _quote(item)
    return f"quotation {quote} ({item.source})" if quote else f"the offer in {item.source}"


def _quote(item: Item) -> str:
    return item.terms.quote if item.terms else ""


def _same(*items: Item) -> bool:
    """Whether lines are of one offer."""
    return len({(item.source, _quote(item)) for item in items}) == 1


def _sells_machines(item: Item) -> bool:
    """Whether a price is of an accelerator or a whole machine."""
    return not item.item.startswith(HOST_FOR) and not line_title(item.item).startswith(_NETWORK)
