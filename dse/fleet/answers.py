"""A fleet study answered: its document, built once."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dse import catalog
from dse.catalog import Fact
from dse.fleet.breakdown import Priced, breakdown, priced
from dse.fleet.document import (
    ALL,
    FORMAT,
    FleetDocument,
    FleetHardware,
    NamedJob,
    PopulationSummary,
    Timings,
)
from dse.fleet.intervals import drawn, intervals
from dse.fleet.job_table import read_table
from dse.fleet.logged_jobs import read_logged
from dse.fleet.money import money
from dse.fleet.population import Population
from dse.fleet.ports import move, ports
from dse.fleet.recipe import draw, population_names, population_path, read_recipe
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import most_sensitive, sensitivity, speedups_by_upgrade
from dse.model.arrays import Array
from dse.model.pai import PS_WORKER, Hardware, step_times


def load_population(study: FleetStudy) -> Population:
    """The study's jobs, drawn or read.

    Raises :class:`~dse.errors.StudyError`, also for a memory in which no job's state is known.
    """
    if study.drawn:
        return draw(read_recipe(study.population), study.jobs, study.seed)
    servers = study.hardware["gpus_per_server"]
    if study.log is not None:
        found = read_logged(study.population, study.log, servers)
    else:
        found = read_table(study.population, servers)
    if study.gpu_memory_bytes is not None and not found.state_given:
        problem = f"gpu_memory: {study.population.name} does not tell what state its jobs hold"
        remedy = "add the column state_bytes, or leave gpu_memory out"
        raise study.source.error(("hardware", "gpu_memory"), problem, remedy, key=True)
    return found


def base_hardware(study: FleetStudy, population: Population) -> Hardware:
    """The hardware of the jobs: the study's word, the population's where it has none."""
    if population.base is None:
        return Hardware(**study.hardware)
    return replace(population.base, **study.hardware)


def answer(
    study: FleetStudy,
    *,
    command: str = "",
    versions: Mapping[str, str] | None = None,
    started: float | None = None,
) -> FleetDocument:
    """Everything about a fleet.

    command, versions: how it was asked, and of what. started: by :func:`time.perf_counter`, from
    when the time in all counts.
    """
    begun = time.perf_counter()
    population = load_population(study)
    hardware = base_hardware(study, population)
    found = priced(population.groups, hardware, study.overlapped)
    whole = found[0].group.architecture if len(found) == 1 else ALL
    numbers, behind = _numbers(study, found, hardware, whole)
    peaks = [] if study.machine is None else list(study.machine.facts())
    facts = _facts(population, [*peaks, *behind])
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
        whole=whole,
        **numbers,
        log=population.log,
        sources=tuple(catalog.cite(item, fact) for item, fact in facts),
        timings=Timings(total_s=time.perf_counter() - (begun if started is None else started)),
        command=command,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        versions=versions or {},
    )


def _named(study: FleetStudy, entry: Priced, hardware: Hardware) -> Iterator[NamedJob]:
    """Every job of a class whose jobs have names."""
    group, before = entry.group, entry.total_s
    if not group.names:
        return
    kind, overlapped = group.architecture, study.overlapped
    gains = {
        upgrade.name: before
        / step_times(kind, group.jobs, upgrade.applied(hardware)).total_s(overlapped)
        for upgrade in study.upgrades
    }
    moves = {
        to: move(group, before, to, hardware, overlapped, study.gpu_memory_bytes)
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
            step_s=_at(before, at),
            gpu_hours=float(group.gpu_hours[at]),
            speedups={of: _at(gain, at) for of, gain in gains.items()},
            moves={to: _at(moved.throughput, at) for to, moved in moves.items() if moved.fits[at]},
        )


def _at(values: Array, index: int) -> float:
    return float(values[index]) if values.ndim else float(values)


def _numbers(
    study: FleetStudy, found: Sequence[Priced], hardware: Hardware, whole: str
) -> tuple[dict[str, Any], list[tuple[str, Fact]]]:
    """The fields of the document that say what the jobs gain, and the facts behind the money. Where
    no job's work is known they are empty."""
    out: dict[str, Any] = dict.fromkeys(("classes", "named", "upgrades", "ports"), ())
    out |= {"sensitivity": {}, "most_sensitive": {}, "money": None, "intervals": None}
    if not found:
        return out, []
    upgraded = speedups_by_upgrade(found, hardware, study.upgrades, study.overlapped)
    moved = ports(found, study.ports, hardware, study.overlapped, study.gpu_memory_bytes)
    gains, sure = sensitivity(found, hardware, study.overlapped), drawn(study, found, hardware)
    worth, bands, behind = money(study, upgraded, moved, whole, sure)
    return {
        "classes": breakdown(found),
        "named": tuple(job for entry in found for job in _named(study, entry, hardware)),
        "sensitivity": gains,
        "most_sensitive": {name: most_sensitive(values) for name, values in gains.items()},
        "upgrades": upgraded,
        "ports": moved,
        "money": worth,
        "intervals": intervals(sure, [entry.group for entry in found], bands),
    }, behind


def content_hashes(study: FleetStudy) -> dict[str, str]:
    """sha256 of all that a user can change: study, population, price list or none."""
    prices = study.money.prices if study.money is not None else None
    return {
        "study": study.content_hash,
        "population": _hash_of(study.population),
        "prices": "" if prices is None else _hash_of(prices),
    }


def _hash_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _facts(population: Population, priced_by: list[tuple[str, Fact]]) -> list[tuple[str, Fact]]:
    """Facts of the population, also of a table that ships, and of prices."""
    own = population.facts
    ships = population.name in population_names()
    if not own and ships and Path(population.path) == population_path(population.name):
        own = catalog.population(population.name).facts
    return [(population.name, fact) for fact in own] + priced_by
