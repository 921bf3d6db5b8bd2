"""The hardware of design points as arrays: where an axis value becomes the number of a layout."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.calibration.hardware_names import same_device, same_kind
from dse.calibration.spread import SAME_SPEED
from dse.model import compute, precision
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import SERVER_AXES
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.bill import network_cards
from dse.model.leaves import Leaf, leaf
from dse.model.links import Link, mesh_bytes_per_s
from dse.model.stack import Stack
from dse.pricing import hardware
from dse.pricing.aggregations import PricedAggregation
from dse.pricing.coordinates import Coordinate
from dse.pricing.devices import USUAL_STACK
from dse.pricing.gradient_format import USUAL_PRECISION, summed_format
from dse.pricing.study_facts import StudyFacts
from dse.pricing.uncertainty import link_factors
from dse.pricing.unit_price import UnitPrice
from dse.study import Value, Wire
from dse.study.aggregation_name import AggregationName


class LayoutArrays:
    """Points of one structure as what their gradients cross: a
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
        """One for every value of that axis."""
        values = self.coordinates[self.machine_axis].values
        return self.problem.remember(  # type: ignore[no-any-return]
            ("machines", values),
            lambda: hardware.machines(self.machine_axis, values, self.problem.prices),  # type: ignore[arg-type]
        )

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
        count = self.problem.draw_count
        errors = self.problem.computing.errors(self.machines, name, self.stack, count)
        error = errors[:, self.coordinates[axis].at]  # (draws, *S)
        host = np.asarray(device.host_bytes_per_s) / self._link_error("host")
        return replace(device, factor=device.factor * error, host_bytes_per_s=host)

    def _link_error(self, link: str) -> ArrayLike:
        """By how much longer a link takes in each draw, (draws, 1, ...), where a closed formula
        says how long; else 1, since what aggregations cost has an error of its own."""
        problem = self.problem
        if not problem.draws or problem.step_model.measurable:
            return 1.0
        return link_factors(link, problem.draw_count).reshape((-1,) + (1,) * self.rank)

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
        return hardware.lookup(precision.OPTIMIZER_STATE_BYTES, found.values)[found.at]  # type: ignore[arg-type]

    # -- the layout, as its aggregation sees it ------------------------------------------------

    @property
    def layout(self) -> LayoutArrays:
        """Points are their own layout."""
        return self

    @cached_property
    def gpus(self) -> Array:
        """Accelerators that train."""
        return self.numbers("gpus", 1.0)

    @cached_property
    def gpus_per_node(self) -> Array:
        """Those of one node."""
        if self.at("gpus_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.accelerators if m.node else 1))
        return self.numbers("gpus_per_node", 1.0)

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
        own = [m.node.inter_node if m.node else None for m in self.machines]
        return self.machine_axis, tuple(
            hardware.wiring(name, transport, transport.across, prices) if name else hardware.UNWIRED
            for name in own
        )

    def machine_price(self, read: Callable[[hardware.Machine], UnitPrice]) -> Array:
        """What machines cost, or as many draws of it as are priced, (draws, *S)."""
        return self._price(self.machine_axis, [read(row) for row in self.machines])

    def _wire_price(self, read: Callable[[hardware.Wiring], UnitPrice]) -> Array:
        axis, rows = self.wiring
        return self._price(axis, [read(row) for row in rows])

    def _price(self, axis: str, prices: Sequence[UnitPrice]) -> Array:
        usd = np.array([price.usd for price in prices])
        if self.problem.draws:
            count = self.problem.draw_count
            usd = np.stack([price.drawn(count) for price in prices], axis=-1)
        return usd.take(self.coordinates[axis].at, axis=-1)

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
        efficiency = self.inside_efficiency
        reached = self._own_inside_bytes_per_s * efficiency if given is None else given
        reached = np.asarray(reached) / self._link_error("inside a node")
        return Link(0.0 if latency is None else latency, reached)

    @property
    def _own_inside_bytes_per_s(self) -> Array:
        """Bytes per second of the links that accelerators come with, among those of a node that
        train."""
        whole = self.machine(lambda m: m.intra_bytes_per_s)
        if all(np.isinf(machine.pair_bytes_per_s) for machine in self.machines):
            return whole
        pair = self.machine(lambda m: m.pair_bytes_per_s)
        return mesh_bytes_per_s(whole, pair, np.minimum(self.gpus, self.gpus_per_node))

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
        return self.machine(lambda m: hardware.nccl_generation(m.accelerator)).astype(np.int64)

    @cached_property
    def own_links(self) -> Mask:
        """Whether the accelerators of a node have links of their own, else they meet over PCIe."""
        found = self.at("intra_node")
        if found is not None:
            return np.array([not hardware.is_pcie(value) for value in found.values])[found.at]
        return self.machine(lambda m: m.accelerator.intra_node_bytes_per_s is not None) > 0

    @cached_property
    def oversubscription(self) -> Array:
        """Ports down over ports up of a leaf switch."""
        return self.numbers("oversubscription", 1.0)

    @property
    def dedicated(self) -> ArrayLike:
        """Parameter servers on machines of their own."""
        if not self.summing.model.axes & SERVER_AXES:
            return 0.0
        return np.where(self.colocated, 0.0, self.servers)

    @cached_property
    def leaf(self) -> Leaf | None:
        """Oversubscribed leaf switches that join the nodes; None where no point has any."""
        if np.all(self.oversubscription <= 1):
            return None
        nodes = node_count(self.gpus, self.gpus_per_node)
        cards = network_cards(nodes, self.rails, self.dedicated)
        return leaf(cards, self.wire(lambda w: w.switch_radix), self.rails, self.oversubscription)

    @property
    def sharing(self) -> ArrayLike:
        """How the bandwidth of a node falls with their number."""
        return self.problem.scale.sharing

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
    def _network_names(self) -> tuple[str, tuple[str, ...]]:
        """The axis that decides the inter-node link, and the fabric of every value of it."""
        found = self.at("inter_node")
        if found is not None:
            return "inter_node", tuple(
                (v.fabric or "") if isinstance(v, Wire) else str(v) for v in found.values
            )
        own = [m.node.inter_node if m.node else None for m in self.machines]
        return self.machine_axis, tuple(name or "" for name in own)

    def has_link(self, measured: str) -> Mask:
        """Whether the network is of no other kind than one that a log names."""
        axis, names = self._network_names
        kind = np.array([same_kind(measured, name) for name in names])
        return np.asarray(kind[self.coordinates[axis].at])

    def on_fabric(self, fabric: str) -> Mask:
        """Whether the network is that of the catalogue."""
        axis, names = self._network_names
        return np.array([name == fabric for name in names])[self.coordinates[axis].at]

    @property
    def link_name(self) -> str:
        """The name of the first point's network."""
        axis, names = self._network_names
        return names[int(np.ravel(self.coordinates[axis].at)[0])]
