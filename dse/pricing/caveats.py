"""What a study asks for and no profile or fact can tell: said before the search and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.model.approach import BEST, CHOICES
from dse.model.collectives import ALGORITHMS, FOLDING, beyond_power_of_two, node_count
from dse.model.precision import PRECISIONS
from dse.model.step import AUTO
from dse.pricing import closed, hardware
from dse.pricing.problem import Problem
from dse.pricing.values import axis_values, numbers, ranks_per_node, transports
from dse.study import APPROACH, Value, Wire, split_aggregation

MOST_LISTED = 6
# Axes that the closed model does not contain.
UNSEEN = ("bucket", "fusion_buffer", "fusion_cycle", "ps_servers", "ps_placement")
NAMED = tuple(ALGORITHMS)  # what a library's rules may choose


def cautions(problem: Problem) -> list[str]:
    """What the answer must be read with: layouts without a price, networks that look alike."""
    if problem.closed:
        return [*_unseen(problem), *_alike(problem), *_hosts(problem), *_tables(problem)]
    found = [unused(name) for name in _unused(problem)] + _other_fabrics(problem)
    for name, profile in _chosen(problem):
        found += unpriced_layouts(problem, name, profile)
        if _networks_alike(problem, profile):
            found.append(unknown_speed(name, profile))
    return found + _hosts(problem) + _tables(problem)


def _tables(problem: Problem) -> list[str]:
    """That a workload has embedding tables that no device's memory is asked for."""
    rows = problem.workload.embedding_params
    if not rows:
        return []
    return [
        f"The embedding tables of {problem.workload.name}, up to {4 * rows / 1e9:,.3g} GB in fp32, "
        "are counted in no accelerator's memory: where they do not fit they must be split or lie "
        "elsewhere."
    ]


def _hosts(problem: Problem) -> list[str]:
    """That only some of the accelerators to buy bring their part of a host."""
    study, prices = problem.study, problem.prices
    if not {"capital", "tco"} & {objective.name for objective in study.objectives}:
        return []
    names = [*axis_values(problem, "accelerator"), study.baseline.values.get("accelerator")]
    bought = [name for name in dict.fromkeys(map(str, names)) if name in prices.accelerator_usd]
    shares = [name for name in bought if prices.includes[name] == catalog.NODE_SHARE]
    others = [name for name in bought if name not in shares]
    if not shares or not others:
        return []
    return [
        f"The price of {_listed(shares)} is a share of a complete node, its host included, also "
        f"where a node holds fewer; a node of {_listed(others)} is charged a host besides."
    ]


def _unseen(problem: Problem) -> list[str]:
    """What of the study the closed model does not contain: its profiles, some of its axes."""
    study, found = problem.study, []
    if study.calibration:
        names = _listed(study.calibration)
        found.append(f"Model {study.model} knows no measurements: {names} is not used.")
    asked = {axis.name for axis in study.axes} | {one.axis for one in study.conditions}
    blind = [name for name in UNSEEN if name in asked]
    if blind:
        verb = "does" if len(blind) == 1 else "do"
        paid = "; dedicated servers are still paid for" if "ps_servers" in blind else ""
        names = " and ".join(blind)
        found.append(f"In model {study.model} {names} {verb} not change the step{paid}.")
    return found


def _alike(problem: Problem) -> list[str]:
    """The aggregations of the study that are one and the same to the closed model."""
    groups: dict[str, list[str]] = {}
    for name in map(str, axis_values(problem, "aggregation")):
        algorithm, rest = split_aggregation(name)
        if algorithm == APPROACH:
            algorithm = catalog.approach(rest).algorithm
        _, inside, across = closed.architectures(algorithm)
        groups.setdefault(f"{inside} in one node, {across} across nodes", []).append(name)
    return [
        f"To model {problem.study.model} {_listed(names)} are all the same: {kind}."
        for kind, names in groups.items()
        if len(names) > 1
    ]


def unsupported(problem: Problem) -> list[str]:
    """Precisions that an accelerator of the study lacks, in a sentence for each precision."""
    found = []
    axis = "node" if axis_values(problem, "node") else "accelerator"
    labels = [str(value) for value in axis_values(problem, axis)]
    rows = hardware.machines(axis, axis_values(problem, axis), problem.prices)
    for precision in axis_values(problem, "precision"):
        peak = PRECISIONS[str(precision)].name
        lacking = [
            label
            for label, row in zip(labels, rows, strict=True)
            if peak not in row.accelerator.peak_flops_per_s
        ]
        if lacking:
            found.append(f"{_listed(lacking)}: no {precision} known; such points are rejected")
    return found


def unused(name: str) -> str:
    """What it means that no aggregation of the study is priced by a profile."""
    return f"The profile {name} prices nothing here: the study has no aggregation that it measured."


def _unused(problem: Problem) -> list[str]:
    """Names of profiles that serve no aggregation of the study and know none of its devices."""
    using = set()
    for aggregation in map(str, axis_values(problem, "aggregation")):
        algorithm, transport = split_aggregation(aggregation)
        if algorithm == APPROACH:
            continue
        names = (algorithm, *NAMED) if algorithm.startswith(AUTO) else (algorithm,)
        using |= {id(problem.profile(name, transport)) for name in names}
    return [
        name for name, profile in problem.profiles.items()
        if id(profile) not in using and not profile.compute
    ]  # fmt: skip


