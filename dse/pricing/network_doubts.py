"""What to doubt of how networks are priced: said, and believed all the same."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.evidence import Grade
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import HARDWARE_AXES
from dse.model.aggregation.library_rules import AUTO
from dse.pricing.point_arrays import BUCKET, Points
from dse.pricing.problem import Problem
from dse.pricing.profile_use import taken
from dse.pricing.thinned_grid import thinned
from dse.spelling import abridged
from dse.study import AggregationName, Value, Wire
from dse.study.space import Slab

NCCL, RING = "nccl", "ring"
LEAST_LONGER = 0.02  # that communication takes on a faster network: less is not told


def slower_on_faster(problem: Problem) -> list[str]:
    """A note on communication that takes longer on a faster network, where NCCL's tuner takes an
    algorithm that this model prices higher than the tuner does; none where the ring may be chosen.
    """
    slowed: list[tuple[float, str, str, str]] = []
    for name in problem.study.aggregations:
        by_ring = AggregationName(RING, name.transport)
        if name.algorithm != AUTO or by_ring in problem.study.aggregations:
            continue
        if not name.transport.startswith(NCCL):
            continue
        for slab in problem.space.slabs:
            if slab.fixed["aggregation"] == name:
                points = thinned(problem, slab, {*HARDWARE_AXES, BUCKET})
                slowed += ((*one, str(name)) for one in _slowed(points, slab))
    if not slowed:
        return []
    most, faster, slower, which = max(slowed)
    return [
        f"By {which} communication takes up to {most - 1:.0%} longer on {faster} than on {slower}, "
        "on the same accelerators: NCCL's tuner is expected to take its tree there, which is "
        "priced higher here than by the tuner. Add ring-nccl to aggregation (NCCL_ALGO=Ring), or "
        "measure both, before a slower network is bought for that."
    ]


def _slowed(points: Points, slab: Slab) -> Iterator[tuple[float, str, str]]:
    """By which factor communication takes longer on a network that is faster, with the names of
    both, of each pair of networks where it does on some hardware, and neither was measured."""
    networks = next((at for at, axis in enumerate(slab.axes) if axis.name == "inter_node"), None)
    if networks is None:
        return
    link = points.across
    nodes = node_count(points.gpus, points.gpus_per_node)
    unmeasured = points.grade() == Grade.CATALOGUE
    columns = np.broadcast_arrays(points.evaluation(compared=False)["comm"], nodes > 1, unmeasured,
                                  link.bytes_per_s, link.latency_s)  # fmt: skip
    comm, several, unmeasured, rate, latency = (
        np.moveaxis(column, networks, 0) for column in columns
    )
    labels = slab.axes[networks].labels
    for slower, faster in permutations(range(len(comm)), 2):
        better = several[faster] & (rate[faster] > rate[slower])
        better &= (latency[faster] <= latency[slower]) & unmeasured[faster] & unmeasured[slower]
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = np.where(better, comm[faster] / comm[slower], 0.0)
        most = float(np.nanmax(longer, initial=0.0))
        if most > 1 + LEAST_LONGER:
            yield most, labels[faster], labels[slower]


def unknown_speeds(problem: Problem) -> list[str]:
    """Profiles that price the study's choices on networks that they cannot tell apart."""
    return [
        unknown_speed(name, profile)
        for name in sorted(problem.study.aggregations, key=lambda name: name.transport)
        for profile in taken(problem, name)
        if name.algorithm == AUTO and profile.auto and _alike(problem, profile)
    ]


def unknown_speed(name: str, profile: Profile) -> str:
    """What it means that a profile does not know how fast its link between nodes was."""
    return (
        f"Profile {profile.name} does not say how fast the network was that it was measured on, so "
        f"its times are used for every network unchanged: {name} cannot tell which network to buy, "
        "and all of its points on several nodes count as extrapolated."
    )


def _alike(problem: Problem, profile: Profile) -> bool:
    """Whether the study compares networks by a profile that cannot tell them apart."""
    several = problem.several_nodes
    compared = len(problem.study.values("inter_node")) > 1
    return several and compared and profile.link_bytes_per_s is None and profile.max_nodes > 1


