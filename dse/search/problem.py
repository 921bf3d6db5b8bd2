"""A study resolved against catalogue, prices and calibration: design points in, numbers out."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration import Profile
from dse.model import compute, money, overlap, parameter_server, precision, step
from dse.model.arrays import Array, Mask
from dse.model.collectives import node_count
from dse.model.links import FREE, NO_WIRE, Link, Network, StepCost
from dse.search import tables
from dse.search.columns import Evaluation
from dse.study import Study, Value, split_aggregation
from dse.study.space import Box, Space

# Share of an accelerator's peaks that training reaches, unless the study says otherwise: what Wang
# et al. (IISWC 2019) assume for every resource. Recalled, not checked against the paper's text.
DEFAULT_EFFICIENCY = 0.7

NORMAL_MEDIAN = 0.6745  # of |x| for a standard normal x
NORMAL_P90 = 1.645  # its 90th percentile
OUTSIDE_WIDENING = 2.0  # of the held-out error where nothing like the point was measured

_COMPUTE_AXES = ("node", "accelerator", "batch_per_gpu", "optimizer")
_REMEMBERED = 64  # partial results kept; each is small beside a block of points


@dataclass(frozen=True)
class Coordinate:
    """Where points lie on one axis: its values, and positions in them, in any shape."""

    values: tuple[Value | None, ...]
    at: NDArray[np.int64]
    key: tuple[int, int] | None = None  # (start, stop) if ``at`` is a slice, for remembering


@dataclass
class Problem:
    """Everything needed to evaluate points of a study.

    profiles: calibration profiles by transport. draws: evaluate with the profiles' bootstrap draws
    in place of their best fit, which adds a first axis of that length to every measured term.
    """

    study: Study
    workload: catalog.Workload
    prices: catalog.PriceList
    profiles: Mapping[str, Profile]
    draws: bool = False
    _memory: OrderedDict[Any, Any] = field(default_factory=OrderedDict)

    @cached_property
    def space(self) -> Space:
        """The finite space of the study's axes."""
        return Space((*self.study.axes, *self.study.defaults), self.study.conditions)

    @property
    def points(self) -> int | None:
        """Number of design points; None where an axis is continuous."""
        endless = any(axis.continuous for axis in self.study.axes)
        return None if endless else self.space.size

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
    def host_power_ratio(self) -> float:
        """Watts of the rest of a node per watt of accelerator; quoted for an H100 server."""
        reference = tables.number(catalog.accelerator("h100-sxm").power_w)
        return tables.number(self.prices.host_power_w.value) / reference

    def box(self, box: Box) -> Evaluation:
        """Evaluate a grid of points; arrays broadcast to ``box.shape``."""
        slab = self.space.slabs[box.slab]
        rank = len(slab.axes)
        coordinates = {}
        for number, (axis, part) in enumerate(zip(slab.axes, box.slices, strict=True)):
            shape = tuple(-1 if other == number else 1 for other in range(rank))
            at = np.arange(part.start, part.stop).reshape(shape)
            coordinates[axis.name] = Coordinate(axis.values, at, (part.start, part.stop))
        return self.evaluate(slab.fixed, coordinates, rank)

    def point(self, values: Mapping[str, Value | None], speedup: bool = True) -> Evaluation:
        """Evaluate one point given by the values of its axes, shape (1,)."""
        return self.rows([values], speedup)[0][1]

    def rows(
        self, points: Sequence[Mapping[str, Value | None]], speedup: bool = True
    ) -> list[tuple[NDArray[np.int64], Evaluation]]:
        """Evaluate points given one by one, as few array evaluations as their structure allows.

        Returns (positions in ``points``, their evaluation of shape (positions,)) per group.
        """
        looped = self._looped_names
        groups: dict[tuple[Value | None, ...], list[int]] = {}
        for position, values in enumerate(points):
            groups.setdefault(tuple(values.get(name) for name in looped), []).append(position)
        results = []
        for structure, positions in groups.items():
            fixed = dict(zip(looped, structure, strict=True))
            coordinates = {
                name: _listed([points[position].get(name) for position in positions])
                for name in points[positions[0]]
                if name not in looped
            }
            where = np.array(positions, dtype=np.int64)
            results.append((where, self.evaluate(fixed, coordinates, 1, speedup)))
        return results

    @cached_property
    def _looped_names(self) -> tuple[str, ...]:
        decisive = {name for c in self.study.conditions for name, _ in c.requires}
        structural = ("precision", "aggregation", "bucket", "overlap")
        return tuple(dict.fromkeys([*structural, *sorted(decisive)]))

    def evaluate(
        self,
        fixed: Mapping[str, Value | None],
        coordinates: Mapping[str, Coordinate],
        rank: int,
        speedup: bool = True,
    ) -> Evaluation:
        """Price the points of one structure; every array broadcasts to the points' shape."""
        setting = _Setting(self, fixed, coordinates, rank)
        return setting.evaluation(self.baseline_samples_per_s if speedup else float("nan"))

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
        """Whether a profile covers the transport of this point."""
        aggregation = str(values["aggregation"])
        return any(aggregation.endswith(f"-{transport}") for transport in self.profiles)

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """A partial result shared by several boxes; ``key`` None is not remembered."""
        if key is None:
            return make()
        if key not in self._memory:
            self._memory[key] = make()
            if len(self._memory) > _REMEMBERED:
                self._memory.popitem(last=False)
        return self._memory[key]


