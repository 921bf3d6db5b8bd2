"""How gradients are summed: the interface, and what it is told of a step and of its hardware."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.model import overlap
from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.leaves import Leaf
from dse.model.links import NO_WIRE, Link
from dse.model.passes import LayerTimes
from dse.model.scale import FEW_NODES, link_share

# What decides the links and the layout of a cluster; a price of communication may depend on it.
HARDWARE_AXES = frozenset(
    {"node", "accelerator", "gpus", "gpus_per_node", "nics_per_node", "intra_node", "inter_node",
     "oversubscription"}
)  # fmt: skip
SERVER_AXES = frozenset({"ps_servers", "ps_placement"})
UNKNOWN_GENERATION = -1


class Layout(Protocol):
    """The hardware that the gradients of each point cross; arrays that broadcast to shape S.

    rank: number of axes of S. gpus, gpus_per_node: accelerators that train, and slots of a node.
    inside: the link between the accelerators of a node, as fast as the transport reaches it.
    across: likewise one network card. rails: network cards of a node. host_bytes_per_s: of an
    accelerator's link to its host. memory_bytes_per_s: of its memory, as reached. servers,
    colocated: parameter servers, and whether they live on the workers' nodes. fusion_buffer_bytes,
    fusion_cycle_s: NaN where the study leaves them to the approach. generation: NCCL's, a position
    in :data:`.nccl_tuner.GENERATIONS`, or UNKNOWN_GENERATION. own_links: whether the accelerators
    of a node meet over links of their own, else over PCIe. through_host: whether bytes pass the
    bridge of the host between a network card and an accelerator. amd_host: whether AMD made the
    processors of the host. socket_bytes_per_s: of a card by NCCL's TCP sockets, infinite with RDMA.
    sharing: see :class:`~dse.model.scale.Scale`; sharing_spread: the standard deviation of its
    logarithm. leaf: oversubscribed leaf switches, if any are.
    """

    @property
    def rank(self) -> int: ...
    @property
    def gpus(self) -> Array: ...
    @property
    def gpus_per_node(self) -> Array: ...
    @property
    def inside(self) -> Link: ...
    @property
    def across(self) -> Link: ...
    @property
    def rails(self) -> ArrayLike: ...
    @property
    def host_bytes_per_s(self) -> ArrayLike: ...
    @property
    def memory_bytes_per_s(self) -> ArrayLike: ...
    @property
    def servers(self) -> Array: ...
    @property
    def colocated(self) -> Mask: ...
    @property
    def fusion_buffer_bytes(self) -> Array: ...
    @property
    def fusion_cycle_s(self) -> Array: ...
    @property
    def generation(self) -> NDArray[np.int64]: ...
    @property
    def own_links(self) -> Mask: ...
    @property
    def through_host(self) -> Mask: ...
    @property
    def amd_host(self) -> Mask: ...
    @property
    def socket_bytes_per_s(self) -> ArrayLike: ...
    @property
    def sharing(self) -> ArrayLike: ...
    @property
    def sharing_spread(self) -> ArrayLike: ...
    @property
    def leaf(self) -> Leaf | None: ...


@dataclass(frozen=True)
class Cluster:
    """A :class:`Layout` written out; what is left out does not matter or does not exist."""

    gpus: Array
    gpus_per_node: Array = field(default_factory=lambda: np.ones(()))
    inside: Link = NO_WIRE
    across: Link = NO_WIRE
    rails: ArrayLike = 1.0
    host_bytes_per_s: ArrayLike = np.inf
    memory_bytes_per_s: ArrayLike = np.inf
    servers: Array = field(default_factory=lambda: np.ones(()))
    colocated: Mask = field(default_factory=lambda: np.zeros((), dtype=bool))
    fusion_buffer_bytes: Array = field(default_factory=lambda: np.full((), np.nan))
    fusion_cycle_s: Array = field(default_factory=lambda: np.full((), np.nan))
    generation: NDArray[np.int64] = field(
        default_factory=lambda: np.full((), UNKNOWN_GENERATION, dtype=np.int64)
    )
    own_links: Mask = field(default_factory=lambda: np.ones((), dtype=bool))
    through_host: Mask = field(default_factory=lambda: np.zeros((), dtype=bool))
    amd_host: Mask = field(default_factory=lambda: np.zeros((), dtype=bool))
    socket_bytes_per_s: ArrayLike = np.inf
    sharing: ArrayLike = 0.0
    sharing_spread: ArrayLike = 0.0
    leaf: Leaf | None = None

    @property
    def rank(self) -> int:
        """Number of axes of the largest array."""
        links = (self.inside.bytes_per_s, self.across.bytes_per_s)
        return max(map(np.ndim, (self.gpus, self.gpus_per_node, self.servers, *links)))


def link_share_of(layout: Layout, few_nodes: float = FEW_NODES) -> Array:
    """What each node of a layout has of the bandwidth between ``few_nodes``, in (0, 1]."""
    return link_share(node_count(layout.gpus, layout.gpus_per_node), few_nodes, layout.sharing)


@dataclass(frozen=True)
class Gradients:
    """What one step sums.

    layer_elements: trainable parameters of every layer, (layers,), forward order. element_bytes:
    of one gradient. bucket_bytes: gradients are fused into messages of this size; buckets: these
    messages. tensor_elements, tensor_layer:
    elements of every gradient tensor and its layer, (tensors,), forward order. overlapped: summed
    beside the backward pass; else all are there when summing begins.
    """

    layer_elements: Array
    element_bytes: float
    bucket_bytes: float
    buckets: tuple[overlap.Bucket, ...]
    tensor_elements: Array
    tensor_layer: NDArray[np.intp]
    overlapped: bool = True

    @cached_property
    def message_bytes(self) -> Array:
        """Bytes of every bucket: (buckets,)."""
        return np.array([bucket.message_bytes for bucket in self.buckets], dtype=np.float64)

    @cached_property
    def distinct_messages(self) -> tuple[Array, list[int]]:
        """The distinct sizes of messages in bytes, ascending, and that of every bucket by its
        position among them."""
        sizes, which = np.unique(self.message_bytes, return_inverse=True)
        return sizes, which.tolist()

    @property
    def tensor_bytes(self) -> Array:
        """Bytes of every tensor: (tensors,)."""
        return self.tensor_elements * self.element_bytes

    def tensor_ready_s(self, layer_done_s: LayerTimes) -> Array:
        """When every tensor is there, (tensors, *S), of when every layer is: (layers, *S)."""
        ready = layer_done_s[self.tensor_layer]
        return ready if self.overlapped else np.zeros_like(ready)


class Summed(NamedTuple):
    """Seconds, in shape S. end_s: from the start of the backward pass (or, without overlap, of the
    summing) until all gradients are summed. busy_s: spent on that, hidden or not."""

    end_s: Array
    busy_s: Array


class MessageChoice(NamedTuple):
    """An algorithm that some messages of one point take.

    name: as the library calls it. algorithm: the model's that prices it. messages: how many.
    least_bytes, most_bytes: their sizes.
    """

    name: str
    algorithm: str
    messages: int
    least_bytes: float
    most_bytes: float


class Aggregation(Protocol):
    """One way to sum the gradients of a step over all accelerators.

    axes: the axes of a study that change its price; all others do not matter to it. authority: the
    library whose rules choose its algorithm, None where none do. algorithms: names of all that it
    may take, of :data:`.algorithms.ALGORITHMS`; empty where they are not known.
    tensor_passes: how often pricing follows the tensors of a step one by one, for an estimate of
    the time that takes. updates_on_servers: whether servers update the weights, and what that takes
    is not in its price already.
    """

    @property
    def axes(self) -> frozenset[str]: ...
    @property
    def authority(self) -> str | None: ...
    @property
    def algorithms(self) -> tuple[str, ...]: ...
    @property
    def tensor_passes(self) -> int: ...
    @property
    def updates_on_servers(self) -> bool: ...

    def summed(self, gradients: Gradients, layer_done_s: LayerTimes, layout: Layout) -> Summed:
        """When all is summed, and how long that keeps the links busy.

        One accelerator keeps them busy for no time, and is done when its gradients are there.

        layer_done_s: seconds from the start of the backward pass until the gradients of each layer
        are there, (layers, *S).
        """
        ...

    def priced(self, layout: Layout) -> Mask:
        """The layouts it has a price for, whatever the message."""
        ...

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Whether every price is finite for certain, so that points need not be priced to know."""
        ...

    def choices(self, gradients: Gradients, layout: Layout) -> tuple[MessageChoice, ...]:
        """The algorithm of every message at a single point, by rising size; empty where one
        accelerator sends nothing, or where nobody knows."""
        ...


