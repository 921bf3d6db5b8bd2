"""One synchronous training step, term by term."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model import compute, memory, overlap
from dse.model.arrays import Array, ArrayLike
from dse.model.collectives import ALGORITHMS, automatic
from dse.model.compute import Compute, Device, Layers
from dse.model.links import Network
from dse.model.overlap import Bucket
from dse.model.parameter_server import parameter_server
from dse.model.precision import Precision

PARAMETER_SERVER = "ps"
AUTO = "auto"  # the library's own choice


@dataclass(frozen=True)
class Cluster:
    """How the accelerators are laid out; arrays that broadcast.

    gpus: all accelerators. gpus_per_node: slots of a node. servers, colocated, imbalance: only for
    the parameter server. staging_bytes_per_s: device-host link over which gradients are copied out
    and back by a transport that cannot reach device memory; infinite for one that can.
    """

    gpus: ArrayLike
    gpus_per_node: ArrayLike
    servers: ArrayLike = 1.0
    colocated: ArrayLike = False
    imbalance: ArrayLike = 1.0
    staging_bytes_per_s: ArrayLike = np.inf


@dataclass(frozen=True)
class StepTime:
    """Seconds of one step, each array in the shape of the axes it depends on.

    comm_s: all aggregation, hidden or not. stalled_s: input that the rest of the step does not
    hide. ``step_s = compute_s + exposed_s + optimizer_s + stalled_s``.
    """

    forward_s: Array
    backward_s: Array
    input_s: Array
    comm_s: Array
    stalled_s: Array
    optimizer_s: Array
    step_s: Array

    @property
    def compute_s(self) -> Array:
        """Forward and backward pass."""
        return self.forward_s + self.backward_s

    @property
    def exposed_s(self) -> Array:
        """Aggregation that the backward pass does not hide."""
        rest = self.compute_s + self.optimizer_s + self.stalled_s
        return np.maximum(self.step_s - rest, 0.0)


def aggregate_s(
    algorithm: str, cluster: Cluster, message_bytes: ArrayLike, network: Network
) -> Array:
    """Seconds to aggregate one message over the cluster by ``algorithm``.

    A staged transport adds ``2 m / link`` for the copies out of and into device memory. One
    accelerator aggregates nothing.
    """
    if algorithm == PARAMETER_SERVER:
        seconds = parameter_server(
            cluster.gpus,
            cluster.gpus_per_node,
            message_bytes,
            network,
            cluster.servers,
            cluster.colocated,
            cluster.imbalance,
        )
    else:
        reduce = automatic if algorithm == AUTO else ALGORITHMS[algorithm]
        seconds = reduce(cluster.gpus, cluster.gpus_per_node, message_bytes, network)
    staging = 2 * np.asarray(message_bytes) / cluster.staging_bytes_per_s
    return np.where(np.asarray(cluster.gpus) > 1, seconds + staging, 0.0)


def bucket_costs_s(
    algorithm: str, cluster: Cluster, buckets: tuple[Bucket, ...], network: Network, ndim: int
) -> list[Array]:
    """Seconds to aggregate each bucket, one array per bucket in the shape of the cluster's axes.

    All distinct sizes are priced in one call, along a new first axis. ndim: of the other arrays.
    """
    sizes, which = np.unique([bucket.message_bytes for bucket in buckets], return_inverse=True)
    column = sizes.reshape((-1,) + (1,) * ndim)
    costs = aggregate_s(algorithm, cluster, column, network)
    return [costs[row] for row in which]


def combine(
    passes: Compute,
    ready: list[Array],
    costs: list[Array],
    loading_s: Array,
    update_s: Array,
    overlapped: bool,
) -> StepTime:
    """``T_step = max(T_input, max(T_forward + T_backward, end of the last bucket) + T_optimizer)``.

    Without overlap the plain sum. ready: seconds into the backward pass, per bucket; costs: seconds
    per bucket; all arrays broadcast.
    """
    if not costs:  # nothing to train, nothing to aggregate
        ready, costs = [np.zeros(())], [np.zeros(())]
    if overlapped:
        end, comm = overlap.last_end_s(ready, costs)
        return ended(passes, end, comm, loading_s, update_s)
    comm = costs[0]
    for seconds in costs[1:]:
        comm = comm + seconds
    return in_turn(passes, comm, loading_s, update_s)


def ended(
    passes: Compute, end_s: Array, comm_s: Array, loading_s: Array, update_s: Array
) -> StepTime:
    """The step whose gradients are summed ``end_s`` after the backward pass began.

    comm_s: seconds that took, hidden or not. Arrays broadcast.
    """
    around = passes.forward_s + update_s
    stalled: Array = np.zeros(())
    step = np.maximum(end_s, passes.backward_s) + around
    if not np.all(loading_s <= around + passes.backward_s):  # else the input never binds
        stalled = np.maximum(loading_s - step, 0.0)
        step = np.maximum(step, loading_s)
    return StepTime(passes.forward_s, passes.backward_s, loading_s, comm_s, stalled, update_s, step)


def in_turn(passes: Compute, comm_s: Array, loading_s: Array, update_s: Array) -> StepTime:
    """The step in which nothing overlaps: the plain sum."""
    step = comm_s + (passes.forward_s + update_s + passes.backward_s + loading_s)
    return StepTime(
        passes.forward_s, passes.backward_s, loading_s, comm_s, loading_s, update_s, step
    )


def training_step(
    layers: Layers,
    device: Device,
    cluster: Cluster,
    network: Network,
    algorithm: str,
    batch: ArrayLike,
    precision: Precision,
    state_bytes: ArrayLike = 0.0,
    bucket_bytes: float = 25 * 2.0**20,
    overlapped: bool = True,
) -> StepTime:
    """Every term of one step; see :mod:`dse.model.compute`, :mod:`.overlap`, :mod:`.collectives`.

    batch: samples per accelerator; state_bytes: optimizer state per parameter; arrays broadcast
    with those of device, cluster and network. algorithm: a key of ALGORITHMS, "ps", or "auto"
    where the network has a library.
    """
    passes = compute.forward_backward(layers, device, batch, precision)
    buckets = overlap.fuse(layers.params * precision.gradient_bytes, bucket_bytes)
    ready = overlap.ready_s(buckets, passes.layer_done_s)
    axes = max(np.ndim(cluster.gpus), np.ndim(network.inter.bytes_per_s), np.ndim(batch))
    costs = bucket_costs_s(algorithm, cluster, buckets, network, axes)
    loading = compute.input_s(layers, device, batch)
    update = compute.optimizer_s(layers, device, precision, state_bytes)
    return combine(passes, ready, costs, loading, update, overlapped)


def memory_slack_bytes(
    layers: Layers, device: Device, batch: ArrayLike, precision: Precision, state_bytes: ArrayLike
) -> Array:
    """Bytes of the accelerator's memory left over; negative means it does not fit."""
    return np.asarray(
        device.memory_bytes - memory.needed_bytes(layers, batch, precision, state_bytes)
    )
