"""Design points as arrays: what the model sees of a step."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.model import compute, decoding, overlap
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import SERVER_AXES, Aggregation, Gradients, Summed
from dse.model.aggregation.tensorwise import FUSION_AXES
from dse.model.arrays import Array, ArrayLike, Mask, in_a_row
from dse.model.convergence import Convergence
from dse.model.memory import Ledger, ledger
from dse.model.passes import CellOfPoints, Compute, part_of, spread
from dse.model.scale import largest_of
from dse.model.stack import Stack
from dse.model.terms import Terms
from dse.pricing import hardware
from dse.pricing.coordinates import Coordinate, coded
from dse.pricing.cost_arrays import CostArrays
from dse.pricing.evaluation import Evaluation
from dse.pricing.study_facts import StudyFacts
from dse.study import Value

BUCKET = "bucket"
DEFAULT_BUCKET_BYTES = 25 * 2.0**20
# Axes that an aggregation has or has not.
OF_SUMMING = SERVER_AXES | FUSION_AXES | {BUCKET}
# Those that decide what an accelerator computes.
COMPUTE_AXES = frozenset({"node", "accelerator", "batch_per_gpu", "optimizer"})


class PointArrays(CostArrays, ABC):
    """Points of one structure, whatever the size of their buckets: a
    :class:`~dse.model.step.Work`, on its own layout."""

    @property
    def layers(self) -> compute.Layers:
        """The layers of the workload."""
        return self.problem.layers

    @property
    def aggregation(self) -> Aggregation:
        """How the gradients are summed."""
        return self.summing.model

    @property
    def overlap(self) -> str:
        """What runs beside the backward pass."""
        return str(self.fixed.get("overlap", self.problem.step_model.overlaps[0]))

    @cached_property
    def _computing(self) -> tuple[Compute, Array, Array]:
        """Both passes, the input, the weight update."""
        of_axes, one_cell = self.key(COMPUTE_AXES), self._one_cell
        where = of_axes or one_cell
        key = where and ("passes", self.problem.draws, self.precision, self.stack, self.rank, where)

        def make() -> tuple[Compute, Array, Array]:
            if one_cell and not of_axes:  # for all points at once, however many they are
                return self._cell(one_cell)._computed()
            grid = self._grid(COMPUTE_AXES)
            if grid is not None:
                cells, shape, points = grid
                passes, *rest = cells._computing
                loading, update = (
                    points.spread(np.broadcast_to(seconds, shape).reshape(-1)) for seconds in rest
                )
                return spread(passes, shape, points), loading, update
            return self._computed()

        return self.problem.remember(key, make)  # type: ignore[no-any-return]

    def _computed(self) -> tuple[Compute, Array, Array]:
        layers, device, stack = self.problem.layers, self.device, self._drawn_stack()
        passes = compute.forward_backward(layers, device, self.batch, self.precision, stack)
        update = compute.optimizer_s(layers, device, self.precision, self.state_bytes, stack)
        return passes, compute.input_s(layers, device, self.batch), update

    def _cell(self, values: tuple[tuple[str, tuple[Value | None, ...]], ...]) -> PointArrays:
        """One point with these values, of which every axis has one, in as many axes."""
        at = np.zeros((1,) * self.rank, dtype=np.int64)
        coordinates = {name: Coordinate(column, at, (0, 1)) for name, column in values}
        return Points(self.problem, self.fixed, coordinates, self.rank)

    @property
    def _one_cell(self) -> tuple[Any, ...] | None:
        """What all points compute, where that is the same: their values on its axes."""
        found = [(n, c.values) for n, c in self.coordinates.items() if n in COMPUTE_AXES]
        return tuple(sorted(found)) if all(len(values) == 1 for _, values in found) else None

    def _grid(
        self, axes: frozenset[str]
    ) -> tuple[PointArrays, tuple[int, ...], CellOfPoints] | None:
        """The grid of all values of some axes, its shape, and the cell of every point.

        None where the points are a grid themselves, are priced by draws, or are too few to pay.
        """
        found = {name: self.coordinates[name] for name in sorted(axes & set(self.coordinates))}
        shape = tuple(len(axis.values) for axis in found.values())
        scattered = self.rank == 1 and not self.problem.draws and self.key(axes) is None
        count = max((axis.at.size for axis in found.values()), default=0)
        if not scattered or 2 * math.prod(shape) > count:
            return None
        coordinates = {}
        for number, (name, axis) in enumerate(found.items()):
            sizes = tuple(-1 if other == number else 1 for other in range(len(shape)))
            every = np.arange(len(axis.values)).reshape(sizes)
            coordinates[name] = Coordinate(axis.values, every, (0, len(axis.values)))
        cells = Points(self.problem, self.fixed, coordinates, len(shape))
        which = np.broadcast_to(coded([*found.values()]), (count,))
        return cells, shape, CellOfPoints(which, math.prod(shape))

    @property
    def host_decides(self) -> Mask:
        """Whether the host launches kernels more slowly than the accelerator runs them."""
        unbound = replace(self.stack, launch_s=0.0)
        alone = compute.forward_backward(
            self.problem.layers, self.device, self.batch, self.precision, unbound
        )
        taken_s = self.passes.forward_s + self.passes.backward_s
        return np.asarray(taken_s > alone.forward_s + alone.backward_s)

    def _drawn_stack(self) -> Stack:
        """The training software, its launches as long as each draw has them, (draws, 1, ...)."""
        if not self.problem.draws:
            return self.stack
        error = self.problem.launch_errors().reshape((-1,) + (1,) * self.rank)
        return replace(self.stack, launch_s=self.stack.launch_s * error)

    @property
    def passes(self) -> Compute:
        """Forward and backward."""
        return self._computing[0]

    @property
    def loading_s(self) -> Array:
        """To bring a batch from the host."""
        return self._computing[1]

    @cached_property
    def decoding_s(self) -> ArrayLike:
        """For the host of a node to decode what its accelerators train on in a step; 0 where hosts
        are no limit."""
        rate = self.problem.images_per_core_s(self.stack.name)
        if rate is None or self.machine_axis != "node":
            return 0.0
        cores = self.machine(lambda m: hardware.number(m.node.cores if m.node else None))
        training = np.minimum(self.gpus, self.gpus_per_node)
        images = self.batch * self.accumulation * training
        return decoding.decoding_s(images, cores, self.drawn(rate))

    @property
    def update_s(self) -> Array:
        """Seconds in which the accelerators or parameter servers update the weights."""
        own = self._computing[2]
        if not self.aggregation.updates_on_servers:
            return own
        servers = compute.server_update_s(
            self.layers,
            self.precision,
            self.state_bytes,
            self.servers,
            catalog.computing().host_memory_bytes_per_s,
        )
        return np.where(node_count(self.gpus, self.gpus_per_node) > 1, servers, own)

    @cached_property
    def waiting(self) -> Array:
        """By which share of their time passes are longer, waiting for the slowest of all."""
        found = self.at("gpus")
        if found is None:
            return np.zeros((1,) * self.rank)
        largest = self.problem.remember(
            ("largest", found.values), lambda: largest_of(np.array(found.values, dtype=np.float64))
        )
        return np.asarray(self.drawn(self.problem.lost.spread) * largest.take(found.at))

    @property
    def slowdown(self) -> ArrayLike:
        """Seconds by which a second of communication lengthens the backward pass beside it."""
        return self.drawn(self.problem.lost.slowdown)

    @property
    @abstractmethod
    def bucket_bytes(self) -> ArrayLike:
        """Gradients are fused into messages of this size."""

    @abstractmethod
    def summed(self) -> Summed:
        """When the gradients are, by the aggregation."""

    @abstractmethod
    def sums_bounded(self) -> bool:
        """Whether the sums of all points are finite for certain."""

    @abstractmethod
    def grade(self) -> NDArray[np.int64]:
        """How far the aggregation is from what was measured, a Grade."""

    def step_time(self) -> Terms:
        """By the step model of the study."""
        return self.problem.step_model.step_time(self)

    def without_communication(self) -> Terms:
        """The same if communication took no time: no point is faster."""
        return self.problem.step_model.without_communication(self)

    def bounded(self) -> bool:
        """Whether the communication of all points is finite for certain."""
        return self.problem.step_model.bounded(self)

    @property
    def memory(self) -> Ledger:
        """What a step needs of an accelerator's memory."""
        return ledger(
            self.layers, self.device, self.stack, self.batch, self.precision, self.state_bytes,
            self.gpus,
        )  # fmt: skip

    @property
    def memory_slack_bytes(self) -> Array:
        """Bytes of an accelerator's memory left over; negative: it does not fit; NaN: not known."""
        return np.asarray(self.device.memory_bytes - self.memory.total_bytes)

    def immaterial(self) -> tuple[str, ...]:
        """The axes that change nothing of a single point.

        One accelerator sums nothing, one node needs neither network nor servers, and an aggregation
        has its own axes.
        """
        gpus, nodes = _first(self.gpus), _first(node_count(self.gpus, self.gpus_per_node))
        found = set(OF_SUMMING) - (self.aggregation.axes if gpus > 1 else frozenset())
        if gpus <= 1:
            found.add("aggregation")
        if nodes <= 1:
            found |= {"inter_node", "nics_per_node", *SERVER_AXES}
        if not np.any(self.bill.tree.spines):  # one switch joins all
            found.add("oversubscription")
        if gpus <= nodes:
            found.add("intra_node")
        if gpus <= 1 and not self.precision.master_bytes:
            found.add("gradient")
        return tuple(sorted(found & set(self.coordinates)))

    def serving(self) -> int | None:
        """How many parameter servers sum the gradients of a single point; None where none do."""
        several = _first(node_count(self.gpus, self.gpus_per_node)) > 1
        if not several or not self.aggregation.axes & SERVER_AXES:
            return None
        return int(_first(self.servers))

    @property
    def hosted(self) -> Mask:
        """Whether every colocated server has a worker; one node needs no server."""
        if not self.aggregation.axes & SERVER_AXES:
            return np.ones((1,) * self.rank, dtype=bool)
        workers = node_count(self.gpus, self.gpus_per_node)
        return np.asarray(~self.colocated | (workers <= 1) | (self.servers <= workers))

    @property
    def _convergence(self) -> Convergence | None:
        """How many samples a run trains on; draws of it before the axes of the points."""
        curve = self.problem.convergence
        if curve is None or not self.problem.draws:
            return curve
        least, critical = map(self.drawn, (curve.least_samples, curve.critical_batch))
        return replace(curve, least_samples=least, critical_batch=critical)

    def _reference(self) -> ArrayLike:
        return self.problem.reference_samples_per_s

    def evaluation(self, terms: Terms | None = None, compared: bool = True) -> Evaluation:
        """The points priced; ``terms`` in place of those of their own step. compared: with the
        baseline; without it their speedup is NaN."""
        problem = self.problem
        billing = self.problem.rental.billing
        return Evaluation(
            timed=self.step_time if terms is None else lambda: terms,
            costed=self.cost,
            gpus=self.gpus,
            gpus_per_node=self.gpus_per_node,
            batch_per_gpu=self.batch,
            accumulation=self.accumulation,
            nics_per_node=self.rails,
            servers=self.servers,
            bucket_bytes=self.bucket_bytes,
            memory_slack_bytes=self.memory_slack_bytes,
            hosted=self.hosted,
            convergence=self._convergence,
            baseline=partial(getattr, problem, "baseline"),
            sold=self.sold,
            reference=self._reference if compared else _nothing,
            carbon_kg_per_kwh=hardware.number(self.problem.prices.carbon_kg_per_kwh.value),
            graded=self.grade,
            run=self.goodput,
            billing=replace(billing, start_up_s=self.drawn(billing.start_up_s)),
            start_up_s=self.drawn(self.problem.start_up_s),
        )


