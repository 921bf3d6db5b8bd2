"""Design points under software by which every accelerator has the whole model."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from dse.model.arrays import Array
from dse.model.memory import Ledger
from dse.model.parallel.layouts import HSDP
from dse.model.terms import Terms
from dse.pricing.placed import Placed

GRADIENTS, WEIGHTS = 2, 3  # the stages of ZeRO that shard these, and more


class Whole(Placed):
    """Points under software by which every accelerator has the whole model: data ranks may share
    its states."""

    @cached_property
    def _zero(self) -> Array:
        return np.where(self.gpus > 1, self.word("zero"), 0)

    @cached_property
    def _shards(self) -> Array:
        """Ranks that share states: all, or under HSDP those of a domain of fast links."""
        return np.where(self._zero == HSDP, np.minimum(self.gpus, self.domain), self.gpus)

    def _shared(self, least: int) -> Array:
        """What is left to a rank of states that ZeRO of that stage shards."""
        return np.where(self._zero >= least, 1 / self._shards, 1.0)

    @property
    def memory(self) -> Ledger:
        """See :class:`.points.Points`, with states that ranks share. Two layers are whole of shared
        weights and gradients."""
        found = super().memory
        stages = {"weights_bytes": 3, "gradients_bytes": 2, "master_bytes": 1, "optimizer_bytes": 1}
        of_param = {
            name: each * self._shared(stages[name]) if name in stages else each
            for name, each in found.of_param.items()
        }
        precision, layers = self.precision, self.layers
        whole = (self._zero >= WEIGHTS) * precision.weight_bytes
        whole = whole + (self._zero >= GRADIENTS) * precision.stored_gradient_bytes
        working = 2 * float(layers.params.max()) * whole
        beside = {"working_bytes": working, **found.beside} if working.any() else found.beside
        return replace(found, of_param=of_param, beside=beside)

    @property
    def update_s(self) -> Array:
        """Of what a rank has of the states."""
        return super().update_s * self._shared(1)

    def step_time(self) -> Terms:
        """See :class:`.points.Points`.

        A reduce-scatter and an all-gather of sharded states move as much as an all-reduce. Where
        weights are shared they are gathered before the forward pass, half an all-reduce, behind
        that pass, and in every pass of the step all is exchanged (FSDP, arXiv 2304.11277).
        """
        found, passes = super().step_time(), self.passes
        if not (self._zero >= WEIGHTS).any():
            return found
        earlier = np.asarray(self.accumulation) - 1
        once = np.maximum(0.0, found.comm_s / 2 - passes.forward_s)
        more = once + earlier * (once + np.maximum(0.0, found.comm_s - passes.backward_s))
        more = np.where(self._zero >= WEIGHTS, more, 0.0)
        comm = found.comm_s * np.where(self._zero >= WEIGHTS, 1.5 * (earlier + 1), 1.0)
        return replace(
            found,
            step_s=found.step_s + more,
            comm_s=comm,
            by_term={**found.by_term, "exposed_s": found["exposed_s"] + more},
        )

    def bounded(self) -> bool:
        """Their communication may come several times a step."""
        return not (self._zero >= WEIGHTS).any() and super().bounded()
