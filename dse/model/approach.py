"""One step by an approach: parameter servers or allreduce, tensor by tensor or fused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model import overlap
from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import ALGORITHMS
from dse.model.compute import Compute
from dse.model.device_buffers import additions
from dse.model.fusion import Fusion, fused
from dse.model.links import Network
from dse.model.tensor_servers import Servers, served

BEST = "best"
CHOICES = ("recursive-doubling", "halving-doubling")  # of a library's that takes the faster


@dataclass(frozen=True)
class Approach:
    """How the gradient tensors of one step are aggregated.

    algorithm: a key of :data:`~dse.model.collectives.ALGORITHMS`, or ``best`` of CHOICES. network:
    with driver queries and gamma, see :func:`~dse.model.device_buffers.with_terms`. servers: in
    place of an allreduce. fusion: None where every tensor leaves on its own, in order.
    sum_start_s: to start one addition.
    """

    algorithm: str
    network: Network
    servers: Servers | None = None
    fusion: Fusion | None = None
    sum_start_s: float = 0.0


def allreduce_s(
    approach: Approach, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
) -> Array:
    """Seconds to sum one message over all ranks; all arguments broadcast.

    The algorithm's own steps, and the start of every addition.
    """
    names = CHOICES if approach.algorithm == BEST else (approach.algorithm,)
    costs = [
        ALGORITHMS[name](ranks, ranks_per_node, message_bytes, approach.network)
        + additions(name, ranks) * approach.sum_start_s
        for name in names
    ]
    best = costs[0]
    for other in costs[1:]:
        best = np.minimum(best, other)
    return np.asarray(best)


def step_s(
    approach: Approach,
    tensor_bytes: Array,
    passes: Compute,
    ranks: ArrayLike,
    ranks_per_node: ArrayLike = 1.0,
) -> Array:
    """Seconds of forward pass, backward pass and what aggregation is not hidden behind the latter.

    tensor_bytes: (layers,), forward order, zero where a layer has no gradients. passes: of shape S;
    ranks and ranks_per_node of a shape that broadcasts to S. Servers take one worker a node.
    """
    shape = np.broadcast_shapes(passes.backward_s.shape, np.shape(ranks), np.shape(ranks_per_node))
    has = np.flatnonzero(tensor_bytes > 0)
    sizes = tensor_bytes[has]
    ready = np.broadcast_to(passes.layer_done_s[has], (has.size, *shape))
    n, g = np.broadcast_to(ranks, shape), np.broadcast_to(ranks_per_node, shape)
    if approach.servers is not None:
        end, _ = served(sizes, ready, n, approach.servers, approach.network)
    elif approach.fusion is not None:
        end = fused(
            sizes[::-1], ready[::-1], approach.fusion,
            lambda message_bytes: allreduce_s(approach, n, g, message_bytes),
        ).end_s  # fmt: skip
    else:
        column = sizes.reshape((-1,) + (1,) * len(shape))
        costs = allreduce_s(approach, n, g, column)
        end, _ = overlap.last_end_s(list(ready[::-1]), list(costs[::-1]))
    alone = passes.forward_s + passes.backward_s
    several = np.maximum(end, passes.backward_s) + passes.forward_s
    return np.asarray(np.where(n > 1, several, alone))
