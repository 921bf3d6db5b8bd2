"""Ranks of a layout that sum the same gradients: to an aggregation they are a layout themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dse.calibration.evidence import Grade
from dse.model import overlap
from dse.model.aggregation.base import Gradients
from dse.model.arrays import Array
from dse.model.parallel.mesh import Group
from dse.pricing.points import Points
from dse.study.aggregation_name import AggregationName

USUAL = AggregationName("auto", "nccl")  # of studies that name none


@dataclass(frozen=True)
class DataGroup:
    """Sums of gradients on one kind of hardware, by the aggregation of a study.

    cluster: all of its accelerators, (1,). Groups, and the bytes that a rank has of all stages'
    gradients, are (groups,).
    """

    cluster: Points

    def seconds(self, group: Group, whole_bytes: Array) -> Array:
        """Of an all-reduce, of draws their median; NaN where the library chooses and nobody
        measured it, of which :class:`.Tiers` knows as much."""
        every = self.priced_s(group, whole_bytes)
        found = np.median(every, axis=0) if every.ndim > 1 else every
        known = self.grade(group, whole_bytes) < Grade.CATALOGUE
        return np.where(known | (self.cluster.summing.name != USUAL), found, np.nan)

    def priced_s(self, group: Group, whole_bytes: Array) -> Array:
        """(groups,), or of each draw, of which evidence says how wide they are."""

        def read(gradients: Gradients, layout: Points) -> Array:
            shape = (1, 1) if layout.problem.draws else (1,)
            done = np.zeros((len(gradients.layer_elements), *shape))
            return layout.aggregation.summed(gradients, done, layout).busy_s

        return self._each(group, whole_bytes, read)

    def grade(self, group: Group, whole_bytes: Array) -> Array:
        """How far they are from what was measured, a :class:`.Grade`."""

        def read(gradients: Gradients, layout: Points) -> Array:
            return layout.summing.evidence.grade(gradients, layout).astype(np.float64)

        return self._each(group, whole_bytes, read)

    def why_outside(self, group: Group, whole_bytes: Array) -> list[str]:
        """What of a single one was not measured."""
        evidence, sums = self.cluster.summing.evidence, self.messages(float(whole_bytes.max()))
        return evidence.why_outside(sums, self.layout(group))

    def layout(self, group: Group) -> Points:
        """The ranks of groups as accelerators of their own, with their part of the network cards:
        groups that send at once each have others, and share these where there are too few."""
        of = self.cluster.layout
        found, own = of.summed_by(of.summing.model), np.asarray(of.rails) / group.together
        found.gpus, found.gpus_per_node = group.ranks, np.ceil(group.inside)
        found.device = self.cluster.device
        found.domain, found.rails, found.leaf = found.gpus_per_node, np.maximum(1.0, own), of.leaf
        if of.leaf:  # of whose links up they have the same part
            leaf, part = of.leaf.beside(group.apart, group.span), found.rails / of.rails
            found.leaf = leaf._replace(uplinks=leaf.uplinks * part, rails=found.rails)
        found.across = replace(of.across, bytes_per_s=of.across.bytes_per_s * np.minimum(1.0, own))
        found.socket_bytes_per_s = of.socket_bytes_per_s * np.minimum(1.0, own)
        return found

    def messages(self, whole_bytes: float) -> Gradients:
        """Those of the model's layers in proportion, fused into buckets."""
        points, (tensors, layer) = self.cluster, self.cluster.problem.tensors
        params, width = points.layers.params, points.precision.gradient_bytes
        share = whole_bytes / (width * params.sum())
        buckets = overlap.fuse(params * share * width, points.bucket_bytes)
        return Gradients(
            params * share, width, points.bucket_bytes, buckets, tensors * share, layer, False
        )

    def _each(
        self, group: Group, whole_bytes: Array, read: Callable[[Gradients, Points], Array]
    ) -> Array:
        """What is read of each group, (..., groups), once for those that are alike."""
        columns = np.where(group.ranks > 1, np.round(whole_bytes), 0.0), *vars(group).values()
        few, which = np.unique(np.stack(np.broadcast_arrays(*columns)), axis=1, return_inverse=True)
        found = []
        for whole in np.unique(few[0]):
            own = Group(*few[1:, few[0] == whole])
            values = np.asarray(read(self.messages(float(whole)), self.layout(own)))
            found.append(np.broadcast_to(values, (*values.shape[:-1], len(own.ranks))))
        draws = np.broadcast_shapes(*(values.shape[:-1] for values in found))
        every = [np.broadcast_to(values, (*draws, values.shape[-1])) for values in found]
        return np.concatenate(every, axis=-1)[..., which.reshape(-1)]
