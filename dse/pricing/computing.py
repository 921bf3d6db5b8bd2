"""How long accelerators compute, by what that may err, and what stands behind it.

Laws of their generations, corrected by training that others published and by rates of the user's
own; or shares of their peaks in place of both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dse import catalog
from dse.calibration import Profile
from dse.model.arrays import Array
from dse.model.compute import Device
from dse.model.scale import IDEAL, Scale
from dse.model.stack import Stack
from dse.pricing import anchors, devices, throughput, uncertainty
from dse.pricing.efficiency import log_spreads
from dse.pricing.hardware import Machine
from dse.pricing.step_errors import StepErrors
from dse.study import PAI, Study
from dse.study.definition import Efficiency

IDEAL_SCALE = "ideal"  # a study's word for it
GIVEN = "given"  # a share of peak in place of laws and corrections


class Computing(Protocol):
    """What a problem knows of how fast accelerators train its workload."""

    @property
    def step_errors(self) -> StepErrors | None:
        """What rates of the user's own say of the errors of a step besides; None where nothing."""
        ...

    def device(self, machines: Sequence[Machine], precision: str, stack: Stack) -> Device:
        """What accelerators reach; arrays (machines,)."""
        ...

    def errors(
        self, machines: Sequence[Machine], precision: str, stack: Stack, draws: int
    ) -> Array:
        """Factors by which passes and update on accelerators may err, (draws, machines)."""
        ...

    def known(self, machine: Machine, precision: str, stack: Stack) -> str:
        """What stands behind it: :func:`.anchors.known`, or GIVEN."""
        ...


@dataclass(frozen=True)
class ByShares:
    """Shares of the peaks, as the study or its model gives them."""

    given: Efficiency
    profiles: tuple[Profile, ...]

    @property
    def step_errors(self) -> None:
        """See :class:`Computing`: rates correct laws, which have no part in it."""
        return None

    def device(self, machines: Sequence[Machine], precision: str, stack: Stack) -> Device:
        """See :class:`Computing`."""
        del stack
        return devices.by_share(machines, precision, self.given.compute, self.given.memory)

    def errors(
        self, machines: Sequence[Machine], precision: str, stack: Stack, draws: int
    ) -> Array:
        """See :class:`Computing`."""
        del stack
        chips = [machine.accelerator for machine in machines]
        spreads = log_spreads(self.given.compute, self.profiles, chips, precision)
        return uncertainty.compute_factors([one.name for one in chips], precision, spreads, draws)

    def known(self, machine: Machine, precision: str, stack: Stack) -> str:
        """See :class:`Computing`."""
        del machine, precision, stack
        return GIVEN


@dataclass(frozen=True)
class ByLaws:
    """Laws of the generations, as training that others published, and the user's own rates, correct
    them. corrections: gives the anchors, once they are asked for."""

    workload: catalog.Workload
    given: Efficiency
    profiles: tuple[Profile, ...]
    corrections: Callable[[], catalog.Anchors]

    @property
    def step_errors(self) -> StepErrors | None:
        """See :class:`Computing`: of rates of several accelerators that say how these summed their
        gradients."""
        rates = (rate for profile in self.profiles for rate in throughput.applicable(profile))
        return StepErrors(self.corrections) if any(rate.stated for rate in rates) else None

    def device(self, machines: Sequence[Machine], precision: str, stack: Stack) -> Device:
        """See :class:`Computing`."""
        left = [
            anchors.log_factor(self.corrections(), kind)
            for kind in self._kinds(machines, precision, stack)
        ]
        return devices.under(
            machines, precision, stack.name, left, self.profiles, self.given.memory
        )

    def errors(
        self, machines: Sequence[Machine], precision: str, stack: Stack, draws: int
    ) -> Array:
        """See :class:`Computing`."""
        kinds = self._kinds(machines, precision, stack)
        chips = [machine.accelerator for machine in machines]
        spreads = log_spreads(self.given.compute, self.profiles, chips, precision)
        return anchors.drawn_errors(self.corrections(), kinds, spreads, draws)

    def known(self, machine: Machine, precision: str, stack: Stack) -> str:
        """See :class:`Computing`."""
        (kind,) = self._kinds([machine], precision, stack)
        return anchors.known(self.corrections(), kind)

    def _kinds(
        self, machines: Sequence[Machine], precision: str, stack: Stack
    ) -> list[Mapping[str, str]]:
        """The kind of training on each machine, as anchors tell kinds apart."""
        return [
            throughput.kind_of(self.workload, machine.accelerator, precision, stack.name)
            for machine in machines
        ]


def losses(study: Study, workload: catalog.Workload) -> tuple[Scale, Scale]:
    """What accelerators lose to one another, and standard deviations of the logarithms of these
    terms; nothing by the closed model, which knows of none."""
    if study.scale == IDEAL_SCALE or study.model == PAI:
        return IDEAL, IDEAL
    terms = catalog.scale_terms()
    spread = terms.varying_spread if workload.varying_length else terms.spread
    parts = (spread, terms.slowdown, terms.sharing, terms.cloud_sharing)
    return Scale(*(part.value for part in parts)), Scale(*(part.draws for part in parts))
