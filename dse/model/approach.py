"""One step by an approach: parameter servers or allreduce, tensor by tensor or fused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model import overlap
from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import ALGORITHMS, node_count
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


def summed(
    approach: Approach,
    tensor_bytes: Array,
    ready_s: Array,
    ranks: ArrayLike,
    ranks_per_node: ArrayLike = 1.0,
) -> tuple[Array, Array]:
    """Seconds from the start of the backward pass until all is summed; and spent on that.

    tensor_bytes: (tensors,), > 0, forward order. ready_s: (tensors, *S), falling. ranks,
    ranks_per_node, and whatever the approach holds, broadcast with S and have no more axes. Servers
    take one worker a node, which sums its ranks' gradients first (see :func:`_together`). Zero for
    one rank, or no tensors.
    """
    n, g = np.asarray(ranks, dtype=np.float64), np.asarray(ranks_per_node, dtype=np.float64)
    if len(tensor_bytes) == 0:
        return np.zeros(()), np.zeros(())
    if approach.servers is not None:
        ready_s, spent = _together(approach, tensor_bytes, ready_s, n, g)
        end, busy = served(
            tensor_bytes, ready_s, node_count(n, g), approach.servers, approach.network
        )
        busy = busy + spent
    elif approach.fusion is not None:
        fusion = approach.fusion
        price = allreduce_s(approach, n, g, tensor_bytes[0])
        shape = np.broadcast_shapes(
            ready_s.shape[1:], price.shape, np.shape(fusion.buffer_bytes), np.shape(fusion.cycle_s)
        )
        found = fused(
            tensor_bytes[::-1], ready_s[::-1], fusion,
            lambda message_bytes: allreduce_s(approach, n, g, message_bytes), shape,
        )  # fmt: skip
        end, busy = found.end_s, found.busy_s
    else:
        sizes, which = np.unique(tensor_bytes, return_inverse=True)
        costs = allreduce_s(approach, n, g, sizes.reshape((-1,) + (1,) * (ready_s.ndim - 1)))
        end, busy = overlap.last_end_s(list(ready_s[::-1]), [costs[at] for at in which[::-1]])
    return np.where(n > 1, end, 0.0), np.where(n > 1, busy, 0.0)


def _together(
    approach: Approach, tensor_bytes: Array, ready_s: Array, ranks: Array, ranks_per_node: Array
) -> tuple[Array, Array]:
    """When each tensor is summed over the ranks of its node, one after another; seconds of it all.

    A ring inside the node, as for :func:`dse.model.parameter_server.parameter_server`:
    ``(g-1) (2 f_in(m/g) + m/g gamma)``.
    """
    local = np.minimum(ranks, ranks_per_node)
    if np.all(local <= 1):
        return ready_s, np.zeros(())
    network = approach.network
    share = tensor_bytes.reshape((-1,) + (1,) * (ready_s.ndim - 1)) / local
    inside = (local - 1) * (2 * network.within(share) + share * network.gamma_s_per_byte)
    ends = []
    now: Array = np.zeros(())
    spent: Array = np.zeros(())
    for ready, seconds in zip(ready_s[::-1], inside[::-1], strict=True):
        now, spent = np.maximum(now, ready) + seconds, spent + seconds
        ends.append(now)
    return np.stack(ends[::-1]), spent


def step_s(
    approach: Approach,
    tensor_bytes: Array,
    layer: NDArray[np.intp],
    passes: Compute,
    ranks: ArrayLike,
    ranks_per_node: ArrayLike = 1.0,
) -> Array:
    """Seconds of forward pass, backward pass and what aggregation is not hidden behind the latter.

    tensor_bytes, layer: (tensors,), forward order; of which layer each is. passes: of shape S;
    ranks and ranks_per_node of a shape that broadcasts to S.
    """
    shape = np.broadcast_shapes(passes.backward_s.shape, np.shape(ranks), np.shape(ranks_per_node))
    ready = np.broadcast_to(passes.layer_done_s[layer], (layer.size, *shape))
    n, g = np.broadcast_to(ranks, shape), np.broadcast_to(ranks_per_node, shape)
    end, _ = summed(approach, tensor_bytes, ready, n, g)
    return np.asarray(np.maximum(end, passes.backward_s) + passes.forward_s)
