"""A study resolved against catalogue, prices and calibration: design points in, numbers out."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput
from dse.catalog.facts import Fact
from dse.catalog.prices import GENERAL
from dse.model import compute
from dse.model.arrays import Array, ArrayLike
from dse.model.convergence import Convergence
from dse.model.goodput import Failures
from dse.model.pai import PaiStep
from dse.model.passes import Compute
from dse.model.scale import IDEAL, Scale
from dse.model.stack import Stack
from dse.model.step import OverlappedStep, StepModel
from dse.pricing import anchors, devices, hardware, market, target, throughput, uncertainty
from dse.pricing.aggregations import Factory, PricedAggregation
from dse.pricing.coordinates import Coordinate, columns_of, listed, sorted_by
from dse.pricing.draws import DRAWS, Record, Variation, normal, noted, varied
from dse.pricing.efficiency import compute_log_spread
from dse.pricing.evaluation import Evaluation
from dse.pricing.failures import failures
from dse.pricing.losses import losses
from dse.pricing.network import model_layers
from dse.pricing.point_arrays import BUCKET, COMPUTE_AXES, PointArrays, Points, SeveralBuckets
from dse.pricing.rental import Rental
from dse.pricing.step_errors import LAUNCH, Learned, StepErrors, Taken, told_apart
from dse.pricing.stock import Stock
from dse.pricing.stocktaking import stocks
from dse.study import PAI, Study, Value
from dse.study.aggregation_name import AggregationName
from dse.study.axes import OPTIMIZER
from dse.study.definition import REAL
from dse.study.space import STRUCTURAL, Box, Space

GIVEN = "given"  # a share of peak in place of laws and corrections

STEP_MODELS: Mapping[str, StepModel] = {"calibrated": OverlappedStep(), PAI: PaiStep()}
_REMEMBERED = 1024  # partial results kept, at most
_REMEMBERED_BYTES = 256e6  # of them, besides the last
# Points priced together once per draw, at most: an array of 300 layers by 1,000 draws by 40 points
# is 96 MB, and a step holds several.
DRAWN_POINTS = 40


@dataclass
class Problem:
    """Everything needed to evaluate points of a study.

    profiles: calibration profiles by their name in the study, in its order. scale: what
    accelerators that work together lose; scale_spread: the standard deviation of the logarithm of
    each of its terms. draws: price every point once per draw of all that is not sure, which adds a
    first axis of length draw_count to every term that depends on it.
    """

    study: Study
    workload: catalog.Workload
    prices: catalog.PriceList
    profiles: Mapping[str, Profile]
    scale: Scale = IDEAL
    scale_spread: Scale = IDEAL
    draws: bool = False
    draw_count: int = DRAWS
    _memory: OrderedDict[Any, Any] = field(default_factory=OrderedDict, init=False)
    _sizes: dict[Any, int] = field(default_factory=dict, init=False)
    _aggregations: dict[AggregationName, PricedAggregation] = field(
        default_factory=dict, init=False
    )

    @cached_property
    def space(self) -> Space:
        """The finite space of the study's axes."""
        return Space((*self.study.axes, *self.study.defaults), self.study.conditions)

    @property
    def usual_optimizer(self) -> Fact | None:
        """What the optimizer is taken to be where the study does not say; None where it does, or
        where nothing is known of the network."""
        given = {axis.name for axis in self.study.axes} | {c.axis for c in self.study.conditions}
        return None if OPTIMIZER in given else catalog.usual_optimizer(self.workload)

    @cached_property
    def convergence(self) -> Convergence | None:
        """How many samples a run trains on; draws of it, (draws,), where these are priced; None
        where the study has no target."""
        curve = target.convergence(self.study, self.workload)
        if curve is None or not self.draws:
            return curve
        return target.drawn(curve, target.quality_of(self.study), self.draw_count)

    @cached_property
    def inputs_hash(self) -> str:
        """SHA-256 of what the study refers to: workload, layers and prices as they were read."""
        prices = self.prices
        groups = (prices.accelerator_usd, prices.accelerator_hourly_usd, prices.sold_in,
                  prices.accelerator_host_usd, prices.node_usd, prices.node_hourly_usd,
                  *prices.fabric_usd.values())  # fmt: skip
        numbers = [(fact.name, fact.value) for fact in prices.facts]
        numbers += [(name, fact.value) for group in groups for name, fact in group.items()]
        general = [getattr(prices, field) for field, _ in GENERAL.values()]
        numbers += [(fact.name, fact.value) for fact in general]
        texts = [(name, fact.text) for name, fact in prices.sold_until.items()]
        digest = hashlib.sha256(repr((sorted(map(repr, numbers)), texts, prices.includes)).encode())
        layers = self.layers
        for array in (layers.params, layers.forward_flops, layers.traffic_elems):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr((layers.kept, layers.input_bytes, layers.family)).encode())
        digest.update(repr((self.workload.network, self.workload.work)).encode())
        if self.convergence is not None:
            quality = target.quality_of(self.study)
            digest.update(repr((self.convergence, quality and vars(quality))).encode())
        return digest.hexdigest()

    @cached_property
    def step_model(self) -> StepModel:
        """How the time of a step follows from its parts."""
        return STEP_MODELS[self.study.model]

    @cached_property
    def factory(self) -> Factory:
        """Makes the study's aggregations."""
        draws = self.draw_count if self.draws else 0
        return Factory(
            self.profiles,
            self.study.fabrics,
            self.step_model.measurable,
            draws,
            self.remember,
            uncertainty.drawn_sharing(self.scale, self.scale_spread, draws),
            self.step_errors,
        )

    @cached_property
    def step_errors(self) -> StepErrors | None:
        """What the user's own rates say of the errors of a step besides computing; None where there
        are none of several accelerators that say how they summed their gradients, or where shares
        of the peaks stand in place of what rates correct."""
        rates = (rate for of in self.profiles.values() for rate in throughput.applicable(of))
        given = self.study.efficiency.compute is not None or not self.step_model.measurable
        if given or not any(rate.stated for rate in rates):
            return None
        return Learned(lambda: self.anchors)

    def stack(self, name: str) -> Stack:
        """Training software of the catalogue, its launches as long as rates of whole steps say."""
        found = devices.software(name)
        if self.draws or self.step_errors is None:
            return found
        error = np.exp(catalog.computing().launch_log_spread * self.step_errors.expected(LAUNCH))
        return replace(found, launch_s=found.launch_s * error)

    def reached(
        self, machines: Sequence[hardware.Machine], precision: str, stack: Stack
    ) -> compute.Device:
        """What accelerators reach under it: the shares that the study or its model gives, else by
        their laws."""
        given = self.study.efficiency
        if given.compute is not None or not self.step_model.measurable:
            return devices.by_share(machines, precision, given.compute, given.memory)
        kernels = catalog.computing().stacks[stack.name].kernels
        kinds = self._kinds(machines, precision, stack)
        left = [anchors.log_factor(self.anchors, kind) for kind in kinds]
        return devices.by_law(
            machines, precision, kernels, left, self.profiles.values(), given.memory
        )

    def compute_errors(
        self, machines: Sequence[hardware.Machine], precision: str, stack: Stack
    ) -> Array:
        """Factors by which passes and update on accelerators may err, (draws, machines)."""
        given = self.study.efficiency.compute
        spreads = [
            compute_log_spread(given, self.profiles.values(), machine.accelerator, precision)
            for machine in machines
        ]
        if given is not None or not self.step_model.measurable:
            names = [machine.accelerator.name for machine in machines]
            return uncertainty.compute_factors(names, precision, spreads, self.draw_count)
        kinds = self._kinds(machines, precision, stack)
        errors = anchors.drawn_errors(self.anchors, kinds, spreads, self.draw_count)
        for machine, error in zip(machines, errors.T, strict=True):
            noted(f"rate: {machine.accelerator.name}, {precision}, {stack.name}", np.log(error))
        return errors

    def launch_errors(self) -> Array:
        """Factors by which the host's launch time may err, (draws,): one host for all points."""
        spread = catalog.computing().launch_log_spread
        errors = self.step_errors or Taken()
        return np.asarray(np.exp(spread * errors.drawn(LAUNCH, self.draw_count)))

    def _kinds(
        self, machines: Sequence[hardware.Machine], precision: str, stack: Stack
    ) -> list[Mapping[str, str]]:
        """Of training, as anchors tell them apart."""
        return [
            throughput.kind_of(self.workload, machine.accelerator, precision, stack.name)
            for machine in machines
        ]

    def computing_known(self, points: Points) -> str:
        """What stands behind the computing of a single point: :func:`.anchors.known` of it, or
        ``given`` where a share of peak stands in its place."""
        if self.study.efficiency.compute is not None or not self.step_model.measurable:
            return GIVEN
        machine = points.machines[int(np.ravel(points.coordinates[points.machine_axis].at)[0])]
        (kind,) = self._kinds([machine], points.precision.name, points.stack)
        return anchors.known(self.anchors, kind)

    @cached_property
    def anchors(self) -> catalog.Anchors:
        """Those of the catalogue, or as the profiles' own rates correct them."""
        return self.anchors_with(())

    def anchors_with(
        self, supposed: Sequence[tuple[Throughput, catalog.Workload]]
    ) -> catalog.Anchors:
        """The same if such rates had been measured, too, each with what it trains."""
        return throughput.corrected(
            catalog.anchors(), self.profiles.values(), _WholeSteps(self), supposed
        )

    def drawn(self, count: int = DRAWS) -> Problem:
        """The same problem, priced once per draw, of which there are so many."""
        sampled = replace(self, draws=True, draw_count=count)
        if self.step_errors is not None:  # what rates say is no matter of draws, and takes a while
            sampled.__dict__["anchors"] = self.anchors
        return sampled

    def aggregation(self, name: AggregationName) -> PricedAggregation:
        """One of the study's aggregations, or another that the catalogue knows."""
        if name not in self._aggregations:
            self._aggregations[name] = self.factory(name)
        return self._aggregations[name]

    @property
    def points(self) -> int | None:
        """Number of design points; None where an axis is continuous."""
        endless = any(axis.continuous for axis in self.study.axes)
        return None if endless else self.space.size

    @cached_property
    def tensors(self) -> tuple[Array, NDArray[np.intp]]:
        """Elements of every gradient tensor and its layer, in forward order."""
        return catalog.gradient_tensors(self.workload)

    @cached_property
    def layers(self) -> compute.Layers:
        """The workload as the model wants it."""
        return model_layers(self.workload)

    @cached_property
    def baseline(self) -> Evaluation:
        """The study's baseline, shape (1,)."""
        return self.point(self.study.baseline.values, speedup=False)

    @cached_property
    def baseline_samples_per_s(self) -> float:
        """Throughput every speedup is relative to. NaN only if the baseline cannot run at all."""
        return float(np.ravel(self.baseline["throughput"])[0])

    @cached_property
    def sampled(self) -> Problem:
        """The same problem, priced once per draw."""
        return self.drawn()

    @property
    def reference_samples_per_s(self) -> ArrayLike:
        """What speedups are relative to: the baseline's throughput, in each draw, (draws, 1)."""
        return self.baseline["throughput"] if self.draws else self.baseline_samples_per_s

    @cached_property
    def lost(self) -> Scale:
        """The terms of :attr:`scale`, but for sharing as many draws as are priced, (draws,)."""
        scale, spread, errors = self.scale, self.scale_spread, self.step_errors
        if self.draws:
            return uncertainty.drawn_scale(scale, spread, errors or Taken(), self.draw_count)
        return scale if errors is None else uncertainty.expected_scale(scale, spread, errors)

    @cached_property
    def failures(self) -> Failures:
        """How often a run stops and what that costs, or as many draws as are priced, (draws,)."""
        found = failures(self.study.failures, self.draw_count if self.draws else 0)
        return self.rental.interrupted(found)

    @cached_property
    def rental(self) -> Rental:
        """The terms that machines are rented on, or as many draws of them as are priced."""
        rental, use = self.study.rental, self.study.ownership.utilisation
        awaited = self.study.target is not None and market.rents(self.study)
        awaited &= not rental.committed
        return Rental(rental, self.draw_count if self.draws else 0, awaited, use)

    @cached_property
    def start_up_s(self) -> ArrayLike:
        """For how long a run to the target waits until its machines have started: as those that are
        rented for it do, where the study's money is rent; 0 of those that are bought, or rented by
        a commitment."""
        return self.rental.start_up_s if self.rental.awaited else 0.0

    @cached_property
    def standing(self) -> tuple[Stock, ...]:
        """What the study owns already, counted; one for each of its entries. It is no matter of
        draws."""
        counted = replace(self, draws=False) if self.draws else self
        return stocks(self.study, counted.points_at)

    def images_per_core_s(self, stack: str) -> ArrayLike | None:
        """Images that a core of a host decodes, or as many draws of it as are priced; None where
        hosts are no limit."""
        real = self.study.input == REAL and self.step_model.measurable
        known = catalog.decoding()
        rate = known.images_per_core_s.get(stack)
        if rate is None or not (real and self.workload.decoded):
            return None
        if not self.draws:
            return rate
        return rate * np.exp(known.spread * normal("decoding", self.draw_count))

    @cached_property
    def buys_new(self) -> bool:
        """Whether only what is sold new may be recommended: see :mod:`.market`."""
        return market.buys_new(self.study, self.prices)

    def box(self, box: Box) -> Evaluation:
        """Evaluate a grid of points; arrays broadcast to ``box.shape``."""
        return self.placed(box).evaluation()

    def placed(self, box: Box) -> Points:
        """A grid of points, before they are priced."""
        slab = self.space.slabs[box.slab]
        rank = len(slab.axes)
        coordinates = {}
        for number, (axis, part) in enumerate(zip(slab.axes, box.slices, strict=True)):
            shape = tuple(-1 if other == number else 1 for other in range(rank))
            at = np.arange(part.start, part.stop).reshape(shape)
            coordinates[axis.name] = Coordinate(axis.values, at, (part.start, part.stop))
        return Points(self, slab.fixed, coordinates, rank)

    def point(self, values: Mapping[str, Value | None], speedup: bool = True) -> Evaluation:
        """Evaluate one point given by the values of its axes, shape (1,)."""
        return self.rows([values], speedup)[0][1]

    def rows(
        self, points: Sequence[Mapping[str, Value | None]], speedup: bool = True
    ) -> list[tuple[NDArray[np.int64], Evaluation]]:
        """Evaluate points given one by one; see :meth:`scattered`."""
        return [*self.scattered(columns_of(points), speedup)]

    @property
    def sure_of(self) -> tuple[str, ...]:
        """The quantities of a point that have intervals."""
        aimed = self.study.target is not None
        return ("speedup", "step", *uncertainty.OF_COST, *(uncertainty.OF_RUN if aimed else ()))

    def intervals(
        self, columns: Mapping[str, Coordinate], best: Mapping[str, Array]
    ) -> dict[str, uncertainty.Ends]:
        """90 % intervals of scattered points, see :func:`.uncertainty.intervals`."""
        if not next(iter(best.values())).size:
            return uncertainty.intervals(best, ())
        return uncertainty.intervals(best, self.sampled.scattered(columns))

    def scattered(
        self, columns: Mapping[str, Coordinate], speedup: bool = True
    ) -> Iterator[tuple[NDArray[np.int64], Evaluation]]:
        """Evaluate points that lie anywhere; see :meth:`scattered_points`."""
        for where, points in self.scattered_points(columns):
            yield where, points.evaluation(compared=speedup)

    def scattered_points(
        self, columns: Mapping[str, Coordinate]
    ) -> Iterator[tuple[NDArray[np.int64], PointArrays]]:
        """Points that lie anywhere, before they are priced, in as few arrays as their structure
        allows.

        columns: where they lie on every axis, shape (points,); what has no value there (None) is as
        if the axis were left out. Yields (positions of points, arrays of shape (positions,)) per
        structure. Points that differ in the size of a bucket
        alone come together; priced per draw they would take too much room, and those of one
        structure come in pieces of DRAWN_POINTS.
        """
        looped = [name for name in self._looped_names if name in columns]
        apart = self.draws or BUCKET in self._decisive_names
        inner = [name for name in looped if name == BUCKET and not apart]
        outer = [name for name in looped if name not in inner]
        blank = [
            column.blank() for name, column in columns.items()
            if name not in looped and None in column.values and len(column.values) > 1
        ]  # fmt: skip
        last = sorted(COMPUTE_AXES & set(columns) - set(looped))  # makes them quicker to compute
        order, groups = sorted_by(
            [*(columns[name] for name in outer), *blank],
            [columns[name] for name in inner],
            [columns[name] for name in last],
        )
        ordered = {
            name: column if len(column.values) == 1 else replace(column, at=column.at.take(order))
            for name, column in columns.items()
        }
        if self.draws:
            groups = [[piece] for (whole,) in groups for piece in _pieces(whole, DRAWN_POINTS)]
        missing = {name: None for name in self._looped_names if name not in columns}

        def place(
            here: slice, looped: Sequence[str]
        ) -> tuple[dict[str, Value | None], dict[str, Coordinate]]:
            fixed = {name: columns[name].values[ordered[name].at[here.start]] for name in looped}
            rest = {
                name: column.part(here) for name, column in ordered.items() if name not in looped
            }
            return {**missing, **fixed}, rest

        def placed_parts(slices: Sequence[slice]) -> list[Points]:
            return [Points(self, *place(part, looped), 1) for part in slices]

        for slices in groups:
            where = slice(slices[0].start, slices[-1].stop)
            if len(slices) == 1:
                yield order[where], Points(self, *place(where, looped), 1)
                continue
            parts = partial(placed_parts, slices)
            counts = [part.stop - part.start for part in slices]
            yield order[where], SeveralBuckets(self, *place(where, outer), parts, counts)

    @cached_property
    def _decisive_names(self) -> frozenset[str]:
        """The axes that decide whether a point has another."""
        return frozenset(name for c in self.study.conditions for name, _ in c.requires)

    @cached_property
    def _looped_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*STRUCTURAL, *sorted(self._decisive_names)]))

    def applicable(self, values: Mapping[str, Value | None]) -> dict[str, Value | None]:
        """The point with conditional axes blank where their condition does not hold."""
        point = dict(values)
        for axis in {condition.axis for condition in self.study.conditions}:
            mine = [c for c in self.study.conditions if c.axis == axis]
            if not any(
                all(point.get(name) in allowed for name, allowed in c.requires) for c in mine
            ):
                point[axis] = None
        return point

    def is_measured(self, values: Mapping[str, Value | None]) -> bool:
        """Whether profiles price the aggregation of this point, whatever chooses its algorithm."""
        return self.points_at(values).measured()

    def points_at(self, values: Mapping[str, Value | None]) -> Points:
        """One point given by the values of its axes, before it is priced."""
        fixed = {name: values.get(name) for name in self._looped_names}
        rest = {name: listed([value]) for name, value in values.items() if name not in fixed}
        return Points(self, fixed, rest, 1)

    @cached_property
    def ranks_per_node(self) -> list[float]:
        """Accelerators of a node: as the study says, or as its node types have."""
        given = {axis.name for axis in self.study.axes}
        if "node" not in given or "gpus_per_node" in given:
            return self.study.numbers("gpus_per_node", 1.0)
        rows = hardware.machines("node", self.study.values("node"), self.prices)
        return sorted({float(row.node.accelerators) for row in rows if row.node})

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """A partial result shared by several boxes; ``key`` None is not remembered."""
        if key is None:
            return make()
        if key not in self._memory:
            self._memory[key] = make()
            self._sizes[key] = _nbytes(self._memory[key])
            while len(self._memory) > _REMEMBERED or (
                sum(self._sizes.values()) > _REMEMBERED_BYTES and len(self._memory) > 1
            ):
                oldest, _ = self._memory.popitem(last=False)
                del self._sizes[oldest]
        return self._memory[key]


