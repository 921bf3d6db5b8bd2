"""What a study's numbers rest on besides measured and sourced facts, in plain sentences."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.model.aggregation.base import UNKNOWN_GENERATION
from dse.model.aggregation.library_rules import AUTO
from dse.model.aggregation.nccl import NcclRules
from dse.model.aggregation.nccl_tuner import ASSUMED_GENERATION
from dse.model.scale import IDEAL
from dse.model.step import PARAMETER_SERVER
from dse.pricing import hardware, market, profile_use
from dse.pricing.aggregations import composed_by_framework, serving
from dse.pricing.devices import USUAL_STACK
from dse.pricing.load import EQUAL_LAYER
from dse.pricing.problem import Problem
from dse.report import approaches, decoding, goodput, gradients, launches, money, power
from dse.report.computing import computing_lines, software_lines
from dse.report.pai_assumptions import PAI_LINES
from dse.report.provenance import devices, mentioned, used_transports
from dse.spelling import enumerated
from dse.study import IGNORED, Value
from dse.study.quantities import RENT, facts_of


def assumptions(
    problem: Problem, recommended: Mapping[str, Value | None] | None = None
) -> list[str]:
    """A sentence or two for each, those that matter most first. recommended: the values of the
    recommended point."""
    study = problem.study
    lines = [*computing_lines(problem, recommended)]
    if recommended:
        lines += software_lines(problem, recommended)
        lines += decoding.lines(problem, recommended)
        lines += launches.lines(problem, recommended)
    lines += _of_activations(problem)
    lines += _calibrated_lines(problem) if problem.step_model.measurable else PAI_LINES
    lines += gradients.assumed_lines(problem)
    if recommended:
        lines += gradients.recommended_lines(problem, recommended)
    if problem.workload.gradient_tensors is None and problem.step_model.measurable:
        lines.append(_of_tensors(problem))
    lines.append(_of_scale(problem))
    lines += [*goodput.assumed(problem, recommended), *money.assumed(problem)]
    lines += _network_assumptions(problem)
    if np.isnan(hardware.number(problem.workload.input_bytes)):
        lines.append(
            "The size of an input sample is unknown; loading it is assumed to cost nothing."
        )
    rented = RENT in facts_of(objective.name for objective in study.objectives)
    if rented and study.axis("inter_node") is not None:
        lines.append(
            "Rental prices include the network that a machine comes with: choosing another under "
            "inter_node changes the speed but not the rent."
        )
    return [*lines, *power.assumptions(problem)]


def _of_scale(problem: Problem) -> str:
    """What accelerators that work together lose to one another."""
    scale = problem.lost
    if scale == IDEAL:
        return (
            "All nodes are assumed to be equally fast and to have the network to themselves: "
            "waiting for the slowest node is not included."
        )
    varying = problem.workload.varying_length
    spread, slowdown, sharing = (
        float(value) for value in (scale.spread, scale.slowdown, scale.sharing)
    )
    return (
        f"A step waits for the slowest accelerator: steps vary by {100 * spread:.2g} %"
        f"{', as samples differ in length' * varying}. A second of communication lengthens the "
        f"backward pass beside it by {slowdown:.2g} s. With twice as many nodes each has "
        f"{100 * (1 - 2**-sharing):.2g} % less bandwidth. These are medians of "
        f"{catalog.scale_terms().title}"
        f"{', as your training rates correct them' * (scale != problem.scale)}; "
        "scale: ideal leaves them out."
    )


def _of_tensors(problem: Problem) -> str:
    """What stands for the gradient tensors of a network that does not tell them."""
    name, parts = problem.workload.name, len(problem.tensors[0])
    if EQUAL_LAYER in problem.workload.layer_kinds:
        return (
            f"The layers of {name} are not known: {parts} equal ones stand for them, each with one "
            f"gradient tensor of {problem.tensors[0][0]:,.0f} elements, which no bucket or server "
            "splits. Give a table of its layers for buckets and overlap as they are."
        )
    return (
        f"The gradient tensors of {name} are not known: "
        f"{'one stands' if parts == 1 else f'{parts} stand'} for them. Tensors are not split, so "
        "neither more parameter servers nor smaller buckets would change anything."
    )


def _of_activations(problem: Problem) -> list[str]:
    """What is not known of the memory of activations."""
    name, written = problem.workload.name, problem.workload.layer_output_elems
    lines = []
    if problem.study.memory == IGNORED:
        lines.append(
            "Memory is ignored, as the study asks: points may need more than an accelerator has."
        )
    elif problem.layers.kept.known:
        lines.append(_of_memory(problem))
    if problem.layers.work is None:
        lines.append(
            f"The sizes of the matrix products of {name} are not known: one product stands for "
            "each layer."
        )
        if np.isnan(written).any() and not problem.layers.kept.known:
            lines.append(
                "Nor is the memory traffic between them, which is not counted: computing may take "
                "longer than predicted."
            )
    return lines


def _of_memory(problem: Problem) -> str:
    """What is counted in the memory of an accelerator."""
    names = [str(name) for name in problem.study.values("stack")] or [USUAL_STACK]
    found = [catalog.footprints()[name] for name in names]
    context = max(one.context_bytes for one in found) / 1e9
    slack = max(one.slack for one in found)
    return (
        "Each accelerator must hold the whole network, with its gradients, optimizer state and "
        f"activations, besides {context:g} GB of the training process and {slack:.0%} lost between "
        "tensors."
    )


def _calibrated_lines(problem: Problem) -> list[str]:
    """What the prices of a step rest on, profiles and rules of libraries included."""
    lines = []
    if any(p.split == "assumed" and p.fits for p in problem.profiles.values()):
        lines.append(
            "Profiles were measured on one link. That their times are the software's, and the wire "
            "of the priced fabric comes on top, is assumed."
        )
    served = [name.transport for name in problem.study.named_aggregations if serving(name)]
    if any(
        over in one.ps
        for over in served
        for one in problem.factory.candidates(PARAMETER_SERVER, over)
    ):
        lines.append(
            "Each parameter server and worker has a machine of its own, as fast as the one "
            "measured; a process is assumed to do half of the work of its messages, on one core."
        )
    lines += approaches.assumptions(problem)
    return [
        *lines,
        *_library_choices(problem),
        *_library_rules(problem),
        *_composed_by_frameworks(problem),
    ]


def _library_choices(problem: Problem) -> list[str]:
    """What prices of the library's own choice rest on."""
    lines = []
    for name in problem.study.named_aggregations:
        taken = profile_use.taken(problem, name) if name.algorithm == AUTO else []
        lines += [_unknown_speed(name, profile) for profile in taken
                  if profile.link_bytes_per_s is None and profile.max_nodes > 1]  # fmt: skip
        speeds = [f"{profile.link_bytes_per_s * 8e-9:g} Gbps per node (profile {profile.name})"
                  for profile in taken if profile.link_bytes_per_s is not None]  # fmt: skip
        if speeds:
            lines.append(
                f"The time of {name} between nodes was measured at {enumerated(speeds)}. On other "
                "networks its time per byte is scaled with the speed, and its latency is kept."
            )
    return lines


