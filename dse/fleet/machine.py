"""A machine of the catalogue that a fleet's jobs run on, or that an upgrade puts in its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dse import catalog
from dse.catalog.accelerators import Accelerator
from dse.catalog.facts import Fact
from dse.catalog.nodes import Node
from dse.model.precision import PRECISIONS
from dse.pricing.load import known_names
from dse.study.cursor import Cursor

NODE, ACCELERATOR, PRECISION = "node", "accelerator", "precision"
_USUAL = ("bf16", "fp16", "fp32")  # in which jobs compute, the first that the accelerator has
_CITED = {"accelerator", "accelerators", "nics", "inter_node", "memory_bandwidth",
          "intra_node_bandwidth"}  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A node, or accelerators alone, and the format in which its jobs compute."""

    accelerator: Accelerator
    precision: str
    node: Node | None = None

    @property
    def title(self) -> str:
        """Its name for people."""
        return self.accelerator.title if self.node is None else self.node.title

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
            "gpus_per_server": None if node is None else float(node.accelerators),
        }
        if node is not None and node.inter_node and node.nics and not self.shares_cards:
            each = catalog.fabric(node.inter_node).bytes_per_s
            found["ethernet"] = None if each is None else node.nics / node.accelerators * each
        return {key: value for key, value in found.items() if value is not None}

    @property
    def shares_cards(self) -> bool:
        """True where several accelerators of a node share a network card."""
        node = self.node
        return node is not None and node.nics is not None and node.nics < node.accelerators

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """The facts behind the peaks, each with the entry that it is of."""
        entries: Sequence[Node | Accelerator] = (self.accelerator,)
        if self.node is not None:
            entries = (self.node, self.accelerator)
        for entry in entries:
            for fact in entry.facts:
                if fact.name in _CITED or fact.name == f"peak.{self.precision}":
                    yield entry.name, fact


def machine_at(at: Cursor, key: str, precision: str = "") -> Machine:
    """The machine, by ``key`` a node or an accelerator, that a study names. precision: in which it
    computes, if it can; else in the first usual format that it has."""
    kind = f"{key}s"
    aliases = known_names().aliases.get(kind, {})
    name = at.named(key, catalog.names(kind), f"see `dse catalog {kind}`", aliases)
    node = catalog.node(name) if key == NODE else None
    board = catalog.accelerator(name if node is None else node.accelerator)
    known = formats(board)
    return Machine(board, precision if precision in known else known[0], node)


def formats(board: Accelerator) -> list[str]:
    """The formats in which an accelerator has a peak, the usual one first."""
    return [name for name in dict.fromkeys((*_USUAL, *PRECISIONS))
            if name in board.peak_flops_per_s]  # fmt: skip
