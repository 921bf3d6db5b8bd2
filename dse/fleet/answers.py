"""A fleet study answered: its document, built once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from dse import catalog
from dse.catalog import Fact
from dse.fleet import job_table
from dse.fleet.assumptions import assumptions
from dse.fleet.breakdown import Priced, breakdown, priced, shares
from dse.fleet.certainty import intervals
from dse.fleet.document import (
    ALL,
    FORMAT,
    Assumption,
    FleetDocument,
    FleetHardware,
    NamedJob,
    OwnModel,
    PaperFact,
    PopulationSummary,
    Port,
    Timings,
)
from dse.fleet.facts import IDENTITY, facts
from dse.fleet.job_table import read_table
from dse.fleet.log_summary import LogSummary
from dse.fleet.logged_jobs import read_logged
from dse.fleet.measured_costs import NOTHING, Measured, measured
from dse.fleet.model_comparison import (
    Effects,
    compare_models,
    in_range,
    priced_by_profile,
    step_s,
)
from dse.fleet.money import money
from dse.fleet.moved_jobs import AfterMove, after_move, best_target
from dse.fleet.other_models import by_other_models, paper
from dse.fleet.population import Population
from dse.fleet.ports import move, ports
from dse.fleet.recipe import population_names, population_path, read_recipe
from dse.fleet.sampling import draw
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import most_sensitive, sensitivity, speedups_by_upgrade
from dse.model.arrays import Array
from dse.model.pai import PS_WORKER, Hardware, step_times

MOST_ASSUMED = 200_000  # jobs that are drawn anew for every other assumption


def load_population(study: FleetStudy) -> Population:
    """The study's jobs, drawn or read.

    Raises :class:`~dse.errors.StudyError`, also for a memory in which no job's state is known.
    """
    if study.drawn:
        return draw(read_recipe(study.population), study.jobs, study.seed)
    servers = study.hardware["gpus_per_server"]
    if study.log is not None:
        columns, log = read_logged(study.population, study.log, servers)
        found = replace(job_table.population(study.population, columns, servers), log=log)
    else:
        found = read_table(study.population, servers)
    if study.gpu_memory_bytes is not None and not found.state_given:
        problem = f"gpu_memory: {study.population.name} does not tell what state its jobs hold"
        remedy = "add the column state_bytes, or leave gpu_memory out"
        raise study.source.error(("hardware", "gpu_memory"), problem, remedy, key=True)
    return found


def base_hardware(study: FleetStudy, population: Population) -> Hardware:
    """What the jobs run on: the study's word, the population's where it has none."""
    if population.base is None:
        return Hardware(**study.hardware)
    return replace(population.base, **study.hardware)


def answer(
    study: FleetStudy,
    *,
    with_facts: bool = False,
    command: str = "",
    versions: Mapping[str, str] | None = None,
    started: float | None = None,
) -> FleetDocument:
    """Everything about a fleet.

    with_facts: what the PAI paper published beside it. command, versions: how it was asked, and of
    what. started: by :func:`time.perf_counter`, from when the time in all counts.
    """
    begun = time.perf_counter()
    population = load_population(study)
    loaded = time.perf_counter()
    hardware = base_hardware(study, population)
    found = priced(population, hardware, study.overlapped)
    upgraded = speedups_by_upgrade(found, hardware, study.upgrades, study.overlapped)
    moved = ports(found, study.ports, hardware, study.overlapped, study.gpu_memory_bytes)
    gains = sensitivity(found, hardware, study.overlapped)
    whole = ALL if len(found) > 1 else found[0].group.architecture
    after = _after_move(study, found, hardware, moved)
    worth, behind = money(study, upgraded, moved, whole, after)
    sure = intervals(study, found, hardware, "" if after is None else after.target)
    known = measured(study.profiles)
    classes, named = breakdown(found), named_jobs(study, found, hardware, known)
    machine = [] if study.machine is None else [*study.machine.facts()]
    machine += [fact for upgrade in study.upgrades for fact in upgrade.facts]
    sources = tuple(
        catalog.cite(item, fact) for item, fact in _facts(population, [*machine, *behind])
    )
    model_s = time.perf_counter() - loaded
    published, under, models = None, None, None
    if with_facts:
        unhidden = priced(population, hardware, False)
        published = _published(study, population, unhidden, hardware)
        under = _under_assumptions(study)
        models = compare_models(unhidden, hardware, known)
    return FleetDocument(
        format=FORMAT,
        fleet=study.name,
        description=study.description,
        path=study.path,
        hashes=content_hashes(study),
        study_text=study.source.text,
        population=PopulationSummary(
            name=population.name,
            title=population.title,
            path=population.path,
            drawn=study.drawn,
            jobs=population.size,
            seed=study.seed if study.drawn else None,
            counted_by="GPU-hours" if population.hours_given else "cNodes",
        ),
        hardware=FleetHardware(**asdict(hardware), gpu_memory_bytes=study.gpu_memory_bytes),
        hardware_labels=dict(study.labels),
        overlap="ideal" if study.overlapped else "none",
        overlap_told=study.overlap_told,
        by_model=by_other_models(
            study,
            population.groups,
            hardware,
            known,
            {row.name: row.speedup[whole].gpu_hours for row in upgraded},
            after,
        ),
        whole=whole,
        classes=classes,
        named=named,
        profiles=tuple(known.described()),
        sensitivity=gains,
        most_sensitive={name: most_sensitive(values) for name, values in gains.items()},
        upgrades=upgraded,
        ports=moved,
        money=worth,
        sources=sources,
        timings=Timings(
            population_s=loaded - begun,
            model_s=model_s,
            total_s=time.perf_counter() - (begun if started is None else started),
        ),
        intervals=sure,
        facts=published,
        assumptions=under,
        models=models,
        log=None if population.log is None else _of_weights(population.log, found),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions or {},
    )


def _after_move(
    study: FleetStudy, found: Sequence[Priced], hardware: Hardware, moved: Sequence[Port]
) -> AfterMove | None:
    """What upgrades gain after the move that frees most GPU-hours; None where nothing can be bought
    or no move frees any."""
    to = best_target(moved) if study.money is not None else ""
    if not to:
        return None
    jobs = [(entry.group, 1.0) for entry in found]
    seconds, memory = paper(study.overlapped), study.gpu_memory_bytes
    return after_move(jobs, to, hardware, study.upgrades, seconds, memory)


def _of_weights(log: LogSummary, found: Sequence[Priced]) -> LogSummary:
    """With the share of the fleet's time that weights take, of all jobs and of the matched ones."""
    share = np.concatenate([shares(entry.times)["weights"] for entry in found])
    held = np.concatenate([entry.group.gpu_hours for entry in found])
    assumed = [entry.group.assumed for entry in found]
    known = np.concatenate([
        np.ones(entry.group.size, dtype=bool) if mask is None else ~mask
        for entry, mask in zip(found, assumed, strict=True)
    ])  # fmt: skip
    whole, of_known = (
        float(np.average(share[rows], weights=held[rows])) if rows.any() else None
        for rows in (np.ones_like(known), known)
    )
    return replace(log, weights=whole, weights_matched=of_known)


