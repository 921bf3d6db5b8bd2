"""What stands for inputs that nobody gave and moves a number, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from dse import catalog
from dse.model.scale import IDEAL
from dse.pricing import hardware
from dse.pricing.devices import USUAL_STACK
from dse.pricing.efficiency import DEFAULT_EFFICIENCY
from dse.pricing.load import EQUAL_LAYER
from dse.pricing.problem import Problem
from dse.report import goodput, gradients, money, own_rates, power
from dse.report.words import STACK
from dse.study import IGNORED, Value
from dse.study.quantities import RENT, facts_of

HIDDEN_LOADING = (
    "Loading token streams is taken as hidden behind computing. All nodes are taken as equally "
    "fast, with the network to themselves."
)


def assumptions(
    problem: Problem, recommended: Mapping[str, Value | None] | None = None
) -> list[str]:
    """A sentence or two for each, those that matter most first. recommended: the values of the
    recommended point."""
    lines = [*_of_computing(problem, recommended), *_of_activations(problem)]
    if any(one.split == "assumed" and one.fits for one in problem.profiles.values()):
        lines.append(
            "Profiles were measured on one link. That their times are the software's, and the wire "
            "of the priced fabric comes on top, is assumed."
        )
    lines += gradients.assumed_lines(problem)
    if problem.workload.gradient_tensors is None and problem.step_model.measurable:
        lines.append(_of_tensors(problem))
    lines.append(HIDDEN_LOADING if problem.study.laid_out else _of_scale(problem))
    lines += [*goodput.assumed(problem, recommended), *money.assumed(problem)]
    lines.append(
        "Switches form the least fat tree, with full bisection unless a study oversubscribes it, "
        "and are counted whole; where no switch size is known, "
        f"{hardware.DEFAULT_RADIX:g} ports are assumed."
    )
    return [*lines, *power.assumptions(problem), *_of_site(problem)]


def _of_computing(
    problem: Problem, recommended: Mapping[str, Value | None] | None
) -> Iterator[str]:
    """What the time of computing rests on: a share of the peak, or software and training rates."""
    study = problem.study
    if study.efficiency.compute is not None or not problem.step_model.measurable:
        reached = study.efficiency.compute or DEFAULT_EFFICIENCY
        source = "as the study says" if study.efficiency.compute else "by the model"
        yield (
            f"Matrix products are taken to reach {reached:.0%} of an accelerator's peak, {source}; "
            "memory traffic comes on top."
        )
        return
    if study.axis(STACK) in study.defaults:
        title = catalog.computing().stacks[USUAL_STACK].title
        yield (
            f"The training software is assumed to be {title} (stack: {USUAL_STACK}). Ordinary code "
            "is slower (plain), code as tuned as submissions to MLPerf faster (tuned)."
        )
    if own := own_rates.said(problem, recommended, "the recommended configuration"):
        yield f"{own}."


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
    less = 100 * (1 - 2 ** -float(scale.cloud_sharing))
    shared = f", {less:.2g} % where tenants of a cloud share an Ethernet that RDMA crosses"
    nodes = () if problem.study.values("inter_node") else problem.study.values("node")
    cloud = any(catalog.node(str(name)).shares_network for name in nodes)
    return (
        f"A step waits for the slowest accelerator: steps vary by {100 * spread:.2g} %"
        f"{', as samples differ in length' * varying}. A second of communication lengthens the "
        f"backward pass beside it by {slowdown:.2g} s. With twice as many nodes each has "
        f"{100 * (1 - 2**-sharing):.2g} % less bandwidth"
        f"{shared * cloud}. These are medians of "
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


def _of_site(problem: Problem) -> Iterator[str]:
    """What stands for the samples' size, the network of rented machines, and the electricity."""
    study = problem.study
    unknown = np.isnan(hardware.number(problem.workload.input_bytes))
    if unknown and not study.laid_out:
        yield "The size of an input sample is unknown; loading it is assumed to cost nothing."
    rented = RENT in facts_of(objective.name for objective in study.objectives)
    if rented and study.axis("inter_node") is not None:
        yield (
            "Rental prices include the network that a machine comes with: choosing another under "
            "inter_node changes the speed but not the rent."
        )
    name = study.region
    if name is not None and catalog.region(name).electricity_usd_per_kwh is None:
        yield (
            f"The catalogue has no price of electricity in {catalog.region(name).title}: that of "
            "the price list stands in. Give yours under prices: {electricity: 0.1 USD/kWh}."
        )
