"""How NCCL is taken to reach the next node."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from dse import catalog

ASSUMED = "{} is assumed to do RDMA (RoCE); write auto-nccl-tcp where NCCL has only TCP sockets"
TCP = "{} is assumed to do no RDMA with auto-nccl-tcp: NCCL has TCP sockets alone"
SOCKETS = "{} has no RDMA, so NCCL is priced over TCP sockets unless a profile measured it"


def reaches(sums: Collection[str], nodes: Iterable[str], links: Sequence[str]) -> list[str]:
    """Sentences of a study or point that sums by NCCL; a chosen link hides that of nodes."""
    ways = {"-nccl": ASSUMED, "-nccl-tcp": TCP}
    told = [way for end, way in ways.items() if any(name.endswith(end) for name in sums)]
    if any(links):
        return [way.format(link) for way in told for link in links if link.endswith("gbe")]
    if ASSUMED not in told:
        return []
    own = (catalog.node(name) for name in nodes if name)
    return [SOCKETS.format(node.name) for node in own if node.rdma == catalog.NO_RDMA]
