"""How a study rents, and how it owns what it buys: ``rental`` and ``ownership``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dse import units
from dse.mistakes import Mistakes
from dse.study.cursor import Cursor

ON_DEMAND, SPOT = "on-demand", "spot"
# Paid in all hours of so many years, whether or not the machines are in use.
COMMITMENTS = {"1-year": 1, "3-year": 3}
TERMS = (ON_DEMAND, *COMMITMENTS, SPOT)
_TERM = "term"
# key -> (dimension, largest sensible value, may it be 0, a usual value)
NUMBERS = {
    "discount": ("share", 1.0, True, "0.375 or 37.5 %, a share of the price on demand"),
    "minimum": ("seconds", 1e9, True, "1 h"),
    "billing_unit": ("seconds", 1e9, True, "1 h"),
    "start_up": ("seconds", 1e7, True, "10 min"),
    "rented_in": ("count", 1e4, False, "8"),
    "spell": ("seconds", 1e9, False, "3 h"),
    "wait": ("seconds", 1e9, True, "1.5 h"),
}
_OF_SPOT = ("spell", "wait")
_OF_A_RUN = ("minimum", "billing_unit", "start_up")
RENTAL_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"enum": list(TERMS)},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                _TERM: {"enum": list(TERMS)},
                **{key: {"type": ["string", "number"]} for key in NUMBERS},
            },
        },
    ]
}
_SHARES = ("residual_value", "utilisation")
OWNERSHIP_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {key: {"type": ["string", "number"]} for key in _SHARES},
}


@dataclass(frozen=True)
class StudyRental:
    """given: what the study says of the term, SI, by key; the catalogue has the rest."""

    term: str = ON_DEMAND
    given: Mapping[str, float] = field(default_factory=dict)

    @property
    def committed(self) -> bool:
        """Whether the machines stand there and are paid in all hours of the term."""
        return self.term in COMMITMENTS

    @property
    def committed_years(self) -> int:
        """The years of a commitment; 0 of another term."""
        return COMMITMENTS.get(self.term, 0)


@dataclass(frozen=True)
class StudyOwnership:
    """residual_value: share of the hardware's price that is left after the years of amortisation,
    in [0, 1]. utilisation: share of all hours in which the cluster is used, in (0, 1]."""

    residual_value: float = 0.0
    utilisation: float = 1.0


def read_rental(at: Cursor) -> StudyRental:
    """A term, or a mapping with one and what differs from the catalogue."""
    if not isinstance(at.value, dict):
        return StudyRental(_term(at))
    mistakes = Mistakes()
    at = at.keys((_TERM, *NUMBERS), (), mistakes)
    term = mistakes.part(lambda: at.optional(_TERM, _term, ON_DEMAND))
    others = [key for key in at.given() if key != _TERM]
    mistakes.parts(lambda key: _check_term(at.at(key), key, term()), others)
    given = mistakes.by_key(lambda key: _number(at.at(key), key), others)
    mistakes.told()
    return StudyRental(term(), {key: number() for key, number in given.items()})


def _term(at: Cursor) -> str:
    return at.named("term", TERMS, f"use {', '.join(TERMS)}")


def _check_term(place: Cursor, key: str, term: str) -> None:
    if key in _OF_SPOT and term != SPOT:
        remedy = f"write term: {SPOT}, or drop it"
        raise place.wrong(f"{key} is of spot machines", remedy, key=True)
    if key in _OF_A_RUN and term in COMMITMENTS:
        remedy = f"write term: {ON_DEMAND}, or drop it"
        raise place.wrong(
            f"{key} is of machines that are rented for a run, and those of {term} are paid all "
            "the time", remedy, key=True,
        )  # fmt: skip


def _number(place: Cursor, key: str) -> float:
    dimension, high, zero, example = NUMBERS[key]
    number = place.quantity(dimension, high, zero=zero, example=example)
    if key == "rented_in" and number % 1:
        raise place.wrong(f"rented_in: {place.shown} is not a whole number", "write 8")
    return number


def read_ownership(at: Cursor) -> StudyOwnership:
    """Shares, of which what is left out is as when the cluster runs until it is worth nothing."""
    mistakes = Mistakes()
    at = at.keys(_SHARES, (), mistakes)
    shares = mistakes.by_key(lambda key: _share(at.at(key), key), at.given())
    mistakes.told()
    return StudyOwnership(**{key: share() for key, share in shares.items()})


def _share(place: Cursor, key: str) -> float:
    share = place.quantity("share", 1e18, zero=key == "residual_value")
    if share > 1:
        example = units.DIMENSIONS["share"][1]
        raise place.wrong(
            f"{key}: {place.shown} is more than 1", f"write a share, such as {example}"
        )
    return share
