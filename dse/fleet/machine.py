"""A machine of the catalogue that a fleet's jobs run on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dse import catalog
from dse.catalog.accelerators import Accelerator
from dse.catalog.facts import Fact
from dse.catalog.nodes import Node
from dse.model.precision import PRECISIONS
from dse.pricing.load import known_names
from dse.study.cursor import Cursor

NODE = "node"
_USUAL = ("bf16", "fp16", "fp32")  # in which jobs compute, the first that the accelerator has
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


def machine_at(at: Cursor) -> Machine:
    """The node that a study names, in the first usual format that its accelerator has."""
    aliases = known_names().aliases.get("nodes", {})
    node = catalog.node(at.named(NODE, catalog.names("nodes"), "see `dse catalog nodes`", aliases))
    board = catalog.accelerator(node.accelerator)
    formats = (name for name in (*_USUAL, *PRECISIONS) if name in board.peak_flops_per_s)
    return Machine(node, board, next(formats))
