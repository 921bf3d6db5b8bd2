"""Links of an axis: names of fabrics, bandwidths, or links described in the study."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from dse import units
from dse.mistakes import Mistakes, Part, each
from dse.study.axes import BANDWIDTH
from dse.study.cursor import Cursor
from dse.study.definition import Value, Wire
from dse.study.names import Names
from dse.study.numbers import Numbers, read_number, read_numbers

T = TypeVar("T")
_KEYS = ("bandwidth", "latency", "nic", "switch_port", "cable", "fabric")
_PRICES = ("nic", "switch_port", "cable")
_LONGEST_LATENCY_S = 10.0
_DEAREST_USD = 1e9
_QUANTITY = re.compile(r"[+-]?\.?(\d|nan|inf)[\d.,_e+-]*($|\s|\S*/|\S*bps)", re.IGNORECASE)

Found = tuple[Value, str, Cursor]


def read_links(cursor: Cursor, names: Names) -> tuple[list[Found], tuple[float, float] | None]:
    """Every link at ``cursor`` with its label and place.

    With a continuous bandwidth: the one wire whose bandwidth varies, and the limits.
    """

    def links(place: Cursor) -> tuple[list[Found], tuple[float, float] | None]:
        if isinstance(place.value, dict):
            return _described(place, names)
        return [(*read_link(place, names), place)], None

    read = each(links, cursor.each())
    found = [link for some, _ in read for link in some]
    span = next((limits for _, limits in reversed(read) if limits), None)
    if span is not None and len(found) > 1:
        raise cursor.wrong(f"{cursor.label}: a continuous link stands alone", "give one mapping")
    return _labelled(found), span


def read_link(cursor: Cursor, names: Names) -> tuple[Value, str]:
    """One link given as text: the name of a fabric, or a bandwidth."""
    value = cursor.value
    if isinstance(value, str) and value.strip() in names.fabrics:
        return value.strip(), value.strip()
    if isinstance(value, str) and not is_bandwidth(value):
        listing = "see `dse catalog fabrics`, or write a bandwidth such as 25 Gbps"
        cursor.named("fabric", names.fabrics, listing, names.aliases.get("fabrics", {}))
    label = " ".join(str(value).split())
    if (ethernet := f"{label}gbe") in names.fabrics:  # a bare speed
        remedy = f"write {ethernet} for Ethernet, or {{bandwidth: {label} Gbps, latency: 5 us}}"
        raise cursor.wrong(f"{cursor.label}: {label} has no unit", remedy)
    return Wire(label, float(read_number(cursor, BANDWIDTH))), label


def is_bandwidth(text: str) -> bool:
    """Whether a link is meant as a bandwidth, however wrong, and not as a name such as 25gbe."""
    try:
        units.parse(text, BANDWIDTH.dimension)
    except units.UnitError:
        return bool(_QUANTITY.match(text.strip()[: units.LONGEST]))
    return True


def _described(cursor: Cursor, names: Names) -> tuple[list[Found], tuple[float, float] | None]:
    """The wires of one mapping, one for each bandwidth."""
    mistakes = Mistakes()
    cursor = cursor.keys(_KEYS, ("bandwidth",), mistakes)

    def given(key: str, read: Callable[[Cursor], T]) -> Part[T | None]:
        return mistakes.part(lambda: cursor.optional(key, read, None))

    def price(at: Cursor) -> float:
        return at.quantity("usd", _DEAREST_USD, zero=True)

    listing = "see `dse catalog fabrics`"
    fabric = given("fabric", lambda at: at.named("fabric", names.fabrics, listing))
    prices = [given(key, price) for key in _PRICES]
    latency = given("latency", lambda at: at.quantity("seconds", _LONGEST_LATENCY_S))

    def speeds() -> Numbers:
        at = cursor.at("bandwidth")
        if at.value is None or at.value == []:
            raise at.wrong(f"{at.label} is empty", "give at least one value", key=True)
        return read_numbers(at, BANDWIDTH, continuous=True)

    bandwidths = mistakes.part(speeds)
    mistakes.told()
    rows, span = bandwidths()
    nic, port, cable = (part() for part in prices)
    made = Wire("", 1.0, latency(), nic, port, cable, fabric())
    if span is not None:
        wire = replace(made, label="continuous", bytes_per_s=span[0])
        return [(wire, wire.label, cursor)], span
    return [(replace(made, label=label, bytes_per_s=float(speed)), label, place)
            for speed, label, place in rows], None  # fmt: skip


def _labelled(found: list[Found]) -> list[Found]:
    """Links told apart: wires of one bandwidth that differ elsewhere get longer labels."""
    often = Counter(label for _, label, _ in found)
    told: list[Found] = []
    for value, label, place in found:
        longer = label
        if often[label] > 1 and isinstance(value, Wire):
            parts = [label]
            if value.latency_s is not None:
                parts.append(f"{value.latency_s * 1e6:g} us")
            prices = (value.nic_usd, value.switch_port_usd, value.cable_usd)
            parts += [f"{usd:g} USD" for usd in prices if usd is not None]
            longer = "/".join([*parts, value.fabric or ""]).rstrip("/")
            value = replace(value, label=longer)
        told.append((value, longer, place))
    return told
