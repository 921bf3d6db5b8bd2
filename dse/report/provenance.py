"""Says who: the facts and transports behind a study's numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dse import catalog
from dse.catalog import Fact
from dse.model.step import AUTO, PARAMETER_SERVER
from dse.pricing import ruled
from dse.pricing.chosen import is_chosen, ruling
from dse.pricing.problem import Problem
from dse.report import approaches
from dse.report.document import SourceRow, TransportRow
from dse.report.profile_notes import server_note
from dse.study import APPROACH, Wire, split_aggregation


def mentioned(problem: Problem, axis: str) -> list[str]:
    """Catalogue names an axis or the baseline mentions, each once."""
    study = problem.study
    values = [value for a in (*study.axes, *study.defaults) if a.name == axis for value in a.values]
    values += [value for name, value in study.baseline.values.items() if name == axis]
    return list(dict.fromkeys(str(v) for v in values if v is not None and not isinstance(v, Wire)))


def used_transports(problem: Problem) -> list[str]:
    """Transports of the study's aggregations; an approach brings its own."""
    pairs = [split_aggregation(text) for text in mentioned(problem, "aggregation")]
    return list(dict.fromkeys(name for algorithm, name in pairs if algorithm != APPROACH))


def transports(problem: Problem) -> list[TransportRow]:
    """The transports of the study, and whether each is calibrated."""
    used = [split_aggregation(text) for text in mentioned(problem, "aggregation")]
    if problem.closed:
        note = f"model {problem.study.model} knows no transports"
        return [TransportRow(name=name, title=catalog.transport(name).title, calibrated=False,
                             note=note) for name in used_transports(problem)]  # fmt: skip
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
        rows.append(TransportRow(
            name=name, title=catalog.transport(name).title, calibrated=all(measured),
            partly=any(measured) and not all(measured), note="; ".join(notes),
        ))  # fmt: skip
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


def devices(problem: Problem) -> list[str]:
    """Accelerators of the study, those of its nodes included."""
    nodes = [catalog.node(name).accelerator for name in mentioned(problem, "node")]
    return list(dict.fromkeys([*mentioned(problem, "accelerator"), *nodes]))


def sources(problem: Problem) -> list[SourceRow]:
    """Every catalogue fact behind the study, with where it is from and when it was read."""
    rows: list[SourceRow] = []

    def add(item: str, facts: Iterable[Fact]) -> None:
        for fact in facts:
            source = catalog.sources().get(fact.source)
            rows.append(SourceRow(
                item=item, fact=fact.name, value=fact.text,
                source=source.title if source else fact.source,
                url=source.url if source else "", accessed=fact.accessed,
                date=fact.date, status=fact.status,
            ))  # fmt: skip

    add(f"workload {problem.workload.name}", problem.workload.facts)
    for name in mentioned(problem, "node"):
        add(f"node {name}", catalog.node(name).facts)
    for name in devices(problem):
        priced = ("prices.purchase", "prices.hourly")
        add(
            f"accelerator {name}",
            (f for f in catalog.accelerator(name).facts if not f.name.startswith(priced)),
        )
        add(f"accelerator {name}", _prices_of(problem, name))
    for axis in ("inter_node", "intra_node"):
        for name in mentioned(problem, axis):
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
