"""A fleet study answered: every part of its document as plain data."""

from __future__ import annotations

import hashlib
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from dse import catalog
from dse.catalog import Fact
from dse.fleet.breakdown import ALL, Priced, breakdown, priced
from dse.fleet.job_table import read_table
from dse.fleet.measured_costs import NOTHING, Measured, measured
from dse.fleet.model_comparison import Effects, in_range, priced_by_profile, step_s
from dse.fleet.money import money
from dse.fleet.population import Population
from dse.fleet.ports import ports
from dse.fleet.recipe import population_names, population_path, read_recipe
from dse.fleet.sampling import draw
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import most_sensitive, sensitivity, speedups_by_upgrade
from dse.model.pai import Hardware

FORMAT = "dse-fleet-1"
MOST_NAMED = 60  # jobs with names whose own breakdown is listed


def load_population(study: FleetStudy) -> Population:
    """The study's jobs, drawn or read.

    Raises :class:`~dse.errors.StudyError`, also for a memory in which no job's state is known.
    """
    if study.drawn:
        return draw(read_recipe(study.population), study.jobs, study.seed)
    found = read_table(study.population, study.hardware["gpus_per_server"])
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


def answer(study: FleetStudy) -> dict[str, Any]:
    """Everything about a fleet; every number SI, money in USD, no NaN."""
    started = time.perf_counter()
    population = load_population(study)
    loaded = time.perf_counter()
    hardware = base_hardware(study, population)
    found = priced(population, hardware, study.overlapped)
    upgrades = speedups_by_upgrade(found, hardware, study.upgrades, study.overlapped)
    moved = ports(found, study.ports, hardware, study.overlapped, study.gpu_memory_bytes)
    gains = sensitivity(found, hardware, study.overlapped)
    whole = ALL if len(found) > 1 else found[0].group.architecture
    worth, facts = money(study, upgrades, moved, whole)
    return {
        "format": FORMAT,
        "fleet": study.name,
        "description": study.description,
        "path": study.path,
        "hashes": content_hashes(study),
        "study_text": study.source.text,
        "population": {
            "name": population.name,
            "title": population.title,
            "path": population.path,
            "drawn": study.drawn,
            "jobs": population.size,
            "seed": study.seed if study.drawn else None,
            "counted_by": "GPU-hours" if population.hours_given else "cNodes",
        },
        "hardware": asdict(hardware) | {"gpu_memory_bytes": study.gpu_memory_bytes},
        "hardware_labels": dict(study.labels),
        "overlap": "ideal" if study.overlapped else "none",
        "whole": whole,
        "classes": breakdown(found),
        "named": named_jobs(found, hardware, measured(study.profiles)),
        "profiles": list(measured(study.profiles).described()),
        "sensitivity": gains,
        "most_sensitive": {name: most_sensitive(values) for name, values in gains.items()},
        "upgrades": upgrades,
        "ports": moved,
        "money": worth,
        "sources": [_source(item, fact) for item, fact in _facts(population, facts)],
        "timings": {
            "population_s": loaded - started,
            "model_s": time.perf_counter() - loaded,
        },
    }


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
    found: list[Priced], hardware: Hardware, known: Measured = NOTHING
) -> list[dict[str, Any]]:
    """Seconds of each component of the jobs that have names, where they are few.

    own_model: the step, all communication, and that which nothing hides, by
    :mod:`dse.fleet.model_comparison`; whether a profile prices it (measured), and beyond its range
    (outside).
    """
    named = [entry for entry in found if len(entry.group.names)]
    if sum(len(entry.group.names) for entry in named) > MOST_NAMED:
        return []
    effects = Effects(software=True, overlapped=True, measured=known)
    own = [_own_model(entry, hardware, effects) for entry in named]
    return [
        {
            "name": name,
            "class": entry.group.architecture,
            "cnodes": float(entry.group.cnodes[at]),
            "data_s": _at(entry.times.data_s, at),
            "flops_s": _at(entry.times.flops_s, at),
            "memory_s": _at(entry.times.memory_s, at),
            "weights_s": _at(entry.times.weights_s, at),
            "step_s": _at(entry.total_s, at),
            "own_model": {key: np.ravel(values)[at].item() for key, values in terms.items()},
        }
        for entry, terms in zip(named, own, strict=True)
        for at, name in enumerate(entry.group.names)
    ]


def _own_model(entry: Priced, hardware: Hardware, effects: Effects) -> dict[str, Any]:
    """Of every job of a class by dse's own model: see :func:`named_jobs`."""
    place = (entry.group.architecture, entry.group.jobs, hardware)
    step, every, exposed = step_s(*place, effects)
    terms = {
        "step_s": step,
        "comm_s": every,
        "exposed_s": exposed,
        "measured": priced_by_profile(*place, effects.measured),
        "outside": ~in_range(*place, effects),
    }
    return {key: np.broadcast_to(values, entry.group.size) for key, values in terms.items()}


def _at(values: Any, index: int) -> float:
    return float(values[index]) if values.ndim else float(values)


def _facts(population: Population, priced_by: list[tuple[str, Fact]]) -> list[tuple[str, Fact]]:
    """Of the population, also of a table that ships, and of prices."""
    own = population.facts
    ships = population.name in population_names()
    if not own and ships and Path(population.path) == population_path(population.name):
        own = catalog.population(population.name).facts
    return [(population.name, fact) for fact in own] + priced_by


def _source(item: str, fact: Fact) -> dict[str, str]:
    known = catalog.sources().get(fact.source)
    return {
        "item": item,
        "fact": fact.name,
        "value": fact.text,
        "source": known.title if known else fact.source,
        "url": known.url if known else "",
        "accessed": fact.accessed,
        "date": fact.date,
        "status": fact.status,
        "detail": fact.detail,
    }
