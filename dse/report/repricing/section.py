"""What the section "What if prices differ" says, and what its script computes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import ceil, floor, log10, sqrt
from typing import Any

from dse.pricing.hardware import HOST_OF
from dse.report import rents, words
from dse.report.certainty.titles import part_title
from dse.report.deal import deal
from dse.report.document import RunDocument
from dse.report.json_form import plain
from dse.report.repricing.dependence import (
    ELECTRICITY,
    PRICED,
    PUE,
    PURCHASES,
    RENTS,
    YEARS,
    moves,
    needed,
)
from dse.report.repricing.facts import Part, Repricing
from dse.spelling import enumerated
from dse.study.constraints import parse_constraint
from dse.study.expressions import Binary, Name, Node, Number
from dse.study.quantities import QUANTITIES
from dse.study.rental import ON_DEMAND

SECTION = "repricing"  # its name
_OF_NETWORK = {
    "nic": "Network card",
    "switch_port": "Port of a switch",
    "cable": "Cable",
    "uplink": "Cable between switches",
}
_LAST = ("host", *_OF_NETWORK, "rack")  # of the prices; accelerators and nodes come first
_COSTS = ("capital", "hourly", "tco", "power")  # shown of every point, where they are known


@dataclass(frozen=True)
class Control:
    """A number that the reader may move. key: in the script; least, most: what it accepts."""

    key: str
    label: str
    unit: str
    value: float | None
    least: float
    most: float

    @property
    def text(self) -> str:
        """The value to its last digit; empty where it is not known."""
        return "" if self.value is None else repr(self.value).removesuffix(".0")

    @property
    def step(self) -> str:
        """About 2 %, as a round number."""
        if not self.value:
            return "1"
        power = floor(log10(self.value / 50))
        digit = next(one for one in (1, 2, 5, 10) if one * 10.0**power >= self.value / 50)
        return f"{digit}e{power}"


def facts(document: RunDocument) -> dict[str, Any] | None:
    """For its templates; None where no price changes the answer, or an older version wrote it."""
    found = document.repricing
    if found is None:
        return None
    own, others = _prices(document, found)
    return {
        "own": own,
        "others": others,
        "rates": [*_rates(found)],
        "confidence": Control("confidence", "Confidence in the limits", "%",
                              None if found.confidence is None else 100 * found.confidence, 0, 100)
        if found.uncertain else None,
        "limits": " and ".join(found.uncertain),
        "note": note(document, found),
        "data": json.dumps(_data(document, found), allow_nan=False),
    }  # fmt: skip


def _compared(document: RunDocument) -> list[str]:
    return [document.objectives.named(sense) for sense in document.objectives.senses]


def _moved(document: RunDocument, found: Repricing) -> frozenset[str]:
    """What changes the recommendation."""
    limited = [name for text in found.limits for name in parse_constraint(text).names]
    return moves([*_compared(document), *limited])


def _prices(document: RunDocument, found: Repricing) -> tuple[list[Control], list[Control]]:
    """The prices of the recommended point's parts, and of the others."""
    moved = _moved(document, found)
    kinds = {False: PURCHASES in moved, True: RENTS in moved}
    best = found.points[found.recommended]
    bought = {at for at, _ in (*best.bought, *best.rented)}
    own: list[Control] = []
    others: list[Control] = []
    for at, part in sorted(enumerate(found.parts), key=_place):
        if kinds[part.rented] or (not part.rented and _lent(found, at)):
            unit, usd = "USD/h" if part.rented else "USD", _paid(found, part)
            control = Control(f"price-{at}", label(found, part), unit, usd, 0.0, 1e9)
            (own if at in bought else others).append(control)
    return own, others


def _paid(found: Repricing, part: Part) -> float | None:
    """What is paid for a part: a rent at the term's share of the price on demand."""
    share = found.terms.rent_share
    if part.usd is None or not part.rented or share == 1:
        return part.usd
    return float(f"{part.usd * share:.6g}")


def _place(one: tuple[int, Part]) -> tuple[int, str, int]:
    """Where a price stands in the form: network by network, each with its parts in one order."""
    at, part = one
    kind, _, fabric = part.part.partition(" of ")
    return (1 + _LAST.index(kind) if kind in _LAST else 0), fabric, at


def _lent(found: Repricing, at: int) -> bool:
    """Whether it is the host that serves parameters beside rented machines."""
    return found.parts[at].part == "host" and any(point.servers for point in found.points)