def _published(
    study: FleetStudy, population: Population, found: list[Priced], hardware: Hardware
) -> tuple[PaperFact, ...]:
    """The paper's facts; without role where these are not its jobs on its hardware.

    Such jobs stand beside the paper's but are not fitted to them. Identities hold of any.
    """
    out = facts(found, hardware)
    ships = study.population in map(population_path, population_names())
    if study.drawn and ships and hardware == population.base:
        return tuple(out)
    return tuple(fact if fact.role == IDENTITY else replace(fact, role="", ok=None) for fact in out)


def _under_assumptions(study: FleetStudy) -> tuple[Assumption, ...]:
    if not study.drawn:
        return ()
    recipe = read_recipe(study.population)
    return tuple(assumptions(recipe, min(study.jobs, MOST_ASSUMED), study.seed))


def content_hashes(study: FleetStudy) -> dict[str, str]:
    """sha256 of all that a user can change: study, population, price list or none, profiles."""
    prices = study.money.prices if study.money is not None else None
    hashes = {
        "study": study.content_hash,
        "population": _hash_of(study.population),
        "prices": "" if prices is None else _hash_of(prices),
    }
    if study.profile_paths:
        hashes["profiles"] = " ".join(map(_hash_of, study.profile_paths))
    return hashes


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def named_jobs(
    study: FleetStudy, found: list[Priced], hardware: Hardware, known: Measured = NOTHING
) -> tuple[NamedJob, ...]:
    """The jobs that have names. known: what profiles have measured."""
    effects = Effects(software=True, overlapped=True, measured=known)
    return tuple(
        job
        for entry in found
        if len(entry.group.names)
        for job in _named(study, entry, hardware, effects)
    )


