"""Gradients summed tensor by tensor, or fused, by servers or an allreduce, as TensorFlow ran them.

Awan et al., CCGRID 2019 (arXiv 1810.11112), call each way to do so an approach.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.model import overlap
from dse.model.aggregation.algorithms import ALGORITHMS, Algorithm, node_count
from dse.model.aggregation.base import (
    HARDWARE_AXES,
    SERVER_AXES,
    Gradients,
    Layout,
    MessageChoice,
    Summed,
    all_finite,
    link_share_of,
)
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.device_buffers import PointerQueries, Summing, on_device, on_host, with_terms
from dse.model.fusion import SLOWED, Fusion, fused
from dse.model.links import FREE, NO_WIRE, Link, Network, StepCost
from dse.model.passes import Compute, LayerTimes
from dse.model.tensor_servers import Servers, push_pull_s

# Of a library's that takes the faster of two.
FASTER = (ALGORITHMS["recursive-doubling"], ALGORITHMS["halving-doubling"])
NO_QUERIES = PointerQueries()
PHASES = 4  # of the cycle of tensor fusion, over which a step is the mean
FUSION_AXES = frozenset({"fusion_buffer", "fusion_cycle"})


@dataclass(frozen=True)
class Approach:
    """How the gradient tensors of one step are aggregated on some machines.

    algorithms: the fastest of them runs; none where there are servers. network:
    with driver queries and gamma, see :func:`~dse.model.device_buffers.with_terms`. servers: in
    place of an allreduce. fusion: None where every tensor leaves on its own, in order.
    sum_start_s: to start one addition.
    """

    algorithms: tuple[Algorithm, ...]
    network: Network
    servers: Servers | None = None
    fusion: Fusion | None = None
    sum_start_s: float = 0.0


@dataclass(frozen=True)
class Tensorwise:
    """An approach, wherever it runs: an :class:`~.base.Aggregation`.

    choices_of: the algorithms of which the fastest runs; none where ``serving`` servers do it.
    message: software of one message. reaches_device, multirail: of its transport. streams: messages
    that one process handles at once. buffer_bytes, cycle_s: of tensor fusion, where the study has
    no others; None where every tensor is a message of its own. queries: of the driver.
    sum_s_per_byte: where the host sums; None where the accelerator does. sum_start_s: to start one
    addition, with the copies it needs. phases: see :class:`~dse.model.fusion.Fusion`. over_nccl:
    whether NCCL sends its messages, over sockets where a layout has no RDMA.
    """

    choices_of: tuple[Algorithm, ...]
    serving: bool
    message: StepCost
    reaches_device: bool
    multirail: bool
    streams: float = 1.0
    buffer_bytes: float | None = None
    cycle_s: float = 0.0
    queries: PointerQueries = NO_QUERIES
    sum_s_per_byte: float | None = None
    sum_start_s: float = 0.0
    phases: int = PHASES
    over_nccl: bool = False

    @property
    def axes(self) -> frozenset[str]:
        """The hardware, and those of servers or of tensor fusion where it has them."""
        own = SERVER_AXES if self.serving else frozenset[str]()
        return HARDWARE_AXES | own | (FUSION_AXES if self.fuses else frozenset())

    @property
    def authority(self) -> str | None:
        """Nobody's rules choose."""
        return None

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Those of which the fastest runs."""
        return tuple(algorithm.name for algorithm in self.choices_of)

    @property
    def tensor_passes(self) -> int:
        """Once, or for every way that a loop of tensor fusion may tick."""
        return self.phases * len(SLOWED) if self.fuses else 1

    @property
    def updates_on_servers(self) -> bool:
        """What an approach reaches of a link was fitted on whole steps, updates included."""
        return False

    @property
    def fuses(self) -> bool:
        """Whether tensors wait for one another in a buffer."""
        return self.buffer_bytes is not None

    @property
    def copies_to_sum(self) -> bool:
        """Whether a sum copies from the accelerator to the host and back; servers have it there."""
        return self.sum_s_per_byte is not None and self.reaches_device and not self.serving

    def on(self, layout: Layout, servers: int = 1) -> Approach:
        """The approach on the machines of a layout, with so many servers if it has any."""
        # Accelerators of a worker meet in its memory; where messages do not reach theirs, free.
        within = FREE if self.serving and not self.reaches_device else self.message
        summing = self.summing(layout)
        inside = layout.inside if self.reaches_device else NO_WIRE
        link = layout.across
        most = layout.socket_bytes_per_s if self.over_nccl else np.inf
        reached = np.minimum(link.bytes_per_s, most)
        shared = Link(link.latency_s, reached * link_share_of(layout))
        network = with_terms(
            Network(
                within, self.message, inside, shared, layout.rails, self.multirail, leaf=layout.leaf
            ),
            self.queries,
            summing,
        )
        return Approach(
            self.choices_of,
            network,
            Servers(servers, layout.colocated, self.streams) if self.serving else None,
            self.fusion(layout),
            summing.start_s,
        )

    def fusion(self, layout: Layout) -> Fusion | None:
        """As the study has it, else its own; None where it fuses nothing."""
        if self.buffer_bytes is None:
            return None
        buffer, cycle = layout.fusion_buffer_bytes, layout.fusion_cycle_s
        return Fusion(
            np.where(np.isnan(buffer), self.buffer_bytes, buffer),
            np.where(np.isnan(cycle), self.cycle_s, cycle),
            phases=self.phases,
        )

    def summing(self, layout: Layout) -> Summing:
        """Where it sums; servers do it in host memory, where the message lies."""
        if self.sum_s_per_byte is None:
            if self.sum_start_s == 0:
                return Summing()  # contained in the efficiency of the link
            return on_device(layout.memory_bytes_per_s, self.sum_start_s)
        host = layout.host_bytes_per_s if self.copies_to_sum else np.inf
        return on_host(self.sum_s_per_byte, host, self.sum_start_s)

    def summed(self, gradients: Gradients, layer_done_s: LayerTimes, layout: Layout) -> Summed:
        """See :func:`summed`; one number of servers after another."""
        counts = np.ones((1,) * layout.rank)
        if self.serving:
            workers = node_count(layout.gpus, layout.gpus_per_node)
            # Of servers on the workers' machines at most as many have work as there are workers.
            most = np.where(layout.colocated, workers, np.inf)
            counts = np.minimum(layout.servers, most)
        ready = gradients.tensor_ready_s(layer_done_s)
        found: Summed | None = None
        for count in np.unique(counts):
            here = summed(
                self.on(layout, int(count)), gradients.tensor_bytes, ready,
                layout.gpus, layout.gpus_per_node,
            )  # fmt: skip
            there = found or here
            found = Summed(*(np.where(counts == count, a, b)
                             for a, b in zip(here, there, strict=True)))  # fmt: skip
        assert found is not None
        return found

    def priced(self, layout: Layout) -> Mask:
        """It has a price on any layout."""
        return np.ones((1,) * layout.rank, dtype=bool)

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether the dearest exchange has a finite price; see :class:`.composed.Software`."""
        network = self.on(layout).network
        most = float(np.sum(gradients.layer_elements) * gradients.element_bytes)
        flows = float(np.max(layout.gpus_per_node))
        host = np.inf if self.reaches_device else layout.host_bytes_per_s
        return all_finite(
            network.within(most),
            network.across(most, flows),
            network.one_way(most, flows),
            network.wire_s_per_byte(flows),
            network.gamma_s_per_byte,
            most / np.asarray(host),
        )

    def choices(self, gradients: Gradients, layout: Layout) -> tuple[MessageChoice, ...]:
        """Which of its algorithms a message takes is not told: see :attr:`algorithms`."""
        del gradients, layout
        return ()


def allreduce_s(
    approach: Approach, ranks: ArrayLike, ranks_per_node: ArrayLike, message_bytes: ArrayLike
) -> Array:
    """Seconds to sum one message over all ranks; all arguments broadcast.

    The algorithm's own steps, and the start of every addition.
    """
    count = np.asarray(ranks, dtype=np.float64)
    costs = [
        algorithm(ranks, ranks_per_node, message_bytes, approach.network)
        + algorithm.additions(count) * approach.sum_start_s
        for algorithm in approach.algorithms
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
        end, busy = push_pull_s(
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

    A ring inside the node, as for :func:`dse.model.aggregation.parameter_server.parameter_server`:
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
