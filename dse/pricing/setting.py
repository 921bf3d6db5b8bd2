"""The model at given points: the network they see, the terms of their step, what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dse.calibration.network_part import NetworkFit
from dse.model import compute, money, overlap, parameter_server, step
from dse.model.arrays import Array, Mask
from dse.model.links import FREE, NO_WIRE, Link, Network, StepCost
from dse.model.selection import Rules
from dse.pricing import approached, closed, coverage, hardware, ruled, served
from dse.pricing.chosen import not_known
from dse.pricing.placement import Placement
from dse.pricing.quantities import Evaluation

DEFAULT_BUCKET_BYTES = 25 * 2.0**20

_COMPUTE_AXES = ("node", "accelerator", "batch_per_gpu", "optimizer")


class Setting(Placement):
    """Points of one structure, priced."""

    @cached_property
    def rules(self) -> Rules | None:
        """The library's rules, where they choose the algorithm of every message."""
        return ruled.rules_of(self)

    def by(self, algorithm: str) -> Setting:
        """The same points, aggregated by a named algorithm over the same transport."""
        if algorithm not in self._by:
            fixed = {**self.fixed, "aggregation": f"{algorithm}-{self.transport.name}"}
            rest = {name: at for name, at in self.coordinates.items() if name != "aggregation"}
            self._by[algorithm] = Setting(self.problem, fixed, rest, self.rank)
        return self._by[algorithm]

    @cached_property
    def _by(self) -> dict[str, Setting]:
        return {}

    @cached_property
    def network(self) -> Network:
        if self.approach is not None:
            return approached.model(self, self.approach).network
        if self.algorithm == step.AUTO:
            if self.profile is None or self.profile.auto is None:
                raise not_known(self.algorithm, self.transport.name)
            return Network(FREE, FREE, library=self.profile.auto.cost(), slower=self.slower)
        within, across, gamma = self._software()
        return Network(
            within,
            across,
            self.intra(),
            Link(self.wire(lambda w: w.latency_s), self._wire_bytes_per_s()),
            self.rails,
            self.transport.multirail,
            gamma,
            crossing=self._crossing(),
            servers=served.cost(self),
        )

    def _wire_bytes_per_s(self) -> Array:
        """Reached of a card; nominal where what it reaches is in the fitted factors."""
        timed = self.served is not None and self.served.link_bytes_per_s[1] > 0
        share = self.transport.link_efficiency if self.between is not None or timed else 1.0
        return self.wire(lambda w: w.bytes_per_s) / share

    def _crossing(self) -> StepCost | None:
        known = self.between is not None and self.between.link_bytes_per_s[1] > 0
        return self.between.crossing if self.between is not None and known else None

    @cached_property
    def between(self) -> NetworkFit | None:
        """The algorithm as it was measured between nodes, if it was."""
        return self.profile.network.get(self.algorithm) if self.profile is not None else None

    def _software(self) -> tuple[StepCost, StepCost, float]:
        if self.profile is not None and self.served is None:
            gamma = self.profile.gamma_s_per_byte
            if self.profile.fits:
                read = self.profile.draws if self.problem.draws else self.profile.software
                within = across = read(self.algorithm)
            if self.between is not None:
                across = self.between.host
                within = within if self.profile.fits else across
        else:
            assumed = self.transport
            within = StepCost(assumed.within.latency_s, (assumed.within.s_per_byte,))
            across = StepCost(assumed.across.latency_s, (assumed.across.s_per_byte,))
            known = self.profile.gamma_s_per_byte if self.profile is not None else 0.0
            gamma = known or assumed.gamma_s_per_byte
        if self.algorithm == step.PARAMETER_SERVER and not self.transport.reaches_device:
            # The accelerators of a worker meet in the memory of its one process: the copies there
            # are counted as staging, so only the sum is left, a share of it per accelerator.
            within = FREE
        return within, across, gamma

    def intra(self) -> Link:
        """The link between accelerators of a node."""
        if not self.transport.reaches_device:
            return NO_WIRE  # ranks of a node meet in host memory, which the software cost contains
        latency = self.inside(lambda w: w.latency_s)
        return Link(0.0 if latency is None else latency, self.inside_bytes_per_s)

    @cached_property
    def imbalance(self) -> Array:
        """Largest shard over the mean one, as the servers that calibration runs place tensors.

        Those know all tensors beforehand, and so do not place as tf_cnn_benchmarks does, in the
        order of creation; the servers of an approach do (:mod:`dse.model.tensor_servers`).
        """
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
        return float(self.fixed.get("bucket") or DEFAULT_BUCKET_BYTES)  # type: ignore[arg-type]

    @property
    def largest_bytes(self) -> float:
        """No message of a step is larger."""
        if self.approach is not None:
            return self.problem.layers.total_params * self.precision.gradient_bytes
        return max((bucket.message_bytes for bucket in self.buckets), default=0.0)

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

    def passes(self) -> tuple[compute.Compute, list[Array], Array, Array]:
        where = self._key(_COMPUTE_AXES)
        key = where and (
            "passes",
            self.problem.draws,
            self.precision.name,
            self.bucket_bytes,
            self.rank,
            where,
        )
        layers, device = self.problem.layers, self.device

        def make() -> tuple[compute.Compute, list[Array], Array, Array]:
            passes = compute.forward_backward(layers, device, self.batch, self.precision)
            update = compute.optimizer_s(layers, device, self.precision, self.state_bytes)
            if self.problem.draws:
                error = coverage.compute_error(self)
                passes = compute.scaled(passes, error)
                update = update * error
            return (
                passes,
                overlap.ready_s(self.buckets, passes.layer_done_s),
                compute.input_s(layers, device, self.batch),
                update,
            )

        return self.problem.remember(key, make)  # type: ignore[no-any-return]

    @cached_property
    def bucket_costs(self) -> list[Array]:
        """Seconds to aggregate each bucket, with the held-out error where draws are priced."""
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
            if self.rules is not None:
                return ruled.bucket_costs_s(self)
            costs = step.bucket_costs_s(
                self.algorithm, self.cluster, self.buckets, self.network, rank
            )
            if self.algorithm == step.AUTO:
                costs = [np.where(self.priced, seconds, np.nan) for seconds in costs]
            if not self.problem.draws:
                return costs
            error = coverage.held_out_error(self)
            return [seconds * error for seconds in costs]

        return self.problem.remember(key, make)  # type: ignore[no-any-return]

    def step_time(self) -> step.StepTime:
        if self.problem.closed:
            return closed.step_time(self)
        if self.approach is not None:
            return approached.step_time(self, self.approach)
        passes, ready, loading, update = self.passes()
        overlapped = self.fixed.get("overlap", "bucketed") != "none"
        return step.combine(passes, ready, self.bucket_costs, loading, update, overlapped)

    def cost(self) -> money.Cost:
        # A node type comes with its network cards, unless the study chooses others.
        own_network = self.at("inter_node") is None and self.at("nics_per_node") is None
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
                self.wire(lambda w: w.nic_usd),
                self.wire(lambda w: w.switch_port_usd),
                self.wire(lambda w: w.cable_usd),
                self.wire(lambda w: w.switch_radix),
                self.machine_axis == "node" and own_network,
                self.machine(lambda m: m.usd_per_hour),
                self.machine(lambda m: m.host_usd_per_hour),
                hardware.number(prices.host_usd.value),
                self.machine(lambda m: hardware.number(m.accelerator.power_w)),
                self.problem.host_power_ratio,
                hardware.number(prices.host_power_w.value),
                hardware.number(prices.network_power_share.value),
                hardware.number(prices.electricity_usd_per_kwh.value),
                hardware.number(prices.pue.value),
                hardware.number(prices.amortisation_years.value),
            ),
        )

    def in_range(self) -> Mask:
        """Whether the aggregation was measured like this."""
        return coverage.in_range(self) if self.rules is None else ruled.in_range(self)

    def evaluation(
        self, baseline_samples_per_s: float, terms: step.StepTime | None = None
    ) -> Evaluation:
        """The points priced; ``terms`` in place of those of their own step."""
        layers, target_samples = self.problem.layers, self.problem.target_samples
        return Evaluation(
            step=self.step_time() if terms is None else terms,
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
            priced=self.priced,
            target_samples=hardware.number(target_samples),
            baseline_samples_per_s=baseline_samples_per_s,
            measured_here=self.in_range,
        )
