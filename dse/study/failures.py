"""What a study says of failures: how often training stops, and what a stop costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dse.mistakes import Mistakes
from dse.study.cursor import Cursor

IDEAL = "ideal"
# key -> (dimension, largest sensible value, may it be 0, a usual value)
TERMS = {
    "per_accelerator_month": ("count", 1e4, True, "0.0137"),
    "per_job_day": ("count", 1e6, True, "2.2"),
    "recover": ("seconds", 1e8, True, "10 min"),
    "checkpoint": ("seconds", 1e8, True, "1 min"),
    "interval": ("seconds", 1e9, False, "30 min"),
}


FAILURES_SCHEMA = {
    "anyOf": [
        {"const": IDEAL},
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: {"type": ["string", "number"]} for key in TERMS},
        },
    ]
}


@dataclass(frozen=True)
class StudyFailures:
    """given: what the study says, SI, by key; the catalogue has the rest. ideal: nothing fails and
    nothing is saved."""

    ideal: bool = False
    given: Mapping[str, float] = field(default_factory=dict)


def read_failures(at: Cursor) -> StudyFailures:
    """``ideal``, or terms that replace those of the catalogue."""
    if not isinstance(at.value, dict):
        if at.value == IDEAL:
            return StudyFailures(ideal=True)
        remedy = "write ideal, or {per_accelerator_month: 0.0137, recover: 10 min, checkpoint: .."
        raise at.wrong(f"failures: {at.shown} is neither ideal nor a mapping", f"{remedy}}}")
    mistakes = Mistakes()
    at = at.keys(TERMS, (), mistakes)
    terms = mistakes.by_key(lambda key: _term(at.at(key), *TERMS[key]), at.given())
    mistakes.told()
    return StudyFailures(given={key: term() for key, term in terms.items()})


def _term(at: Cursor, dimension: str, high: float, zero: bool, example: str) -> float:
    return at.quantity(dimension, high, zero=zero, example=example)
