"""The factory of aggregations: what a study names, with its costs from profiles or the catalogue.

Here alone it is decided of what kind an aggregation is; all else asks the interface
(:mod:`dse.model.aggregation.base`) and its evidence (:mod:`dse.calibration.evidence`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.calibration.evidence import Evidence, Unmeasured
from dse.calibration.evidence.fits import OfLibraryChoice, OfServers
from dse.calibration.evidence.joined import ByLayoutEvidence, OfRules, of_algorithm
from dse.calibration.ps_part import ServersFit
from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import ALGORITHMS, Algorithm
from dse.model.aggregation.base import Aggregation, Bucketed, Gradients, Layout
from dse.model.aggregation.by_layout import ByLayout
from dse.model.aggregation.composed import Composed, Software
from dse.model.aggregation.library_rules import (
    AUTO,
    BY_NAME,
    MPI_RULES,
    NCCL,
    OPENMPI,
    LibraryRules,
    RulesOf,
    mpi_library,
)
from dse.model.aggregation.measured_library import MeasuredLibrary
from dse.model.aggregation.nccl import NCCL_ALGORITHMS, NcclAllreduce, NcclRules
from dse.model.aggregation.parameter_server import ParameterServer
from dse.model.aggregation.tensorwise import FASTER, Tensorwise
from dse.model.arrays import Array
from dse.model.device_buffers import PointerQueries
from dse.model.links import FREE, StepCost
from dse.model.scale import FEW_NODES
from dse.model.step import PARAMETER_SERVER
from dse.pricing.draws import replicas
from dse.pricing.hardware import SOCKETS
from dse.pricing.nearest_profile import NearestProfile
from dse.pricing.remembered import Remember, Remembered, Wrapped
from dse.pricing.step_errors import StepErrors
from dse.pricing.uncertainty import Drawn, DrawnSums
from dse.study.aggregation_name import AggregationName

if TYPE_CHECKING:
    from dse.catalog import Approach, Transport


# What a library's own algorithms cost where nobody measured them; others are sums of messages.
LIBRARY_PRICES: Mapping[str, Mapping[str, Bucketed]] = {
    NCCL: {name: NcclAllreduce(name) for name in NCCL_ALGORITHMS}
}
FORMULA = "model pai is a formula of which nothing is measured"


@dataclass(frozen=True)
class PricedAggregation:
    """An aggregation of a study, and what speaks for its price.

    approach: of the catalogue, where it is one.
    """

    name: AggregationName
    transport: Transport
    model: Aggregation
    evidence: Evidence
    approach: Approach | None = None

    @property
    def profile(self) -> Profile | None:
        """The profile that prices it; None where the catalogue does."""
        return self.evidence.profile


def few_nodes(profile: Profile | None) -> float:
    """Nodes up to which a network is as fast as it was measured, or as the catalogue has it."""
    return FEW_NODES if profile is None else max(FEW_NODES, float(profile.max_nodes))


def left_to_library(algorithm: str) -> bool:
    """Whether it is no algorithm but that the library chooses."""
    return algorithm == AUTO or algorithm in BY_NAME


@dataclass(frozen=True)
class Factory:
    """Makes the aggregations of a study.

    profiles: by name, in the order of the study. fabrics: by name of a profile, the networks that
    it is for alone. measurable: whether measurements have a part in
    the step model. draws: how many draws of measured costs are priced, along a first axis before
    one of points; 0 for the best fit. remember: keeps prices that several grids share.
    sharing: see :func:`.uncertainty.sums_error`, (draws,). errors: what is known of those of
    communication; None where that is nothing.
    """

    profiles: Mapping[str, Profile]
    fabrics: Mapping[str, frozenset[str]] = field(default_factory=dict)
    measurable: bool = True
    draws: int = 0
    remember: Remember | None = None
    sharing: Array = field(default_factory=lambda: np.zeros(0))
    errors: StepErrors | None = None

    def __call__(self, name: AggregationName) -> PricedAggregation:
        """The aggregation of that name, at the costs of a profile, or of the catalogue where no
        profile has any.

        Where nobody knows how a library chooses, pricing raises OutsideCalibration.
        """
        if name.approach:
            facts = catalog.approach(name.approach)
            why = "priced by what the catalogue says of an approach, which nobody measured here: "
            unknown = _unmeasured(f"{why}{facts.name}", facts.transport, facts.library)
            sums: Aggregation = tensorwise(facts)
            if self.draws or self.errors:
                errors = self.errors or StepErrors()
                sums = DrawnSums(sums, unknown, self.sharing, facts.name, errors)
            return self._judged(name, facts.transport, sums, unknown, facts)
        transport = catalog.transport(name.transport)
        model, evidence = self._made(name.algorithm, transport)
        return self._judged(name, transport, model, evidence)

    def _judged(
        self,
        name: AggregationName,
        transport: Transport,
        model: Aggregation,
        evidence: Evidence,
        approach: Approach | None = None,
    ) -> PricedAggregation:
        judged = evidence if self.measurable else Unmeasured(FORMULA, everywhere=True)
        return PricedAggregation(name, transport, model, judged, approach)

    def _made(self, algorithm: str, transport: Transport) -> tuple[Bucketed, Evidence]:
        """An aggregation over a transport by all profiles that price it, or by none."""
        library = ruling(algorithm, transport.name, self.profiles.values())
        if library is not None:
            model, evidence = self._by_rules(library, transport)
            return self._kept(model, algorithm, transport), evidence
        candidates = self.candidates(algorithm, transport.name)
        parts = [
            self._drawn(*self._measured(algorithm, transport, profile), algorithm, transport)
            for profile in candidates
        ]
        where = "on hardware of this kind" if parts else ""
        elsewhere = self._elsewhere(algorithm, transport, where)
        if not parts or not isinstance(_innermost(elsewhere[0]), Unknown):
            parts.append(elsewhere)
        if len(parts) == 1:
            model, evidence = parts[0]
        else:
            nearest = NearestProfile(
                tuple(part[0] for part in parts),
                tuple(part[1] for part in parts),
                tuple(self._fabrics(profile) for profile in candidates),
            )
            model, evidence = (
                ByLayout(nearest.models, nearest),
                ByLayoutEvidence(nearest.evidence, nearest),
            )
        return self._kept(model, algorithm, transport), evidence

    def _by_rules(self, library: str, transport: Transport) -> tuple[Bucketed, Evidence]:
        """By the rules of a library, whatever prices the algorithms that they choose."""
        rules = self._rules(library, transport)
        parts = {
            known.priced_as: self._made(known.priced_as, transport) for known in rules.algorithms
        }
        model = LibraryRules(
            rules,
            {name: part[0] for name, part in parts.items()},
            leading_axes=1 if self.draws else 0,
        )
        return model, OfRules(tuple(parts[name][1] for name in model.algorithms), model)

    def _rules(self, library: str, transport: Transport) -> RulesOf:
        """Of a library; NCCL's go by its prices, of the best fit where draws are priced."""
        if library != NCCL:
            return MPI_RULES[library]
        best = replace(self, draws=0, sharing=np.zeros(0))
        names = [known.priced_as for known in NcclRules.algorithms]
        return NcclRules({name: best._made(name, transport)[0] for name in names})

    def _elsewhere(
        self, algorithm: str, transport: Transport, where: str
    ) -> tuple[Bucketed, Evidence]:
        """Where no profile applies, in words: by a library's rules, or the catalogue alone."""
        library = ruling(algorithm, transport.name, [
            profile for profile in self.profiles.values()
            if not self._fabrics(profile) and profile.auto is None
        ])  # fmt: skip
        if library is not None:
            return self._by_rules(library, transport)
        why = f"{unmeasured(algorithm, transport.name)} {where}".rstrip()
        evidence = _unmeasured(why, transport, library_of(transport))
        if left_to_library(algorithm):
            return Unknown(AggregationName(algorithm, transport.name)), evidence
        own = LIBRARY_PRICES.get(library_of(transport), {}).get(algorithm)
        model = own or _named(algorithm, self._software(algorithm, transport, None))
        return self._drawn(model, evidence, algorithm, transport)

    def _drawn(
        self, model: Bucketed, evidence: Evidence, algorithm: str, transport: Transport
    ) -> tuple[Bucketed, Evidence]:
        """An aggregation and its evidence. It is off by its error, of a profile the held-out one,
        where draws are priced or rates say something of it."""
        if self.draws or self.errors:
            errors = self.errors or StepErrors()
            model = Drawn(model, evidence, self.sharing, algorithm, errors, transport.name)
        return model, evidence

    def _measured(
        self, algorithm: str, transport: Transport, profile: Profile
    ) -> tuple[Bucketed, Evidence]:
        """As one profile measured it."""
        if algorithm == AUTO:
            assert profile.auto is not None
            choice = MeasuredLibrary(
                profile.auto.cost(), profile.link_bytes_per_s, transport.across.link_efficiency,
                transport.reaches_device, few_nodes(profile),
            )  # fmt: skip
            return choice, OfLibraryChoice(profile, profile.auto, choice)
        software = self._software(algorithm, transport, profile)
        leading = 1 if self.draws else 0
        fit = _servers(profile, algorithm, transport)
        if fit is not None:
            cost = fit.cost(apart=True)
            if self.draws:
                cost = fit.drawn(replicas(len(fit.draws), self.draws), 1, apart=True)
            servers = ParameterServer(software, cost, leading_axes=leading)
            return servers, OfServers(profile, fit, software)
        evidence = of_algorithm(profile, algorithm, software)
        return _named(algorithm, software, leading), evidence

    def _fabrics(self, profile: Profile) -> frozenset[str]:
        """Those that the study has a profile for alone; empty for any."""
        return next(
            (self.fabrics.get(name, frozenset()) for name, own in self.profiles.items()
             if own is profile),
            frozenset(),
        )  # fmt: skip

    def _software(self, algorithm: str, transport: Transport, profile: Profile | None) -> Software:
        """What a message costs besides the wire: as measured, else as the catalogue has it."""
        servers = None if profile is None else _servers(profile, algorithm, transport)
        between = profile.network.get(algorithm) if profile is not None else None
        timed = between is not None
        if profile is not None and servers is None:
            gamma = profile.gamma_s_per_byte
            if profile.fits:
                within = across = self._step_cost(algorithm, profile)
            if between is not None:
                across = between.host
                within = within if profile.fits else across
        else:
            within = StepCost(transport.within.latency_s, (transport.within.s_per_byte,))
            across = StepCost(transport.across.latency_s, (transport.across.s_per_byte,))
            known = profile.gamma_s_per_byte if profile is not None else 0.0
            gamma = known or transport.gamma_s_per_byte
        if servers is not None:
            timed = servers.link_bytes_per_s[1] > 0
        if algorithm == PARAMETER_SERVER and not transport.reaches_device:
            # The accelerators of a worker meet in the memory of its one process: the copies there
            # are counted as staging, so only the sum is left, a share of it per accelerator.
            within = FREE
        crossing = None
        if between is not None and between.link_bytes_per_s[1] > 0:
            crossing = between.crossing
        return Software(
            within,
            across,
            gamma,
            transport.reaches_device,
            transport.multirail,
            # What a link reaches is in the fitted factors; those go with its nominal speed.
            transport.across.link_efficiency if timed else 1.0,
            crossing,
            few_nodes(profile),
        )

    def _step_cost(self, algorithm: str, profile: Profile) -> StepCost:
        """The software's part as it was fitted, or as many draws of it as are priced."""
        if not self.draws:
            return profile.fit(algorithm).step()
        available = len(profile.fit(algorithm).draws)
        return profile.fit(algorithm).step_draws(replicas(available, self.draws))

    def _kept(self, model: Bucketed, algorithm: str, transport: Transport) -> Bucketed:
        if self.remember is None:
            return model
        key = (algorithm, transport.name, self.draws)
        return Remembered(model, self.remember, key)

    def known(self, name: AggregationName) -> bool:
        """Whether anybody knows how the aggregation is done."""
        return not isinstance(_innermost(self(name).model), Unknown)

    def candidates(self, algorithm: str, transport: str) -> tuple[Profile, ...]:
        """The profiles that price the algorithm over the transport, in the order of the study.

        One with fits prices every named algorithm, one with ``network`` fits those that it was
        measured with between nodes, one with an ``auto`` part the library's choice. Parameter
        servers that were measured come before what fits of allreduce say of them, on the networks
        that they are for.
        """
        if algorithm in BY_NAME:
            return ()  # rules choose, whatever was measured
        profiles = self.profiles.values()
        measured_servers: tuple[Profile, ...] = ()
        taken: frozenset[str] = frozenset()
        if algorithm == PARAMETER_SERVER:
            measured_servers = tuple(profile for profile in profiles if transport in profile.ps)
            if any(not self._fabrics(profile) for profile in measured_servers):
                return measured_servers
            taken = frozenset().union(*(self._fabrics(profile) for profile in measured_servers))
        return measured_servers + tuple(
            profile
            for profile in profiles
            if profile.transport == transport
            and all(profile is not other for other in measured_servers)
            and not (taken & self._fabrics(profile))
            and (
                profile.auto is not None
                if algorithm == AUTO
                else bool(profile.fits) or algorithm in profile.network
            )
        )


