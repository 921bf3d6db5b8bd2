"""A study resolved against catalogue, prices and calibration: what all of its points share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration import Profile
from dse.model import compute, goodput
from dse.model.arrays import Array, ArrayLike
from dse.model.convergence import Convergence
from dse.model.goodput import Failures
from dse.model.pai import PaiStep
from dse.model.scale import IDEAL, Scale
from dse.model.stack import Stack
from dse.model.step import OverlappedStep, StepModel
from dse.pricing import devices, market, target, uncertainty
from dse.pricing.aggregations import Factory, PricedAggregation
from dse.pricing.computing import ByLaws, ByShares, Computing
from dse.pricing.draws import log_normal, normal
from dse.pricing.layout_rates import OwnRates
from dse.pricing.layout_tables import Tables
from dse.pricing.network import model_layers
from dse.pricing.remembered import PartialResults
from dse.pricing.rental import Rental
from dse.pricing.step_errors import LAUNCH, StepErrors
from dse.pricing.stock import Stock
from dse.study import PAI, Study, Value
from dse.study.aggregation_name import AggregationName
from dse.study.axes import RENTAL
from dse.study.definition import REAL

STEP_MODELS: Mapping[str, StepModel] = {"calibrated": OverlappedStep(), PAI: PaiStep()}


@dataclass
class StudyFacts(ABC):
    """What all points of a study share; :class:`.problem.Problem` makes and prices the points.

    profiles: calibration profiles by their name in the study, in its order. scale: what
    accelerators that work together lose; scale_spread: the standard deviation of the logarithm of
    each of its terms. draws: how many of all that is not sure are priced, along a first axis of
    every term that depends on it; 0 for the best estimate. mix: the workloads that share the
    cluster, a :class:`.mix.Mix`; None where there is one alone.
    """

    study: Study
    workload: catalog.Workload
    prices: catalog.PriceList
    profiles: Mapping[str, Profile]
    scale: Scale = IDEAL
    scale_spread: Scale = IDEAL
    draws: int = 0
    mix: Any = None
    _results: PartialResults = field(default_factory=PartialResults, init=False)

    @abstractmethod
    def points_at(self, values: Mapping[str, Value | None]) -> Any:
        """One point given by the values of its axes, before it is priced."""

    @property
    @abstractmethod
    def baseline(self) -> Mapping[str, Array]:
        """The quantities of the study's baseline, shape (1,)."""

    @property
    @abstractmethod
    def standing(self) -> Sequence[Stock]:
        """What the study owns already, counted."""

    @property
    @abstractmethod
    def own_layouts(self) -> OwnRates:
        """The rates of layouts in its profiles."""

    @cached_property
    def tables(self) -> Tables:
        """The layouts of the study's transformer."""
        return Tables(self.study, self.workload)

    @cached_property
    def layers(self) -> compute.Layers:
        """The workload as the model wants it."""
        return model_layers(self.workload)

    @cached_property
    def tensors(self) -> tuple[Array, NDArray[np.intp]]:
        """Elements of every gradient tensor and its layer, in forward order."""
        return catalog.gradient_tensors(self.workload)

    @cached_property
    def step_model(self) -> StepModel:
        """How the time of a step follows from its parts."""
        return STEP_MODELS[self.study.model]

    @cached_property
    def convergence(self) -> Convergence | None:
        """How many samples a run trains on; draws of it, (draws,), where these are priced; None
        where the study has no target."""
        curve = target.convergence(self.study, self.workload)
        if curve is None or not self.draws:
            return curve
        return target.drawn(curve, target.quality_of(self.study), self.draws)

    @cached_property
    def computing(self) -> Computing:
        """How fast accelerators train the workload."""
        given, profiles = self.study.efficiency, tuple(self.profiles.values())
        if given.compute is not None or not self.step_model.measurable:
            return ByShares(given, profiles)
        return ByLaws(self.workload, given, profiles, partial(getattr, self, "anchors"))

    def stack(self, name: str) -> Stack:
        """Training software of the catalogue, its launches as long as rates of whole steps say."""
        found, errors = devices.software(name), self.computing.step_errors
        if self.draws or errors is None:
            return found
        error = np.exp(catalog.computing().launch_log_spread * errors.drawn(LAUNCH, 0))
        return replace(found, launch_s=found.launch_s * error)

    @cached_property
    def factory(self) -> Factory:
        """Makes the study's aggregations."""
        return Factory(
            self.profiles,
            self.study.fabrics,
            self.step_model.measurable,
            self.draws,
            self.remember,
            normal("scale: sharing", self.draws),
            self.computing.step_errors,
        )

    def aggregation(self, name: AggregationName) -> PricedAggregation:
        """One of the study's aggregations, or another that the catalogue knows."""
        return self.remember(("aggregation", name), lambda: self.factory(name))  # type: ignore[no-any-return]

    @cached_property
    def lost(self) -> Scale:
        """The terms of :attr:`scale`, but for sharing as many draws as are priced, (draws,)."""
        scale, spread, errors = self.scale, self.scale_spread, self.computing.step_errors
        if not self.draws and errors is None:
            return scale
        return uncertainty.drawn_scale(scale, spread, errors or StepErrors(), self.draws)

    @cached_property
    def failures(self) -> Failures:
        """How often a run stops and what that costs, or as many draws as are priced, (draws,).

        What the study gives is certain; what the catalogue has differs from cluster to cluster,
        log-normal, by one factor for all points.
        """
        study = self.study.failures
        if study.ideal:
            return goodput.IDEAL
        known = catalog.failure_terms()

        def term(name: str) -> ArrayLike:
            if name in study.given:
                return study.given[name]
            own = known.terms[name]
            return log_normal(own.value, own.draws, f"failures {name}", self.draws)

        return Failures(
            per_accelerator_s=term("per_accelerator_month") / goodput.SECONDS_PER_MONTH,
            per_job_s=term("per_job_day") / goodput.SECONDS_PER_DAY,
            whole_job=known.whole_job,
            recover_s=term("recover"),
            checkpoint_s=term("checkpoint"),
            interval_s=study.given.get("interval"),
        )

    def rental(self, term: Value | None = None) -> Rental:
        """A term that machines are rented on, that of all where none is named, or as many draws of
        it as are priced."""
        given = self.study.rental
        rental = given if term is None else replace(given, term=str(term))
        awaited = self.study.target is not None and market.rents(self.study)
        awaited &= not rental.committed
        use = self.study.ownership.utilisation
        return Rental(rental, self.draws, awaited, use, self.prices.rent_class)

    @property
    def rentals(self) -> tuple[Rental, ...]:
        """All terms that the study may rent on."""
        return tuple(map(self.rental, self.study.values(RENTAL) or (None,)))

    def images_per_core_s(self, stack: str) -> ArrayLike | None:
        """Images that a core of a host decodes, or as many draws of it as are priced; None where
        hosts are no limit."""
        real = self.study.input == REAL and self.step_model.measurable
        known = catalog.decoding()
        rate = known.images_per_core_s.get(stack)
        if rate is None or not (real and self.workload.decoded):
            return None
        return log_normal(rate, known.spread, "decoding", self.draws)

    @cached_property
    def buys_new(self) -> bool:
        """Whether only what is sold new may be recommended: see :mod:`.market`."""
        return market.buys_new(self.study, self.prices)

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """A partial result shared by several boxes; ``key`` None is not remembered."""
        return self._results.remember(key, make)
