"""Rates of layouts that a user measured, as they correct what the file of a stack says."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration import Profile
from dse.calibration.fitting.layouts import Run, adjusted, fitted, stalled
from dse.calibration.spread import NORMAL_90, PER_OCTAVE, widened
from dse.calibration.throughput_part import OF_FLOPS, LayoutRate, aggregation_names
from dse.catalog import Workload
from dse.errors import DseError
from dse.model.arrays import Array, ArrayLike
from dse.model.parallel.layouts import Layouts
from dse.model.parallel.step import ParallelStep
from dse.pricing.layout_tables import Placement
from dse.pricing.shapes import Ideal
from dse.study import Value
from dse.study.axes import (
    ACCUMULATION,
    AXES,
    BATCH,
    GLOBAL_BATCH,
    MICRO_BATCH,
    OF_LAYOUT,
    ROWS,
)

# A judgement: what a stack's file says of its spread counts as so many runs.
KNOWN_RUNS = 3.0
NOT_OF_MODEL = {*OF_LAYOUT, "gpus", MICRO_BATCH, ACCUMULATION, "rate", "rate_of"}
OF_MODEL = tuple(one.name for one in fields(LayoutRate) if one.name not in NOT_OF_MODEL)
REACH = ("gpus", *(row.name for row in ROWS if row.divisors))  # as far as rates were measured
OPENS = 4.0  # times as far as measured, from where runs say nothing of how wide an interval is


class Hardware(NamedTuple):
    """Points on one kind of hardware under one schedule. at: which of them."""

    at: NDArray[np.intp]
    model: ParallelStep
    layouts: Layouts


class LaidOutPoints(Protocol):
    """Layouts, see :class:`.laid_out.LaidOut`."""

    @property
    def hardware(self) -> Sequence[Hardware]: ...
    @property
    def ideal(self) -> Ideal: ...
    @property
    def placement(self) -> Placement: ...


# Layouts of a workload as they are before any rate of the user's is seen, and which they are.
Unseen: TypeAlias = Callable[
    [Workload, Sequence[Mapping[str, Value | None]]],
    Iterator[tuple[NDArray[np.int64], LaidOutPoints]],
]


class Spread(NamedTuple):
    """Standard deviations of the logarithms of computing and of exchanges."""

    computing: ArrayLike
    exchange: ArrayLike

    def beyond(self, octaves: Array, unlike: bool) -> Spread:
        """The same so many doublings of nodes beyond those measured, and where steps were measured
        on other generations of accelerators alone; see :mod:`dse.calibration.spread`. From
        :data:`OPENS` times the nodes on, what was measured is of another kind."""
        wider = widened(unlike) * widened(octaves >= np.log2(OPENS))
        return Spread(*(np.hypot(one, PER_OCTAVE * octaves) * wider for one in self))


@dataclass(frozen=True)
class Told:
    """What rates of one stack on one generation of accelerators tell.

    factors: on numbers of :data:`.fitting.layouts.SPREADS`. left: standard deviation of logarithms
    that the fit leaves. told: of computing and of exchanges, in how many rates they are all of the
    step. reach: the largest of each of :data:`REACH`.
    """

    factors: Mapping[str, float]
    left: float
    told: Spread
    reach: Sequence[float]

    def spread(self, usual: Spread, reach: Sequence[Array]) -> Spread:
        """What it was before, and what the rates leave, weighed by how much they tell of it.

        Never below what they leave; as before from :data:`OPENS` times the largest measured.
        """
        times = [each / most for each, most in zip(reach, self.reach, strict=True)]
        beyond = np.max(np.broadcast_arrays(*times), axis=0)
        open_by = np.clip(np.log(beyond) / np.log(OPENS), 0.0, 1.0)

        def known(before: ArrayLike, told: ArrayLike) -> Array:
            squares = KNOWN_RUNS * np.asarray(before) ** 2 + told * np.square(self.left)
            found = np.maximum(np.sqrt(squares / (KNOWN_RUNS + told)), self.left)
            return np.asarray(found + open_by * np.maximum(before - found, 0.0))

        return Spread(*map(known, usual, self.told))


class Measured(NamedTuple):
    """A rate with its step in seconds; out: whether it stalled, so that it tells nothing."""

    rate: LayoutRate
    step_s: float
    out: bool


@dataclass(frozen=True)
class OwnRates:
    """All that profiles have, by what they are of."""

    profiles: Sequence[Profile]
    unseen: Unseen

    @cached_property
    def rates(self) -> tuple[LayoutRate, ...]:
        """Each once."""
        every = (rate for one in self.profiles for rate in one.layouts)
        return tuple(dict.fromkeys(every))

    @cached_property
    def measured(self) -> tuple[Measured, ...]:
        """In their order."""
        flops, peaks = np.ones((2, len(self.rates)))
        if any(rate.rate_of in OF_FLOPS for rate in self.rates):
            for at, placed in self._placed(self.rates):
                flops[at] = placed.ideal.flops / placed.ideal.tokens
                peaks[at] = placed.ideal.peak_flops_per_s
        steps = [rate.step_s(*s) for rate, *s in zip(self.rates, flops, peaks, strict=True)]
        each = [
            step / (rate.passes + rate.pipeline_parallel - 1)
            for rate, step in zip(self.rates, steps, strict=True)
        ]
        like = [(r.workload, r.tensor_parallel, r.pipeline_parallel) for r in self.rates]
        out = stalled(np.array(each), np.array([r.pipeline_parallel for r in self.rates]), like)
        return tuple(map(Measured, self.rates, steps, out.tolist()))

    @cached_property
    def kinds(self) -> Mapping[tuple[str, str], Told]:
        """What they tell, by stack and generation."""
        found = defaultdict(list)
        for one in self.measured:
            if not one.out:
                found[one.rate.stack, generation(one.rate)].append(one)
        return {kind: self._told(rows) for kind, rows in found.items()}

    def of(self, stack: str, generation: str) -> Told | None:
        """What they tell of a stack on a generation; None where there are none."""
        return self.kinds.get((stack, generation)) if self.rates else None

    def refused(self, rate: LayoutRate) -> tuple[str, str, str] | None:
        """Column, problem and remedy of a rate that no layout can have; None of a sound one."""
        workload = catalog.named_workload(rate.workload)
        axes = [MICRO_BATCH, *(axis for axis in OF_LAYOUT if hasattr(rate, axis))]
        nodes = rate.gpus / rate.gpus_per_node
        if nodes > 1 and not rate.node and not rate.inter_node:
            return "gpus", f"gpus: {nodes:g} nodes have no network", "write inter_node, or node"
        try:
            ((_, placed),) = self.unseen(workload, [configuration(rate)])
            rules = placed.placement.rules
        except DseError as cause:
            return "workload", f"it cannot be priced: {cause}", "write another"
        if not np.isfinite(placed.ideal.seconds).all():
            problem = f"precision: {rate.accelerator or rate.node} has no peak in {rate.precision}"
            return "precision", problem, "write another"
        for rule in rules:
            at = next((name for name in axes if name.split("_")[0] in rule), "gpus")
            return at, f"no such layout: {rule}, which is not so here", "see docs/layouts.md"
        return None

    def _placed(
        self, rates: Sequence[LayoutRate]
    ) -> Iterator[tuple[NDArray[np.int64], LaidOutPoints]]:
        """Rates by the points that they are of."""
        of: dict[str, list[int]] = defaultdict(list)
        for row, rate in enumerate(rates):
            of[rate.workload].append(row)
        for name, rows in of.items():
            points = [configuration(rates[row]) for row in rows]
            for at, placed in self.unseen(catalog.named_workload(name), points):
                yield np.array(rows)[at], placed

    def _told(self, rows: Sequence[Measured]) -> Told:
        again: dict[LayoutRate, list[float]] = defaultdict(list)
        for rate, step_s, _ in rows:
            again[rate.unmeasured].append(step_s)
        seconds = np.array([statistics.median(steps) for steps in again.values()])
        like = defaultdict(list)
        for at, placed in self._placed([*again]):
            for one in placed.hardware:
                first = [*again][at[one.at[0]]]
                key = tuple(getattr(first, name) for name in OF_MODEL)
                like[key, one.layouts.schedule].append(
                    Run(one.model, one.layouts, seconds[at[one.at]])
                )
        if not like:
            stack = rows[0].rate.stack
            raise DseError(f"no rate of {stack} is of a layout that it takes; import them again")
        runs = [joined(some) for some in like.values()]
        factors = fitted(runs)
        steps = [adjusted(run.model, factors).step(run.layouts) for run in runs]
        left = np.abs(np.concatenate([
            np.log(run.measured_s / step.step_s) for run, step in zip(runs, steps, strict=True)
        ]))  # fmt: skip
        busy = np.concatenate([
            (step.compute_s + step.update_s) / (step.step_s - step.bubble_s) for step in steps
        ])  # fmt: skip
        told = Spread(float(busy @ busy), float((1 - busy) @ (1 - busy)))
        reach = [float(max(getattr(rate, name) for rate in again)) for name in REACH]
        return Told(factors, float(np.quantile(left, 0.9) / NORMAL_90), told, reach)


def joined(runs: Sequence[Run]) -> Run:
    """Runs of one model and schedule as one."""

    def of(records: Sequence[Any]) -> dict[str, Any]:
        arrays = {k: v for k, v in vars(records[0]).items() if isinstance(v, np.ndarray) and v.ndim}
        return {name: np.concatenate([vars(one)[name] for one in records]) for name in arrays}

    layouts = [run.layouts for run in runs]
    mesh = replace(layouts[0].mesh, **of([one.mesh for one in layouts]))
    whole = replace(layouts[0], mesh=mesh, **of(layouts))
    return Run(runs[0].model, whole, np.concatenate([run.measured_s for run in runs]))


def generation(rate: LayoutRate) -> str:
    """Of the accelerators of a rate."""
    chip = catalog.node(rate.node).accelerator if rate.node else str(rate.accelerator)
    return str(catalog.accelerator(chip).generation)


def configuration(rate: LayoutRate) -> dict[str, Value | None]:
    """The point of a rate: the values of its axes."""
    told = {one.name: getattr(rate, one.name) for one in fields(rate) if one.name in AXES}
    values = {name: value for name, value in told.items() if value is not None}
    values |= {BATCH: rate.micro_batch, ACCUMULATION: rate.passes, GLOBAL_BATCH: None}
    return {**values, "aggregation": aggregation_names()["auto-nccl"]}
