"""Design points as arrays: where an axis value becomes the number that the model sees."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration.hardware_names import same_device, same_kind
from dse.calibration.spread import SAME_SPEED
from dse.catalog.nodes import AMD
from dse.model import compute, overlap, precision
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import (
    SERVER_AXES,
    UNKNOWN_GENERATION,
    Aggregation,
    Gradients,
    Summed,
)
from dse.model.aggregation.nccl_tuner import GENERATIONS, OLDEST_CAPABILITY
from dse.model.aggregation.tensorwise import FUSION_AXES
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.bill import Bill, bill, network_cards
from dse.model.leaves import Leaf, leaf
from dse.model.links import Link, mesh_bytes_per_s
from dse.model.memory import Ledger, Room, ledger
from dse.model.passes import CellOfPoints, Compute, spread
from dse.model.scale import largest_of
from dse.model.stack import Stack
from dse.model.terms import Terms
from dse.pricing import hardware
from dse.pricing.aggregations import PricedAggregation
from dse.pricing.coordinates import Coordinate, coded
from dse.pricing.devices import USUAL_STACK
from dse.pricing.gradient_format import USUAL_PRECISION, summed_format
from dse.pricing.layout_tables import UNPLACED, Placement
from dse.pricing.rental import Rental
from dse.pricing.shapes import Ideal, training_flops
from dse.pricing.step_errors import LAUNCH, StepErrors
from dse.pricing.study_facts import StudyFacts
from dse.pricing.uncertainty import link_factors
from dse.study import Value, Wire
from dse.study.aggregation_name import AggregationName
from dse.study.axes import AXES, DATA, RENTAL

BUCKET, PCIE = "bucket", "pcie"
DEFAULT_BUCKET_BYTES = 25 * 2.0**20
# Axes that an aggregation has or has not.
OF_SUMMING = SERVER_AXES | FUSION_AXES | {BUCKET}
# Those that decide what an accelerator computes.
COMPUTE_AXES = frozenset(name for name in DATA if "compute" in AXES[name].changes)


class Points:
    """Points of one structure: a :class:`~dse.model.step.Work`, and what their gradients cross, a
    :class:`~dse.calibration.evidence.Surroundings`.

    fixed: values of the looped axes. coordinates: of the data axes; on each of them either all
    points have a value or none has. rank: axes of the points' shape S; every array below
    broadcasts to it.
    """

    def __init__(
        self,
        problem: StudyFacts,
        fixed: Mapping[str, Value | None],
        coordinates: Mapping[str, Coordinate],
        rank: int,
    ) -> None:
        self.problem, self.rank = problem, rank
        self.fixed = fixed
        self.coordinates = dict(coordinates)
        for name, value in fixed.items():  # a looped axis may also be one the model sees as data
            if value is not None:
                at = np.zeros((1,) * rank, dtype=np.int64)
                self.coordinates.setdefault(name, Coordinate((value,), at, (0, 1)))
        self.precision = precision.trained_in(
            str(fixed.get("precision") or USUAL_PRECISION), summed_format(fixed)
        )
        aggregation = fixed["aggregation"]
        assert isinstance(aggregation, AggregationName)
        self.summing: PricedAggregation = problem.aggregation(aggregation)

    # -- coordinates -> arrays ---------------------------------------------------------------

    def at(self, name: str) -> Coordinate | None:
        """Where the points lie on an axis; None where they have no value on it."""
        found = self.coordinates.get(name)
        return None if found is None or found.values == (None,) else found

    def numbers(self, name: str, default: float) -> Array:
        """A numeric axis; ``default`` where it has no value."""
        found = self.at(name)
        if found is None:
            return np.full((1,) * self.rank, default)
        return found.numbers(default)

    def _attribute(self, name: str, rows: Sequence[object], read: Callable[..., float]) -> Array:
        """An attribute of the rows of axis ``name``."""
        return hardware.column(rows, read).take(self.coordinates[name].at)

    def drawn(self, term: ArrayLike) -> ArrayLike:
        """A number, or draws of it as a first axis before those of the points."""
        return np.reshape(term, (-1,) + (1,) * self.rank) if np.ndim(term) else term

    def key(self, names: frozenset[str]) -> tuple[Any, ...] | None:
        """The coordinates of these axes as a key, if they are slices of the study's own axes."""
        parts = [(n, c.values, c.key) for n, c in self.coordinates.items() if n in names]
        return None if any(key is None for _, _, key in parts) else tuple(sorted(
            parts, key=lambda part: part[0]
        ))  # fmt: skip

    @cached_property
    def machine_axis(self) -> str:
        """The axis that decides the accelerator."""
        return "node" if "node" in self.coordinates else "accelerator"

    @cached_property
    def machines(self) -> tuple[hardware.Machine, ...]:
        """One for every value of that axis, with the rents of the first term."""
        return self.rented(self.rentals[0])

    @cached_property
    def rentals(self) -> tuple[Rental, ...]:
        """The terms that points are rented on, one for every value of their axis."""
        found = self.at(RENTAL)
        return tuple(map(self.problem.rental, found.values if found else (None,)))

    def rented(self, rental: Rental) -> tuple[hardware.Machine, ...]:
        """The machines with the rents of a term, where the buyer has one of his own for it."""
        values, prices = self.coordinates[self.machine_axis].values, self.problem.prices
        return self.problem.remember(  # type: ignore[no-any-return]
            ("machines", rental.study.term, values),
            lambda: hardware.machines(self.machine_axis, values, prices.rented(rental.study.term)),  # type: ignore[arg-type]
        )

    def position(self, axis: str) -> int:
        """Where a single point lies on an axis."""
        return int(np.ravel(self.coordinates[axis].at)[0])

    @property
    def only(self) -> hardware.Machine:
        """The machine of a single point."""
        return self.machines[self.position(self.machine_axis)]

    def on_terms(self, read: Callable[[Rental], ArrayLike]) -> ArrayLike:
        """A number of the terms of renting, or draws of it as a first axis before those of the
        points."""
        found, rows = self.at(RENTAL), [read(rental) for rental in self.rentals]
        if found is None:
            return self.drawn(rows[0])
        return np.stack(np.broadcast_arrays(*rows), axis=-1).take(found.at, axis=-1)

    def machine(self, read: Callable[[hardware.Machine], float]) -> Array:
        """An attribute of the machines."""
        return self._attribute(self.machine_axis, self.machines, read)

    @cached_property
    def stack(self) -> Stack:
        """The training software."""
        return self.problem.stack(str(self.fixed.get("stack") or USUAL_STACK))

    @cached_property
    def device(self) -> compute.Device:
        """What an accelerator reaches; its factor in each draw, where draws are priced."""
        axis, name = self.machine_axis, self.precision.name
        key = ("devices", self.coordinates[axis].values, name, self.stack)
        rows: compute.Device = self.problem.remember(
            key, lambda: self.problem.computing.device(self.machines, name, self.stack)
        )
        device: compute.Device = rows.take(self.coordinates[axis].at)
        if not self.problem.draws:
            return device
        draws = self.problem.draws
        errors = self.problem.computing.errors(self.machines, name, self.stack, draws)
        error = errors[:, self.coordinates[axis].at]  # (draws, *S)
        host = np.asarray(device.host_bytes_per_s) / self._link_error("host")
        return replace(device, factor=device.factor * error, host_bytes_per_s=host)

    def _link_error(self, link: str) -> ArrayLike:
        """By how much longer a link takes in each draw, (draws, 1, ...), where a closed formula
        says how long; else 1, since what aggregations cost has an error of its own."""
        if self.problem.step_model.measurable:
            return 1.0
        return self.drawn(link_factors(link, self.problem.draws))

    @cached_property
    def batch(self) -> Array:
        """Samples of one pass on one accelerator."""
        return self.numbers("batch_per_gpu", 1.0)

    @cached_property
    def accumulation(self) -> Array:
        """Passes of a step, whose gradients are added up before they are summed."""
        return self.numbers("accumulation", 1.0)

    @cached_property
    def state_bytes(self) -> Array:
        """What the optimizer keeps per parameter."""
        found = self.at("optimizer")
        if found is None:
            return np.full((1,) * self.rank, precision.OPTIMIZER_STATE_BYTES["momentum"])
        return hardware.column(
            found.values, lambda name: precision.OPTIMIZER_STATE_BYTES[str(name)]
        )[found.at]  # fmt: skip

    # -- the layout, as its aggregation sees it ------------------------------------------------

    @property
    def layout(self) -> Points:
        """Points are their own layout, with a scale-up domain of several nodes as one node."""
        return self if self.domain is self.gpus_per_node else self._joined

    @cached_property
    def gpus(self) -> Array:
        """Accelerators that train."""
        return self.numbers("gpus", 1.0)

    @property
    def data_parallel(self) -> Array:
        """Replicas of the model: every accelerator has one."""
        return self.gpus

    @property
    def ideal(self) -> Ideal:
        """A sample as an ideal accelerator trains it."""
        known = self.problem.workload
        return self._ideal(hardware.number(known.tokens_per_sample), training_flops(known))

    def _ideal(self, tokens: float, flops: float) -> Ideal:
        name = self.precision.name
        peak = self.machine(lambda m: hardware.number(m.accelerator.peak_flops_per_s.get(name)))
        return Ideal(tokens, flops, peak)

    @property
    def placement(self) -> Placement:
        """What a layout is judged by."""
        return UNPLACED

    @cached_property
    def gpus_per_node(self) -> Array:
        """Those of one node."""
        if self.at("gpus_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.accelerators if m.node else 1))
        return self.numbers("gpus_per_node", 1.0)

    @cached_property
    def domain(self) -> Array:
        """Those that the links inside a node join: of a node, or of a scale-up domain.

        As few domains as hold the nodes share them evenly, in pairs where there are several: eight
        neighbours are then in one domain of nodes of four.
        """
        if not any(m.node and m.node.scale_up_domain > m.node.accelerators for m in self.machines):
            return self.gpus_per_node
        nodes, most = node_count(self.gpus, self.gpus_per_node), self._nodes_of_domain
        pairs = 2 * np.ceil(nodes / np.ceil(nodes / most) / 2)
        return np.asarray(np.minimum(pairs, np.minimum(nodes, most)) * self.gpus_per_node)

    @property
    def _nodes_of_domain(self) -> Array:
        """Nodes that a scale-up domain holds."""
        held = self.machine(lambda m: float(m.node.accelerators if m.node else 1))
        most = self.machine(lambda m: float(m.node.scale_up_domain if m.node else 1))
        most = np.where(self.own_links, most, held)  # PCIe ends with the node
        return np.maximum(np.floor(most / np.maximum(held, self.gpus_per_node)), 1.0)

    @cached_property
    def _joined(self) -> Points:
        """The same points with domains in place of nodes, and the network cards of as many nodes as
        each domain has on average, or one less."""
        found = Points(self.problem, self.fixed, self.coordinates, self.rank)
        found.summing = self.summing
        found.domain = found.gpus_per_node = self.domain
        nodes = node_count(self.gpus, self.gpus_per_node)
        found.rails = np.floor(nodes / np.ceil(nodes / self._nodes_of_domain)) * self.rails
        found.endpoints = self.endpoints
        return found

    @cached_property
    def rails(self) -> Array:
        """Network cards of a node."""
        if self.at("nics_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.nics or 1) if m.node else 1.0)
        return self.numbers("nics_per_node", 1.0)

    @cached_property
    def wiring(self) -> tuple[str, tuple[hardware.Wiring, ...]]:
        """The axis that decides the inter-node link, and one link per value of it."""
        prices, transport = self.problem.prices, self.summing.transport
        found = self.at("inter_node")
        if found is not None:
            values = found.values
            return "inter_node", self.problem.remember(
                ("wiring", transport, values),
                lambda: tuple(
                    hardware.wiring(v, transport, transport.across, prices)
                    for v in values
                    if v is not None
                ),
            )
        return self.machine_axis, tuple(
            hardware.own_wiring(m.node, transport, prices) for m in self.machines
        )

    def wire(self, read: Callable[[hardware.Wiring], float]) -> Array:
        axis, rows = self.wiring
        return self._attribute(axis, rows, read)

    @cached_property
    def across(self) -> Link:
        """One network card as the transport reaches it."""
        reached = self.wire(lambda w: w.bytes_per_s) / self._link_error("network")
        return Link(self.wire(lambda w: w.latency_s), reached)

    def _study_inside(self, read: Callable[[hardware.Wiring], float]) -> Array | None:
        """The link inside a node that the study chooses; None if it is that of the machine."""
        found = self.at("intra_node")
        if found is None:
            return None
        prices, transport = self.problem.prices, self.summing.transport
        rows = [
            hardware.wiring(v, transport, transport.within, prices)
            for v in found.values
            if v is not None
        ]
        return self._attribute("intra_node", rows, read)

    @cached_property
    def inside(self) -> Link:
        """The link between accelerators of a node as the transport reaches it."""
        given = self._study_inside(lambda w: w.bytes_per_s)
        latency = self._study_inside(lambda w: w.latency_s)
        if given is None:  # links that accelerators come with, among those of a node that train
            own = self.machine(lambda m: m.intra_bytes_per_s)
            if not all(np.isinf(machine.pair_bytes_per_s) for machine in self.machines):
                pair = self.machine(lambda m: m.pair_bytes_per_s)
                own = mesh_bytes_per_s(own, pair, np.minimum(self.gpus, self.gpus_per_node))
            given = own * self.inside_efficiency
        reached = given / self._link_error("inside a node")
        return Link(0.0 if latency is None else latency, reached)

    @property
    def inside_efficiency(self) -> float:
        """The share of a link's speed inside a node that the transport reaches."""
        return self.summing.transport.within.link_efficiency

    @property
    def across_efficiency(self) -> float:
        """The share of a network card's speed that the transport reaches."""
        return self.summing.transport.across.link_efficiency

    @property
    def host_bytes_per_s(self) -> Array:
        """Bytes per second of an accelerator's link to its host."""
        return np.asarray(self.device.host_bytes_per_s)

    @property
    def memory_bytes_per_s(self) -> Array:
        """Bytes per second that an accelerator reaches of its memory."""
        return self.device.reached_bytes_per_s

    @cached_property
    def servers(self) -> Array:
        """Parameter servers."""
        return self.numbers("ps_servers", 1.0)

    @cached_property
    def colocated(self) -> Mask:
        """Whether they live on the workers' nodes."""
        found = self.at("ps_placement")
        if found is None:
            return np.zeros((1,) * self.rank, dtype=bool)
        return np.array([value == "colocated" for value in found.values])[found.at]

    @property
    def fusion_buffer_bytes(self) -> Array:
        """The size of the buffer of tensor fusion; NaN where the study has none."""
        return self.numbers("fusion_buffer", float("nan"))

    @property
    def fusion_cycle_s(self) -> Array:
        """Likewise."""
        return self.numbers("fusion_cycle", float("nan"))

    @cached_property
    def generation(self) -> NDArray[np.int64]:
        """The generation that NCCL counts the accelerators to."""

        def position(capability: float | None) -> float:
            if capability is None:
                return UNKNOWN_GENERATION
            return float(np.clip(int(capability) - OLDEST_CAPABILITY, 0, len(GENERATIONS) - 1))

        return self.machine(lambda m: position(m.accelerator.compute_capability)).astype(np.int64)

    @cached_property
    def own_links(self) -> Mask:
        """Whether the accelerators of a node have links of their own, else they meet over PCIe."""
        found = self.at("intra_node")
        if found is not None:
            names = [one.fabric if isinstance(one, Wire) else one for one in found.values]
            own = [not name or catalog.fabric(str(name)).medium != PCIE for name in names]
            return np.array(own)[found.at]
        return self.machine(lambda m: m.accelerator.intra_node_bytes_per_s is not None) > 0

    @cached_property
    def through_host(self) -> Mask:
        """True where network cards and accelerators meet at the bridge of the host."""
        return self.wire(lambda w: w.through_host) > 0

    @cached_property
    def socket_bytes_per_s(self) -> Array:
        """What NCCL sends by a card without RDMA: its flows, and a card's part of what the host
        copies. A network that the study chooses has RDMA, unless a transport of TCP is named."""
        sockets = self.wire(lambda w: w.sockets) > 0
        flows = self.machine(hardware.flows_bytes_per_s)
        copied = 1 / catalog.transport(hardware.SOCKETS).across.s_per_byte / self.rails
        return np.where(sockets, np.minimum(flows, copied), np.inf)

    @cached_property
    def amd_host(self) -> Mask:
        """True where AMD made the host, as far as a node type says."""
        return self.machine(lambda m: m.node is not None and m.node.host == AMD) > 0

    @cached_property
    def oversubscription(self) -> Array:
        """Ports down over ports up of a leaf switch."""
        return self.numbers("oversubscription", 1.0)

    @property
    def _apart(self) -> Mask:
        """Whether they are of several nodes, or of several scale-up domains."""
        return node_count(self.gpus, self.domain) > 1

    @property
    def dedicated(self) -> ArrayLike:
        """Parameter servers on machines of their own."""
        if not self.summing.model.axes & SERVER_AXES:
            return 0.0
        return np.where(self.colocated | ~self._apart, 0.0, self.servers)

    @cached_property
    def endpoints(self) -> Array:
        """Network cards that the network joins."""
        nodes = node_count(self.gpus, self.gpus_per_node)
        return network_cards(nodes, self.rails, self.dedicated)

    @cached_property
    def leaf(self) -> Leaf | None:
        """Oversubscribed leaf switches that join the nodes; None where no point has any."""
        if np.all(self.oversubscription <= 1):
            return None
        radix = self.wire(lambda w: w.switch_radix)
        return leaf(self.endpoints, radix, self.rails, self.oversubscription)

    @cached_property
    def _cloud(self) -> Mask:
        """Whether other tenants of a cloud share the network; sockets leave them enough of it."""
        if self.at("inter_node") is not None:
            return np.zeros((1,) * self.rank, dtype=bool)
        shared = self.machine(lambda m: m.node is not None and m.node.shares_network) > 0
        return np.asarray(shared & np.isinf(self.socket_bytes_per_s))

    @property
    def sharing(self) -> ArrayLike:
        """How the bandwidth of a node falls with their number."""
        return np.where(self._cloud, self.problem.scale.cloud_sharing, self.problem.scale.sharing)

    @property
    def sharing_spread(self) -> ArrayLike:
        """Standard deviation of its logarithm."""
        spread = self.problem.scale_spread
        return np.where(self._cloud, spread.cloud_sharing, spread.sharing)

    # -- what it is called, as evidence asks ---------------------------------------------------

    def has_device(self, measured: str) -> Mask:
        """Whether the accelerators are of the model that a log names."""
        return self.machine(lambda m: same_device(measured, m.accelerator.name)) > 0

    @cached_property
    def own_inside_link(self) -> Mask:
        """Whether the accelerators of a node meet over the link they come with."""
        if self.at("intra_node") is None:
            return np.asarray(True)
        own = self.machine(lambda m: m.intra_bytes_per_s)
        chosen = np.asarray(self.inside.bytes_per_s) / self.inside_efficiency
        return np.asarray(np.abs(np.log(chosen / own)) <= np.log(SAME_SPEED))

    @cached_property
    def network_names(self) -> tuple[str, tuple[str, ...]]:
        """The axis that decides the inter-node link, and the fabric of every value of it."""
        axis, links = self.wiring
        return axis, tuple(link.fabric for link in links)

    def has_link(self, measured: str) -> Mask:
        """Whether the network is of no other kind than one that a log names."""
        axis, names = self.network_names
        kind = np.array([same_kind(measured, name) for name in names])
        return np.asarray(kind[self.coordinates[axis].at])

    def on_fabric(self, fabric: str) -> Mask:
        """Whether the network, or the node type, is that of a name."""
        axis, names = self.network_names
        own = self.machine(lambda m: float(m.node is not None and m.node.name == fabric)) > 0
        return np.array([name == fabric for name in names])[self.coordinates[axis].at] | own

    @property
    def link_name(self) -> str:
        """The name of the first point's network."""
        axis, names = self.network_names
        return names[int(np.ravel(self.coordinates[axis].at)[0])]

    # -- how they compute, and what a step takes -----------------------------------------------

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
        of_axes = self.key(COMPUTE_AXES)
        # What all points compute, where that is the same: their values on its axes.
        found = sorted((n, c.values) for n, c in self.coordinates.items() if n in COMPUTE_AXES)
        one_cell = tuple(found) if all(len(values) == 1 for _, values in found) else None
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
        layers, device, stack = self.problem.layers, self.device, self.stack
        if self.problem.draws:  # launches as long as each draw has them, (draws, 1, ...)
            errors = self.problem.computing.step_errors or StepErrors()
            drawn = errors.drawn(LAUNCH, self.problem.draws)  # one host for all points
            error = self.drawn(np.exp(catalog.computing().launch_log_spread * drawn))
            stack = replace(stack, launch_s=stack.launch_s * error)
        passes = compute.forward_backward(layers, device, self.batch, self.precision, stack)
        update = compute.optimizer_s(layers, device, self.precision, self.state_bytes, stack)
        return passes, compute.input_s(layers, device, self.batch), update

    def _cell(self, values: tuple[tuple[str, tuple[Value | None, ...]], ...]) -> Points:
        """One point with these values, of which every axis has one, in as many axes."""
        at = np.zeros((1,) * self.rank, dtype=np.int64)
        coordinates = {name: Coordinate(column, at, (0, 1)) for name, column in values}
        return Points(self.problem, self.fixed, coordinates, self.rank)

    def _grid(self, axes: frozenset[str]) -> tuple[Points, tuple[int, ...], CellOfPoints] | None:
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
        """In which an accelerator is fed what it trains on in a step; 0 where that is no limit."""
        fed = self.fed_per_s
        return 0.0 if fed is None else np.nan_to_num(self.batch * self.accumulation / fed)

    @cached_property
    def fed_per_s(self) -> ArrayLike | None:
        """Samples a second that an accelerator is fed: as the study says, or images that its share
        of the host decodes, NaN where its cores are not known; None: without limit."""
        said = self.problem.study.input
        if not isinstance(said, str):
            return said if self.problem.step_model.measurable else None
        rate = self.problem.images_per_core_s(self.stack.name)
        return None if rate is None else self.machine(lambda m: m.cores) * self.drawn(rate)

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
        return np.where(self._apart, servers, own)

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

    def step_time(self) -> Terms:
        """By the step model of the study."""
        return self.problem.step_model.step_time(self)

    @property
    def calm(self) -> ArrayLike:
        """The share of the time of steps that is left where some runs stall."""
        return 1.0

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
    def room(self) -> Room:
        """An accelerator's memory beside what is needed of it.

        Where activations are not known, what is known may be too much already.
        """
        ledger = self.memory
        left = self.device.memory_bytes - ledger.total_bytes
        known = self.device.memory_bytes - ledger.known_bytes
        free = np.asarray(np.where(np.isnan(left) & (known < 0), known, left))
        return Room(self.device.memory_bytes, free, self.stack.footprint.spread)

    # -- when their gradients are summed -------------------------------------------------------

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
        return self.summing.evidence.grade(self.gradients, self.layout)

    def why_outside(self) -> list[str]:
        """What of a single point was not measured; empty where all of it was."""
        return self.summing.evidence.why_outside(self.gradients, self.layout)

    def summed_by(self, model: Aggregation) -> Points:
        """The same points with another aggregation over the same transport."""
        other = type(self)(self.problem, self.fixed, self.coordinates, self.rank)
        other.summing = replace(self.summing, model=model)
        return other

    # -- what they are built of, and which axes matter to them ---------------------------------

    @cached_property
    def bill(self) -> Bill:
        """How many of every part they are made of."""
        return bill(
            self.gpus,
            self.gpus_per_node,
            self.rails,
            self.dedicated,
            self.wire(lambda w: w.switch_radix),
            self._cards_included,
            self.machine(lambda m: m.sold_in),
            None
            if self.machine_axis == "node"
            else self.machine(lambda m: self.problem.rental().rented_in(m.accelerator.name)),
            self.oversubscription,
            self.machine(lambda m: m.at_once),
        )

    @property
    def _cards_included(self) -> Mask:
        """Whether nodes come with these network cards: machines sold whole do with those of their
        own network, up to as many as they have."""
        if self.machine_axis != "node":
            return np.asarray(False)
        has = self.machine(lambda m: float(m.node.nics or 1) if m.node else 0.0)
        enough, link = self.rails <= has, self.at("inter_node")
        if link is None:
            return np.asarray(enough)
        own = np.array([
            [m.node is not None and m.node.inter_node == value for value in link.values]
            for m in self.machines
        ])  # fmt: skip
        return np.asarray(enough & own[self.coordinates["node"].at, link.at])

    def immaterial(self) -> tuple[str, ...]:
        """The axes that change nothing of a single point.

        One accelerator sums nothing, one node needs neither network nor servers, and an aggregation
        has its own axes.
        """
        gpus, nodes = _first(self.gpus), _first(node_count(self.gpus, self.gpus_per_node))
        found = set(OF_SUMMING) - (self.aggregation.axes if gpus > 1 else frozenset())
        if gpus <= 1:
            found.add("aggregation")
        if not np.any(self._apart):
            found |= SERVER_AXES
        if nodes <= 1:
            found |= {"inter_node", "nics_per_node"}
        if not np.any(self.bill.tree.spines):  # one switch joins all
            found.add("oversubscription")
        if gpus <= _first(node_count(self.gpus, self.domain)):
            found.add("intra_node")
        if gpus <= 1 and not self.precision.master_bytes:
            found.add("gradient")
        return tuple(sorted(found & set(self.coordinates)))

    def serving(self) -> int | None:
        """How many parameter servers sum the gradients of a single point; None where none do."""
        if not np.any(self._apart) or not self.aggregation.axes & SERVER_AXES:
            return None
        return int(_first(self.servers))

    @property
    def hosted(self) -> Mask:
        """Whether every colocated server has a worker; one node needs no server."""
        if not self.aggregation.axes & SERVER_AXES:
            return np.ones((1,) * self.rank, dtype=bool)
        workers = node_count(self.gpus, self.domain)
        return np.asarray(~self.colocated | (workers <= 1) | (self.servers <= workers))


def _first(values: Array) -> float:
    return float(np.ravel(values)[0])
