"""At which speed of the link between nodes a prediction holds, and which were measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dse.calibration.profile import Profile
from dse.calibration.words import short
from dse.errors import OutsideCalibration


def measured_speeds(profile: Profile, algorithm: str) -> tuple[float, float] | None:
    """Bytes/s of the slowest and fastest link that the algorithm was measured on; None: unknown."""
    part = profile.servers(algorithm)
    if part is not None:
        found = [part.link_bytes_per_s]
    elif algorithm in profile.network:
        found = [profile.network[algorithm].link_bytes_per_s]
    elif profile.link_bytes_per_s is not None:
        found = [(profile.link_bytes_per_s, profile.link_bytes_per_s)]
    else:  # what rules choose, each as it was measured
        found = [fit.link_bytes_per_s for fit in profile.network.values()]
    known = [speeds for speeds in found if speeds[1] > 0]
    return (min(s for s, _ in known), max(s for _, s in known)) if known else None


def speed_at(profile: Profile, algorithm: str, given: float | None) -> float | None:
    """Bytes/s at which a prediction holds: the one ``given``, else the fastest measured, if known.

    Raises OutsideCalibration for one given where the measured speed is not known.
    """
    measured = measured_speeds(profile, algorithm)
    if given is not None and measured is None:
        problem = f"profile {profile.name} does not know the speed of a link between nodes"
        raise OutsideCalibration(f"{problem}, so it cannot tell what another changes")
    return given if given is not None else measured and measured[1]


def other_speed(profile: Profile, algorithm: str, speed: float | None) -> str:
    """'a link of 25 Gbps; measured 100 Gbps' where such a link was not measured, else ''."""
    measured = measured_speeds(profile, algorithm)
    if speed is None or measured is None or measured[0] <= speed <= measured[1]:
        return ""
    ends = " to ".join(dict.fromkeys(gbps(end) for end in measured))
    return f"a link of {gbps(speed)} Gbps; measured {ends} Gbps"


def title_of(records: Iterable[Mapping[str, Any]]) -> str:
    """', links of 25 Gbps' for the title of a table of records; '' where no speed is known."""
    speeds = sorted({r["link_bytes_per_s"] for r in records if r["link_bytes_per_s"] is not None})
    return f", links of {' and '.join(gbps(speed) for speed in speeds)} Gbps" if speeds else ""


def gbps(bytes_per_s: float) -> str:
    """Bytes/s as networks are sold: 12.5e9 -> '100'."""
    return short(8e-9 * bytes_per_s)
