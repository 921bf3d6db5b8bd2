"""A fleet study: checked, in SI units, frozen, and free of YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse.fleet.logged_jobs import LogTerms
from dse.fleet.machine import Machine
from dse.fleet.upgrades import Upgrade
from dse.yaml_source import Source


@dataclass(frozen=True)
class Money:
    """The size of the fleet whose gain is counted, and the prices.

    gpus: accelerators of the fleet. busy: the share of the hours in which they work. gpu_hour_usd:
    None where ``accelerator`` names one whose rental the price list tells. years: of amortisation,
    None where the price list tells. gpus_per_nic: accelerators behind one network card. prices:
    path of the user's price list, or None.
    """

    gpus: int
    busy: float
    gpu_hour_usd: float | None
    accelerator: str
    years: float | None
    gpus_per_nic: int
    prices: Path | None


@dataclass(frozen=True)
class FleetStudy:
    """A fleet study. population: path of a recipe or a table. log: what the study says of it where
    that is a scheduler's log; else None. jobs, seed: of a drawn population.

    hardware: fields of :class:`~dse.model.pai.Hardware` that the study sets, and ``labels`` as it
    wrote them; of a drawn population the others are its own. machine: of the catalogue, whose peaks
    ``hardware`` has where the file gives no others; None where it names none.
    """

    name: str
    description: str
    path: str
    population: Path
    drawn: bool
    log: LogTerms | None
    jobs: int
    seed: int
    hardware: Mapping[str, Any]
    labels: Mapping[str, str]
    gpu_memory_bytes: float | None
    overlapped: bool
    upgrades: tuple[Upgrade, ...]
    ports: tuple[str, ...]
    money: Money | None
    content_hash: str
    source: Source = field(repr=False)
    machine: Machine | None = None
