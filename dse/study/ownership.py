"""How a study owns what it buys: what it is worth at the end, and how much it is in use."""

from __future__ import annotations

from dataclasses import dataclass

from dse import units
from dse.mistakes import Mistakes
from dse.study.cursor import Cursor

_KEYS = ("residual_value", "utilisation")
OWNERSHIP_SCHEMA = {
    "type": "object",
    "additionalProperties": False,
    "properties": {key: {"type": ["string", "number"]} for key in _KEYS},
}


@dataclass(frozen=True)
class StudyOwnership:
    """residual_value: share of the hardware's price that is left after the years of amortisation,
    in [0, 1]. utilisation: share of all hours in which the cluster is used, in (0, 1]."""

    residual_value: float = 0.0
    utilisation: float = 1.0


def read_ownership(at: Cursor) -> StudyOwnership:
    """Shares, of which what is left out is as when the cluster runs until it is worth nothing."""
    mistakes = Mistakes()
    at = at.keys(_KEYS, (), mistakes)
    shares = mistakes.by_key(lambda key: _share(at.at(key), key), at.given())
    mistakes.told()
    return StudyOwnership(**{key: share() for key, share in shares.items()})


def _share(place: Cursor, key: str) -> float:
    share = place.quantity("share", 1e18, zero=key == "residual_value")
    if share > 1:
        raise place.wrong(
            f"{key}: {place.shown} is more than 1",
            f"write a share, such as {units.DIMENSIONS['share'][1]}",
        )
    return share
