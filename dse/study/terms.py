"""Terms of a study in place of the catalogue's: how it rents, owns what it buys, and fails."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dse import units
from dse.mistakes import Mistakes
from dse.study.axes import AXES, RENTAL, NumberKind
from dse.study.cursor import Cursor
from dse.study.numbers import read_number

ON_DEMAND, SPOT = "on-demand", "spot"
# Paid in all hours of so many years, whether or not the machines are in use.
COMMITMENTS = {"1-year": 1, "3-year": 3}
TERMS = AXES[RENTAL].choices
_TERM, _DISCOUNT, IDEAL = "term", "discount", "ideal"
_OFF = NumberKind(
    "share", 1.0, zero=True, example="0.375 or 37.5 %, a share of the price on demand"
)
RENTING = {
    "minimum": NumberKind("seconds", 1e9, zero=True, example="1 h"),
    "billing_unit": NumberKind("seconds", 1e9, zero=True, example="1 h"),
    "start_up": NumberKind("seconds", 1e7, zero=True, example="10 min"),
    "rented_in": NumberKind("count", 1e4, example="8"),
    "spell": NumberKind("seconds", 1e9, example="3 h"),
    "wait": NumberKind("seconds", 1e9, zero=True, example="1.5 h"),
}
_OF_SPOT = ("spell", "wait")
_OF_A_RUN = ("minimum", "billing_unit", "start_up")
FAILURES = {
    "per_accelerator_month": NumberKind("count", 1e4, zero=True, example="0.0137"),
    "per_job_day": NumberKind("count", 1e6, zero=True, example="2.2"),
    "recover": NumberKind("seconds", 1e8, zero=True, example="10 min"),
    "checkpoint": NumberKind("seconds", 1e8, zero=True, example="1 min"),
    "interval": NumberKind("seconds", 1e9, example="30 min"),
}
_SHARES = ("residual_value", "utilisation")


def _schema(keys: Iterable[str], **own: Any) -> dict[str, Any]:
    """A mapping to numbers, and to what else it may have."""
    numbers = {key: {"type": ["string", "number"]} for key in keys}
    return {"type": "object", "additionalProperties": False, "properties": {**own, **numbers}}


_TERM_SCHEMA = {"enum": list(TERMS)}
_DISCOUNTS = {"anyOf": [{"type": ["string", "number"]}, _schema(TERMS)]}
RENTAL_SCHEMA = {"anyOf": [
    _TERM_SCHEMA, _schema(RENTING, **{_TERM: _TERM_SCHEMA, _DISCOUNT: _DISCOUNTS})
]}  # fmt: skip
OWNERSHIP_SCHEMA = _schema(_SHARES)
FAILURES_SCHEMA = {"anyOf": [{"const": IDEAL}, _schema(FAILURES)]}


@dataclass(frozen=True)
class StudyFailures:
    """How often training stops, and what a stop costs. given: what the study says, SI, by key; the
    catalogue has the rest. ideal: nothing fails and nothing is saved."""

    ideal: bool = False
    given: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class StudyRental:
    """given: what the study says of renting, SI, by key, and discounts by term; the catalogue has
    the rest. term: that of all points, where it is no axis."""

    term: str = ON_DEMAND
    given: Mapping[str, float] = field(default_factory=dict)
    discounts: Mapping[str, float] = field(default_factory=dict)

    @property
    def committed(self) -> bool:
        """Whether the machines stand there and are paid in all hours of the term."""
        return self.term in COMMITMENTS


@dataclass(frozen=True)
class StudyOwnership:
    """residual_value: share of the hardware's price that is left after the years of amortisation,
    in [0, 1]. utilisation: share of all hours in which the cluster is used, in (0, 1]."""

    residual_value: float = 0.0
    utilisation: float = 1.0


def read_failures(at: Cursor) -> StudyFailures:
    """``ideal``, or terms that replace those of the catalogue."""
    if not isinstance(at.value, dict):
        if at.value == IDEAL:
            return StudyFailures(ideal=True)
        remedy = "write ideal, or {per_accelerator_month: 0.0137, recover: 10 min, checkpoint: .."
        raise at.wrong(f"failures: {at.shown} is neither ideal nor a mapping", f"{remedy}}}")
    given = at.each_key(FAILURES, lambda key, place: read_number(place, FAILURES[key]))
    return StudyFailures(given=given)


def read_rental(at: Cursor, terms: Collection[str] = ()) -> StudyRental:
    """A term, or a mapping with one and what differs from the catalogue. terms: those that are an
    axis of the space; then no other one is given."""
    mistakes, alone = Mistakes(), not isinstance(at.value, dict)
    at = at if alone else at.keys((_TERM, _DISCOUNT, *RENTING), (), mistakes)
    if terms and (alone or at.has(_TERM)):
        place = at if alone else at.at(_TERM)
        raise place.wrong(f"{RENTAL} stands in space, too", "keep one of the two", key=True)
    if alone:
        return StudyRental(_term(at))
    term = mistakes.part(lambda: at.optional(_TERM, _term, ON_DEMAND))
    others = [key for key in at.given() if key in RENTING]
    mistakes.parts(lambda key: _check_term(at.at(key), key, terms or [term()]), others)
    given = mistakes.by_key(lambda key: _rental(at.at(key), key), others)
    discounts = mistakes.part(
        lambda: at.optional(_DISCOUNT, lambda place: _discounts(place, terms or [term()]), {})
    )
    mistakes.told()
    return StudyRental(term(), {key: one() for key, one in given.items()}, discounts())


def _discounts(at: Cursor, terms: Collection[str]) -> dict[str, float]:
    """Shares off the price on demand, by term; one alone where there is one term."""
    if isinstance(at.value, dict):
        return at.each_key(terms, lambda _, place: read_number(place, _OFF))
    share, (first, *others) = read_number(at, _OFF), terms
    if others:
        remedy = f"write for each, such as {{{others[0]}: {at.shown}}}"
        raise at.wrong(f"{_DISCOUNT} of several terms", remedy)
    return {first: share}


def _term(at: Cursor) -> str:
    several = f", or a list of them as an axis, {RENTAL} in space"
    return at.named("term", TERMS, f"use {', '.join(TERMS)}{several}")


def _check_term(place: Cursor, key: str, terms: Collection[str]) -> None:
    if key in _OF_SPOT and SPOT not in terms:
        remedy = f"write term: {SPOT}, or drop it"
        raise place.wrong(f"{key} is of spot machines", remedy, key=True)
    if key in _OF_A_RUN and {*terms} <= COMMITMENTS.keys():
        term = next(iter(terms))
        remedy = f"write term: {ON_DEMAND}, or drop it"
        raise place.wrong(
            f"{key} is of machines that are rented for a run, and those of {term} are paid all "
            "the time", remedy, key=True,
        )  # fmt: skip


def _rental(place: Cursor, key: str) -> float:
    number = read_number(place, RENTING[key])
    if key == "rented_in" and number % 1:
        raise place.wrong(f"rented_in: {place.shown} is not a whole number", "write 8")
    return number


def read_ownership(at: Cursor) -> StudyOwnership:
    """Shares, of which what is left out is as when the cluster runs until it is worth nothing."""
    return StudyOwnership(**at.each_key(_SHARES, _share))


def _share(key: str, place: Cursor) -> float:
    share = place.quantity("share", 1e18, zero=key == "residual_value")
    if share > 1:
        example = units.DIMENSIONS["share"][1]
        raise place.wrong(
            f"{key}: {place.shown} is more than 1", f"write a share, such as {example}"
        )
    return share
