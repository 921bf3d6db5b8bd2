"""Design points of a study that lays its transformer out, whatever the software."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse.catalog.stacks import ZERO
from dse.model.arrays import Array, Mask
from dse.model.parallel.enumeration import DIVIDES, judged
from dse.pricing.coordinates import Coordinate
from dse.pricing.layout_tables import COLUMNS, WORDS, LayoutTable, Placement, software
from dse.pricing.points import Points
from dse.pricing.shapes import Ideal
from dse.pricing.study_facts import StudyFacts
from dse.study import Value
from dse.study.axes import ACCUMULATION, AXES, BATCH, GLOBAL_BATCH, LAYOUT


class Placed(Points):
    """Points of one structure of a study that lays its transformer out."""

    def __init__(
        self,
        problem: StudyFacts,
        fixed: Mapping[str, Value | None],
        coordinates: Mapping[str, Coordinate],
        rank: int,
    ) -> None:
        coordinates = dict(coordinates)
        rows = coordinates.pop(LAYOUT, None)
        self.tabled = rows is not None
        self._table: tuple[object, ...] | None = None
        if rows is not None:
            table: LayoutTable = rows.values  # type: ignore[assignment]
            self._table = None if rows.key is None else (table.of, rows.key)
            coordinates |= table.coordinates(rows.at)
        super().__init__(problem, fixed, coordinates, rank)

    # -- degrees -------------------------------------------------------------------------------

    def degree(self, axis: str) -> Array:
        """A degree of parallelism; 1 where the study has no such axis, or no experts for it."""
        idle = axis.startswith("expert") and not self.has_experts
        return np.ones((1,) * self.rank) if idle else self.numbers(axis, 1.0)

    @property
    def has_experts(self) -> bool:
        """Whether some layer has."""
        return any(block.experts for block, _ in self.problem.tables.model.runs)

    def word(self, axis: str, usual: str | None = None) -> NDArray[np.int64]:
        """Places of words among those of an axis."""
        usual = usual or AXES[axis].usual
        found = self.at(axis)
        if found is None:
            return np.full((1,) * self.rank, WORDS[axis].index(usual))
        places = np.array([WORDS[axis].index(str(value or usual)) for value in found.values])
        return np.asarray(places[found.at])

    @cached_property
    def replica(self) -> Array:
        """Accelerators of a replica, ``t c p``."""
        return self.degree("tensor_parallel") * self.degree("context_parallel") * self.degree(
            "pipeline_parallel"
        )  # fmt: skip

    @cached_property
    def data_parallel(self) -> Array:
        """Replicas."""
        return self.gpus / self.replica

    @property
    def _longer(self) -> float:
        """Times as long as the workload's own samples."""
        return self.tokens / self.problem.tables.tokens

    @property
    def trained(self) -> float:
        """Share of the parameters that are trained."""
        return self.problem.tables.model.trained(self.problem.study.lora)

    @property
    def tokens(self) -> float:
        """Of a sequence."""
        return float(self.fixed.get("sequence") or self.problem.tables.tokens)  # type: ignore[arg-type]

    @cached_property
    def accumulation(self) -> Array:
        """Micro-batches of a step and replica."""
        whole, tables = self.at(GLOBAL_BATCH), self.problem.tables
        if whole is None or not tables.counted:
            return self.numbers(ACCUMULATION, 1.0)
        sequences = whole.numbers(1.0) * tables.tokens / self.tokens
        return np.asarray(sequences / (self.numbers(BATCH, 1.0) * self.data_parallel))

    @cached_property
    def batch(self) -> Array:
        """Samples of a micro-batch, of the workload's own length."""
        return self.numbers(BATCH, 1.0) * self._longer

    @property
    def unpriced(self) -> Mask | None:
        """See :class:`.evaluation.Placement`."""
        return None

    @property
    def ideal(self) -> Ideal:
        """See :class:`.points.Points`: gradients of frozen weights are not computed."""
        tables = self.problem.tables
        flops = (2 + self.trained) * tables.model.forward_flops(self.tokens) * tables.tokens
        return self._ideal(tables.tokens, flops)

    @cached_property
    def placement(self) -> Placement:
        """What they are judged by."""
        return Placement(self.memory.tensors_bytes, self.rules, self.unpriced)

    @cached_property
    def rules(self) -> Mapping[str, Mask]:
        """Of layouts that were given one by one, and not enumerated: those that some break."""
        if self.tabled:
            return {}
        name, shape = str(self.fixed["stack"]), self.rows_shape
        usual = {"zero": ZERO[software(name).zero]}
        usual["schedule"] = self.problem.tables.usual_schedule(name)
        columns = {
            column: self.word(axis, usual.get(axis)) if axis in WORDS else self.degree(axis)
            for axis, column in COLUMNS.items()
        } | {"gpus": self.gpus}
        whole = {
            name: np.broadcast_to(value, shape).reshape(-1).astype(np.int64)
            for name, value in columns.items()
        }
        split = self.fixed.get("sequence_parallel")
        choices = self.problem.tables.choices(name, split)
        if self.at(GLOBAL_BATCH) is None:
            choices = replace(choices, passes=choices.passes or (1,))
        found = judged(self.problem.tables.model, int(self.tokens), choices, whole)
        masks = {rule: mask.reshape(shape) for rule, mask in found.items()}
        whole_passes = np.mod(self.accumulation, 1) == 0
        if self.at(GLOBAL_BATCH) is not None or whole_passes.all():
            return masks
        return {**masks, DIVIDES: whole_passes}

    @property
    def rows_shape(self) -> tuple[int, ...]:
        """Of their layouts."""
        return self.shape_of(self.coordinates)

    def shape_of(self, axes: Iterable[str]) -> tuple[int, ...]:
        """Of what depends on some axes."""
        known = (self.coordinates[name].at.shape for name in axes if name in self.coordinates)
        return np.broadcast_shapes((1,) * self.rank, *known)
