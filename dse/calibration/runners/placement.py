"""Where ranks are: how many on a node, on how many nodes, joined by what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dse.errors import MeasurementError


@dataclass(frozen=True)
class Placement:
    """Where ranks are: ``ranks_per_node`` on each of at most ``nodes`` nodes, in order.

    link: the tier between the nodes by name; link_bytes_per_s: its speed in one direction per node.
    """

    ranks_per_node: int
    nodes: int = 1
    link: str | None = None
    link_bytes_per_s: float | None = None

    def on_each(self, ranks: int) -> int:
        """The ranks on a full node."""
        return min(self.ranks_per_node, ranks)

    def nodes_of(self, ranks: int) -> int:
        """The nodes that ``ranks`` fill; raises MeasurementError if there are fewer."""
        count = math.ceil(ranks / self.on_each(ranks))
        if count > self.nodes:
            room = f"{self.nodes} node{'s' * (self.nodes != 1)} of {self.ranks_per_node} ranks"
            raise MeasurementError(f"{ranks} ranks do not fit on {room}; give fewer --ranks")
        return count

    def stride(self, ranks: int) -> int:
        """How far apart the ranks of a pair are, so that every message leaves its node."""
        return self.on_each(ranks) if self.nodes_of(ranks) > 1 else 1

    def about(self, ranks: int) -> dict[str, Any]:
        """The fields of a Measurement that say where its ranks were."""
        return about(self.on_each(ranks), self.nodes_of(ranks), self.link, self.link_bytes_per_s)


def about(
    ranks_per_node: int, nodes: int, link: str | None, link_bytes_per_s: float | None
) -> dict[str, Any]:
    """The fields of a Measurement for ranks on so many nodes, joined by this link."""
    return {
        "ranks_per_node": ranks_per_node,
        "nodes": nodes,
        "link": (link or "network") if nodes > 1 else "shared-memory",
        "link_bytes_per_s": link_bytes_per_s if nodes > 1 else None,
    }
