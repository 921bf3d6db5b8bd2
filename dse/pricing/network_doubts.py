"""What to doubt of how networks are priced: said, and believed all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.evidence import Grade
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import HARDWARE_AXES
from dse.model.aggregation.library_rules import AUTO
from dse.model.arrays import Array
from dse.pricing.point_arrays import BUCKET
from dse.pricing.problem import Problem
from dse.pricing.profile_use import taken
from dse.pricing.thinned_grid import thinned
from dse.spelling import abridged
from dse.study import AggregationName, Value, Wire
from dse.study.space import Slab

NCCL, RING, TREE = "nccl", "ring", "tree"
BUFFER, CYCLE = "fusion_buffer", "fusion_cycle"
NETWORK, CARDS = "inter_node", "nics_per_node"
LEAST_LONGER = 0.02  # that a faster network takes: less is not told


@dataclass(frozen=True)
class _Cause:
    """Why something may be priced slower on a faster network.

    of: whether an aggregation may be, which a study has beside others. quantity: what takes longer.
    free: axes that are software, of whose values the fastest counts. what, why: in words, the
    latter with what to do.
    """

    of: Callable[[Problem, AggregationName], bool]
    quantity: str
    free: frozenset[str]
    what: str
    why: str


def _beside(problem: Problem, name: AggregationName, *algorithms: str) -> bool:
    """Whether the study has one of other algorithms over the same transport, too."""
    others = (AggregationName(algorithm, name.transport) for algorithm in algorithms)
    return any(other in problem.study.aggregations for other in others)


def _over_nccl(name: AggregationName, algorithm: str) -> bool:
    return name.algorithm == algorithm and name.transport.startswith(NCCL)


_CAUSES = (
    _Cause(
        lambda problem, name: _over_nccl(name, AUTO) and not _beside(problem, name, RING),
        "comm", frozenset(), "communication",
        "NCCL's tuner is expected to take its tree there, which is priced higher here than by the "
        "tuner. Add ring-nccl to aggregation (NCCL_ALGO=Ring), or measure both, before less "
        "network is bought for that.",
    ),
    _Cause(
        lambda problem, name: _over_nccl(name, TREE) and not _beside(problem, name, RING, AUTO),
        "comm", frozenset(), "communication",
        "there NCCL uses more channels, and is taken to fill a chunk on each of them first. Add "
        "ring-nccl to aggregation, or measure the tree, before less network is bought for that.",
    ),
    _Cause(
        lambda problem, name: CYCLE in problem.aggregation(name).model.axes,
        "step", frozenset((BUFFER, CYCLE)), "a step",
        "messages that arrive sooner leave less time in which tensors join, so that more of them "
        "are sent. A longer fusion_cycle (HOROVOD_CYCLE_TIME) joins them again: add one before "
        "less network is bought for that.",
    ),
)  # fmt: skip


def slower_on_faster(problem: Problem) -> list[str]:
    """A note for each cause by which something takes longer on a faster network."""
    return [note for cause in _CAUSES if (note := _note(problem, cause))]


def _note(problem: Problem, cause: _Cause) -> str:
    slowed: list[tuple[float, str, str, str]] = []
    for name in problem.study.aggregations:
        if not cause.of(problem, name):
            continue
        for slab in problem.space.slabs:
            if slab.fixed["aggregation"] == name:
                slowed += ((*one, str(name)) for one in _slowed(problem, slab, cause))
    if not slowed:
        return ""
    most, faster, slower, which = max(slowed)
    return (
        f"By {which} {cause.what} takes up to {most - 1:.0%} longer on {faster} than on {slower}, "
        f"on the same accelerators: {cause.why}"
    )


def _slowed(problem: Problem, slab: Slab, cause: _Cause) -> Iterator[tuple[float, str, str]]:
    """By which factor it takes longer on a network that is faster, with the names of both, of each
    pair of networks, with their cards, where it does on some hardware, and neither was measured."""
    at = {axis.name: number for number, axis in enumerate(slab.axes)}
    if NETWORK not in at or any(axis.continuous for axis in slab.axes):
        return
    points = thinned(problem, slab, {*HARDWARE_AXES, BUCKET, *cause.free})
    link, several = points.across, node_count(points.gpus, points.gpus_per_node) > 1
    unmeasured = points.grade() == Grade.CATALOGUE
    columns = np.broadcast_arrays(
        points.evaluation(compared=False)[cause.quantity], several, unmeasured,
        link.bytes_per_s * points.rails, link.latency_s,
    )  # fmt: skip
    own = [at[NETWORK]]
    if CARDS in at and len(slab.axes[at[CARDS]].values) > 1:
        own.append(at[CARDS])
    free = tuple(at[name] for name in cause.free if name in at)
    # The networks come first; of what is free the fastest is taken.
    taken_s, several, unmeasured, rate, latency = (
        np.moveaxis(column, own, range(len(own))).reshape(-1, *_rest(column, own))
        for column in (np.fmin.reduce(column, axis=free, keepdims=True) for column in columns)
    )
    labels = [*map(_named, product(*(slab.axes[one].labels for one in own)))]
    for slower, faster in permutations(range(len(labels)), 2):
        better = several[faster] & (rate[faster] > rate[slower])
        better &= (latency[faster] <= latency[slower]) & unmeasured[faster] & unmeasured[slower]
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = np.where(better, taken_s[faster] / taken_s[slower], 0.0)
        most = float(np.nanmax(longer, initial=0.0))
        if most > 1 + LEAST_LONGER:
            yield most, labels[faster], labels[slower]


def _rest(column: Array, first: Sequence[int]) -> tuple[int, ...]:
    return tuple(size for at, size in enumerate(column.shape) if at not in first)


def _named(labels: tuple[str, ...]) -> str:
    """A network, with its cards where the study has several numbers of them."""
    network, *cards = labels
    if not cards:
        return network
    return f"{network} with {cards[0]} card{'s' * (cards[0] != '1')} per node"


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