def other_fabrics(problem: Problem) -> list[str]:
    """Approaches of the study on links from which what they reach of a link was not taken."""
    used = [problem.aggregation(name).approach for name in problem.study.aggregations]
    approaches = [facts for facts in used if facts is not None]
    links = problem.study.values("inter_node")
    if not problem.several_nodes:
        return []
    found = []
    for facts in approaches:
        others = [_label(link) for link in links if not _is(link, facts.fitted_on)]
        if facts.fitted_on and others:
            found.append(
                f"{facts.name} uses {facts.link_efficiency:.1%} of a link's bandwidth: fitted on "
                f"{facts.fitted_on}, assumed on {abridged(others)}."
            )
    rdma = [facts.name for facts in approaches if facts.protocol == "rdma"]
    plain = [_label(link) for link in links if _is_ethernet(link)]
    if rdma and plain:
        found.append(
            f"{', '.join(rdma)}: priced with RDMA numbers of InfiniBand; on {abridged(plain)} this "
            "assumes RoCE that reaches the same share of the link."
        )
    return found


def _label(link: Value) -> str:
    return link.label if isinstance(link, Wire) else str(link)


def _is(link: Value, fabric: str) -> bool:
    """Whether a link is this fabric, or one of the study's own that is as fast."""
    if not fabric or not isinstance(link, Wire):
        return str(link) == fabric
    known = catalog.fabric(fabric).bytes_per_s
    return link.fabric in (None, fabric) and link.bytes_per_s == known


def _is_ethernet(link: Value) -> bool:
    """Whether a link is a fabric that ordinary TCP knows besides RDMA: Ethernet."""
    name = link.fabric if isinstance(link, Wire) else str(link)
    return name is not None and {"rdma", "tcp"} <= set(catalog.fabric(name).latency_s)


def oversubscribed(problem: Problem) -> list[str]:
    """A note that what an oversubscribed network costs in speed was measured by nobody."""
    name, study = "oversubscription", problem.study
    values = [*study.values(name), study.baseline.values.get(name)]
    largest = max((float(value) for value in values if isinstance(value, (int, float))), default=1)
    if largest <= 1:
        return []
    return [
        f"How much slower oversubscribed networks are (here up to {largest:g} to 1) is calculated, "
        "not measured: from the most that each algorithm sends from one leaf switch to another, "
        "with ranks in the order of the switches. Jobs that share the network, or ranks in another "
        "order, lose more."
    ]


def shared_cards(problem: Problem) -> list[str]:
    """A note that accelerators share one network card, since the study names no more, where
    machines that are sold with as many accelerators have several."""
    study = problem.study
    chosen = {axis.name for axis in study.axes} | {one.axis for one in study.conditions}
    if not problem.several_nodes:
        return []
    if {"nics_per_node", "node"} <= chosen:
        return _idle_cards(problem)
    if chosen & {"nics_per_node", "node"}:
        return []
    shared = dict[str, str]()
    for node in map(catalog.node, catalog.names("nodes")):
        name, count = node.accelerator, node.accelerators
        listed = study.has("accelerator", name) and count in problem.ranks_per_node
        if listed and (node.nics or 1) > 1:
            shared.setdefault(f"{count} {name}", f"{node.title} has {node.nics}")
    if not shared:
        return []
    return [
        f"{abridged([*shared])} of a node share one network card, since nics_per_node is not "
        f"given; machines are sold with more: {abridged([*shared.values()])}."
    ]


def _idle_cards(problem: Problem) -> list[str]:
    """A note that machines of the study have more network cards than it lets them use."""
    most = max(problem.study.numbers("nics_per_node", 1.0))
    nodes = [catalog.node(str(name)) for name in problem.study.values("node")]
    fewer = [f"{node.title} has {node.nics:g}" for node in nodes if (node.nics or 1) > most]
    if not fewer:
        return []
    cards = "one network card" if most == 1 else f"{most:g} network cards"
    return [f"All accelerators of a node share {cards}, as nics_per_node says: {abridged(fewer)}."]
