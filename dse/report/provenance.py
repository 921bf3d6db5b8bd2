"""Says who: the facts, transports and assumptions behind a study's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from dse import catalog
from dse.catalog import Fact
from dse.model.selection import NCCL
from dse.model.step import AUTO, PARAMETER_SERVER
from dse.report import approaches
from dse.report.closed import CLOSED_LINES
from dse.report.measured import efficiency_lines, server_assumptions, server_note
from dse.search import cautions, ruled, tables
from dse.search.chosen import MOST_NAMES, is_chosen, measured_choices, ruling
from dse.search.problem import Problem
from dse.study import APPROACH, Wire, split_aggregation


def _used(problem: Problem, axis: str) -> list[str]:
    """Catalogue names an axis or the baseline mentions, each once."""
    study = problem.study
    values = [value for a in (*study.axes, *study.defaults) if a.name == axis for value in a.values]
    values += [value for name, value in study.baseline.values.items() if name == axis]
    return list(dict.fromkeys(str(v) for v in values if v is not None and not isinstance(v, Wire)))


def used_transports(problem: Problem) -> list[str]:
    """Transports of the study's aggregations; an approach brings its own."""
    pairs = [split_aggregation(text) for text in _used(problem, "aggregation")]
    return list(dict.fromkeys(name for algorithm, name in pairs if algorithm != APPROACH))


def transports(problem: Problem) -> list[dict[str, Any]]:
    """The transports of the study, and whether each is calibrated."""
    used = [split_aggregation(text) for text in _used(problem, "aggregation")]
    if problem.closed:
        note = f"model {problem.study.model} knows no transports"
        return [{"name": name, "title": catalog.transport(name).title, "calibrated": False,
                 "partly": False, "note": note} for name in used_transports(problem)]  # fmt: skip
    rows = []
    for name in used_transports(problem):
        algorithms = [algorithm for algorithm, transport in used if transport == name]
        served = server_note(problem, name) if PARAMETER_SERVER in algorithms else ""
        named = [
            algorithm for algorithm in algorithms
            if not is_chosen(algorithm) and not (served and algorithm == PARAMETER_SERVER)
        ]  # fmt: skip
        notes = [_named_note(problem, name, named)] if named else []
        notes += [served] if served else []
        notes += [_chosen_note(problem, how, name) for how in algorithms if is_chosen(how)]
        measured = [
            problem.profile(priced, name) is not None
            for algorithm in algorithms
            for priced in _priced_as(problem, algorithm, name)
        ]
        rows.append({"name": name, "title": catalog.transport(name).title,
                     "calibrated": all(measured), "partly": any(measured) and not all(measured),
                     "note": "; ".join(notes)})  # fmt: skip
    return [*rows, *approaches.transports(problem)]


def _named_note(problem: Problem, transport: str, algorithms: Sequence[str]) -> str:
    """Where the prices of the named algorithms come from."""
    profile = problem.profile(algorithms[0], transport)
    if profile is not None:
        return f"software costs from profile {profile.name}, wire from the catalogue"
    chosen = problem.profile(AUTO, transport)
    if chosen is None:
        return "software costs from the catalogue, not measured"
    return (
        f"{', '.join(algorithms)}: software costs from the catalogue, not measured, since profile "
        f"{chosen.name} holds only what the library chose"
    )


def _priced_as(problem: Problem, algorithm: str, transport: str) -> list[str]:
    """The algorithm itself; or all that the rules may choose, where rules do."""
    library = ruling(algorithm, transport, problem.profiles.values())
    if library is None:
        return [algorithm]
    return sorted({known.priced_as for known in ruled.RULES[library].algorithms})


def _chosen_note(problem: Problem, algorithm: str, transport: str) -> str:
    library = ruling(algorithm, transport, problem.profiles.values())
    if library is not None:
        by_rules = f"{algorithm}: chosen by {ruled.RULES[library].title}, not measured"
        chosen = _priced_as(problem, algorithm, transport)
        return f"{by_rules}; {_named_note(problem, transport, chosen)}"
    profile = problem.profile(AUTO, transport)
    if profile is None:
        return "auto: the library's own choice, not measured"
    where = profile.source or profile.system
    return f"auto: the library's own choice, fitted on {where} (profile {profile.name})"


