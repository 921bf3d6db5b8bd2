"""How NCCL is taken to reach the next node."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dse import catalog

ASSUMED = "{} is assumed to do RDMA (RoCE); write auto-nccl-tcp where NCCL has only TCP sockets"
SOCKETS = "{} has no RDMA, so NCCL is priced over TCP sockets unless a profile measured it"


def reaches(sums: Iterable[str], nodes: Iterable[str], links: Sequence[str]) -> list[str]:
    """Sentences of a study or point that sums by ``*-nccl``; a chosen link hides that of nodes."""
    if not any(name.endswith("-nccl") for name in sums):
        return []
    if any(links):
        return [ASSUMED.format(link) for link in links if link.endswith("gbe")]
    own = (catalog.node(name) for name in nodes if name)
    return [SOCKETS.format(node.name) for node in own if node.rdma == catalog.NO_RDMA]