def _named(algorithm: str, software: Software, leading_axes: int = 0) -> Bucketed:
    """Composed of its steps, or parameter servers that cost what the software does."""
    if algorithm == PARAMETER_SERVER:
        return ParameterServer(software, leading_axes=leading_axes)
    return Composed(ALGORITHMS[algorithm], software, leading_axes=leading_axes)


def _servers(profile: Profile, algorithm: str, transport: Transport) -> ServersFit | None:
    """Parameter servers as the profile measured them over the transport, if that is asked."""
    return profile.servers(f"{algorithm}-{transport.name}")


def _innermost(model: Aggregation) -> Aggregation:
    """The aggregation itself, without the wrappers that draw or remember its prices."""
    while isinstance(model, Wrapped):
        model = model.inner
    return model


def _unmeasured(why: str, transport: Transport, library: str) -> Unmeasured:
    """Nobody measured it; NCCL is as unsure as its sockets where there is no RDMA."""
    over = catalog.transport(SOCKETS) if library == NCCL else transport
    return Unmeasured(why, spread=transport.log_spread, socket_spread=over.log_spread)


def unmeasured(algorithm: str, transport: str) -> str:
    """A clause which says that no profile has measured the algorithm."""
    return f"no profile of this study has measured {algorithm} over {transport}"