def _listed(values: Sequence[Value | None]) -> Coordinate:
    """Values given per point, as distinct values and positions in them."""
    distinct = tuple(dict.fromkeys(values))
    place = {value: position for position, value in enumerate(distinct)}
    return Coordinate(distinct, np.array([place[value] for value in values], dtype=np.int64))


def model_layers(workload: catalog.Workload) -> compute.Layers:
    """A catalogue workload as arrays for the model.

    Layers whose output size is not known get a share of the kept activations in proportion to their
    FLOPs: the roofline's memory side is then an estimate for the whole network, not per layer.
    """
    fused = workload.activation_bytes_without_scores  # attention kernels no longer store scores
    kept = tables.number(fused if fused is not None else workload.activation_bytes)
    kept = kept / 2  # bytes of 16-bit storage -> elements
    outputs = workload.layer_output_elems
    if np.isnan(outputs).any():
        share = workload.layer_forward_flops / max(workload.layer_forward_flops.sum(), 1.0)
        outputs = share * (0.0 if np.isnan(kept) else kept)
    return compute.Layers(
        workload.layer_params,
        workload.layer_forward_flops,
        outputs,
        kept,
        # A workload whose input size is not known is taken to be fed without delay.
        workload.input_bytes if workload.input_bytes is not None else 0.0,
    )


