"""Says who: the facts, transports and assumptions behind a study's numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from dse import catalog
from dse.catalog import Fact
from dse.search import tables
from dse.search.placement import DEFAULT_EFFICIENCY
from dse.search.problem import Problem
from dse.study import Wire, split_aggregation


def _used(problem: Problem, axis: str) -> list[str]:
    """Catalogue names an axis or the baseline mentions, each once."""
    study = problem.study
    values = [value for a in (*study.axes, *study.defaults) if a.name == axis for value in a.values]
    values += [value for name, value in study.baseline.values.items() if name == axis]
    return list(dict.fromkeys(str(v) for v in values if v is not None and not isinstance(v, Wire)))


def used_transports(problem: Problem) -> list[str]:
    """Transports of the study's aggregations."""
    found = [split_aggregation(text)[1] for text in _used(problem, "aggregation")]
    return list(dict.fromkeys(found))


def transports(problem: Problem) -> list[dict[str, Any]]:
    """The transports of the study, and whether each is calibrated."""
    rows = []
    for name in used_transports(problem):
        profile = problem.profiles.get(name)
        note = "software costs from the catalogue, not measured"
        if profile is not None:
            note = f"software costs from profile {profile.name}, wire from the catalogue"
        rows.append({"name": name, "title": catalog.transport(name).title,
                     "calibrated": profile is not None, "note": note})  # fmt: skip
    return rows


def assumptions(problem: Problem) -> list[str]:
    """What the numbers rest on besides measured and sourced facts, in plain sentences."""
    study = problem.study
    lines = []
    if study.efficiency.compute is None or study.efficiency.memory is None:
        lines.append(
            f"Training reaches {DEFAULT_EFFICIENCY:.0%} of an accelerator's peak arithmetic and "
            "memory bandwidth (recalled from Wang et al., IISWC 2019; unverified). Set efficiency: "
            "in the study to change it."
        )
    lines.append("A step's input is prefetched; storage behind the host is never the bottleneck.")
    if any(p.split == "assumed" for p in problem.profiles.values()):
        lines.append(
            "Profiles were measured on one link. What they measured is taken as software cost, and "
            "the wire of the priced fabric is added; the split is assumed, not measured."
        )
    if np.isnan(problem.layers.activation_elems):
        lines.append(
            f"The activations of {problem.workload.name} are unknown: the memory traffic they "
            "cause is not counted, so that computing may take longer than predicted."
        )
    elif np.isnan(problem.workload.layer_output_elems).any():
        lines.append(
            f"The layer table of {problem.workload.name} has no activation sizes; memory traffic "
            "is spread over its layers in proportion to their FLOPs."
        )
    if np.isnan(tables.number(problem.workload.input_bytes)):
        lines.append("The size of an input sample is unknown; feeding it is taken to be free.")
    lines += _network_assumptions(problem)
    rented = {"hourly", "per_run"} & {objective.name for objective in study.objectives}
    if rented and study.axis("inter_node") is not None:
        lines.append(
            "Rent is quoted with the network a machine comes with: another one chosen under "
            "inter_node changes the speed but not the rent."
        )
    lines.append(
        "The rest of a node draws power in the proportion quoted for an H100 server; dedicated "
        "parameter servers draw none here. A training process takes 1.5 GB of device memory "
        "besides its own data (recalled, unverified)."
    )
    return lines


def _network_assumptions(problem: Problem) -> list[str]:
    lines = [
        "Switches form a full-bisection fat tree, bought by the port; where no switch size is "
        f"known it is {tables.DEFAULT_RADIX:g} ports."
    ]
    for name in _used(problem, "inter_node"):
        known = catalog.fabric(name).latency_s
        for transport in used_transports(problem):
            protocol = catalog.transport(transport).protocol
            if known and protocol not in known:
                lines.append(
                    f"The latency of {name} under {protocol} is unknown; {transport} is priced "
                    f"with that of {next(iter(known))}, which is too low."
                )
    return lines


def sources(problem: Problem) -> list[dict[str, str]]:
    """Every catalogue fact behind the study, with where it is from and when it was read."""
    rows: list[dict[str, str]] = []

    def add(item: str, facts: Iterable[Fact]) -> None:
        for fact in facts:
            source = catalog.sources().get(fact.source)
            rows.append({
                "item": item, "fact": fact.name, "value": fact.text,
                "source": source.title if source else fact.source,
                "url": source.url if source else "", "accessed": fact.accessed,
                "date": fact.date, "status": fact.status,
            })  # fmt: skip

    add(f"workload {problem.workload.name}", problem.workload.facts)
    devices = _used(problem, "accelerator")
    for name in _used(problem, "node"):
        node = catalog.node(name)
        add(f"node {name}", node.facts)
        devices.append(node.accelerator)
    for name in dict.fromkeys(devices):
        priced = ("prices.purchase", "prices.hourly")
        add(
            f"accelerator {name}",
            (f for f in catalog.accelerator(name).facts if not f.name.startswith(priced)),
        )
        add(f"accelerator {name}", _prices_of(problem, name))
    for axis in ("inter_node", "intra_node"):
        for name in _used(problem, axis):
            add(f"fabric {name}", catalog.fabric(name).facts)
    for name in used_transports(problem):
        add(f"transport {name}", catalog.transport(name).facts)
    prices = problem.prices
    add(
        "prices",
        (
            prices.host_usd,
            prices.electricity_usd_per_kwh,
            prices.pue,
            prices.amortisation_years,
            prices.host_power_w,
        ),
    )
    return rows


def _prices_of(problem: Problem, name: str) -> list[Fact]:
    found = (
        problem.prices.accelerator_usd.get(name),
        problem.prices.accelerator_hourly_usd.get(name),
    )
    return [fact for fact in found if fact is not None]
