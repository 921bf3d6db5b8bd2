"""What a study asks for and no profile or fact can tell: said before the search and after it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.evidence import ByLayoutEvidence, Grade
from dse.calibration.hardware_names import same_device, same_kind
from dse.model.aggregation.algorithms import ALGORITHMS, beyond_power_of_two, node_count
from dse.model.aggregation.base import HARDWARE_AXES
from dse.model.aggregation.library_rules import AUTO
from dse.model.aggregation.nccl import NCCL_ALGORITHMS
from dse.model.pai import architectures
from dse.model.precision import PRECISIONS
from dse.pricing import hardware, market, rate_doubts, stock, throughput
from dse.pricing.coordinates import Coordinate
from dse.pricing.point_arrays import BUCKET, Points
from dse.pricing.problem import Problem
from dse.spelling import enumerated
from dse.study import AggregationName, Value, Wire
from dse.study.quantities import PURCHASE, facts_of
from dse.study.space import Slab

MOST_LISTED = 6
NCCL, RING = "nccl", "ring"
LEAST_LONGER = 0.02  # that communication takes on a faster network: less is not told
MOST_COUNTS = 16  # of accelerators, that are tried to learn which profiles price anything
# Axes that the closed model does not contain.
UNSEEN = ("bucket", "fusion_buffer", "fusion_cycle", "ps_servers", "ps_placement")


def caveats(problem: Problem) -> list[str]:
    """What the answer must be read with: profiles that price nothing, networks that look alike."""
    money = [*_hosts(problem), *market.notes(problem.study, problem.prices),
             *stock.notes(problem.study, problem.standing)]  # fmt: skip
    if not problem.step_model.measurable:
        return [*_unseen(problem), *_alike(problem), *money, *_tables(problem),
                *_shared_cards(problem), *_oversubscribed(problem)]  # fmt: skip
    found = [
        *_contradictions(problem),
        *_unused(problem),
        *_other_fabrics(problem),
        *_not_of_nccl(problem),
    ]
    for name in sorted(problem.study.aggregations, key=lambda name: name.transport):
        found += [
            unknown_speed(name, profile)
            for profile in taken(problem, name)
            if name.algorithm == AUTO and profile.auto and _networks_alike(problem, profile)
        ]
    found += _slower_on_faster(problem)
    return found + money + _tables(problem) + _shared_cards(problem) + _oversubscribed(problem)


def _slower_on_faster(problem: Problem) -> list[str]:
    """That communication takes longer on a faster network, where NCCL's tuner takes an algorithm
    there that this model prices higher than the tuner does; not where the ring may be chosen."""
    slowed: list[tuple[float, str, str, str]] = []
    for name in problem.study.aggregations:
        by_ring = AggregationName(RING, name.transport)
        if name.algorithm != AUTO or by_ring in problem.study.aggregations:
            continue
        if not name.transport.startswith(NCCL):
            continue
        for slab in problem.space.slabs:
            if slab.fixed["aggregation"] == name:
                points = _thinned(problem, slab, {*HARDWARE_AXES, BUCKET})
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
    both, of each pair of networks where it does on some hardware."""
    networks = next((at for at, axis in enumerate(slab.axes) if axis.name == "inter_node"), None)
    if networks is None:
        return
    link = points.across
    nodes = node_count(points.gpus, points.gpus_per_node)
    columns = np.broadcast_arrays(points.evaluation(compared=False)["comm"], nodes,
                                  link.bytes_per_s, link.latency_s)  # fmt: skip
    comm, nodes, rate, latency = (np.moveaxis(column, networks, 0) for column in columns)
    labels = slab.axes[networks].labels
    for slower, faster in permutations(range(len(comm)), 2):
        better = (nodes[faster] > 1) & (rate[faster] > rate[slower])
        better &= latency[faster] <= latency[slower]
        with np.errstate(divide="ignore", invalid="ignore"):
            longer = np.where(better, comm[faster] / comm[slower], 0.0)
        most = float(np.nanmax(longer, initial=0.0))
        if most > 1 + LEAST_LONGER:
            yield most, labels[faster], labels[slower]


def _contradictions(problem: Problem) -> list[str]:
    """That own rates of one configuration contradict one another, where rates count."""
    if problem.study.efficiency.compute is not None:
        return []
    return rate_doubts.contradictions(problem.profiles.values())


def _not_of_nccl(problem: Problem) -> list[str]:
    """That algorithms are asked for over NCCL which it does not have."""
    names = [
        name for name in problem.study.aggregations
        if name.transport.startswith("nccl") and name.algorithm in ALGORITHMS
        and name.algorithm not in NCCL_ALGORITHMS
    ]  # fmt: skip
    if not names:
        return []
    algorithms = enumerated(sorted({name.algorithm for name in names}))
    return [
        f"NCCL has no allreduce by {algorithms}: the time of {enumerated(sorted(map(str, names)))} "
        "is that of one which somebody writes of NCCL's sends and receives."
    ]


