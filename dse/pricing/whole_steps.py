"""What a user's own rate of several accelerators says of their computing, beside whole steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dse import catalog
from dse.calibration.throughput_part import Throughput
from dse.model.arrays import Array
from dse.pricing.draws import Variation, varied
from dse.pricing.evaluation import Evaluation
from dse.study import Study, Value

MOST_NETWORKS = 16  # on which one rate is priced, of those that a study compares
DRAWS = 200  # of each step
# Logarithms of how much longer computing may take than expected.
TRIED = (-1.0, -0.5, -0.25, -0.1, 0.0, 0.1, 0.25, 0.5, 1.0)
# Of a step's logarithm by that of computing: below it, the rate is one of communication.
LEAST_SHARE = 0.05


class Steps(Protocol):
    """What prices points of a study: :class:`.problem.Problem`."""

    @property
    def study(self) -> Study:
        """What is asked."""

    @property
    def workload(self) -> catalog.Workload:
        """What is trained."""

    def applicable(self, values: Mapping[str, Value | None]) -> dict[str, Value | None]:
        """See :meth:`.problem.Problem.applicable`."""

    def rows(
        self, points: Sequence[Mapping[str, Value | None]], speedup: bool = True
    ) -> list[tuple[NDArray[np.int64], Evaluation]]:
        """See :meth:`.problem.Problem.rows`."""


@dataclass(frozen=True)
class WholeStep:
    """A rate beside the step that a study prices without it.

    log_ratio: by what the logarithm of computing is longer than expected. noise: standard deviation
    of that because of everything else in a step.
    """

    log_ratio: float
    noise: float


def whole_step(
    problem: Steps, drawn: Callable[[float, int], Steps], rate: Throughput
) -> WholeStep | None:
    """A rate of the study's own workload beside its step on the study's networks; None for others.

    ``T(x)`` is the median step where computing takes ``exp(x)`` times as long as expected, over
    draws of all else that is not sure: communication, waiting, the host. The rate says that
    ``T(x) = measured``, and that x is off by the standard deviation of ``log T(x)`` over its slope
    there. A rate does not say its network: where a study compares several, the mean of them counts,
    and what they differ by is noise too.

    problem: without any rates of the user's. drawn: priced in so many draws, with computing off by
    so much in all of them.
    """
    points = list(islice(_points(problem, rate), MOST_NETWORKS))
    if not points:
        return None
    with varied(Variation()):  # whoever asks, and whatever varies for them
        steps = np.stack([-_log_rates(drawn(x, DRAWS), points) for x in TRIED])
    if not np.all(np.isfinite(steps)):
        return None
    measured = -np.log(rate.samples_per_s)
    found = [_solved(of, measured) for of in np.moveaxis(steps, 1, 0)]
    logs, noises = np.array(found).T
    return WholeStep(float(logs.mean()), float(np.hypot(noises.mean(), logs.std())))


def _solved(steps: Array, measured: float) -> tuple[float, float]:
    """x where the median step is the measured one, and its standard deviation.

    steps: logarithms, (tried, draws).
    """
    tried, medians = np.array(TRIED), np.median(steps, axis=-1)
    slopes = np.maximum(np.diff(medians) / np.diff(tried), LEAST_SHARE)
    piece = int(np.clip(np.searchsorted(medians, measured) - 1, 0, len(slopes) - 1))
    x = tried[piece] + (measured - medians[piece]) / slopes[piece]
    return float(x), float(steps[piece].std() / slopes[piece])


def _log_rates(problem: Steps, points: list[dict[str, Value | None]]) -> Array:
    """Logarithms of samples/s, (points,) or (points, draws)."""
    found = [np.empty(0)] * len(points)
    for where, evaluation in problem.rows(points, speedup=False):
        rates = np.asarray(evaluation["throughput"])
        rates = np.broadcast_to(rates, (*rates.shape[:-1], len(where)))
        for number, of in zip(where, np.moveaxis(rates, -1, 0), strict=True):
            found[number] = of
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(np.stack(found))


def _points(problem: Steps, rate: Throughput) -> Iterator[dict[str, Value | None]]:
    """The rate's configuration on each network, and summed in each way, that the study has; all
    that a rate does not say is as in the baseline."""
    study = problem.study
    if rate.layers or rate.gpus < 2:
        return
    if catalog.named_workload(rate.workload).name != problem.workload.name:
        return
    local = min(rate.gpus, rate.gpus_per_node)
    said: dict[str, Value | None] = {
        "gpus": rate.gpus, "batch_per_gpu": rate.batch_per_gpu, "precision": rate.precision,
        "accumulation": rate.accumulation, "stack": rate.stack, "optimizer": rate.optimizer,
    }  # fmt: skip
    if study.values("node"):
        nodes = [catalog.node(str(name)) for name in study.values("node")]
        alike = [node.name for node in nodes if node.accelerator == rate.accelerator
                 and min(rate.gpus, node.accelerators) == local]  # fmt: skip
        if not alike:
            return
        said["node"] = alike[0]
    else:
        said |= {"accelerator": rate.accelerator, "gpus_per_node": local}
    common = {**study.baseline.values, **said}
    for network, summed in product(
        _allowed(problem, "inter_node", common), _allowed(problem, "aggregation", common)
    ):
        choice = {"inter_node": network, "aggregation": summed}
        yield problem.applicable({**common, **choice})


def _allowed(problem: Steps, name: str, point: dict[str, Value | None]) -> tuple[Value | None, ...]:
    """The values of an axis beside those of a point."""
    study = problem.study
    conditions = [one for one in study.conditions if one.axis == name]
    for condition in conditions:
        if all(point.get(other) in values for other, values in condition.requires):
            return condition.values
    if conditions:
        return (None,)
    return study.values(name) or (study.baseline.values.get(name),)