def _named(
    study: FleetStudy, entry: Priced, hardware: Hardware, effects: Effects
) -> Iterator[NamedJob]:
    """Every job of a class; its own model is that of :mod:`dse.fleet.model_comparison`."""
    own, group = _own_model(entry, hardware, effects), entry.group
    kind, jobs = group.architecture, group.jobs
    gains, own_gains = dict[str, Array](), dict[str, Array]()
    for upgrade in study.upgrades:
        faster = upgrade.applied(hardware)
        gains[upgrade.name] = entry.total_s / step_times(kind, jobs, faster).total_s(
            study.overlapped
        )
        own_gains[upgrade.name] = (
            step_s(kind, jobs, hardware, effects)[0] / step_s(kind, jobs, faster, effects)[0]
        )
    moves = {
        to: move(group, entry.total_s, to, hardware, study.overlapped, study.gpu_memory_bytes)
        for to in (study.ports if kind == PS_WORKER else ())
    }
    for at, name in enumerate(group.names):
        yield NamedJob(
            name=name,
            architecture=kind,
            cnodes=float(group.cnodes[at]),
            data_s=_at(entry.times.data_s, at),
            flops_s=_at(entry.times.flops_s, at),
            memory_s=_at(entry.times.memory_s, at),
            weights_s=_at(entry.times.weights_s, at),
            step_s=_at(entry.total_s, at),
            own_model=own[at],
            gpu_hours=float(group.gpu_hours[at]),
            speedups={of: _at(gain, at) for of, gain in gains.items()},
            own_speedups={of: _at(gain, at) for of, gain in own_gains.items()},
            moves={to: _at(moved.throughput, at) for to, moved in moves.items() if moved.fits[at]},
        )


def _own_model(entry: Priced, hardware: Hardware, effects: Effects) -> list[OwnModel]:
    """Of every job of a class."""
    place = (entry.group.architecture, entry.group.jobs, hardware)
    terms = (
        *step_s(*place, effects),
        priced_by_profile(*place, effects.measured),
        ~in_range(*place, effects),
    )
    columns = [np.broadcast_to(values, entry.group.size).tolist() for values in terms]
    return [OwnModel(*row) for row in zip(*columns, strict=True)]


def _at(values: Array, index: int) -> float:
    return float(values[index]) if values.ndim else float(values)


def _facts(population: Population, priced_by: list[tuple[str, Fact]]) -> list[tuple[str, Fact]]:
    """Of the population, also of a table that ships, and of prices."""
    own = population.facts
    ships = population.name in population_names()
    if not own and ships and Path(population.path) == population_path(population.name):
        own = catalog.population(population.name).facts
    return [(population.name, fact) for fact in own] + priced_by