class Bucketed(ABC):
    """An :class:`Aggregation` of gradients fused into buckets, one message after the other.

    leading_axes: of its prices before those of the points: 1 where they are draws.
    """

    authority: ClassVar[str | None] = None
    tensor_passes: ClassVar[int] = 0
    updates_on_servers: ClassVar[bool] = False
    leading_axes: int = 0

    @property
    @abstractmethod
    def axes(self) -> frozenset[str]:
        """See :class:`Aggregation`."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """See :class:`Aggregation`."""
        return ()

    @abstractmethod
    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """Seconds to sum one message over all accelerators.

        message_bytes: (sizes, 1, ...), with as many further axes as prices have.
        """

    def bucket_s(self, gradients: Gradients, layout: Layout) -> list[Array]:
        """Seconds of every bucket, each in the shape of the axes it depends on.

        All distinct sizes are priced in one call.
        """
        if not gradients.buckets:  # nothing to train
            return []
        sizes, which = gradients.distinct_messages
        column = sizes.reshape((-1,) + (1,) * (layout.rank + self.leading_axes))
        seconds = self.message_s(column, gradients, layout)
        return [seconds[row] for row in which]

    def summed(self, gradients: Gradients, layer_done_s: LayerTimes, layout: Layout) -> Summed:
        """Every bucket when it is complete and the link is free; see :mod:`dse.model.overlap`."""
        costs = self.bucket_s(gradients, layout)
        if not costs:  # nothing to train, nothing to sum
            return Summed(np.zeros(()), np.zeros(()))
        if gradients.overlapped:
            ready = overlap.ready_s(gradients.buckets, layer_done_s)
            return Summed(*overlap.last_end_s(ready, costs))
        whole = added(costs)
        return Summed(whole, whole)

    def priced(self, layout: Layout) -> Mask:
        """What is composed of steps has a price on any layout."""
        return np.ones((1,) * layout.rank, dtype=bool)

    @abstractmethod
    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """See :class:`Aggregation`."""

    def choices(self, gradients: Gradients, layout: Layout) -> tuple[MessageChoice, ...]:
        """The one algorithm, if it has a name."""
        if not self.algorithms or not gradients.buckets or np.all(layout.gpus <= 1):
            return ()
        sizes = gradients.message_bytes
        (name,) = self.algorithms
        least, most = float(sizes.min()), float(sizes.max())
        return (MessageChoice(name, name, len(sizes), least, most),)


def added(costs: Sequence[Array]) -> Array:
    """The sum of some arrays, one after the other."""
    total = costs[0]
    for cost in costs[1:]:
        total = total + cost
    return total


def all_finite(*prices: ArrayLike) -> bool:
    """Whether all of some prices are finite and none is negative."""
    return all(bool(np.all(np.isfinite(price) & (np.asarray(price) >= 0))) for price in prices)
