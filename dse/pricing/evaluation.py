"""Priced points, whose quantities are computed when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.convergence import Convergence
from dse.model.goodput import Goodput
from dse.model.memory import Room
from dse.model.money import Billing, Cost, billed_s
from dse.model.terms import Terms
from dse.study.quantities import QUANTITIES

# Quantities that follow from the step and the baseline.
FROM_STEP = frozenset({"speedup", "throughput", "step"})


@dataclass(frozen=True)
class Ideal:
    """A sample as an ideal accelerator trains it. tokens: NaN where it has no known number of them.
    flops: model FLOPs of forward and backward pass, causal attention counted half.
    peak_flops_per_s: of each point's accelerator in its precision, dense."""

    tokens: float
    flops: float
    peak_flops_per_s: Array

    @property
    def seconds(self) -> Array:
        """In which one accelerator at its peak does the model FLOPs."""
        return self.flops / self.peak_flops_per_s


@dataclass(frozen=True)
class Placement:
    """What a layout is judged by. allocated_bytes: on the heaviest rank. rules: of layouts, and
    which points meet them, where not all do. unpriced: points whose memory is too small for all
    that has a step; None where every point has one."""

    allocated_bytes: ArrayLike = np.nan
    rules: Mapping[str, Mask] = field(default_factory=dict)
    unpriced: Mask | None = None


UNPLACED = Placement()  # of points that no layout is of


@dataclass
class Evaluation(Mapping[str, Array]):
    """Priced points: terms, and by name every quantity of a study.

    Arrays broadcast to the points' shape and are no larger than the axes they depend on. hosted:
    every colocated server has a worker of its own. convergence: None where the study has no target.
    baseline: the baseline's quantities by name. start_up_s: until the machines of a run train; 0 of
    those that are bought. sold: the accelerator can be bought as the study wants to buy; None where
    that is no question. mixed: what speedups of a mix are where those of its first workload, whose
    the points are, are known; None of a single workload. Computed when they are first asked for, in
    the same variation of draws: :attr:`step` by timed, :attr:`cost` by costed,
    :attr:`baseline_samples_per_s` by reference, :attr:`grade` by graded, and :attr:`running` by
    run.
    """

    timed: Callable[[], Terms]
    costed: Callable[[], Cost]
    gpus: Array
    gpus_per_node: Array
    data_parallel: Array
    batch_per_gpu: Array
    accumulation: Array
    nics_per_node: Array
    servers: Array
    bucket_bytes: ArrayLike
    room: Room
    ideal: Ideal
    placement: Placement
    hosted: Mask
    convergence: Convergence | None
    baseline: Callable[[], Mapping[str, Array]]
    sold: Mask | None
    reference: Callable[[], ArrayLike]
    carbon_kg_per_kwh: float
    graded: Callable[[], NDArray[np.int64]]
    run: Callable[[], Goodput]
    billing: Billing
    start_up_s: ArrayLike
    mixed: Callable[[Array], Array] | None = None
    _known: dict[str, Array] = field(default_factory=dict)

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
        return self.timed()

    @cached_property
    def baseline_samples_per_s(self) -> ArrayLike:
        """Throughput that speedups are relative to, in each draw where there are any."""
        return self.reference()

    @cached_property
    def cost(self) -> Cost:
        """What the points cost."""
        return self.costed()

    @cached_property
    def grade(self) -> NDArray[np.int64]:
        """How far the aggregation is from what was measured."""
        return self.graded()

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
        base = self.baseline()
        more = base["goodput"] / self["goodput"]
        # Exactly more where a run takes as many samples, whatever is priced beside it.
        return more * (self.samples_to_target / base["samples_to_target"])

    @cached_property
    def running(self) -> Goodput:
        """What failures and checkpoints leave of a run's time."""
        return self.run()

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
        return billed_s(self.held_s, self.billing)

    def whole_nodes(self) -> Mask:
        """All nodes are full, or there is only one."""
        whole = np.mod(self.gpus, self.gpus_per_node) == 0
        return np.asarray(whole | (self.gpus < self.gpus_per_node))

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
