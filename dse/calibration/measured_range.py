"""The layouts and the links that a profile measured."""

from __future__ import annotations

from math import inf

from dse.calibration.profile import Point, Profile
from dse.errors import OutsideCalibration


def local_ranks(profile: Profile, point: Point) -> int:
    """Ranks on a full node where a point was measured; all of them if there was only one node."""
    return point.ranks if profile.max_nodes <= 1 else min(point.ranks, point.ranks_per_node)


def usual_ranks_per_node(profile: Profile, ranks: int) -> int:
    """The default: all ranks on one node, or the most ranks per node of the multi-node runs."""
    return int(min(ranks, usual_node(profile)))


def usual_node(profile: Profile) -> float:
    """Ranks of a full node by that default; inf where a node holds all ranks there are."""
    if profile.max_nodes <= 1:
        return inf
    local = [point.ranks_per_node for point in profile.points if point.ranks_per_node < point.ranks]
    fallback = profile.auto.ranks_per_node[1] if profile.auto else 1
    return max(local, default=fallback)


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

    Raises OutsideCalibration if one is given and the measured speed is not known.
    """
    measured = measured_speeds(profile, algorithm)
    if given is not None and measured is None:
        problem = f"profile {profile.name} does not state the link speed that it was measured at"
        raise OutsideCalibration(f"{problem}, so it cannot predict another; drop --link-bandwidth")
    return given if given is not None else measured and measured[1]
