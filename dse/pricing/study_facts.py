"""What all points of a study share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dse.calibration import Profile
from dse.catalog import PriceList
from dse.model import compute, step
from dse.model.arrays import Array, ArrayLike
from dse.model.convergence import Convergence
from dse.model.goodput import Failures
from dse.model.scale import Scale
from dse.model.stack import Stack
from dse.pricing.aggregations import PricedAggregation
from dse.pricing.computing import Computing
from dse.pricing.layout_rates import OwnRates
from dse.pricing.layout_tables import Tables
from dse.pricing.rental import Rental
from dse.pricing.stock import Stock
from dse.study import Study
from dse.study.aggregation_name import AggregationName


class StudyFacts(Protocol):
    """What all points of a study share: see :class:`dse.pricing.problem.Problem`."""

    @property
    def study(self) -> Study: ...
    @property
    def prices(self) -> PriceList: ...
    @property
    def profiles(self) -> Mapping[str, Profile]: ...
    @property
    def draws(self) -> bool: ...
    @property
    def draw_count(self) -> int: ...
    @property
    def layers(self) -> compute.Layers: ...
    @property
    def tensors(self) -> tuple[Array, NDArray[np.intp]]: ...
    @property
    def computing(self) -> Computing: ...
    @property
    def step_model(self) -> step.StepModel: ...
    @property
    def scale(self) -> Scale: ...
    @property
    def lost(self) -> Scale: ...
    @property
    def failures(self) -> Failures: ...
    @property
    def rental(self) -> Rental: ...
    @property
    def start_up_s(self) -> ArrayLike: ...
    @property
    def convergence(self) -> Convergence | None: ...
    @property
    def standing(self) -> Sequence[Stock]: ...
    @property
    def buys_new(self) -> bool: ...
    def stack(self, name: str) -> Stack:
        """Training software of the catalogue."""
        ...

    def images_per_core_s(self, stack: str) -> ArrayLike | None:
        """Images that a core of a host decodes; None where hosts are no limit."""
        ...

    def aggregation(self, name: AggregationName) -> PricedAggregation:
        """One that the study or the catalogue knows."""
        ...

    @property
    def tables(self) -> Tables: ...
    @property
    def own_layouts(self) -> OwnRates: ...
    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """A partial result that several grids share."""
        ...