def _oversubscribed(problem: Problem) -> list[str]:
    """That what an oversubscribed network costs in speed is derived, and measured by nobody."""
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


def _shared_cards(problem: Problem) -> list[str]:
    """That accelerators share one network card, since the study names no more, where machines that
    are sold with as many accelerators have several."""
    study = problem.study
    chosen = {axis.name for axis in study.axes} | {one.axis for one in study.conditions}
    if not _several_nodes(problem):
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
        f"{_listed([*shared])} of a node share one network card, since nics_per_node is not given; "
        f"machines are sold with more: {_listed([*shared.values()])}."
    ]


def _idle_cards(problem: Problem) -> list[str]:
    """That machines of the study have more network cards than it lets them use."""
    most = max(problem.study.numbers("nics_per_node", 1.0))
    nodes = [catalog.node(str(name)) for name in problem.study.values("node")]
    fewer = [f"{node.title} has {node.nics:g}" for node in nodes if (node.nics or 1) > most]
    if not fewer:
        return []
    cards = "one network card" if most == 1 else f"{most:g} network cards"
    return [f"All accelerators of a node share {cards}, as nics_per_node says: {_listed(fewer)}."]


def _tables(problem: Problem) -> list[str]:
    """That a workload has embedding tables that no device's memory is asked for."""
    rows = problem.workload.embedding_params
    if not rows:
        return []
    return [
        f"The embedding tables of {problem.workload.name} (up to {4 * rows / 1e9:,.3g} GB in fp32) "
        "are not counted in any accelerator's memory; where they do not fit, they must be split or "
        "kept elsewhere."
    ]


def _hosts(problem: Problem) -> list[str]:
    """That only some of the accelerators to buy bring their part of a host."""
    study, prices = problem.study, problem.prices
    if PURCHASE not in facts_of(objective.name for objective in study.objectives):
        return []
    names = [*problem.study.values("accelerator"), study.baseline.values.get("accelerator")]
    bought = [name for name in dict.fromkeys(map(str, names)) if name in prices.accelerator_usd]
    shares = [name for name in bought if prices.includes[name] == catalog.NODE_SHARE]
    others = [name for name in bought if name not in shares]
    if not shares or not others:
        return []
    taken = [name for name in shares if name in prices.unsaid]
    contained = _contained([name for name in shares if name not in taken])
    contained += _contained(taken, taken=True)
    hosts: dict[float, list[str]] = {}
    for name in others:
        hosts.setdefault(hardware.host_price(prices, name).usd, []).append(name)
    added = [f"for {_listed(names)} a server of USD {usd:,.0f}" for usd, names in hosts.items()]
    each, verb_added = enumerated(added), "are" if added[1:] else "is"
    return [f"{contained}{each[:1].upper()}{each[1:]} per node {verb_added} added."]


def _contained(names: Sequence[str], taken: bool = False) -> str:
    """That prices contain a part of a server, with a blank behind it; empty of none. taken: nobody
    said so, but that of the catalogue does."""
    if not names:
        return ""
    several = len(names) > 1
    what, part = ("prices", "their part") if several else ("price", "its part")
    verb = f"already contain{'' if several else 's'}"
    if taken:
        verb = f"{'are' if several else 'is'} taken to contain"
    like = ", as in the catalogue" * taken
    return f"The {what} of {_listed(names)} {verb} {part} of the server{like}. "


def _unseen(problem: Problem) -> list[str]:
    """What of the study the closed model does not contain: its profiles, some of its axes."""
    study, found = problem.study, []
    if study.calibration:
        names = _listed(study.calibration)
        found.append(f"Model {study.model} uses no measurements: {names} is ignored.")
    varied = {axis.name for axis in study.axes} | {one.axis for one in study.conditions}
    blind = [name for name in UNSEEN if name in varied]
    if blind:
        verb = "does" if len(blind) == 1 else "do"
        paid = "; dedicated servers still cost money" if "ps_servers" in blind else ""
        names = " and ".join(blind)
        found.append(f"In model {study.model} {names} {verb} not change the step{paid}.")
    return found


def _alike(problem: Problem) -> list[str]:
    """The aggregations of the study that are one and the same to the closed model."""
    groups: dict[str, list[str]] = {}
    for name in problem.study.aggregations:
        _, inside, across = architectures(problem.aggregation(name).model)
        groups.setdefault(f"{inside} in one node, {across} across nodes", []).append(name)
    return [
        f"Model {problem.study.model} does not tell {_listed(names)} apart: {kind}."
        for kind, names in groups.items()
        if len(names) > 1
    ]


