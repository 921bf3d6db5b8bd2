"""The measured range of a profile (layouts, sizes, links), and why a point lies outside it."""

from __future__ import annotations

from dse.calibration.library_part import AUTO
from dse.calibration.number_text import gbps, size_text, span_text
from dse.calibration.profile import Point, Profile
from dse.calibration.ps_part import ServersFit
from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import node_count


def local_ranks(profile: Profile, point: Point) -> int:
    """Ranks on a full node where a point was measured; all of them if there was only one node."""
    return point.ranks if profile.max_nodes <= 1 else min(point.ranks, point.ranks_per_node)


def usual_ranks_per_node(profile: Profile, ranks: int) -> int:
    """The default: all ranks on one node, or the most ranks per node of the multi-node runs."""
    if profile.max_nodes <= 1:
        return ranks
    local = [point.ranks_per_node for point in profile.points if point.ranks_per_node < point.ranks]
    fallback = profile.auto.ranks_per_node[1] if profile.auto else 1
    return min(ranks, max(local, default=fallback))


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


def other_speed(profile: Profile, algorithm: str, speed: float | None) -> str:
    """'a link of 25 Gbps (measured: 100 Gbps)' if such a link was not measured, else ''."""
    measured = measured_speeds(profile, algorithm)
    if speed is None or measured is None or measured[0] <= speed <= measured[1]:
        return ""
    ends = " to ".join(dict.fromkeys(gbps(end) for end in measured))
    return f"a link of {gbps(speed)} Gbps (measured: {ends} Gbps)"


def why_outside(
    profile: Profile,
    algorithm: str,
    ranks: int,
    ranks_per_node: int,
    message_bytes: float,
    link_bytes_per_s: float | None = None,
) -> str:
    """Which values of a point were not measured, and the measured range: '9 ranks (measured: 2-8)'.

    link_bytes_per_s: of the link between nodes at that point; None: the one measured.
    """
    reasons = []
    if not profile.ranks[0] <= ranks <= profile.ranks[1]:
        many = f"{ranks:,} rank{'s' * (ranks != 1)}"
        reasons.append(f"{many} (measured: {span_text(*profile.ranks)})")
    low, high = profile.message_bytes
    if not low <= message_bytes <= high:
        measured = f"{size_text(low)} to {size_text(high)}"
        reasons.append(f"{size_text(message_bytes)} (measured: {measured})")
    nodes = int(node_count(ranks, ranks_per_node))
    few = profile.auto.fewest_nodes if profile.auto is not None and algorithm == AUTO else 1
    if nodes > profile.max_nodes:
        reasons.append(f"{nodes:,} nodes (measured: {span_text(few, profile.max_nodes)})")
    if profile.auto is not None and algorithm == AUTO:
        least, most = profile.auto.ranks_per_node
        if not least <= ranks_per_node <= most:
            many = f"{ranks_per_node:,} rank{'s' * (ranks_per_node != 1)} per node"
            reasons.append(f"{many} (measured: {span_text(least, most)})")
    if other := other_speed(profile, algorithm, link_bytes_per_s):
        reasons.append(other)
    if algorithm not in profile.measured_algorithms:
        measured = ", ".join(profile.measured_algorithms)
        reasons.append(f"{algorithm} (not measured; priced with the step costs of {measured})")
    return ", ".join(reasons) or "this combination was not measured"


def why_servers_outside(
    part: ServersFit, workers: int, servers: int, size: float, other: str
) -> str:
    """The same for parameter servers; ``other``: that the link was not measured, or ''."""
    reasons = [
        f"{count:,} {what}{'s' * (count != 1)} (measured: {span_text(*limits)})"
        for what, count, limits in (
            ("worker", workers, part.workers),
            ("server", servers, part.servers),
        )
        if not limits[0] <= count <= limits[1]
    ]
    low, high = part.message_bytes
    if not low <= size <= high:
        reasons.append(f"{size_text(size)} (measured: {size_text(low)} to {size_text(high)})")
    return ", ".join([*reasons, other] if other else reasons)