@dataclass
class _Supposed(Problem):
    """The same before any rate of the user's is seen, in as many draws as computing is supposed to
    take so many times as long as its rows of work say.

    log_factors: the logarithm of that, of all accelerators, (draws,). taken: by what the rest of
    the step errs.
    """

    log_factors: Array = field(default_factory=lambda: np.zeros(0))
    taken: Taken = field(default_factory=Taken)

    @property
    def step_errors(self) -> StepErrors:
        """See :class:`Problem`."""
        return self.taken

    def reached(
        self, machines: Sequence[hardware.Machine], precision: str, stack: Stack
    ) -> compute.Device:
        """See :class:`Problem`."""
        kernels = catalog.computing().stacks[stack.name].kernels
        memory = self.study.efficiency.memory
        return devices.by_law(machines, precision, kernels, (), self.profiles.values(), memory)

    def compute_errors(
        self, machines: Sequence[hardware.Machine], precision: str, stack: Stack
    ) -> Array:
        """See :class:`Problem`."""
        del precision, stack
        return np.repeat(np.exp(self.log_factors)[:, None], len(machines), axis=1)


@dataclass(frozen=True)
class _WholeSteps:
    """Whole steps of rates, as the problem prices them before it sees any rate of the user's: a
    :class:`.throughput.WholeSteps`."""

    problem: Problem

    def seconds(
        self,
        rate: Throughput,
        workload: catalog.Workload,
        log_factors: Array,
        errors: Mapping[str, Array],
    ) -> Array:
        """See :class:`.throughput.WholeSteps`."""
        with varied(Variation(alone=frozenset())):
            return self._step_s(rate, workload, log_factors, Taken(errors))

    def unsure_of(
        self, rate: Throughput, workload: catalog.Workload, log_factor: float
    ) -> tuple[tuple[str, ...], float]:
        """See :class:`.throughput.WholeSteps`."""
        return self.problem.remember(  # type: ignore[no-any-return]
            ("unsure of", rate, workload.name, log_factor),
            lambda: self._unsure_of(rate, workload, log_factor),
        )

    def _unsure_of(
        self, rate: Throughput, workload: catalog.Workload, log_factor: float
    ) -> tuple[tuple[str, ...], float]:
        record, taken = Record(), Taken()
        with varied(Variation(record=record)):
            self._step_s(rate, workload, np.full(1, log_factor), taken)
        others = record.asked.difference(name for name, _ in taken.asked)
        with varied(Variation(alone=frozenset(others))):
            seconds = self._step_s(rate, workload, np.full(DRAWS, log_factor), Taken())
        names = sorted(told_apart(*asked) for asked in taken.asked)
        return tuple(names), float(np.std(np.log(seconds)))

    def _step_s(
        self, rate: Throughput, workload: catalog.Workload, log_factors: Array, taken: Taken
    ) -> Array:
        of = self.problem
        scale = of.scale, of.scale_spread
        if workload.varying_length != of.workload.varying_length:
            scale = losses(of.study, workload)
        supposed = _Supposed(
            of.study, workload, of.prices, of.profiles, *scale, True, len(log_factors),
            log_factors=log_factors, taken=taken,
        )  # fmt: skip
        step_s = supposed.points_at(throughput.configuration(rate)).step_time().step_s
        return np.broadcast_to(step_s, (len(log_factors), 1))[:, 0]


def _pieces(whole: slice, most: int) -> list[slice]:
    """A slice in pieces of at most so many positions."""
    starts = range(whole.start, whole.stop, most)
    return [slice(start, min(start + most, whole.stop)) for start in starts]


def _nbytes(value: Any) -> int:
    """Bytes of the arrays in a partial result."""
    if isinstance(value, np.ndarray):
        return int(value.nbytes)
    if isinstance(value, Compute):
        return sum(map(_nbytes, vars(value).values()))
    return sum(map(_nbytes, value)) if isinstance(value, list | tuple) else 0
