"""Whole steps of rates that say how several accelerators summed their gradients.

A problem prices them as it would before it has seen any rate of the user's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.throughput_part import Throughput
from dse.model.arrays import Array
from dse.model.compute import Device
from dse.model.scale import Scale
from dse.model.stack import Stack
from dse.pricing import throughput
from dse.pricing.anchors import NOBODY
from dse.pricing.computing import Computing, by_law
from dse.pricing.draws import DRAWS, Variation, varied
from dse.pricing.hardware import Machine
from dse.pricing.losses import losses
from dse.pricing.points import Points
from dse.pricing.step_errors import Taken, told_apart
from dse.pricing.study_facts import StudyFacts
from dse.study import Value
from dse.study.definition import Efficiency


class Resolved(StudyFacts, Protocol):
    """What a study's points share, and other ways to price them."""

    @property
    def workload(self) -> catalog.Workload: ...
    @property
    def scale_spread(self) -> Scale: ...
    def supposing(
        self,
        workload: catalog.Workload,
        scale: tuple[Scale, Scale],
        computing: Computing,
        draws: int,
    ) -> Placing:
        """The same of another workload, priced once per draw, with other computing."""
        ...


class Placing(Protocol):
    """What places points."""

    def points_at(self, values: Mapping[str, Value | None]) -> Points:
        """One point given by the values of its axes, before it is priced."""
        ...


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
    step_errors: Taken

    def device(self, machines: Sequence[Machine], precision: str, stack: Stack) -> Device:
        """See :class:`.computing.Computing`."""
        return by_law(machines, precision, stack, self.given, self.profiles)

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
    """A :class:`.throughput.WholeSteps`."""

    problem: Resolved

    def seconds(
        self,
        rate: Throughput,
        workload: catalog.Workload,
        log_factors: Array,
        errors: Mapping[str, Array],
    ) -> Array:
        """See :class:`.throughput.WholeSteps`."""
        with varied(Variation(alone=frozenset())):
            return self._step_s(rate, workload, log_factors, Taken(errors))

    def unsure_of(
        self, rate: Throughput, workload: catalog.Workload, log_factor: float
    ) -> tuple[tuple[str, ...], float]:
        """See :class:`.throughput.WholeSteps`."""
        return self.problem.remember(  # type: ignore[no-any-return]
            ("unsure of", rate, workload.name, log_factor),
            lambda: self._unsure_of(rate, workload, log_factor),
        )

    def _unsure_of(
        self, rate: Throughput, workload: catalog.Workload, log_factor: float
    ) -> tuple[tuple[str, ...], float]:
        drawn, taken = set[str](), Taken()
        with varied(Variation(asked=drawn)):
            self._step_s(rate, workload, np.full(1, log_factor), taken)
        others = drawn.difference(name for name, _ in taken.asked)
        with varied(Variation(alone=frozenset(others))):
            seconds = self._step_s(rate, workload, np.full(DRAWS, log_factor), Taken())
        names = sorted(told_apart(*asked) for asked in taken.asked)
        return tuple(names), float(np.std(np.log(seconds)))

    def _step_s(
        self, rate: Throughput, workload: catalog.Workload, log_factors: Array, taken: Taken
    ) -> Array:
        """(log factors,)."""
        of, count = self.problem, len(log_factors)
        scale = of.scale, of.scale_spread
        if workload.varying_length != of.workload.varying_length:
            scale = losses(of.study, workload)
        profiles = tuple(of.profiles.values())
        computing = Supposed(of.study.efficiency, profiles, log_factors, taken)
        supposed = of.supposing(workload, scale, computing, count)
        step_s = supposed.points_at(throughput.configuration(rate)).step_time().step_s
        return np.broadcast_to(step_s, (count, 1))[:, 0]