def ruling(algorithm: str, transport: str, known: Iterable[Profile]) -> str | None:
    """The library whose rules choose the algorithm; None if none do.

    ``auto`` is what was measured, where a profile has that. Else it is the rules of the library
    that the first profile of the transport was measured with, Open MPI's for one without rules.
    """
    libraries = catalog.transport(transport).libraries
    if algorithm in BY_NAME:
        return BY_NAME[algorithm] if BY_NAME[algorithm] in libraries else None
    mine = [profile for profile in known if profile.transport == transport]
    if algorithm != AUTO or not libraries or any(profile.auto for profile in mine):
        return None
    named = [profile.library for profile in mine if profile.fits or profile.network]
    return mpi_library(named[0]) if named and OPENMPI in libraries else libraries[0]


def library_of(transport: Transport) -> str:
    """The library that runs over a transport where no profile says which; '' if none is known."""
    return next(iter(transport.libraries), "")


def tensorwise(facts: Approach, phases: int | None = None) -> Tensorwise:
    """An approach of the catalogue. phases: of tensor fusion, in place of the usual ones."""
    serving = facts.algorithm == PARAMETER_SERVER
    algorithms: tuple[Algorithm, ...] = FASTER if facts.algorithm == catalog.BEST else ()
    if facts.algorithm in ALGORITHMS:
        algorithms = (ALGORITHMS[facts.algorithm],)
    own = {} if phases is None else {"phases": phases}
    return Tensorwise(
        algorithms,
        serving,
        StepCost(facts.message_s, (facts.copy_s_per_byte,)),
        facts.reaches_device,
        facts.multirail,
        facts.streams,
        facts.buffer_bytes,
        facts.cycle_s,
        PointerQueries(facts.queries, facts.query_s),
        facts.sum_s_per_byte,
        facts.sum_start_s,
        over_nccl=facts.library == NCCL,
        **own,
    )


@dataclass(frozen=True)
class Unknown(Bucketed):
    """What nobody can price: the choice of a library of which neither rules nor runs are known."""

    name: AggregationName

    @property
    def axes(self) -> frozenset[str]:
        """None that are known."""
        return frozenset()

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """Raises OutsideCalibration."""
        del message_bytes, gradients, layout
        raise OutsideCalibration(
            f"{self.name}: neither rules nor a profile say what the library chooses there; "
            "name an algorithm such as ring, or fit a log of it"
        )

    def bounded(self, gradients: Gradients, layout: Layout) -> bool:
        """Never."""
        del gradients, layout
        return False