def _nothing() -> float:
    return math.nan


class Points(PointArrays):
    """Points of one structure, whose gradients are fused into buckets of one size."""

    @cached_property
    def bucket_bytes(self) -> ArrayLike:
        """Gradients are fused into messages of this size."""
        return float(self.fixed.get(BUCKET) or DEFAULT_BUCKET_BYTES)  # type: ignore[arg-type]

    @property
    def gradients(self) -> Gradients:
        """What a step sums, and when it is there."""
        problem, element_bytes = self.problem, self.precision.gradient_bytes
        bucket_bytes, overlapped = self.bucket_bytes, self.overlap != "none"

        def make() -> Gradients:
            params = problem.layers.params
            buckets = overlap.fuse(params * element_bytes, bucket_bytes)
            return Gradients(
                params, element_bytes, bucket_bytes, buckets, *problem.tensors, overlapped
            )

        return problem.remember(("gradients", element_bytes, bucket_bytes, overlapped), make)  # type: ignore[no-any-return]

    def summed(self) -> Summed:
        """When the gradients are, by the aggregation."""
        return self.aggregation.summed(self.gradients, self.passes.layer_done_s, self.layout)

    def sums_bounded(self) -> bool:
        """Whether the sums of all points are finite for certain."""
        return self.aggregation.bounded(self.gradients, self.layout)

    def grade(self) -> NDArray[np.int64]:
        """How far the aggregation is from what was measured, a Grade."""
        return self.summing.evidence.grade(self.gradients, self)

    def why_outside(self) -> list[str]:
        """What of a single point was not measured; empty where all of it was."""
        return self.summing.evidence.why_outside(self.gradients, self)

    def measured(self) -> bool:
        """Whether profiles price the aggregation of all points."""
        return self.summing.evidence.measured(self.gradients, self)

    def summed_by(self, model: Aggregation) -> Points:
        """The same points with another aggregation over the same transport."""
        other = Points(self.problem, self.fixed, self.coordinates, self.rank)
        other.summing = replace(self.summing, model=model)
        return other


