"""How a study rents: a term, and what of it differs from the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse.study.cursor import Cursor

ON_DEMAND, SPOT = "on-demand", "spot"
TERMS = (ON_DEMAND, "1-year", "3-year", SPOT)
_TERM = "term"
# key -> (dimension, largest sensible value, may it be 0, a usual value)
_NUMBERS = {
    "discount": ("count", 1.0, True, "0.375, a share of the price on demand"),
    "minimum": ("seconds", 1e9, True, "1 h"),
    "billing_unit": ("seconds", 1e9, True, "1 h"),
    "start_up": ("seconds", 1e7, True, "10 min"),
    "rented_in": ("count", 1e4, False, "8"),
    "spell": ("seconds", 1e9, False, "3 h"),
    "wait": ("seconds", 1e9, True, "1.5 h"),
}
_OF_SPOT = ("spell", "wait")
RENTAL_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"enum": list(TERMS)},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                _TERM: {"enum": list(TERMS)},
                **{key: {"type": ["string", "number"]} for key in _NUMBERS},
            },
        },
    ]
}


@dataclass(frozen=True)
class StudyRental:
    """given: what the study says of the term, SI, by key; the catalogue has the rest."""

    term: str = ON_DEMAND
    given: Mapping[str, float] = field(default_factory=dict)


def read_rental(at: Cursor) -> StudyRental:
    """A term, or a mapping with one and what differs from the catalogue."""
    if not isinstance(at.value, dict):
        return StudyRental(at.named("term", TERMS, f"use {', '.join(TERMS)}"))
    keys = at.keys((_TERM, *_NUMBERS))
    term = ON_DEMAND
    if _TERM in keys:
        term = at.at(_TERM).named("term", TERMS, f"use {', '.join(TERMS)}")
    given = {}
    for key in (key for key in keys if key != _TERM):
        place = at.at(key)
        if key in _OF_SPOT and term != SPOT:
            raise place.wrong(f"{key} is of spot machines", f"write term: {SPOT}, or drop it",
                              key=True)  # fmt: skip
        dimension, high, zero, example = _NUMBERS[key]
        given[key] = place.quantity(dimension, high, zero=zero, example=example)
        if key == "rented_in" and given[key] % 1:
            raise place.wrong(f"rented_in: {place.shown} is not a whole number", "write 8")
    return StudyRental(term, given)
