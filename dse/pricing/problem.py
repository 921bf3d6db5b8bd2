"""A study resolved against catalogue, prices and calibration: design points in, numbers out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.catalog.facts import Fact
from dse.catalog.prices import GENERAL
from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array
from dse.pricing import hardware, target, uncertainty
from dse.pricing.coordinates import Coordinate, columns_of, listed
from dse.pricing.draws import DRAWS
from dse.pricing.evaluation import Evaluation
from dse.pricing.laid_out import LaidOut
from dse.pricing.layout_rates import OwnRates
from dse.pricing.points import BUCKET, Points
from dse.pricing.scattering import scattered
from dse.pricing.stock import Stock
from dse.pricing.stocktaking import Values, stock_of
from dse.pricing.study_facts import StudyFacts
from dse.pricing.whole_model import Whole
from dse.pricing.whole_steps import WholeSteps, corrected
from dse.study import Value
from dse.study.axes import ACCUMULATION, GLOBAL_BATCH, LAYOUT_STACKS, LOOPED, OPTIMIZER
from dse.study.quantities import LAYOUTS, QUANTITIES, RATES, TARGET, TOKENS, Need, Quantity
from dse.study.space import Box, Space
from dse.text_source import is_path


@dataclass
class Problem(StudyFacts):
    """Everything needed to evaluate points of a study."""

    @cached_property
    def space(self) -> Space:
        """The finite space of the study's axes."""
        axes = (*self.study.axes, *self.study.defaults)
        tabled = self.tables if self.study.laid_out else None
        return Space(axes, self.study.conditions, tabled)

    @cached_property
    def own_layouts(self) -> OwnRates:
        """The rates of layouts in its profiles."""
        return OwnRates((*self.profiles.values(),), self.unseen)

    def unseen(
        self, workload: catalog.Workload, points: Sequence[Mapping[str, Value | None]]
    ) -> Iterator[tuple[NDArray[np.int64], LaidOut]]:
        """See :data:`.layout_rates.Unseen`."""
        profiles = {name: replace(one, layouts=()) for name, one in self.profiles.items()}
        alone = replace(self, workload=workload, profiles=profiles, draws=0)
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

    def narrowed(self, values: Mapping[str, Sequence[Value | None]]) -> Problem:
        """The same with these values alone of some axes. Its baseline stays, and what is left out
        of the study for what it has besides."""
        part = replace(self, study=self.study.narrowed(values))
        part.__dict__ |= {"baseline": self.baseline, "buys_new": self.buys_new}
        return part

    @property
    def trained(self) -> str:
        """The workload by its name, or those of a mix with their shares."""
        mix = self.study.mix.items()
        return ", ".join(f"{100 * share:.3g} % {name}" for name, share in mix) or self.workload.name

    def each(self, values: Values) -> list[tuple[Problem, Values]]:
        """A point as each workload trains there, of a mix with its own software."""
        return self.mix.trained(values) if self.mix else [(self, values)]

    @property
    def usual_optimizer(self) -> Fact | None:
        """What the optimizer is taken to be where the study does not say; None where it does, or
        where nothing is known of the network."""
        given = {axis.name for axis in self.study.axes} | {c.axis for c in self.study.conditions}
        return None if OPTIMIZER in given else catalog.usual_optimizer(self.workload)

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
        texts += [(name, fact.text) for name in map(str, self.study.values("node")) if is_path(name)
                  for fact in catalog.node(name).facts]  # fmt: skip
        digest = hashlib.sha256(repr((sorted(map(repr, numbers)), texts, prices.includes)).encode())
        layers = self.layers
        for array in (layers.params, layers.forward_flops, layers.traffic_elems):
            digest.update(np.ascontiguousarray(array).tobytes())
        digest.update(repr((layers.kept, layers.input_bytes, layers.family)).encode())
        digest.update(repr((self.workload.network, self.workload.work)).encode())
        if self.convergence is not None:
            quality = target.quality_of(self.study)
            digest.update(repr((self.convergence, quality and vars(quality))).encode())
        for other in self.mix.workloads if self.mix else ():
            digest.update(other.problem.inputs_hash.encode())
        return digest.hexdigest()

    def computing_known(self, points: Points) -> str:
        """What stands behind the computing of a single point, see :class:`.Computing`."""
        return self.computing.known(points.only, points.precision.name, points.stack)

    @cached_property
    def anchors(self) -> catalog.Anchors:
        """Those of the catalogue, or as the profiles' own rates correct them."""
        return corrected(catalog.anchors(), self.profiles.values(), WholeSteps(self))

    def drawn(self, count: int = DRAWS) -> Problem:
        """The same problem, priced once per draw, of which there are so many."""
        mix = self.mix and self.mix.drawn(count)
        sampled = replace(self, draws=count, mix=mix)
        if self.computing.step_errors:  # what rates say is no matter of draws, and takes a while
            sampled.__dict__["anchors"] = self.anchors
        sampled.__dict__["own_layouts"] = self.own_layouts
        return sampled

    @property
    def points(self) -> int | None:
        """Number of design points; None where an axis is continuous."""
        endless = any(axis.continuous for axis in self.study.axes)
        return None if endless else self.space.size

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

    @cached_property
    def standing(self) -> tuple[Stock, ...]:
        """What the study owns already, counted; one for each of its entries. It is no matter of
        draws."""
        counted = replace(self, draws=0) if self.draws else self
        study = self.study
        return tuple(stock_of(study, entry, counted.points_at) for entry in study.owned)

    def box(self, box: Box) -> Evaluation:
        """Evaluate a grid of points; arrays broadcast to ``box.shape``."""
        return Evaluation(self.placed(box))

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

    def numbers(
        self, points: Sequence[Mapping[str, Value | None]], names: Iterable[str]
    ) -> dict[str, Array]:
        """Quantities of points given one by one, (points,) each."""
        found = {name: np.full(len(points), np.nan) for name in names}
        for where, evaluation in self.rows(points) if points else ():
            for name, column in found.items():
                column[where] = evaluation[name]
        return found

    @property
    def quantities(self) -> tuple[Quantity, ...]:
        """Those that the study's points have a number of."""
        study, tokens = self.study, self.workload.tokens_per_sample
        given: Mapping[Need | None, bool] = {
            None: True, TARGET: study.target is not None, LAYOUTS: study.laid_out,
            TOKENS: study.laid_out or tokens is not None,
        }  # fmt: skip
        return tuple(row for row in QUANTITIES.values() if given[row.needs])

    @property
    def of_training(self) -> tuple[Quantity, ...]:
        """Those that tell how well points train, besides what the study aims at."""
        return tuple(row for row in self.quantities if row.name in RATES or row.needs == LAYOUTS)

    @property
    def sure_of(self) -> tuple[str, ...]:
        """The quantities of a point that have intervals."""
        of_run = uncertainty.OF_RUN if self.study.target is not None else ()
        of_training = [row.name for row in self.of_training if not row.whole]
        return ("speedup", "step", *uncertainty.OF_COST, *of_run, *of_training)

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
            yield where, Evaluation(points, compared=speedup)

    def scattered_points(
        self, columns: Mapping[str, Coordinate]
    ) -> Iterator[tuple[NDArray[np.int64], Points]]:
        """Points that lie anywhere, before they are priced: see :func:`.scattering.scattered`."""
        apart = self.draws > 0 or self.study.laid_out or BUCKET in self._decisive_names
        return scattered(self, self.points_on, columns, self.looped_names, apart)

    @cached_property
    def _decisive_names(self) -> frozenset[str]:
        """The axes that decide whether a point has another."""
        return frozenset(name for c in self.study.conditions for name, _ in c.requires)

    @cached_property
    def looped_names(self) -> tuple[str, ...]:
        """The axes that make the structure of points."""
        return tuple(dict.fromkeys([*LOOPED, *sorted(self._decisive_names)]))

    def applicable(self, values: Mapping[str, Value | None]) -> dict[str, Value | None]:
        """The point with conditional axes blank where their condition does not hold, with as many
        passes as its global batch takes, or with the whole samples of its passes."""
        point = dict(values)
        given = point.get(GLOBAL_BATCH) is not None
        if self.study.laid_out and given and not self.tables.counted:
            placed = self.points_at(point)
            samples = placed.accumulation * placed.batch * placed.data_parallel
            point[GLOBAL_BATCH] = int(np.ravel(samples)[0])
        elif self.study.laid_out and given:
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
