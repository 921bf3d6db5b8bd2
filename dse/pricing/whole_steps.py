"""The anchors as a user's own training rates correct them, those of whole steps among them.

The whole steps of rates that say how several accelerators summed their gradients are priced as they
would be before any rate of the user's is seen.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput
from dse.catalog import Anchors, Workload
from dse.errors import DseError
from dse.model.arrays import Array
from dse.model.compute import Device
from dse.model.stack import Stack
from dse.pricing import anchors, devices, throughput
from dse.pricing.anchors import NOBODY
from dse.pricing.computing import losses
from dse.pricing.draws import DRAWS, Variation, varied
from dse.pricing.hardware import Machine
from dse.pricing.step_errors import StepErrors, told_apart
from dse.pricing.study_facts import StudyFacts
from dse.study.definition import Efficiency

# The step of a rate that says how gradients were summed is a sum and maximum of terms, linear only
# nearby: it is made linear again where the correction has come to, until that stays.
ROUNDS, SETTLED = 8, 2e-3
NEARBY = 0.05  # of the logarithm of computing: half of what its share of the step is told from
# A step that is mostly something else does not tell that software is unusual: only very unusual
# software would explain it. A judgement.
TELLING = 0.5  # share of the step that is computing
# Errors of a step besides computing are standard normal: half of what their weights are told from.
BESIDE = 0.5


@dataclass(frozen=True)
class Supposed:
    """A :class:`.computing.Computing` that takes so many times as long as its rows of work say, and
    of which no rate was seen.

    log_factors: the logarithm of that, of all accelerators, (draws,). step_errors: by what the rest
    of the step errs.
    """

    given: Efficiency
    profiles: tuple[Profile, ...]
    log_factors: Array
    step_errors: StepErrors

    def device(self, machines: Sequence[Machine], precision: str, stack: Stack) -> Device:
        """See :class:`.computing.Computing`."""
        return devices.under(machines, precision, stack.name, (), self.profiles, self.given.memory)

    def errors(
        self, machines: Sequence[Machine], precision: str, stack: Stack, draws: int
    ) -> Array:
        """See :class:`.computing.Computing`."""
        del precision, stack, draws
        return np.repeat(np.exp(self.log_factors)[:, None], len(machines), axis=1)

    def known(self, machine: Machine, precision: str, stack: Stack) -> str:
        """See :class:`.computing.Computing`."""
        del machine, precision, stack
        return NOBODY


@dataclass(frozen=True)
class WholeSteps:
    """Whole steps of rates that say how gradients were summed, before any rate is seen."""

    problem: StudyFacts

    def seconds(
        self,
        rate: Throughput,
        workload: Workload,
        log_factors: Array,
        errors: Mapping[str, Array],
    ) -> Array:
        """Of one step under several suppositions, (suppositions,).

        log_factors: the logarithm of the factor by which computing takes longer than its rows of
        work. errors: by what the step errs besides, see :mod:`.step_errors`; all (suppositions,).
        """
        with varied(Variation(alone=frozenset())):
            return self._step_s(rate, workload, log_factors, StepErrors(taken=errors))

    def unsure_of(
        self, rate: Throughput, workload: Workload, log_factor: float
    ) -> tuple[tuple[str, ...], float]:
        """The names of these errors, and the standard deviation of the logarithm of the step by all
        that is neither they nor computing."""

        def unsure() -> tuple[tuple[str, ...], float]:
            drawn, taken = set[str](), StepErrors()
            with varied(Variation(asked=drawn)):
                self._step_s(rate, workload, np.full(1, log_factor), taken)
            others = drawn.difference(name for name, _ in taken.asked)
            with varied(Variation(alone=frozenset(others))):
                seconds = self._step_s(rate, workload, np.full(DRAWS, log_factor), StepErrors())
            names = sorted(told_apart(*asked) for asked in taken.asked)
            return tuple(names), float(np.std(np.log(seconds)))

        key = ("unsure of", rate, workload.name, log_factor)
        return self.problem.remember(key, unsure)  # type: ignore[no-any-return]

    def _step_s(
        self, rate: Throughput, workload: Workload, log_factors: Array, taken: StepErrors
    ) -> Array:
        """(log factors,)."""
        of, count = self.problem, len(log_factors)
        terms, spread = of.scale, of.scale_spread
        if workload.varying_length != of.workload.varying_length:
            terms, spread = losses(of.study, workload)
        supposed = replace(of, workload=workload, scale=terms, scale_spread=spread, draws=count)
        profiles = tuple(of.profiles.values())
        computing = Supposed(of.study.efficiency, profiles, log_factors, taken)
        supposed.__dict__["computing"] = computing
        step_s = supposed.points_at(throughput.configuration(rate)).step_time().step_s
        return np.broadcast_to(step_s, (count, 1))[:, 0]


def corrected(known: Anchors, profiles: Iterable[Profile], whole: WholeSteps) -> Anchors:
    """Anchors that have seen the rates in profiles, see :func:`.anchors.conditioned`.

    A rate of several accelerators that says how they summed their gradients is compared with their
    whole step, to which computing contributes the share that scales with it; all other rates with
    computing alone. whole: prices such a step without any rate of the user's. Raises
    :class:`~dse.errors.DseError` where a rate is of a workload, stack or aggregation that is not
    there.
    """
    profiles = tuple(profiles)
    own = _merged(throughput.repeated_rates(profiles).elements())
    every = [(row, throughput.workload_of(row)) for row in own]
    rows = [one for one in every if not throughput.by_host(one[0], profiles)]
    if not rows:
        return known
    kinds = [_kind(row, workload) for row, workload in rows]
    batches = [anchors.between_batches(known, workload.family) for _, workload in rows]
    seen = [
        _Stated(row, workload, whole, anchors.log_factor(known, kind))
        if row.stated
        else _alone(row, workload, profiles)
        for (row, workload), kind in zip(rows, kinds, strict=True)
    ]
    found = known
    for _ in range(ROUNDS):
        lines = [one.linear(found, kind) for one, kind in zip(seen, kinds, strict=True)]
        y, share, rest = (np.array([line[at] for line in lines]) for at in range(3))
        errors = [line.errors for line in lines]
        told = anchors.Rows(kinds, y, np.hypot(batches, rest), share, errors)
        likely = anchors.with_likeliest_source(known, told.take(np.flatnonzero(share >= TELLING)))
        before, found = found, anchors.conditioned(likely, told)
        if not any(errors) or (len(before.mean) == len(found.mean) and np.allclose(
            before.mean, found.mean, rtol=0, atol=SETTLED
        )):  # fmt: skip
            break
    return found


def _kind(row: Throughput, workload: Workload) -> Mapping[str, str]:
    """The kind of training of a rate. Blocks are timed in dse's code, not in the user's."""
    accelerator = catalog.accelerator(row.accelerator)
    kind = throughput.kind_of(workload, accelerator, row.precision, row.stack)
    return {name: of for name, of in kind.items() if not row.layers or name != anchors.OWN_CODE}


class _Line(NamedTuple):
    """What a rate says of the logarithm of its computing's factor, f, and of the errors e of its
    step besides: ``y = share f + errors . e`` and noise.

    rest: standard deviation of y for all but what batches differ by.
    """

    y: float
    share: float
    rest: float
    errors: Mapping[str, float]

    def linear(self, known: Anchors, kind: Mapping[str, str]) -> _Line:
        """It is, wherever the correction comes to."""
        del known, kind
        return self


def _alone(row: Throughput, workload: Workload, profiles: tuple[Profile, ...]) -> _Line:
    """Compared with the computing of one accelerator, by how much longer several usually take."""
    modelled = throughput.modelled_s(row, workload, profiles, launch=0.0)
    longer = throughput.TOGETHER * throughput.several(row)
    return _Line(float(np.log(row.pass_s / modelled) - longer), 1.0, throughput.noise_of(row), {})


@dataclass(frozen=True)
class _Stated:
    """A rate compared with its whole step, a sum and maximum of terms that is linear nearby.

    expected: the logarithm of the factor of computing before any rate is seen.
    """

    row: Throughput
    workload: Workload
    whole: WholeSteps
    expected: float

    def linear(self, known: Anchors, kind: Mapping[str, str]) -> _Line:
        """``log step`` about what is known: ``share = d log step / d f``, and likewise errors."""
        factor = anchors.log_factor(known, kind)
        names, rest = self.unsure
        about = np.array([factor, *(anchors.step_error(known, name) for name in names)])
        # Rows: what is known, and each number more and less than that.
        by = np.diag([NEARBY, *(BESIDE for _ in names)])
        supposed = about + np.concatenate([np.zeros((1, len(about))), by, -by])
        known_step, *others = self.log_steps(supposed)
        more, less = np.split(np.array(others), 2)
        slopes = (more - less) / (2 * np.diag(by))
        left = np.log(self.row.pass_s * self.row.accumulation) - known_step
        share, *weights = slopes.tolist()
        told = {name: weight for name, weight in zip(names, weights, strict=True) if weight}
        return _Line(float(left + slopes @ about), share, rest, told)

    @cached_property
    def unsure(self) -> tuple[tuple[str, ...], float]:
        """See :meth:`WholeSteps.unsure_of`, before any rate is seen."""
        try:
            return self.whole.unsure_of(self.row, self.workload, self.expected)
        except DseError as cause:  # what the catalogue does not know of a library or a link
            raise DseError(f"{self.name}: {cause}") from None

    @property
    def name(self) -> str:
        """In words."""
        row = self.row
        return f"your rate of {row.what} on {row.gpus:,} {row.accelerator} over {row.over}"

    def log_steps(self, supposed: Array) -> Array:
        """Logarithms of the seconds of a whole step under several suppositions of f and e, which
        are (suppositions, 1 + errors).

        Raises :class:`~dse.errors.DseError` where it has no price.
        """
        factors, *errors = supposed.T
        taken = dict(zip(self.unsure[0], errors, strict=True))
        seconds = self.whole.seconds(self.row, self.workload, factors, taken)
        if not np.all(np.isfinite(seconds)):
            raise DseError(f"{self.name}: its step cannot be priced")
        return np.asarray(np.log(seconds))


def _merged(rows: Iterable[Throughput]) -> list[Throughput]:
    """Repetitions of one configuration as one rate, their median: they err together."""
    return [
        replace(row, samples_per_s=statistics.median(one.samples_per_s for one in alike))
        for row, alike in throughput.by_configuration(rows).items()
    ]
