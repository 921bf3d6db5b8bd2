"""Where ranks stand: degrees of parallelism, their order, and the groups that follow from both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike


@dataclass(frozen=True)
class Group:
    """Ranks that exchange something, one group of many alike; arrays that broadcast.

    ranks: of a group. nodes: that a group touches at most. together: groups alike that share a
    node's network cards at the same time. apart: nodes to its next node, of ``span`` in all.
    """

    ranks: Array
    nodes: Array
    together: Array
    apart: ArrayLike = 1.0
    span: ArrayLike = 1.0

    @property
    def inside(self) -> Array:
        """Ranks of a group on one node."""
        return self.ranks / self.nodes

    def split(self, parts: Array) -> tuple[Group, Group]:
        """Neighbours, ``parts`` of them, and the groups across these."""
        inner = np.maximum(1.0, self.nodes * parts / self.ranks)
        across = self.ranks / parts
        together = self.together * np.minimum(parts, self.inside)
        near, far = np.minimum(inner, parts), np.minimum(across, self.nodes)
        return (
            Group(parts, near, self.together, self.apart, near * self.apart),
            Group(across, far, together, self.apart * self.nodes / far, self.span),
        )


def group(ranks: ArrayLike, stride: ArrayLike, node: ArrayLike, gpus: ArrayLike) -> Group:
    """Groups of ``ranks`` accelerators that are ``stride`` apart, of ``gpus`` on nodes of ``node``.

    Accelerators are numbered node by node. Where groups do not fill whole nodes, nor nodes whole
    groups, some groups touch one node more than others, and these set the pace.
    """
    ranks, stride, node, gpus = np.broadcast_arrays(
        *(np.asarray(v, dtype=np.int64) for v in (ranks, stride, node, gpus))
    )
    span = stride * ranks
    blocks = np.minimum(gpus // span, node // np.gcd(span, node))
    latest = np.zeros(ranks.shape, dtype=np.int64)  # place on its node where a group begins
    for block in range(int(blocks.max(initial=0))):
        begins = (block * span) % node
        last = np.where(begins + stride > node, node - 1, begins + stride - 1)
        latest = np.maximum(latest, np.where(block < blocks, last, 0))
    nodes = np.where(stride >= node, ranks, (latest + stride * (ranks - 1)) // node + 1)
    nodes = np.where(ranks > 1, np.minimum(nodes, ranks), 1)
    together = np.maximum(1.0, np.minimum(node, gpus) * nodes / ranks)
    apart = np.maximum(1.0, stride / node)
    return Group(ranks.astype(np.float64), nodes.astype(np.float64), together, apart, nodes * apart)


@dataclass(frozen=True)
class Mesh:
    """Degrees of every layout, in the order of ranks tp-cp-ep-dp-pp, the innermost first.

    Megatron-LM, ``megatron/core/parallel_state.py``: a tensor group is ``tensor`` neighbours, a
    data group strides ``tensor context``, stages are ``tensor context data`` apart. Experts have a
    mesh of their own over the ranks of a stage, ``expert_tensor`` and then ``expert`` neighbours.
    node: accelerators that share the fast links. Arrays (points,), whole numbers.
    """

    tensor: Array
    context: Array
    pipeline: Array
    data: Array
    expert: Array
    expert_tensor: Array
    node: Array

    @property
    def gpus(self) -> Array:
        """``t c p n``."""
        return self.tensor * self.context * self.pipeline * self.data

    def _group(self, ranks: Array, stride: ArrayLike) -> Group:
        return group(ranks, stride, self.node, self.gpus)

    @property
    def stage(self) -> Array:
        """Ranks of one stage of the pipeline, ``t c n``."""
        return self.tensor * self.context * self.data

    @property
    def tensors(self) -> Group:
        """What splits each product."""
        return self._group(self.tensor, 1.0)

    @property
    def contexts(self) -> Group:
        """What splits each sequence."""
        return self._group(self.context, self.tensor)

    @property
    def gradients(self) -> Group:
        """What sums the gradients of all but experts: data and context."""
        return self._group(self.context * self.data, self.tensor)

    @property
    def experts(self) -> Group:
        """What shares the experts."""
        return self._group(self.expert, self.expert_tensor)

    @property
    def expert_tensors(self) -> Group:
        """What splits each expert."""
        return self._group(self.expert_tensor, 1.0)

    @property
    def expert_data(self) -> Array:
        """Copies of every expert, ``n_e``."""
        return self.stage / (self.expert * self.expert_tensor)

    @property
    def expert_gradients(self) -> Group:
        """What sums the gradients of experts."""
        return self._group(self.expert_data, self.expert * self.expert_tensor)

    @property
    def stages(self) -> Group:
        """Two neighbours in a pipeline: where it is longer than a node some cross nodes."""
        nodes = np.where((self.pipeline > 1) & (self.gpus > self.node), 2.0, 1.0)
        together, apart = np.minimum(self.stage, self.node), np.maximum(1.0, self.stage / self.node)
        return Group(np.minimum(self.pipeline, 2.0), nodes, together, apart, self.gpus / self.node)
