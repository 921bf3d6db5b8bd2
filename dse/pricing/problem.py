"""A study resolved against catalogue, prices and calibration: design points in, numbers out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration import Profile
from dse.catalog.facts import Fact
from dse.catalog.prices import GENERAL
from dse.model import compute
from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array, ArrayLike
from dse.model.convergence import Convergence
from dse.model.goodput import Failures
from dse.model.pai import PaiStep
from dse.model.scale import IDEAL, Scale
from dse.model.stack import Stack
from dse.model.step import OverlappedStep, StepModel
from dse.pricing import devices, hardware, market, target, uncertainty
from dse.pricing.aggregations import Factory, PricedAggregation
from dse.pricing.computing import ByLaws, ByShares, Computing
from dse.pricing.coordinates import Coordinate, columns_of, listed
from dse.pricing.costs import priced
from dse.pricing.draws import DRAWS, normal
from dse.pricing.evaluation import Evaluation
from dse.pricing.failures import failures
from dse.pricing.laid_out import LaidOut
from dse.pricing.layout_rates import OwnRates
from dse.pricing.layout_tables import Tables
from dse.pricing.network import model_layers
from dse.pricing.points import BUCKET, Points
from dse.pricing.remembered import PartialResults
from dse.pricing.rental import Rental
from dse.pricing.scattering import scattered
from dse.pricing.step_errors import LAUNCH, StepErrors
from dse.pricing.stock import Stock
from dse.pricing.stocktaking import stock_of
from dse.pricing.whole_model import Whole
from dse.pricing.whole_steps import WholeSteps, corrected
from dse.study import PAI, Study, Value
from dse.study.aggregation_name import AggregationName
from dse.study.axes import ACCUMULATION, GLOBAL_BATCH, LAYOUT_STACKS, LOOPED, OPTIMIZER
from dse.study.definition import REAL
from dse.study.quantities import OF_LAYOUTS
from dse.study.space import Box, Space

STEP_MODELS: Mapping[str, StepModel] = {"calibrated": OverlappedStep(), PAI: PaiStep()}


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
    _results: PartialResults = field(default_factory=PartialResults, init=False)
    _aggregations: dict[AggregationName, PricedAggregation] = field(
        default_factory=dict, init=False
    )

    @cached_property
    def space(self) -> Space:
        """The finite space of the study's axes."""
        axes = (*self.study.axes, *self.study.defaults)
        tabled = self.tables if self.study.laid_out else None
        return Space(axes, self.study.conditions, tabled)

    @cached_property
    def tables(self) -> Tables:
        """The layouts of the study's transformer."""
        return Tables(self.study, self.workload)

    @cached_property
    def own_layouts(self) -> OwnRates:
        """The rates of layouts in its profiles."""
        return OwnRates(self)

    def unseen(
        self, workload: catalog.Workload, points: Sequence[Mapping[str, Value | None]]
    ) -> Iterator[tuple[NDArray[np.int64], LaidOut]]:
        """See :class:`.layout_rates.Placing`."""
        profiles = {name: replace(one, layouts=()) for name, one in self.profiles.items()}
        alone = replace(self, workload=workload, profiles=profiles, draws=False)
        for where, placed in alone.scattered_points(columns_of(points)):
            assert isinstance(placed, LaidOut)
            yield where, placed

    def points_on(
        self,
        fixed: Mapping[str, Value | None],
        coordinates: Mapping[str, Coordinate],
        rank: int,
    ) -> Points:
        """Points of one structure: see :class:`.points.Points`."""
        if not self.study.laid_out:
            return Points(self, fixed, coordinates, rank)
        kind = LaidOut if fixed["stack"] in LAYOUT_STACKS else Whole
        return kind(self, fixed, coordinates, rank)

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
        general = [getattr(prices, row.field) for row in GENERAL.values()]
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
            self.computing.step_errors,
        )

    @cached_property
    def computing(self) -> Computing:
        """How fast accelerators train the workload."""
        given, profiles = self.study.efficiency, tuple(self.profiles.values())
        if given.compute is not None or not self.step_model.measurable:
            return ByShares(given, profiles)
        return ByLaws(self.workload, given, profiles, partial(getattr, self, "anchors"))

    def stack(self, name: str) -> Stack:
        """Training software of the catalogue, its launches as long as rates of whole steps say."""
        found, errors = devices.software(name), self.computing.step_errors
        if self.draws or errors is None:
            return found
        error = np.exp(catalog.computing().launch_log_spread * errors.expected(LAUNCH))
        return replace(found, launch_s=found.launch_s * error)

    def computing_known(self, points: Points) -> str:
        """What stands behind the computing of a single point, see :class:`.Computing`."""
        machine = points.machines[int(np.ravel(points.coordinates[points.machine_axis].at)[0])]
        return self.computing.known(machine, points.precision.name, points.stack)

    @cached_property
    def anchors(self) -> catalog.Anchors:
        """Those of the catalogue, or as the profiles' own rates correct them."""
        return corrected(catalog.anchors(), self.profiles.values(), WholeSteps(self))

    def drawn(self, count: int = DRAWS) -> Problem:
        """The same problem, priced once per draw, of which there are so many."""
        sampled = replace(self, draws=True, draw_count=count)
        if self.computing.step_errors:  # what rates say is no matter of draws, and takes a while
            sampled.__dict__["anchors"] = self.anchors
        sampled.__dict__["own_layouts"] = self.own_layouts
        return sampled

    def supposing(
        self,
        workload: catalog.Workload,
        scale: tuple[Scale, Scale],
        computing: Computing,
        draws: int,
    ) -> Problem:
        """The same of another workload, priced once per draw, with other computing."""
        terms, spread = scale
        found = replace(
            self, workload=workload, scale=terms, scale_spread=spread, draws=True, draw_count=draws
        )
        found.__dict__["computing"] = computing
        return found

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

    @property
    def memory_known(self) -> bool:
        """Whether what the workload keeps for its backward pass is known, as of layouts it is."""
        laid_out = self.study.laid_out and {*self.study.values("stack")} <= {*LAYOUT_STACKS}
        return self.layers.kept.known or laid_out

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
        scale, spread, errors = self.scale, self.scale_spread, self.computing.step_errors
        if self.draws:
            return uncertainty.drawn_scale(scale, spread, errors or StepErrors(), self.draw_count)
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
        study = self.study
        return tuple(stock_of(study, entry, counted.points_at) for entry in study.owned)

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
        return priced(self.placed(box))

    def placed(self, box: Box) -> Points:
        """A grid of points, before they are priced."""
        slab = self.space.slabs[box.slab]
        rank = len(slab.axes)
        coordinates = {}
        for number, (axis, part) in enumerate(zip(slab.axes, box.slices, strict=True)):
            shape = tuple(-1 if other == number else 1 for other in range(rank))
            at = np.arange(part.start, part.stop).reshape(shape)
            coordinates[axis.name] = Coordinate(axis.values, at, (part.start, part.stop))
        return self.points_on(slab.fixed, coordinates, rank)

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
        laid_out = [row.name for row in OF_LAYOUTS if self.study.laid_out and not row.whole]
        of_run = uncertainty.OF_RUN if aimed else ()
        return ("speedup", "step", *uncertainty.OF_COST, *of_run, *laid_out)

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
            yield where, priced(points, compared=speedup)

    def scattered_points(
        self, columns: Mapping[str, Coordinate]
    ) -> Iterator[tuple[NDArray[np.int64], Points]]:
        """Points that lie anywhere, before they are priced: see :func:`.scattering.scattered`."""
        apart = self.draws or BUCKET in self._decisive_names
        return scattered(self, columns, self.looped_names, apart)

    @cached_property
    def _decisive_names(self) -> frozenset[str]:
        """The axes that decide whether a point has another."""
        return frozenset(name for c in self.study.conditions for name, _ in c.requires)

    @cached_property
    def looped_names(self) -> tuple[str, ...]:
        """The axes that make the structure of points."""
        return tuple(dict.fromkeys([*LOOPED, *sorted(self._decisive_names)]))

    def applicable(self, values: Mapping[str, Value | None]) -> dict[str, Value | None]:
        """The point with conditional axes blank where their condition does not hold, and with as
        many passes as its global batch takes."""
        point = dict(values)
        if self.study.laid_out and point.get(GLOBAL_BATCH) is not None:
            placed = self.points_at({**point, ACCUMULATION: None})
            passes = float(np.ravel(placed.accumulation)[0])
            point[ACCUMULATION] = int(passes) if passes.is_integer() else passes
        for axis in {condition.axis for condition in self.study.conditions}:
            mine = [c for c in self.study.conditions if c.axis == axis]
            if not any(
                all(point.get(name) in allowed for name, allowed in c.requires) for c in mine
            ):
                point[axis] = None
        return point

    def points_at(self, values: Mapping[str, Value | None]) -> Points:
        """One point given by the values of its axes, before it is priced."""
        fixed = {name: values.get(name) for name in self.looped_names}
        rest = {name: listed([value]) for name, value in values.items() if name not in fixed}
        return self.points_on(fixed, rest, 1)

    @cached_property
    def ranks_per_node(self) -> list[float]:
        """Accelerators that the links inside a node join: as the study says, or as its node types
        have."""
        given = {axis.name for axis in self.study.axes}
        if "node" not in given or "gpus_per_node" in given:
            return self.study.numbers("gpus_per_node", 1.0)
        rows = hardware.machines("node", self.study.values("node"), self.prices)
        return sorted({float(row.node.scale_up_domain) for row in rows if row.node})

    @property
    def several_nodes(self) -> bool:
        """Whether some point of the study is of several nodes."""
        return any(
            node_count(ranks, local) > 1
            for local in self.ranks_per_node
            for ranks in self.study.numbers("gpus", 1.0)
        )

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """A partial result shared by several boxes; ``key`` None is not remembered."""
        return self._results.remember(key, make)
