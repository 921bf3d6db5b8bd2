"""Priced points, whose quantities are computed when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike, Mask, scalar
from dse.model.convergence import Convergence
from dse.model.goodput import Goodput
from dse.model.memory import Room
from dse.model.money import Billing, Cost, billed_s
from dse.model.terms import Terms
from dse.pricing.costs import Costs
from dse.pricing.hardware import number
from dse.pricing.points import Points
from dse.study.quantities import QUANTITIES

# Quantities that follow from the step and the baseline.
FROM_STEP = frozenset({"speedup", "throughput", "step"})


@dataclass
class Evaluation(Mapping[str, Array]):
    """Priced points: terms, and by name every quantity of a study.

    Arrays broadcast to the points' shape and are no larger than the axes they depend on. They are
    computed when they are first asked for, in the same variation of draws. terms: in place of those
    of their own step. compared: with the baseline; without it their speedup is NaN. paid: in place
    of what the points cost themselves.
    """

    points: Points
    terms: Terms | None = None
    compared: bool = True
    paid: Cost | None = None
    _known: dict[str, Array] = field(default_factory=dict, init=False)

    def __getitem__(self, name: str) -> Array:
        if name not in self._known:
            # Where nothing of the time trains, a run takes without bound.
            with np.errstate(divide="ignore", invalid="ignore"):
                self._known[name] = np.asarray(QUANTITIES[name].value(self))
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(QUANTITIES)

    def __len__(self) -> int:
        return len(QUANTITIES)

    @cached_property
    def step(self) -> Terms:
        """The terms of a step."""
        return self.points.step_time() if self.terms is None else self.terms

    @cached_property
    def baseline_samples_per_s(self) -> ArrayLike:
        """Throughput that speedups are relative to, in each draw where there are any."""
        if not self.compared:
            return np.nan
        rate = self.baseline["throughput"]
        return rate if self.points.problem.draws else scalar(rate)

    @property
    def baseline(self) -> Mapping[str, Array]:
        """The baseline's quantities by name."""
        return self.points.problem.baseline

    @property
    def mix(self) -> Any:
        """The :class:`.mix.Mix` that a speedup is of; None of a single workload."""
        return self.points.problem.mix if self.compared else None

    @cached_property
    def _costs(self) -> Costs:
        return Costs(self.points)

    @cached_property
    def cost(self) -> Cost:
        """What the points cost."""
        return self._costs.cost() if self.paid is None else self.paid

    @property
    def sold(self) -> Mask | None:
        """See :class:`.costs.Costs`."""
        return self._costs.sold

    @cached_property
    def grade(self) -> NDArray[np.int64]:
        """How far the aggregation is from what was measured."""
        return self.points.grade()

    @cached_property
    def room(self) -> Room:
        """An accelerator's memory beside what is needed of it, and by the others of a mix."""
        room = self.points.room
        return replace(room, others=self.mix.over(self.points)) if self.mix else room

    @cached_property
    def start_up_s(self) -> ArrayLike:
        """Until the machines of a run train; 0 of those that are bought."""
        return self.points.on_terms(lambda rental: rental.awaited_s)

    @property
    def carbon_kg_per_kwh(self) -> float:
        """Of the site's electricity."""
        return number(self.points.problem.prices.carbon_kg_per_kwh.value)

    @cached_property
    def convergence(self) -> Convergence | None:
        """How many samples a run trains on, draws of it before the axes of the points; None where
        the study has no target."""
        curve, drawn = self.points.problem.convergence, self.points.drawn
        return curve and replace(
            curve,
            least_samples=drawn(curve.least_samples),
            critical_batch=drawn(curve.critical_batch),
        )

    @cached_property
    def samples_to_target(self) -> Array:
        """Samples of a run; NaN where the study has no target."""
        if self.convergence is None:
            return np.asarray(np.nan)
        return self.convergence.samples(self["global_batch"])

    @cached_property
    def relative_work(self) -> Array:
        """By how much more a run takes than its speed says, over the same of the baseline: samples,
        and time lost to failures; 1 where the study has no target. A speedup over it is the ratio
        of times to the target."""
        if self.convergence is None:
            return np.asarray(1.0)
        base = self.baseline
        more = base["goodput"] / self["goodput"]
        # Exactly more where a run takes as many samples, whatever is priced beside it.
        return more * (self.samples_to_target / base["samples_to_target"])

    @cached_property
    def running(self) -> Goodput:
        """What failures and checkpoints leave of a run's time."""
        return self._costs.goodput()

    @cached_property
    def running_s(self) -> Array:
        """Seconds from the first step to the target, with what failures and checkpoints take."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.samples_to_target / self["throughput"] / self["goodput"])

    @property
    def held_s(self) -> Array:
        """Seconds from the first step to the target for which machines are held, and draw power."""
        return np.asarray(self.running_s * self.running.held)

    @property
    def billed_s(self) -> Array:
        """Seconds of rent that a run to the target is billed."""
        on_terms = self.points.on_terms
        billing = Billing(
            on_terms(lambda rental: rental.billing.minimum_s),
            on_terms(lambda rental: rental.billing.unit_s),
            on_terms(lambda rental: rental.billing.start_up_s),
            on_terms(lambda rental: rental.billing.in_use),
        )
        return billed_s(self.held_s, billing)

    def whole_nodes(self) -> Mask:
        """All nodes are full, or there is only one."""
        whole = np.mod(self.points.gpus, self.points.gpus_per_node) == 0
        return np.asarray(whole | (self.points.gpus < self.points.gpus_per_node))

    def computable(self) -> Mask:
        """The accelerator has the precision."""
        return np.asarray(np.isfinite(self.step.compute_s))

    def known(self, objectives: Iterable[str]) -> Mask:
        """Nothing that the step or an objective needs is unknown (NaN, or without bound)."""
        around = self.step.compute_s + self.step["optimizer_s"] + self.step.input_s
        needed = [around, self.step.comm_s]
        # Those that are left out follow from the step and the baseline.
        needed += [self[name] for name in objectives if name not in FROM_STEP]
        known = [np.isfinite(values) for values in needed]
        # What is known of all points decides nothing: the mask stays small.
        return reduce(np.logical_and, [mask for mask in known if not mask.all()], np.asarray(True))