def unsupported(problem: Problem) -> list[str]:
    """Precisions that an accelerator of the study lacks, in a sentence for each precision."""
    found = []
    axis = "node" if problem.study.values("node") else "accelerator"
    labels = [str(value) for value in problem.study.values(axis)]
    rows = _machines(problem)
    for precision in problem.study.values("precision"):
        peak = PRECISIONS[str(precision)].name
        lacking = [
            label
            for label, row in zip(labels, rows, strict=True)
            if peak not in row.accelerator.peak_flops_per_s
        ]
        if lacking:
            found.append(
                f"The catalogue has no speed in {precision} for {_listed(lacking)} (not "
                "supported, or not known); these points are left out."
            )
    return found


def _unused(problem: Problem) -> list[str]:
    """The profiles that price nothing of the study, and why."""
    return [f"Profile {name} prices nothing here: {why}." for name, why in unused(problem).items()]


def unused(problem: Problem) -> dict[str, str]:
    """The profiles that price no aggregation of the study and know nothing of its computing, by
    name, and why."""
    names = problem.study.aggregations
    using = {id(profile) for name in names for profile in taken(problem, name)}
    fitting = {
        id(profile): name
        for name in names
        for profile in problem.aggregation(name).evidence.profiles
    }
    found = {}
    for name, profile in problem.profiles.items():
        if id(profile) in using or _of_computing(problem, profile):
            continue
        measured = _measured_computing(profile)
        why = "it measured none of the study's aggregations"
        if measured:
            devices = _listed([machine.accelerator.name for machine in _machines(problem)])
            why = (
                f"it measured {measured}, and the study is of {problem.workload.name} on {devices}"
            )
        if id(profile) in fitting:
            why = _why_not_taken(problem, name, fitting[id(profile)])
        found[name] = why
    return found


def _why_not_taken(problem: Problem, name: str, aggregation: AggregationName) -> str:
    """Why a profile that measured an aggregation of the study prices no point of it."""
    profile = problem.profiles[name]

    def takes(*names: str) -> bool:
        tried = replace(problem, profiles={one: problem.profiles[one] for one in names})
        return any(one is profile for one in taken(tried, aggregation))

    if takes(name):
        others = [one for one, other in problem.profiles.items()
                  if any(other is used for used in taken(problem, aggregation))]  # fmt: skip
        several = len(others) > 1
        if takes(name, *(one for one in problem.profiles if one != name)):
            verbs = ("fit", "are") if several else ("fits", "is")
            return f"{enumerated(others)} {verbs[0]} as well and {verbs[1]} listed before it"
        return f"{enumerated(others)} fit{'' if several else 's'} better"
    devices, fabrics = hardware.accelerators_of(problem.study), hardware.fabrics_of(problem.study)
    reached = any(same_device(profile.device, device) for device in devices)
    if profile.device != "cpu" and not reached:
        return f"it measured {profile.device}, and the study has {enumerated(devices)}"
    if profile.link and fabrics and not any(same_kind(profile.link, one) for one in fabrics):
        return f"it measured {profile.link}, and the study has {enumerated(fabrics)}"
    if profile.max_nodes <= 1:
        return "it measured one node, and no point of the study is of one such node"
    if not _several_nodes(problem):
        return "it measured several nodes, and all points of the study are of one"
    return "no point of the study is of the accelerator, nodes and network that it measured"


def _machines(problem: Problem) -> tuple[hardware.Machine, ...]:
    """Those that the study chooses from."""
    axis = "node" if problem.study.values("node") else "accelerator"
    return hardware.machines(axis, problem.study.values(axis), problem.prices)


def _of_computing(problem: Problem, profile: Profile) -> bool:
    """Whether a profile knows a device of the study, or rates of a network like the study's."""
    devices = {machine.accelerator.name for machine in _machines(problem)}
    timed = any(same_device(part.device, name) for part in profile.compute for name in devices)
    return timed or any(
        row.accelerator in devices
        or catalog.named_workload(row.workload).family == problem.workload.family
        for row in throughput.applicable(profile)
    )


def _measured_computing(profile: Profile) -> str:
    """What a profile knows of computing, in words; '' where that is nothing."""
    parts = [f"products on {part.device}" for part in profile.compute]
    rates = [f"{row.what} on {row.accelerator}" for row in profile.throughput]
    return _listed([*dict.fromkeys([*parts, *rates])])