class _Setting:
    """One structure (precision, aggregation, bucket, ...) at given coordinates."""

    def __init__(
        self,
        problem: Problem,
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
        self.precision = precision.PRECISIONS[str(fixed.get("precision", "fp32"))]
        self.algorithm, transport = split_aggregation(str(fixed["aggregation"]))
        self.transport: catalog.Transport = problem.remember(
            ("transport", transport), lambda: catalog.transport(transport)
        )
        self.profile = problem.profiles.get(transport)

    # -- coordinates -> arrays ---------------------------------------------------------------

    def at(self, name: str) -> Coordinate | None:
        found = self.coordinates.get(name)
        return None if found is None or found.values == (None,) else found

    def numbers(self, name: str, default: float) -> Array:
        """A numeric axis, in the points' shape."""
        found = self.at(name)
        if found is None:
            return np.full((1,) * self.rank, default)
        values = [default if value is None else value for value in found.values]
        return np.array(values, dtype=np.float64)[found.at]

    def attribute(self, name: str, rows: Sequence[object], read: Callable[..., float]) -> Array:
        """An attribute of the rows of axis ``name``, in the points' shape."""
        return tables.column(rows, read)[self.coordinates[name].at]

    @cached_property
    def machine_axis(self) -> str:
        return "node" if "node" in self.coordinates else "accelerator"

    @cached_property
    def machines(self) -> tuple[tables.Machine, ...]:
        values = self.coordinates[self.machine_axis].values
        return self.problem.remember(  # type: ignore[no-any-return]
            ("machines", values),
            lambda: tables.machines(self.machine_axis, values, self.problem.prices),  # type: ignore[arg-type]
        )

    def machine(self, read: Callable[[tables.Machine], float]) -> Array:
        return self.attribute(self.machine_axis, self.machines, read)

    @cached_property
    def device(self) -> compute.Device:
        efficiency = self.problem.study.efficiency
        peak = self.precision.name
        nan = float("nan")
        return compute.Device(
            self.machine(lambda m: m.accelerator.peak_flops_per_s.get(peak, nan)),
            self.machine(lambda m: tables.number(m.accelerator.memory_bytes_per_s)),
            self.machine(lambda m: tables.number(m.accelerator.memory_bytes)),
            self.machine(lambda m: m.host_bytes_per_s),
            efficiency.compute or DEFAULT_EFFICIENCY,
            efficiency.memory or DEFAULT_EFFICIENCY,
        )

    @cached_property
    def gpus(self) -> Array:
        return self.numbers("gpus", 1.0)

    @cached_property
    def batch(self) -> Array:
        return self.numbers("batch_per_gpu", 1.0)

    @cached_property
    def gpus_per_node(self) -> Array:
        if self.at("gpus_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.accelerators if m.node else 1))
        return self.numbers("gpus_per_node", 1.0)

    @cached_property
    def rails(self) -> Array:
        if self.at("nics_per_node") is None and self.machine_axis == "node":
            return self.machine(lambda m: float(m.node.nics or 1) if m.node else 1.0)
        return self.numbers("nics_per_node", 1.0)

    @cached_property
    def state_bytes(self) -> Array:
        found = self.at("optimizer")
        if found is None:
            return np.full((1,) * self.rank, precision.OPTIMIZER_STATE_BYTES["momentum"])
        return tables.lookup(precision.OPTIMIZER_STATE_BYTES, found.values)[found.at]  # type: ignore[arg-type]

    @cached_property
    def wiring(self) -> tuple[str, tuple[tables.Wiring, ...]]:
        """The axis that decides the inter-node link, and one link per value of it."""
        prices, transport = self.problem.prices, self.transport
        found = self.at("inter_node")
        if found is not None:
            values = found.values
            return "inter_node", self.problem.remember(
                ("wiring", transport.name, values),
                lambda: tuple(tables.wiring(v, transport, prices) for v in values if v is not None),
            )
        own = [m.node.inter_node if m.node else None for m in self.machines]
        return self.machine_axis, tuple(
            tables.wiring(name, transport, prices) if name else tables.UNWIRED for name in own
        )

    def wire(self, read: Callable[[tables.Wiring], float]) -> Array:
        axis, rows = self.wiring
        return self.attribute(axis, rows, read)

    # -- the network -------------------------------------------------------------------------

    @cached_property
    def network(self) -> Network:
        within, across, gamma = self._software()
        return Network(
            within,
            across,
            self._intra(),
            Link(self.wire(lambda w: w.latency_s), self.wire(lambda w: w.bytes_per_s)),
            self.rails,
            self.transport.multirail,
            gamma,
        )

    def _software(self) -> tuple[StepCost, StepCost, float]:
        if self.profile is not None:
            read = self.profile.draws if self.problem.draws else self.profile.software
            across = read(self.algorithm)
            within, gamma = across, self.profile.gamma_s_per_byte
        else:
            assumed = self.transport
            within = StepCost(assumed.within.latency_s, (assumed.within.s_per_byte,))
            across = StepCost(assumed.across.latency_s, (assumed.across.s_per_byte,))
            gamma = assumed.gamma_s_per_byte
        if self.algorithm == step.PARAMETER_SERVER and not self.transport.reaches_device:
            # The accelerators of a worker meet in the memory of its one process: the copies there
            # are counted as staging, so only the sum is left, a share of it per accelerator.
            within = FREE
        return within, across, gamma

    def _intra(self) -> Link:
        if not self.transport.reaches_device:
            return NO_WIRE  # ranks of a node meet in host memory, which the software cost contains
        found = self.at("intra_node")
        if found is not None:
            rows = [
                tables.wiring(v, self.transport, self.problem.prices)
                for v in found.values
                if v is not None
            ]
            return Link(
                self.attribute("intra_node", rows, lambda w: w.latency_s),
                self.attribute("intra_node", rows, lambda w: w.bytes_per_s),
            )
        efficiency = self.transport.link_efficiency
        return Link(0.0, self.machine(lambda m: m.intra_bytes_per_s * efficiency))

    @cached_property
    def servers(self) -> Array:
        return self.numbers("ps_servers", 1.0)

    @cached_property
    def colocated(self) -> Mask:
        found = self.at("ps_placement")
        if found is None:
            return np.zeros((1,) * self.rank, dtype=bool)
        return np.array([value == "colocated" for value in found.values])[found.at]

    @cached_property
    def imbalance(self) -> Array:
        if self.algorithm != step.PARAMETER_SERVER:
            return np.ones((1,) * self.rank)
        found = self.at("ps_servers")
        counts = found.values if found is not None else (1,)
        tensors = self.problem.layers.params
        worst = self.problem.remember(
            ("imbalance", counts),
            lambda: np.array(
                [parameter_server.shard_imbalance(tensors, int(c or 1)) for c in counts]  # type: ignore[arg-type]
            ),
        )
        return np.asarray(worst[found.at] if found is not None else worst.reshape((1,) * self.rank))

    @cached_property
    def cluster(self) -> step.Cluster:
        staged = not self.transport.reaches_device
        return step.Cluster(
            self.gpus,
            self.gpus_per_node,
            self.servers,
            self.colocated,
            self.imbalance,
            self.device.host_bytes_per_s if staged else np.inf,
        )

    # -- terms -------------------------------------------------------------------------------

    @cached_property
    def bucket_bytes(self) -> float:
        return float(self.fixed.get("bucket") or 25 * 2.0**20)  # type: ignore[arg-type]

    @cached_property
    def buckets(self) -> tuple[overlap.Bucket, ...]:
        layer_bytes = self.problem.layers.params * self.precision.gradient_bytes
        key = ("buckets", self.precision.gradient_bytes, self.bucket_bytes)
        return self.problem.remember(  # type: ignore[no-any-return]
            key, lambda: overlap.fuse(layer_bytes, self.bucket_bytes)
        )

    def _key(self, names: Sequence[str]) -> tuple[Any, ...] | None:
        """The coordinates of these axes as a key, if they are slices of the study's own axes."""
        parts = [(n, c.values, c.key) for n in names if (c := self.coordinates.get(n)) is not None]
        return None if any(key is None for _, _, key in parts) else tuple(parts)

    def _passes(self) -> tuple[compute.Compute, list[Array], Array, Array]:
        where = self._key(_COMPUTE_AXES)
        key = where and ("passes", self.precision.name, self.bucket_bytes, self.rank, where)
        layers, device = self.problem.layers, self.device

        def make() -> tuple[compute.Compute, list[Array], Array, Array]:
            passes = compute.forward_backward(layers, device, self.batch, self.precision)
            return (
                passes,
                overlap.ready_s(self.buckets, passes.layer_done_s),
                compute.input_s(layers, device, self.batch),
                compute.optimizer_s(layers, device, self.precision, self.state_bytes),
            )

        return self.problem.remember(key, make)  # type: ignore[no-any-return]

    def _costs(self) -> list[Array]:
        names = [name for name in self.coordinates if name not in ("batch_per_gpu", "optimizer")]
        where = self._key(names)
        key = where and (
            "costs",
            self.algorithm,
            self.transport.name,
            self.problem.draws,
            self.precision.gradient_bytes,
            self.bucket_bytes,
            self.rank,
            where,
        )
        rank = self.rank + (1 if self.problem.draws else 0)

        def make() -> list[Array]:
            costs = step.bucket_costs_s(
                self.algorithm, self.cluster, self.buckets, self.network, rank
            )
            if not self.problem.draws:
                return costs
            error = self._held_out_error()
            return [seconds * error for seconds in costs]

        return self.problem.remember(key, make)  # type: ignore[no-any-return]

    def _held_out_error(self) -> Array:
        """One factor per draw for the error on what the fit has not seen; shape (draws, ...).

        Log-normal, as wide as the profile's held-out error (the wider reading of its median and its
        90th percentile), and twice as wide outside the measured range. One factor for the whole
        step: its messages err together. 1 where nothing is measured.
        """
        if self.profile is None:
            return np.ones((1,) * (self.rank + 1))
        median_width = self.profile.error(self.algorithm) / NORMAL_MEDIAN
        width = max(median_width, self.profile.error_p90(self.algorithm) / NORMAL_P90)
        draws = len(np.ravel(self.profile.draws(self.algorithm).latency_s))
        normal = np.random.default_rng(0).standard_normal(draws).reshape((-1,) + (1,) * self.rank)
        spread = np.where(self.in_range(), 1.0, OUTSIDE_WIDENING) * width
        return np.exp(normal * spread)

    def step_time(self) -> step.StepTime:
        passes, ready, loading, update = self._passes()
        overlapped = self.fixed.get("overlap", "bucketed") != "none"
        return step.combine(passes, ready, self._costs(), loading, update, overlapped)

    def cost(self) -> money.Cost:
        node = self.machine_axis == "node"
        prices = self.problem.prices
        dedicated = self.algorithm == step.PARAMETER_SERVER
        return money.cost(
            self.gpus,
            self.gpus_per_node,
            self.rails,
            np.where(self.colocated, 0.0, self.servers) if dedicated else 0.0,
            money.Prices(
                self.machine(lambda m: m.accelerator_usd),
                self.machine(lambda m: m.host_usd),
                0.0 if node else self.wire(lambda w: w.nic_usd),
                self.wire(lambda w: w.switch_port_usd),
                self.wire(lambda w: w.cable_usd),
                self.wire(lambda w: w.switch_radix),
                self.machine(lambda m: m.usd_per_hour),
                tables.number(prices.host_usd.value),
                self.machine(lambda m: tables.number(m.accelerator.power_w)),
                self.problem.host_power_ratio,
                tables.number(prices.electricity_usd_per_kwh.value),
                tables.number(prices.pue.value),
                tables.number(prices.amortisation_years.value),
            ),
        )

    def in_range(self) -> Mask:
        """Whether the aggregation was measured like this; one accelerator aggregates nothing."""
        alone = np.asarray(self.gpus <= 1)
        if self.profile is None:
            return alone
        sizes = [bucket.message_bytes for bucket in self.buckets]
        low, high = self.profile.message_bytes
        if not sizes or min(sizes) < low or max(sizes) > high:
            return alone
        few, many = self.profile.ranks
        nodes = node_count(self.gpus, self.gpus_per_node)
        measured = (self.gpus >= few) & (self.gpus <= many) & (nodes <= self.profile.max_nodes)
        named = self.algorithm in self.profile.measured_algorithms
        return np.asarray(alone | (measured & named))

    def evaluation(self, baseline_samples_per_s: float) -> Evaluation:
        layers, target = self.problem.layers, self.problem.study.target
        return Evaluation(
            step=self.step_time(),
            cost=self.cost(),
            gpus=self.gpus,
            gpus_per_node=self.gpus_per_node,
            batch_per_gpu=self.batch,
            nics_per_node=self.rails,
            servers=self.servers,
            bucket_bytes=self.bucket_bytes,
            memory_slack_bytes=step.memory_slack_bytes(
                layers, self.device, self.batch, self.precision, self.state_bytes
            ),
            in_range=self.in_range(),
            target_samples=target.samples if target and target.samples else float("nan"),
            baseline_samples_per_s=baseline_samples_per_s,
        )
