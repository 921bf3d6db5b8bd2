"""Layouts of a transformer on one kind of hardware, as the model sees them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike, Mask, distinct
from dse.model.parallel.mesh import Mesh
from dse.model.parallel.schedules import (
    SCHEDULES,
    Pipeline,
    Stage,
    Stages,
    of_kinds,
    stages,
)
from dse.model.parallel.shape import Transformer
from dse.model.parallel.sharding import Cut

NONE, SELECTIVE, FULL = 0, 1, 2  # of recomputation
RING, ALL_TO_ALL, ALL_GATHER = 0, 1, 2  # how ranks of a context group share keys and values
HSDP = 4  # fully sharded inside a node, copied over nodes


@dataclass(frozen=True)
class Layouts:
    """Layouts of one transformer under one schedule; arrays (points,).

    mesh: degrees. micro_batch: sequences of a micro-batch. passes: m, micro-batches of a step and
    replica. sequence: tokens. sequence_parallel: see :class:`.sharding.Cut`. zero: 0 to 3, or
    :data:`HSDP`. recompute: :data:`NONE`, :data:`SELECTIVE` or :data:`FULL`. virtual: v, parts of
    a rank's layers that take turns. schedule: a name of :data:`.schedules.SCHEDULES`. imbalance:
    and capacity: see :class:`.sharding.Cut`. exchange: :data:`RING`, ...
    """

    mesh: Mesh
    micro_batch: Array
    passes: Array
    sequence: Array
    sequence_parallel: Mask
    zero: Array
    recompute: Array
    virtual: Array = field(default_factory=lambda: np.ones(()))
    schedule: str = "1f1b"
    imbalance: ArrayLike = 1.2
    capacity: ArrayLike = 0.0
    exchange: ArrayLike = RING

    @property
    def line(self) -> Pipeline:
        """The pipeline."""
        return Pipeline(self.passes, self.mesh.pipeline, self.virtual)

    @property
    def cut(self) -> Cut:
        """How layers are cut."""
        mesh = self.mesh
        return Cut(
            mesh.tensor, mesh.context, mesh.expert, mesh.expert_tensor, self.sequence_parallel,
            self.micro_batch, self.sequence, self.imbalance, self.capacity,
        )  # fmt: skip

    @property
    def shards(self) -> Array:
        """Ranks over which the states of all but experts are sharded.

        HSDP: of a group's members on a node, as many as divide the group.
        """
        whole = self.mesh.context * self.mesh.data
        inside = np.gcd(whole.astype(np.int64), self._beside(self.mesh.tensor))
        return np.select([self.zero == 0, self.zero == HSDP], [np.ones(()), inside], whole)

    @property
    def expert_shards(self) -> Array:
        """Ranks over which the states of experts are."""
        whole = self.mesh.expert_data
        inside = np.gcd(
            whole.astype(np.int64), self._beside(self.mesh.expert * self.mesh.expert_tensor)
        )
        return np.select([self.zero == 0, self.zero == HSDP], [np.ones(()), inside], whole)

    def _beside(self, stride: Array) -> NDArray[np.int64]:
        """Ranks of one node that lie ``stride`` apart."""
        return np.maximum(1, self.mesh.node // stride).astype(np.int64)

    def take(self, at: NDArray[np.int64]) -> Layouts:
        """Some of the points."""

        def of(record: Any) -> dict[str, Any]:
            found = vars(record).items()
            return {k: v[at] for k, v in found if isinstance(v, np.ndarray) and v.ndim}

        return replace(self, mesh=replace(self.mesh, **of(self.mesh)), **of(self))

    def alike(
        self, degrees: Sequence[str], others: Sequence[str]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Points that differ in these degrees or in others, and which of them each point is like:
        positions (few,), and (points,) among them."""
        code = np.zeros(np.shape(self.mesh.gpus), dtype=np.int64)
        columns = [getattr(self.mesh, name) for name in degrees]
        for column in (*columns, *(getattr(self, name) for name in others)):
            values, at = distinct(np.broadcast_to(column, code.shape))
            code = code * len(values) + at
        _, which = distinct(code)
        first = np.zeros(int(which.max(initial=-1)) + 1, dtype=np.int64)
        first[which[::-1]] = np.arange(len(which))[::-1]
        return first, which

    def once(
        self, degrees: Sequence[str], others: Sequence[str], found: Callable[[Layouts], Array]
    ) -> Array:
        """What ``found`` makes of layouts, (..., points), computed once for those :meth:`alike`."""
        few, which = self.alike(degrees, others)
        return found(self.take(few))[..., which]

    def staged(self, model: Transformer, rule: str) -> tuple[list[tuple[Stage, ...]], Stages]:
        """Every pipeline among the points, and the kinds of stages of each point. rule: of
        :data:`.schedules.RULES`."""
        few, which = self.alike(("pipeline",), ("virtual",))
        placed = SCHEDULES[self.schedule].placed
        lengths = (np.broadcast_to(n, which.shape)[few] for n in (self.mesh.pipeline, self.virtual))
        found = [stages(model, int(p), int(v), rule, placed) for p, v in zip(*lengths, strict=True)]
        return found, of_kinds(found, which)
