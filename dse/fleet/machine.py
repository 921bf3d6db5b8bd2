"""The peaks of a fleet's hardware from the machine of the catalogue that its jobs run on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dse import catalog
from dse.catalog.accelerators import Accelerator
from dse.catalog.facts import Fact
from dse.catalog.nodes import Node
from dse.model.precision import PRECISIONS

USUAL = ("bf16", "fp16", "fp32")  # in which jobs compute, the first that the accelerator has
_CITED = {"accelerator", "accelerators", "nics", "inter_node", "memory_bandwidth",
          "intra_node_bandwidth"}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A node of the catalogue, and the format in which its jobs compute."""

    node: Node
    precision: str

    @property
    def accelerator(self) -> Accelerator:
        """One of its accelerators."""
        return catalog.accelerator(self.node.accelerator)

    def peaks(self) -> dict[str, float]:
        """Of :class:`~dse.model.pai.Hardware` what its catalogue entries tell, by the key of a
        fleet's ``hardware``, in SI units.

        Where accelerators have only PCIe, that is what joins them. Ethernet is for every
        accelerator, so it is left out where several share a card.
        """
        found = {
            **accelerator_peaks(self.accelerator, self.precision),
            "ethernet": self._ethernet(),
            "gpus_per_server": float(self.node.accelerators),
        }
        return {key: value for key, value in found.items() if value is not None}

    def _ethernet(self) -> float | None:
        """What the cards of one accelerator send, in bytes/s."""
        node = self.node
        if node.inter_node is None or node.nics is None or self._cards_are_shared:
            return None
        each = catalog.fabric(node.inter_node).bytes_per_s
        return None if each is None else node.nics / node.accelerators * each

    @property
    def _cards_are_shared(self) -> bool:
        return self.node.nics is not None and self.node.nics < self.node.accelerators

    def why_not(self, key: str) -> str:
        """Why it does not tell a key of ``hardware``, after what is missing."""
        node = self.node
        if key == "ethernet" and self._cards_are_shared:
            cards = "one card" if node.nics == 1 else f"{node.nics} cards"
            return (f" (the {node.accelerators} accelerators of {node.name} share {cards}; say "
                    "what one accelerator has)")  # fmt: skip
        return f" (the catalogue does not know it of {node.name})"

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """What the peaks rest on, each with the entry that it is of."""
        for entry in (self.node, self.accelerator):
            yield from peak_facts(entry, self.precision)


def accelerator_peaks(board: Accelerator, precision: str) -> dict[str, float]:
    """Of an accelerator what its entry tells, by the key of a fleet's ``hardware``, in SI units.
    Where it has only PCIe, that is what joins several."""
    host = catalog.fabric(board.host_link).bytes_per_s if board.host_link else None
    found = {
        "gpu": board.peak_flops_per_s.get(precision),
        "memory": board.memory_bytes_per_s,
        "pcie": host,
        "nvlink": board.intra_node_bytes_per_s or host,
    }
    return {key: value for key, value in found.items() if value is not None}


def peak_facts(entry: Node | Accelerator, precision: str) -> Iterator[tuple[str, Fact]]:
    """What the peaks of an entry rest on, each with its name."""
    for fact in entry.facts:
        if fact.name in _CITED or fact.name == f"peak.{precision}":
            yield entry.name, fact


def formats(board: Accelerator) -> list[str]:
    """The formats in which an accelerator has a peak, the usual one first."""
    peaks = board.peak_flops_per_s
    usual = [name for name in USUAL if name in peaks]
    return [*usual, *(name for name in PRECISIONS if name in peaks and name not in usual)]