def assumptions(problem: Problem) -> list[str]:
    """What the numbers rest on besides measured and sourced facts, in plain sentences."""
    study = problem.study
    lines = [*efficiency_lines(problem)]
    lines += CLOSED_LINES if problem.closed else _calibrated_lines(problem)
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


def _calibrated_lines(problem: Problem) -> list[str]:
    """What the prices of a step rest on, profiles and rules of libraries included."""
    aggregations = _used(problem, "aggregation")
    lines = ["A step's input is prefetched; storage behind the host is never the bottleneck."]
    if any(p.split == "assumed" and p.fits for p in problem.profiles.values()):
        lines.append(
            "Profiles were measured on one link. What they measured is taken as software cost, and "
            "the wire of the priced fabric is added; the split is assumed, not measured."
        )
    over = [t for t in used_transports(problem) if f"{PARAMETER_SERVER}-{t}" in aggregations]
    lines += server_assumptions(problem, over)
    lines += approaches.assumptions(problem)
    return [*lines, *_chosen_assumptions(problem), *_ruled_assumptions(problem)]


def _chosen_assumptions(problem: Problem) -> list[str]:
    """What prices of the library's own choice rest on, one or two sentences per profile in use."""
    lines = []
    for transport in used_transports(problem):
        profile = problem.profile(AUTO, transport)
        name = f"{AUTO}-{transport}"
        if profile is None or profile.auto is None or name not in _used(problem, "aggregation"):
            continue
        lines += cautions.unpriced_layouts(problem, name, profile)
        speed = profile.link_bytes_per_s
        if speed is None and profile.max_nodes > 1:
            lines.append(cautions.unknown_speed(name, profile))
        elif speed is not None:
            lines.append(
                f"What {name} takes between nodes was measured at {speed * 8e-9:g} Gbps a node "
                f"(profile {profile.name}). On other networks its time per byte is scaled by the "
                "speed, its latency is left."
            )
    return lines


def _ruled_assumptions(problem: Problem) -> list[str]:
    """That the algorithm follows from rules, and where they are written."""
    lines = []
    for name in _used(problem, "aggregation"):
        algorithm, transport = split_aggregation(name)
        library = ruling(algorithm, transport, problem.profiles.values())
        if library is None:
            continue
        rules = ruled.RULES[library]
        line = (
            f"Which algorithm {name} runs was not measured: it is chosen by {rules.title} for "
            f"every message ({rules.source}), and it costs what it does by its own name."
        )
        if library == NCCL:
            line += (
                " The protocol that the tuner takes is not priced, and it is told of a host, of "
                "channels and of a network delay that are assumed (unverified)."
            )
            unknown = [a for a in _devices(problem) if ruled.generation(a) is None]
            if unknown:
                as_if = f"taken for {ruled.UNKNOWN_GENERATION} GPUs"
                line += f" In it {', '.join(unknown)} are {as_if}."
        known = measured_choices(transport) if algorithm == AUTO else []
        if known:
            more = " and others" * (len(known) > MOST_NAMES)
            listed = ", ".join(known[:MOST_NAMES])
            line += f" Profiles that have measured it elsewhere: {listed}{more}."
        lines.append(line)
    return lines


def _devices(problem: Problem) -> list[str]:
    """Accelerators of the study, those of its nodes included."""
    nodes = [catalog.node(name).accelerator for name in _used(problem, "node")]
    return list(dict.fromkeys([*_used(problem, "accelerator"), *nodes]))


def _network_assumptions(problem: Problem) -> list[str]:
    lines = [
        "Switches form a full-bisection fat tree, bought by the port; where no switch size is "
        f"known it is {tables.DEFAULT_RADIX:g} ports."
    ]
    for name in _used(problem, "inter_node"):
        known = {} if problem.closed else catalog.fabric(name).latency_s
        used = [catalog.transport(transport) for transport in used_transports(problem)]
        used += [facts.transport for facts in approaches.used_approaches(problem)]
        for transport in used:
            protocol, over = transport.protocol, transport.name
            if known and protocol not in known:
                lines.append(
                    f"The latency of {name} under {protocol} is unknown; {over} is priced with "
                    f"that of {next(iter(known))}, which is too low."
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
    for name in _used(problem, "node"):
        add(f"node {name}", catalog.node(name).facts)
    for name in _devices(problem):
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
    for item, facts in approaches.sources(problem):
        add(item, facts)
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