def _library_rules(problem: Problem) -> list[str]:
    """That the algorithm follows from rules, and where they are written."""
    lines = []
    for name in problem.study.named_aggregations:
        model = problem.aggregation(name).model
        authority = model.authority
        if authority is None:
            continue
        profiles = [p.name for p in profile_use.taken(problem, name) if p.auto]
        if profiles and not profile_use.catalogue_taken(problem, name):
            continue
        where = f" where no profile applies ({', '.join(profiles)})" * bool(profiles)
        line = (
            f"Which algorithm {name} runs{where} was not measured: it is chosen by "
            f"{authority.title} for every message ({authority.source}), and priced as that "
            "algorithm."
        )
        if authority.title == NcclRules.title:
            line += (
                " Where no profile has measured that algorithm, its fastest protocol is priced; "
                "the host and the channels are assumed (unverified)."
            )
            unknown = [
                device for device in devices(problem)
                if hardware.nccl_generation(catalog.accelerator(device)) == UNKNOWN_GENERATION
            ]  # fmt: skip
            if unknown:
                line += f" It treats {', '.join(unknown)} as {ASSUMED_GENERATION} GPUs."
        lines.append(line)
    return lines


def _composed_by_frameworks(problem: Problem) -> list[str]:
    """That NCCL does not do by itself what a study names."""
    return [
        f"{name} is not something NCCL does by itself: a framework composes it of a reduce-scatter "
        "inside each node, an allreduce between nodes and an all-gather inside."
        for name in problem.study.named_aggregations
        if composed_by_framework(name)
    ]


def _network_assumptions(problem: Problem) -> list[str]:
    counted = "counted" if market.rents(problem.study) else "bought"
    lines = [
        f"Switches form the least full-bisection fat tree and are {counted} whole; where no switch "
        f"size is known, {hardware.DEFAULT_RADIX:g} ports are assumed."
    ]
    used = [catalog.transport(transport) for transport in used_transports(problem)]
    used += [facts.transport for facts in approaches.used_approaches(problem)]
    lacking = [
        f"{name} under {transport.protocol}"
        for name in mentioned(problem, "inter_node") for transport in used
        if (known := catalog.fabric(name).latency_s) and transport.protocol not in known
    ]  # fmt: skip
    if lacking and problem.step_model.measurable:
        lines.append(
            f"The catalogue has no latency of {enumerated(dict.fromkeys(lacking))}: that under "
            "another protocol is priced, though tcp has a higher one than rdma."
        )
    return lines


def _unknown_speed(name: str, profile: Profile) -> str:
    """The sentence on a profile that does not know how fast its link between nodes was."""
    return (
        f"Profile {profile.name} does not say how fast its network was. Its times are used for "
        f"every network, so {name} cannot tell which network to buy."
    )
