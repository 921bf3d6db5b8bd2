"""A fleet study: checked, in SI units, frozen, and free of YAML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dse import catalog
from dse.catalog.accelerators import Accelerator
from dse.catalog.facts import Fact
from dse.catalog.nodes import Node
from dse.fleet.logged_jobs import LogTerms
from dse.fleet.upgrades import Upgrade
from dse.yaml_source import Source

_CITED = {"accelerator", "accelerators", "nics", "inter_node", "memory_bandwidth",
          "intra_node_bandwidth"}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A node, its accelerator, and the format in which its jobs compute."""

    node: Node
    accelerator: Accelerator
    precision: str

    def peaks(self) -> dict[str, float]:
        """The peaks of its catalogue entries, by the key of a fleet's ``hardware``, in SI units.

        Where accelerators have only PCIe, that is what joins them. Ethernet is for every
        accelerator, so it is left out where several share a card.
        """
        board, node = self.accelerator, self.node
        host = catalog.fabric(board.host_link).bytes_per_s if board.host_link else None
        found = {
            "gpu": board.peak_flops_per_s.get(self.precision),
            "memory": board.memory_bytes_per_s,
            "pcie": host,
            "nvlink": board.intra_node_bytes_per_s or host,
            "ethernet": None,
            "gpus_per_server": float(node.accelerators),
        }
        if node.inter_node and node.nics and not self.shares_cards:
            each = catalog.fabric(node.inter_node).bytes_per_s
            found["ethernet"] = None if each is None else node.nics / node.accelerators * each
        return {key: value for key, value in found.items() if value is not None}

    @property
    def shares_cards(self) -> bool:
        """True where several accelerators of the node share a network card."""
        return self.node.nics is not None and self.node.nics < self.node.accelerators

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """The facts behind the peaks, each with the entry that it is of."""
        for entry in (self.node, self.accelerator):
            for fact in entry.facts:
                if fact.name in _CITED or fact.name == f"peak.{self.precision}":
                    yield entry.name, fact


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
