"""What a study asks for and no profile or fact can tell: said before the search and after it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dse import catalog
from dse.model.aggregation.algorithms import ALGORITHMS, beyond_power_of_two
from dse.model.aggregation.nccl import NCCL_ALGORITHMS
from dse.model.pai import architectures
from dse.model.precision import PRECISIONS
from dse.pricing import hardware, market, network_doubts, price_doubts, rate_doubts, stock
from dse.pricing.point_arrays import Points
from dse.pricing.problem import Problem
from dse.pricing.profile_use import unused
from dse.spelling import abridged, enumerated
from dse.study import IGNORED
from dse.study.quantities import PURCHASE, facts_of

# Axes that the closed model does not contain.
UNSEEN = ("bucket", "fusion_buffer", "fusion_cycle", "ps_servers", "ps_placement")


def caveats(problem: Problem) -> list[str]:
    """What the answer must be read with: profiles that price nothing, networks that look alike."""
    money = [*_hosts(problem), *price_doubts.other_speeds(problem),
             *market.notes(problem.study, problem.prices),
             *stock.notes(problem.study, problem.standing)]  # fmt: skip
    last = [
        *money,
        *_memory(problem),
        *_tables(problem),
        *network_doubts.shared_cards(problem),
        *network_doubts.oversubscribed(problem),
    ]
    if not problem.step_model.measurable:
        return [*_unseen(problem), *_alike(problem), *last]
    return [
        *_contradictions(problem),
        *_unused(problem),
        *network_doubts.other_fabrics(problem),
        *_not_of_nccl(problem),
        *network_doubts.unknown_speeds(problem),
        *network_doubts.slower_on_faster(problem),
        *last,
    ]


def _contradictions(problem: Problem) -> list[str]:
    """Notes on own rates of one configuration that contradict one another, where rates count."""
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


def _memory(problem: Problem) -> list[str]:
    """That nobody knows whether points fit in memory, where the study does not ignore that."""
    if problem.study.memory == IGNORED or problem.layers.kept.known:
        return []
    return [
        f"Whether {problem.workload.name} fits in memory is not judged: how much it keeps for the "
        "backward pass is unknown."
    ]


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
    added = [f"for {abridged(names)} a server of USD {usd:,.0f}" for usd, names in hosts.items()]
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
    return f"The {what} of {abridged(names)} {verb} {part} of the server{like}. "


def _unseen(problem: Problem) -> list[str]:
    """What of the study the closed model does not contain: its profiles, some of its axes."""
    study, found = problem.study, []
    if study.calibration:
        names = abridged(study.calibration)
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
        f"Model {problem.study.model} does not tell {abridged(names)} apart: {kind}."
        for kind, names in groups.items()
        if len(names) > 1
    ]


def unsupported(problem: Problem) -> list[str]:
    """Precisions that an accelerator of the study lacks, in a sentence for each precision."""
    found = []
    axis = "node" if problem.study.values("node") else "accelerator"
    labels = [str(value) for value in problem.study.values(axis)]
    rows = hardware.machines_of(problem.study, problem.prices)
    for precision in problem.study.values("precision"):
        peak = PRECISIONS[str(precision)].name
        lacking = [
            label
            for label, row in zip(labels, rows, strict=True)
            if peak not in row.accelerator.peak_flops_per_s
        ]
        if lacking:
            found.append(
                f"The catalogue has no speed in {precision} for {abridged(lacking)} (not "
                "supported, or not known); these points are left out."
            )
    return found


def _unused(problem: Problem) -> list[str]:
    """The profiles that price nothing of the study, and why."""
    return [f"Profile {name} prices nothing here: {why}." for name, why in unused(problem).items()]


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