def unknown_speed(name: str, profile: Profile) -> str:
    """What it means that a profile does not know how fast its link between nodes was."""
    return (
        f"The link speed that profile {profile.name} was measured on is not known: its times serve "
        f"every network as they are, so that {name} says nothing about which network to buy; all "
        "of its points on several nodes count as extrapolated."
    )


def unpriced_layouts(problem: Problem, name: str, profile: Profile) -> list[str]:
    """The layouts of the study that the profile cannot price, and why; nothing where it can."""
    assert profile.auto is not None
    cost = profile.auto.cost()
    layouts = [
        (local, ranks)
        for local in ranks_per_node(problem)
        for ranks in numbers(problem, "gpus", 1.0)
        if not cost.priced(ranks, local)
    ]
    found = []
    for between in (True, False):
        mine = [(g, n) for g, n in layouts if bool(node_count(n, g) > 1) is between]
        if mine:
            found.append(f"{_no_price(name, profile, between)}; rejected: {_layouts(mine)}.")
    return found


def why_unpriced(problem: Problem, values: Mapping[str, Value | None]) -> str:
    """Why the aggregation of a point has no price, in a clause; '' where that is not why."""
    setting = problem.setting(values)
    if setting.profile is None or np.all(setting.priced):
        return ""
    between = bool(np.all(node_count(setting.gpus, setting.gpus_per_node) > 1))
    return _no_price(str(values["aggregation"]), setting.profile, between)


def folded_ranks(values: Mapping[str, Value | None], chosen: Sequence[str]) -> int:
    """How many ranks of a point are beyond a power of two where that lengthens a message.

    chosen: algorithms that a library's rules take there.
    """
    algorithm, rest = split_aggregation(str(values["aggregation"]))
    if algorithm == APPROACH:
        algorithm = catalog.approach(rest).algorithm
    names = CHOICES if algorithm == BEST else (algorithm, *chosen)
    ranks = values["gpus"]
    if not set(names) & set(FOLDING) or not isinstance(ranks, int | float):
        return 0
    return int(beyond_power_of_two(ranks))


def _no_price(name: str, profile: Profile, between: bool) -> str:
    tier = "between nodes" if between else "inside one node"
    where = "inside one node only" if between else "on several nodes only"
    return f"{name} has no price {tier}, since profile {profile.name} was measured {where}"


def _chosen(problem: Problem) -> Iterator[tuple[str, Profile]]:
    """The study's ``auto-<transport>`` that a profile prices, and that profile."""
    wanted = {str(value) for value in axis_values(problem, "aggregation")}
    for transport in transports(problem):
        profile = problem.profile(AUTO, transport)
        if profile is not None and profile.auto is not None and f"{AUTO}-{transport}" in wanted:
            yield f"{AUTO}-{transport}", profile


def _other_fabrics(problem: Problem) -> list[str]:
    """Approaches of the study on links from which what they reach of a link was not taken."""
    names = [split_aggregation(str(value)) for value in axis_values(problem, "aggregation")]
    approaches = [catalog.approach(rest) for algorithm, rest in names if algorithm == APPROACH]
    links = axis_values(problem, "inter_node")
    if not _several_nodes(problem):
        return []
    found = []
    for facts in approaches:
        others = [_label(link) for link in links if not _is(link, facts.fitted_on)]
        if facts.fitted_on and others:
            found.append(
                f"{facts.name} reaches {facts.link_efficiency:.1%} of a link: fitted on "
                f"{facts.fitted_on}, an assumption on {_listed(others)}."
            )
    rdma = [facts.name for facts in approaches if facts.protocol == "rdma"]
    plain = [_label(link) for link in links if _is_ethernet(link)]
    if rdma and plain:
        found.append(
            f"{', '.join(rdma)}: over RDMA, whose numbers are those of InfiniBand; on "
            f"{_listed(plain)} they suppose RoCE that reaches as much of the link."
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
        for local in ranks_per_node(problem)
        for ranks in numbers(problem, "gpus", 1.0)
    )


def _networks_alike(problem: Problem, profile: Profile) -> bool:
    """Whether the study compares networks by a profile that cannot tell them apart."""
    several = _several_nodes(problem)
    compared = len(axis_values(problem, "inter_node")) > 1
    return several and compared and profile.link_bytes_per_s is None and profile.max_nodes > 1


def _layouts(layouts: Sequence[tuple[float, float]]) -> str:
    """'gpus 16, 32 at gpus_per_node 8'."""
    parts = []
    for local, group in groupby(layouts, key=lambda layout: layout[0]):
        counts = [f"{ranks:,.0f}" for _, ranks in group]
        parts.append(f"gpus {_listed(counts)} at gpus_per_node {local:g}")
    return _listed(parts, "; ")


def _listed(words: Sequence[str], mark: str = ", ") -> str:
    more = f"{mark}..." if len(words) > MOST_LISTED else ""
    return mark.join(words[:MOST_LISTED]) + more