def label(found: Repricing, part: Part) -> str:
    """What a buyer calls a part."""
    kind, _, fabric = part.part.partition(" of ")
    if part.part.startswith(HOST_OF):
        return f"Host of {words.title('accelerator', part.part.removeprefix(HOST_OF))}"
    if kind in _OF_NETWORK:
        if fabric:
            return f"{_OF_NETWORK[kind]}, {words.title('inter_node', fabric)}"
        alike = sum(other.part == part.part for other in found.parts)
        at = f" at {words.shown(part.usd, 'USD')}" if alike > 1 else ""
        return f"{_OF_NETWORK[kind]} of the study{at}"
    if part.part in ("host", "rack"):
        return part.part.capitalize()
    return part_title(part.part)


def _rates(found: Repricing) -> Iterator[Control]:
    terms = found.terms
    yield Control(ELECTRICITY, "Electricity", "USD/kWh", terms.electricity_usd_per_kwh, 0.0, 100.0)
    yield Control(PUE, "PUE", "", terms.pue, 1.0, 10.0)
    yield Control(YEARS, "Amortisation", "years", terms.amortisation_years, 0.1, 100.0)


def note(document: RunDocument, found: Repricing) -> str:
    """What is looked at, and what moves no answer of this study."""
    moved = _moved(document, found)
    idle = [f"the {control.label if control.key == PUE else control.label.lower()}"
            for control in _rates(found) if control.key not in moved]  # fmt: skip
    compared = words.aim(document, "minimize").title
    parts = [
        f"Priced anew: {words.many(len(found.points), 'point')} on and near the front and on the "
        f"front of each machine, of which the rule {document.recommended.rule} takes the best; far "
        "from the report's prices a point that is not among them may be better. A price you type "
        "counts as an offer, which is certain, as one in a study does. Once a number is moved, "
        f"chances rest on {found.drawn.count} simulated outcomes, and a new run may "
        f"differ from them by {_by_chance(found.drawn.count)} points of a percentage."
    ]
    if RENTS in moved and found.terms.rent_share != 1:
        own = any(part.of_term for part in found.parts)
        parts.append(
            f"Rents are what is paid {rents.term(document.study.rental or ON_DEMAND)}, "
            f"{words.percent(found.terms.rent_share)} of the price on demand that a study holds"
            f"{', but where a price list has one for that term' * own}."
        )
    gone = {one.retired for one in found.points if one.retired is not None}
    if found.sells_new and gone:
        named = enumerated([label(found, found.parts[at]) for at in sorted(gone)])
        parts.append(
            "No longer sold new, so counted only at a price that you type, as in a run with a "
            f"price of your own: {named}."
        )
    if idle:
        parts.append(
            f"The {compared}, which the study compares, does not depend on {enumerated(idle)}: "
            f"what {'they change' if idle[1:] else 'it changes'} is other costs."
        )
    return " ".join(parts)


def _by_chance(count: int) -> int:
    """Percentage points within which a share of so many draws is right in 90 % of cases, at most:
    the normal approximation at a share of a half."""
    return ceil(100 * 1.645 * sqrt(0.25 / count))


def _data(document: RunDocument, found: Repricing) -> dict[str, Any]:
    """What the script computes from."""
    gain, *costs = _compared(document)
    shown = dict.fromkeys((gain, *costs, *_COSTS, "time_to_target", "per_run"))
    own = plain(found)
    for point, described in zip(own["points"], found.points, strict=True):
        point["name"] = ", ".join(words.hardware(described))
        point["settings"] = ", ".join(words.settings(described))
        for unused in ("config", "immaterial"):
            del point[unused]
    return {
        **own,
        "rule": document.recommended.rule,
        "deal": {"noun": deal(document).noun, "verb": deal(document).verb},
        "resolution": document.choices.resolution if document.choices else 0.0,
        "gain": gain,
        "costs": costs,
        "limits": [_parsed(text) for text in found.limits],
        "needs": needed([gain, *costs]),
        "priced": [*PRICED],
        "shown": [
            {"name": name, "title": phrase.title, "unit": phrase.unit}
            for name in shown
            if (phrase := QUANTITIES[name].phrase) is not None
        ],
    }


def _parsed(text: str) -> dict[str, Any]:
    found = parse_constraint(text)
    return {"comparison": found.comparison, "left": _node(found.left), "right": _node(found.right)}


def _node(node: Node) -> Mapping[str, Any]:
    if isinstance(node, Number):
        return {"value": node.value}
    if isinstance(node, Name):
        return {"name": node.name, "scale": node.scale}
    assert isinstance(node, Binary)
    return {"sign": node.sign, "left": _node(node.left), "right": _node(node.right)}