def taken(problem: Problem, name: AggregationName) -> tuple[Profile, ...]:
    """The profiles that price some point of the study, each once, in the order of the study.

    Of a choice among several those that win at the baseline, or anywhere in a thinned grid of the
    study's hardware; all of them where an axis is continuous.
    """
    evidence = problem.aggregation(name).evidence
    if not isinstance(evidence, ByLayoutEvidence) or problem.points is None:
        return evidence.profiles
    found = {id(profile) for points in _sampled(problem, name) for part in evidence.taken(points)
             for profile in part.profiles}  # fmt: skip
    return tuple(profile for profile in evidence.profiles if id(profile) in found)


def catalogue_taken(problem: Problem, name: AggregationName) -> bool:
    """Whether the catalogue prices some point of the study, looked for where :func:`taken` does."""
    if problem.points is None:
        return not all(problem.aggregation(name).evidence.parts_measured)
    return any(np.any(points.grade() == Grade.CATALOGUE) for points in _sampled(problem, name))


def _sampled(problem: Problem, name: AggregationName) -> list[Points]:
    """The baseline, if this is its aggregation, and a thinned grid of the study's hardware."""
    points = [_thinned(problem, slab) for slab in problem.space.slabs
              if slab.fixed["aggregation"] == name]  # fmt: skip
    baseline = problem.points_at(problem.study.baseline.values)
    if baseline.summing.name == name and np.all(baseline.gpus > 1):
        points.append(baseline)
    return points


def _thinned(problem: Problem, slab: Slab, whole: Collection[str] = HARDWARE_AXES) -> Points:
    """All hardware of a slab on some of its counts of accelerators, the rest at its first value.

    whole: the axes of which all values are taken.
    """
    rank = len(slab.axes)
    coordinates = {}
    for number, axis in enumerate(slab.axes):
        count = len(axis.values)
        kept = np.arange(count) if axis.name in whole else np.zeros(1, dtype=np.int64)
        if axis.name == "gpus":
            kept = np.unique(np.linspace(0, count - 1, min(count, MOST_COUNTS)).astype(np.int64))
        shape = tuple(-1 if other == number else 1 for other in range(rank))
        coordinates[axis.name] = Coordinate(axis.values, kept.reshape(shape))
    return Points(problem, slab.fixed, coordinates, rank)


def unknown_speed(name: str, profile: Profile) -> str:
    """What it means that a profile does not know how fast its link between nodes was."""
    return (
        f"Profile {profile.name} does not say how fast the network was that it was measured on, so "
        f"its times are used for every network unchanged: {name} cannot tell which network to buy, "
        "and all of its points on several nodes count as extrapolated."
    )


def folded_ranks(points: Points) -> int:
    """How many ranks of a point are beyond a power of two where that lengthens a message."""
    model = points.aggregation
    taken = {choice.algorithm for choice in model.choices(points.gradients, points)}
    names = taken or set(model.algorithms)
    if not points.problem.step_model.measurable or not any(
        ALGORITHMS[name].folds for name in names
    ):
        return 0
    return int(beyond_power_of_two(float(np.ravel(points.gpus)[0])))


def _other_fabrics(problem: Problem) -> list[str]:
    """Approaches of the study on links from which what they reach of a link was not taken."""
    used = [problem.aggregation(name).approach for name in problem.study.aggregations]
    approaches = [facts for facts in used if facts is not None]
    links = problem.study.values("inter_node")
    if not _several_nodes(problem):
        return []
    found = []
    for facts in approaches:
        others = [_label(link) for link in links if not _is(link, facts.fitted_on)]
        if facts.fitted_on and others:
            found.append(
                f"{facts.name} uses {facts.link_efficiency:.1%} of a link's bandwidth: fitted on "
                f"{facts.fitted_on}, assumed on {_listed(others)}."
            )
    rdma = [facts.name for facts in approaches if facts.protocol == "rdma"]
    plain = [_label(link) for link in links if _is_ethernet(link)]
    if rdma and plain:
        found.append(
            f"{', '.join(rdma)}: priced with RDMA numbers of InfiniBand; on {_listed(plain)} this "
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


def _several_nodes(problem: Problem) -> bool:
    return any(
        node_count(ranks, local) > 1
        for local in problem.ranks_per_node
        for ranks in problem.study.numbers("gpus", 1.0)
    )


def _networks_alike(problem: Problem, profile: Profile) -> bool:
    """Whether the study compares networks by a profile that cannot tell them apart."""
    several = _several_nodes(problem)
    compared = len(problem.study.values("inter_node")) > 1
    return several and compared and profile.link_bytes_per_s is None and profile.max_nodes > 1


def _listed(words: Sequence[str], mark: str = ", ") -> str:
    more = f"{mark}..." if len(words) > MOST_LISTED else ""
    return mark.join(words[:MOST_LISTED]) + more
