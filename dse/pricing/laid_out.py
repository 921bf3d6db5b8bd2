"""Design points of a transformer that is laid out over accelerators."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache, cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dse.calibration import Profile
from dse.calibration.evidence import Grade
from dse.calibration.fitting.layouts import adjusted
from dse.catalog.stacks import ZERO, LayoutStack, layout_stacks
from dse.model import compute
from dse.model.aggregation.algorithms import node_count
from dse.model.arrays import Array, ArrayLike, Mask, distinct
from dse.model.leaves import Leaf
from dse.model.memory import Ledger, Room
from dse.model.parallel.layouts import SELECTIVE, Layouts
from dse.model.parallel.memory import PARTS, Kept, States, bytes_by_stage, heaviest_bytes
from dse.model.parallel.mesh import Group, Mesh
from dse.model.parallel.schedules import SCHEDULES, Stage, in_order
from dse.model.parallel.step import ParallelStep, Runtime, Step
from dse.model.stack import Footprint, Stack
from dse.model.terms import Terms
from dse.pricing import devices
from dse.pricing.coordinates import Coordinate, coded
from dse.pricing.data_group import USUAL, DataGroup
from dse.pricing.draws import log_normal, normal
from dse.pricing.layout_rates import REACH, Hardware, Spread
from dse.pricing.placed import Placed
from dse.pricing.points import BUCKET, OF_SUMMING, Points
from dse.pricing.tiers import TITLES, KnownTiers, tiers
from dse.spelling import enumerated
from dse.study.axes import ACCUMULATION, BATCH, GLOBAL_BATCH, MACHINES, RENTAL
from dse.study.definition import IGNORED

ALLOCATOR = 0.05  # of what is allocated: reserved beside it, 16 runs on B200 (SimuMax)
CONTEXT_BYTES = 1e9  # of the driver and libraries, 0.3 to 1.5 GB
# Axes that decide machines and links, and on what terms these are rented, so that points that agree
# on them have one model.
OF_HARDWARE = (
    *MACHINES, RENTAL, "gpus", "gpus_per_node", "nics_per_node", "intra_node", "inter_node",
    "oversubscription", *sorted(OF_SUMMING - {BUCKET}),
)  # fmt: skip
T = TypeVar("T")
Place: TypeAlias = tuple[Any, ...]  # where a point lies on the axes of hardware


@cache
def runtime(name: str) -> Runtime:
    """A stack of the catalogue as the model takes it."""
    found = layout_stacks()[name]
    names = [field.name for field in fields(Runtime) if hasattr(found, field.name)]
    return Runtime(**{name: getattr(found, name) for name in names})


class LaidOut(Placed):
    """Points of one structure, each of them a layout."""

    @cached_property
    def stack(self) -> Stack:
        """The training software, as far as pages name it."""
        found = self._software
        footprint = Footprint(
            slack=ALLOCATOR, context_bytes=CONTEXT_BYTES, spread=found.memory_spread
        )
        return Stack(found.name, found.eager, 0.0, None if found.fused_attention else frozenset(),
                     footprint)  # fmt: skip

    @property
    def _software(self) -> LayoutStack:
        return layout_stacks()[str(self.fixed["stack"])]

    @cached_property
    def device(self) -> compute.Device:
        """What an accelerator reaches."""
        return self._rows.take(self.coordinates[self.machine_axis].at)

    @property
    def _rows(self) -> compute.Device:
        """One for every machine."""
        return self._rows_in(self.precision.name)

    @property
    def _wide_rows(self) -> compute.Device:
        """The same in 16 bits, for what stays so under a shorter precision."""
        return self._rows_in("bf16" if self.precision.name == "fp8" else self.precision.name)

    def _rows_in(self, name: str) -> compute.Device:
        kernels = self._software.kernels
        left = [math.log(self._software.factor)] * len(self.machines)
        key = ("laid out", self.coordinates[self.machine_axis].values, name, self._software.name)
        return self.problem.remember(  # type: ignore[no-any-return]
            key,
            lambda: devices.by_law(
                self.machines, name, kernels, left, self.problem.profiles.values()
            ),
        )

    def immaterial(self) -> tuple[str, ...]:
        """See :class:`.points.Points`: layouts exchange in ways of their own, and a degree of 1
        exchanges nothing."""
        mesh = self._layouts.mesh
        idle: Mapping[str, ArrayLike] = {
            "virtual_stages": mesh.pipeline, "schedule": mesh.pipeline,
            "context_exchange": mesh.context, "zero": mesh.context * mesh.data,
            "sequence_parallel": mesh.tensor, "expert_parallel": 1 + self.has_experts,
            "expert_tensor_parallel": 1 + self.has_experts,
        }  # fmt: skip
        found = {name for name, degree in idle.items() if np.max(degree) <= 1}
        found |= {"overlap", *super().immaterial()}
        if not any(np.any(self._summed(place, at)[2]) for place, _, at in self._by_place):
            found |= {"aggregation", *OF_SUMMING}
        if self.at(GLOBAL_BATCH) is not None:
            found.add(ACCUMULATION)  # follows
        if self._software.fused_attention and np.all(self._layouts.recompute == SELECTIVE):
            found.add("recompute")  # a fused kernel keeps no scores
        return tuple(sorted(found & {*self.coordinates, *self.fixed}))

    def why_outside(self) -> list[str]:
        """See :class:`.points.Points`."""
        ((place, _, at),) = self._by_place
        (group, whole, summed), data = self._summed(place, at), self._data_group(place)
        tiers = self._tiers(place)
        untold = [TITLES[name] for name, where in tiers.untold(at, summed).items() if where.any()]
        what = enumerated(untold) if untold and tiers.measured else "the exchanges of layouts"
        found = [f"no profile of this study has measured {what}"] * bool(untold)
        return found + data.why_outside(group, whole) if data and np.any(summed) else found

    def grade(self) -> NDArray[np.int64]:
        """See :class:`.points.Points`: of the exchange that is known least."""

        def of(place: Place, at: Layouts) -> Array:
            (group, whole, summed), data = self._summed(place, at), self._data_group(place)
            known = data.grade(group, whole) * summed if data else np.zeros(whole.shape)
            untold = self._tiers(place).untold(at, summed).values()
            return np.where(np.any([*untold], axis=0), Grade.CATALOGUE, known)

        return np.asarray(self._read(of, 1, Grade.CATALOGUE)[0], dtype=np.int64)

    def _data_group(self, place: Place) -> DataGroup | None:
        """Sums on one kind of hardware; None of an aggregation that no study named and nobody
        measured."""
        if self.summing.name == USUAL and not self.summing.evidence.profiles:
            return None
        here = {name: Coordinate(found.values, np.array([int(self._here(found.at, place))]))
                for name, found in self.coordinates.items() if name in OF_HARDWARE}  # fmt: skip
        cluster = Points(self.problem, self.fixed, here, 1)
        cluster.device = self._rows.take(np.array([self._machine(place)]))
        cluster.summing = self.summing
        return DataGroup(cluster)

    def _summed(self, place: Place, at: Layouts) -> tuple[Group, Array, Mask]:
        """Groups that sum the same gradients, their bytes, and whether the study's aggregation says
        how long that takes."""
        _, group = at.mesh.gradients.split(at.shards)
        params, width = self.problem.tables.model.params * self.trained, at.mesh.tensor * at.shards
        whole, data = params * self.precision.gradient_bytes / width, self._data_group(place)
        seconds = data.seconds(group, whole) if data else np.full(whole.shape, np.nan)
        return group, whole, (group.ranks > 1) & ~np.isnan(seconds)

    @property
    def _by_place(self) -> list[tuple[Place, NDArray[np.intp], Layouts]]:
        """Points on every kind of hardware under every schedule: which, and their layouts."""
        kinds = zip(self._nodes, self._hardware, strict=True)
        return [(place, rows[own], at)
                for node, (place, rows) in kinds for own, at in self._on(node, rows)]  # fmt: skip

    @property
    def host_decides(self) -> Mask:
        """The host's time is one of a layer, and part of computing."""
        return np.zeros((), dtype=bool)

    # -- their model ---------------------------------------------------------------------------

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of all points."""
        return self.shape_of(self.coordinates)

    @cached_property
    def rows_shape(self) -> tuple[int, ...]:
        """Of their layouts: of a grid those that every kind of hardware has, else of all points."""
        rest = self.shape_of(set(self.coordinates) - set(OF_HARDWARE))
        machines = self.shape_of(OF_HARDWARE)
        grid = all(1 in pair for pair in zip(rest, machines, strict=True))
        return rest if grid else self.shape

    def _flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of every layout."""
        return np.broadcast_to(values, self.rows_shape).reshape(-1)

    @cached_property
    def _hardware(self) -> list[tuple[Place, NDArray[np.intp]]]:
        """Kinds of hardware: where a point of each lies, and which layouts are on it."""
        axes = [self.coordinates[name] for name in OF_HARDWARE if name in self.coordinates]
        every = np.arange(math.prod(self.rows_shape))
        code = np.broadcast_to(coded(axes), self.shape_of(OF_HARDWARE))
        if self.rows_shape == self.shape:
            code = np.broadcast_to(code, self.shape)
            _, which = distinct(code.reshape(-1))
            order = np.argsort(which, kind="stable")
            parts = np.split(order, np.flatnonzero(np.diff(which[order])) + 1)
            return [(np.unravel_index(part[0], self.shape), part) for part in parts]
        return [(np.unravel_index(at, code.shape), every) for at in range(code.size)]

    @cached_property
    def _layouts(self) -> Layouts:
        """Of every row; a node is one accelerator."""

        def of(axis: str) -> Array:
            return self._flat(self.degree(axis))

        usual = self._software
        split = str(self.fixed.get("sequence_parallel") or usual.sequence_parallel).lower()
        tensor = of("tensor_parallel")
        mesh = Mesh(
            tensor, of("context_parallel"), of("pipeline_parallel"),
            self._flat(self.data_parallel), of("expert_parallel"), of("expert_tensor_parallel"),
            np.ones(tensor.shape),
        )  # fmt: skip
        zero = self._flat(self.word("zero", ZERO[usual.zero])).astype(np.float64)
        return Layouts(
            mesh,
            self._flat(self.numbers(BATCH, 1.0)),
            self._flat(self.accumulation),
            np.full(tensor.shape, self.tokens),
            (split == "true") & (tensor > 1),
            np.where(mesh.data * mesh.context == 1, 0.0, zero),
            self._flat(self.word("recompute")).astype(np.float64),
            np.where(mesh.pipeline == 1, 1.0, of("virtual_stages")),
            imbalance=self.problem.study.experts.imbalance,
            capacity=self.problem.study.experts.capacity_factor or 0.0,
            exchange=self._flat(self.word("context_exchange")),
        )

    @cached_property
    def _scheduled(self) -> list[tuple[str, NDArray[np.intp]]]:
        """Schedules, and the rows of each."""
        usual = self.problem.tables.usual_schedule(self.stack.name)
        schedule = self._flat(self.word("schedule", usual))
        alone = self._flat(self.degree("pipeline_parallel")) == 1
        schedule = np.where(alone, [*SCHEDULES].index("1f1b"), schedule)
        found = ((name, np.flatnonzero(schedule == at)) for at, name in enumerate(SCHEDULES))
        return [(name, rows) for name, rows in found if len(rows)]

    def _on(self, node: float, rows: NDArray[np.intp]) -> list[tuple[NDArray[np.intp], Layouts]]:
        """Rows that are layouts by their schedule, on nodes of so many accelerators: positions
        among them."""
        found = []
        for name, of_schedule in self._scheduled:
            at = np.flatnonzero(np.isin(rows, of_schedule, assume_unique=True) & self._valid[rows])
            if len(at):
                some = self._layouts.take(rows[at])
                mesh = replace(some.mesh, node=np.full(len(at), node))
                found.append((at, replace(some, mesh=mesh, schedule=name)))
        return found

    def _here(self, values: ArrayLike, place: Place) -> float:
        """A number of one kind of hardware."""
        values = np.asarray(values)
        values = values.reshape((1,) * (self.rank - values.ndim) + values.shape)
        return float(
            values[tuple(at if n > 1 else 0 for at, n in zip(place, values.shape, strict=True))]
        )

    def _machine(self, place: Place) -> int:
        """Which of the machines one kind of hardware has."""
        return int(self._here(self.coordinates[self.machine_axis].at, place))

    def _tiers(self, place: Place) -> KnownTiers:
        """Links of one kind of hardware."""
        chip = self.machines[self._machine(place)].accelerator
        inside = self._here(self.inside.bytes_per_s, place) / self.inside_efficiency
        card = self._here(self.across.bytes_per_s, place) / self.across_efficiency
        tray = self._here(self.gpus_per_node, place)
        trays = self._here(self.domain, place) / tray
        cards = card * self._here(self.rails, place) * trays
        axis, names = self.network_names
        network = names[int(self._here(self.coordinates[axis].at, place))]
        sockets, own = self._here(self.socket_bytes_per_s, place), self._profiles(network)
        known = tiers(inside, cards, own, str(chip.generation), network, sockets / card * cards)
        leaf = (met := self.layout.leaf) and Leaf(*(np.array(self._here(v, place)) for v in met))
        placed = replace(known.tiers, rails=cards / card, trays=trays, tray=tray, leaf=leaf)
        return replace(known, tiers=placed)

    def _model(self, place: Place) -> ParallelStep:
        """Of one kind of hardware."""
        machine, data = self._machine(place), self._data_group(place)
        chip = self.machines[machine].accelerator
        device, wide = (rows.take(np.array(machine)) for rows in (self._rows, self._wide_rows))
        model = ParallelStep(
            self.problem.tables.model, device, self.precision, self._tiers(place).tiers,
            replace(runtime(self._software.name), gradient_bytes=self.precision.gradient_bytes),
            wide, self.trained, data.seconds if data else None,
        )  # fmt: skip
        told = self.problem.own_layouts.of(self._software.name, str(chip.generation))
        return adjusted(model, told.factors) if told else model

    @property
    def hardware(self) -> list[Hardware]:
        """Points that lie anywhere, by what they run on and their schedules."""
        return [Hardware(which, self._model(place), at) for place, which, at in self._by_place]

    def _profiles(self, network: str) -> list[Profile]:
        """Those of the study that measured exchanges, and not on other networks alone."""
        found = self.problem.profiles.items()
        fabrics = self.problem.study.fabrics
        return [p for name, p in found if not fabrics.get(name) or network in fabrics[name]]

    def _kept(self, name: str, node: float, make: Callable[[], T]) -> T:
        """What follows from layouts on nodes of one size, for all hardware that has them."""
        if self._table is None:
            return make()
        key = (name, self._table, node, self.precision, self.state_bytes.tobytes())
        return self.problem.remember(key, make)  # type: ignore[no-any-return]

    @property
    def _nodes(self) -> list[float]:
        """Accelerators that share fast links, of each kind of hardware."""
        return [self._here(self.domain, place) for place, _ in self._hardware]

    def _parts(self, node: float, rows: NDArray[np.intp]) -> Array:
        """Bytes of each of :data:`PARTS` on the heaviest rank of rows, (parts, rows)."""

        def make() -> Array:
            model, states = self.problem.tables.model, self.states
            out = np.full((len(PARTS), len(rows)), np.nan)
            for at, layouts in self._on(node, rows):
                out[:, at] = heaviest_bytes(
                    model, layouts, self._software.rule, self._kept_of, states
                )
            return out

        return self._kept("memory of layouts", node, make)

    def _spread(self, each: Callable[[float, Place, NDArray[np.intp]], Array], n: int) -> Array:
        """Values of all points, (n, *S), of the values of those on each kind of hardware."""
        out = np.empty((n, *self.shape))
        for node, (place, rows) in zip(self._nodes, self._hardware, strict=True):
            values = each(node, place, rows)
            if self.rows_shape == self.shape:
                out.reshape(n, -1)[:, rows] = values
            else:
                fixed = self.shape_of(OF_HARDWARE)
                at = tuple(slice(p, p + 1) if m > 1 else slice(None)
                           for p, m in zip(place, fixed, strict=True))  # fmt: skip
                out[(slice(None), *at)] = values.reshape(n, *self.rows_shape)
        return out

    def _read(self, each: Callable[[Place, Layouts], Array], n: int, blank: float) -> Array:
        """Values of all points, (n, *S), of those of layouts on each kind of hardware."""

        def of(node: float, place: Place, rows: NDArray[np.intp]) -> Array:
            out = np.full((n, len(rows)), blank)
            for own, at in self._on(node, rows):
                out[:, own] = each(place, at)
            return out

        return self._spread(of, n)

    @cached_property
    def _all_parts(self) -> Array:
        """Bytes of each of :data:`PARTS`, (parts, *S), or of the rows where all nodes are alike."""
        if len({*self._nodes}) == 1 and self.rows_shape != self.shape:
            rows = self._hardware[0][1]
            return self._parts(self._nodes[0], rows).reshape(-1, *self.rows_shape)
        return self._spread(lambda node, _, rows: self._parts(node, rows), len(PARTS))

    @cached_property
    def steps(self) -> Step:
        """Every term of their steps."""

        def of(node: float, place: Place, rows: NDArray[np.intp]) -> Array:
            model, out = self._model(place), np.full((len(Step._fields), len(rows)), np.nan)
            own, placed = self._to_time(node, rows)
            for at, layouts in placed:
                out[:, own[at]] = model.step(layouts)
            return out

        return Step(*self._spread(of, len(Step._fields)))

    def _to_time(
        self, node: float, rows: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], list[tuple[NDArray[np.intp], Layouts]]]:
        """Positions of the rows whose step is asked for, and these by their schedule: of a table
        those that fit the largest memory, else all."""

        def make() -> tuple[NDArray[np.intp], list[tuple[NDArray[np.intp], Layouts]]]:
            own = np.arange(len(rows))
            if self.unpriced is not None:
                taken = self._parts(node, rows).sum(axis=0) * (1 + ALLOCATOR) + CONTEXT_BYTES
                own = np.flatnonzero(~self._fits_nowhere(taken))
            return own, self._on(node, rows[own])

        return self._kept(f"steps of layouts {np.max(self.device.memory_bytes)}", node, make)

    @cached_property
    def unpriced(self) -> Mask | None:
        """Points of a table that fit nowhere, so that nobody asks for their steps."""
        if not self.tabled or self.problem.study.memory == IGNORED or self.problem.draws:
            return None
        return self._fits_nowhere(self.memory.total_bytes)

    def _fits_nowhere(self, needed_bytes: Array) -> Mask:
        """Whether as much is too little for the largest memory."""
        largest = float(np.max(self.device.memory_bytes))
        return Room(largest, largest - needed_bytes, self._software.memory_spread).too_little

    def by_stage(self) -> tuple[tuple[Stage, ...], Array, Mapping[str, Array]]:
        """Of a single point the stages of its pipeline, seconds of a micro-batch on each, and bytes
        of a rank of each by part, (stages,)."""
        model, at = self.single
        (kinds,), _ = at.staged(model.model, self._software.rule)
        spent, _ = model.by_stage(at)
        kept, rule = self._kept_of, self._software.rule
        memory = bytes_by_stage(model.model, at, rule, kept, self.states)
        parts = {name: values[:, 0] for name, values in memory.items()}
        found = in_order(kinds)
        seconds, count = spent.total_s[:, 0], len(found)
        parts["allocator_bytes"] = ALLOCATOR * sum(parts.values(), np.zeros(count))
        parts["context_bytes"] = np.full(count, CONTEXT_BYTES)
        return found, seconds, parts

    @property
    def single(self) -> tuple[ParallelStep, Layouts]:
        """The model of a single point, and its layout."""
        ((_, model, layouts),) = self.hardware
        return model, layouts

    def step_time(self) -> Terms:
        """See :class:`.points.Points`."""
        found = self._drawn_steps() if self.problem.draws else self.steps
        exposed = found.tensor_s + found.context_s + found.expert_s + found.pipeline_s
        zero = np.zeros(())
        return Terms(
            found.step_s, exposed + found.data_s, zero,
            {
                "computing_s": found.compute_s,
                "tensor_s": found.tensor_s,
                "context_s": found.context_s,
                "expert_s": found.expert_s,
                "pipeline_s": found.pipeline_s,
                "bubble_s": found.bubble_s,
                "gradients_s": found.data_s,
                "optimizer_s": found.update_s,
            },
        )  # fmt: skip

    @cached_property
    def calm(self) -> ArrayLike:
        """See :class:`.points.Points`: pipelines stall as often as published ones on so many nodes,
        and for as long in every micro-batch. Their steps are those of runs that do not."""
        found = self._software
        if not found.stalls or self.problem.study.failures.ideal:
            return 1.0
        nodes = node_count(self.gpus, self.domain)
        often = np.interp(nodes, [*found.stalls], [*found.stalls.values()])
        piped = self.degree("pipeline_parallel") > 1
        late_s = np.where(piped, often * found.stall_s * self.accumulation, 0.0)
        return np.asarray(1.0 / (1.0 + late_s / self.steps.step_s))

    @cached_property
    def spread(self) -> Spread:
        """Of the logarithms of computing and exchanges: the stack's, wider on what its published
        steps were not of, or what own rates leave."""
        found, at = self._software, self.coordinates[self.machine_axis].at
        usual = out = Spread(found.computing_spread, found.exchange_spread)
        most = max(found.measured.values(), default=np.inf)
        nodes = node_count(self.gpus, self.domain)
        for machine, one in enumerate(self.machines):
            generation = str(one.accelerator.generation)
            own = self.problem.own_layouts.of(found.name, generation)
            far = np.maximum(most, own.reach[0] / self.domain) if own else most
            unlike = own is None and generation not in (found.measured or (generation,))
            mine = usual.beyond(np.log2(np.maximum(nodes / far, 1.0)), unlike)
            if own is not None:
                mine = own.spread(mine, [self.degree(name) for name in REACH])
            out = Spread(*(np.where(at == machine, *pair) for pair in zip(mine, out, strict=True)))
        return out

    def _drawn_steps(self) -> Step:
        """The terms of every draw, (draws, *S): each is off by factors of its own.

        All points on one kind of accelerator err together in computing, and all in an exchange.
        """
        count, steps, spread = self.problem.draws, self.steps, self.spread
        machines = self.coordinates[self.machine_axis]
        chips = [machine.accelerator.name for machine in self.machines]
        own = np.stack([
            normal(f"layouts: {chip} {self.precision.name}", count) for chip in chips
        ], axis=-1)[:, machines.at]  # fmt: skip
        computing = np.exp(spread.computing * own)

        def off(place: Place, at: Layouts) -> Array:
            (group, whole, summed), data = self._summed(place, at), self._data_group(place)
            if data is None:
                return np.full(whole.shape, np.nan)
            taken = np.where(summed & (at.zero == 0), data.seconds(group, whole), np.nan)
            return np.asarray(data.priced_s(group, whole) / taken)

        def factor(term: str) -> Array:
            drawn = normal(f"layouts: {term} of {self._software.name}", count)
            usual = np.asarray(np.exp(spread.exchange * drawn.reshape((-1,) + (1,) * self.rank)))
            if term != "data" or not any(self._data_group(place) for place, _ in self._hardware):
                return usual
            known = self._read(off, count, np.nan)  # as wide as evidence says, where there is any
            return np.where(np.isnan(known), usual, known)

        return steps.taking(computing, factor)

    def without_communication(self) -> Terms:
        """No bound is cheaper than the step itself."""
        return self.step_time()

    def bounded(self) -> bool:
        """Their layouts are priced one by one."""
        return False

    @cached_property
    def _valid(self) -> Mask:
        """Rows that are layouts."""
        masks = [np.ones(self.rows_shape, dtype=bool), *self.rules.values()]
        return np.asarray(np.logical_and.reduce(masks).reshape(-1))

    @property
    def _kept_of(self) -> Kept:
        """Bytes that layers keep."""
        return Kept(**self._software.kept, word=self.precision.activation_bytes)

    @property
    def states(self) -> States:
        """Bytes of a parameter."""
        precision = self.precision
        return States(precision.weight_bytes, precision.stored_gradient_bytes,
                      precision.master_bytes, float(np.max(self.state_bytes)),
                      self.trained)  # fmt: skip

    @cached_property
    def memory(self) -> Ledger:
        """Of the heaviest rank."""
        parts = dict(zip(PARTS, self._all_parts, strict=True))
        of_sample = {name: parts.pop(name) for name in (
            "activations_bytes", "logits_bytes", "working_bytes")}  # fmt: skip
        name, width = f"layouts: memory of {self._software.name}", self._software.memory_spread
        off = self.drawn(log_normal(1.0, width, name, self.problem.draws))
        return Ledger(off, parts, off, of_sample, ALLOCATOR,
                      {"context_bytes": np.asarray(CONTEXT_BYTES)})  # fmt: skip