class SeveralBuckets(PointArrays):
    """Points of one structure but for the size of their buckets, which only the sums depend on.

    coordinates: of all of them, of shape (points,). parts: makes those of each size, in the same
    order, once they are needed; counts: how many.
    """

    def __init__(
        self,
        problem: StudyFacts,
        fixed: Mapping[str, Value | None],
        coordinates: Mapping[str, Coordinate],
        parts: Callable[[], Sequence[Points]],
        counts: Sequence[int],
    ) -> None:
        super().__init__(problem, fixed, coordinates, 1)
        self._parts, self.counts = parts, counts

    @cached_property
    def parts(self) -> Sequence[Points]:
        """Those of each size."""
        return self._parts()

    @cached_property
    def bucket_bytes(self) -> Array:
        """(points,)."""
        return self.coordinates[BUCKET].numbers(DEFAULT_BUCKET_BYTES)

    def summed(self) -> Summed:
        """Every part by its own buckets."""
        ends = [0, *accumulate(self.counts)]
        done_s = self.passes.layer_done_s
        sums = [
            part.aggregation.summed(
                part.gradients, part_of(done_s, slice(*where), ends[-1]), part.layout
            )
            for part, where in zip(self.parts, pairwise(ends), strict=True)
        ]
        return Summed(*(in_a_row(seconds, self.counts) for seconds in zip(*sums, strict=True)))

    def sums_bounded(self) -> bool:
        """Whether they are in every part."""
        return all(part.sums_bounded() for part in self.parts)

    def grade(self) -> NDArray[np.int64]:
        """Of every part by its own buckets."""
        return in_a_row([part.grade() for part in self.parts], self.counts)


def _first(values: Array) -> float:
    return float(np.ravel(values)[0])
