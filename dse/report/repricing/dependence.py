"""Which prices and rates a quantity follows from, and what else it needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

PURCHASES, RENTS = "purchases", "rents"
ELECTRICITY, PUE, YEARS = "electricity", "pue", "amortisation_years"
BILLED = "billed_s"  # seconds of rent that a run is billed
HELD = "held_s"  # seconds of a run in which its machines are held, and draw power


class Dependence(NamedTuple):
    """on: kinds of prices, and rates of the price list. needs: what of a point no price changes."""

    on: frozenset[str]
    needs: tuple[str, ...] = ()


_RUN = (HELD,)
PRICED: Mapping[str, Dependence] = {
    "capital": Dependence(frozenset({PURCHASES})),
    "hourly": Dependence(frozenset({RENTS})),
    "tco": Dependence(frozenset({PURCHASES, ELECTRICITY, PUE, YEARS})),
    "power": Dependence(frozenset({PUE})),
    "per_run": Dependence(frozenset({RENTS}), (BILLED,)),
    "energy": Dependence(frozenset({PUE}), _RUN),
    "carbon": Dependence(frozenset({PUE}), _RUN),
}


def moves(names: Iterable[str]) -> frozenset[str]:
    """What may be moved so that some of the quantities change."""
    return frozenset().union(*(PRICED[name].on for name in names if name in PRICED))


def needed(names: Iterable[str]) -> tuple[str, ...]:
    """What no price changes and some of the quantities follow from, themselves included."""
    found: dict[str, None] = {}
    for name in names:
        found.update(dict.fromkeys(PRICED[name].needs if name in PRICED else (name,)))
    return tuple(found)
