"""The intervals of a point: how far off its computing, communication and prices may be, by draws.

Every draw prices the whole step, of the point and of the baseline, so that what both have in common
cancels in the speedup. Computing errs as :func:`.anchors.drawn_errors` says, or, where a study
gives shares of the peaks, by one factor an accelerator (:func:`compute_factors`); communication by
the bootstrap draws of fitted costs and one factor an aggregation (:class:`Drawn`), as wide as its
evidence says (:mod:`dse.calibration.spread`); what accelerators lose to one another by the spread
from system to system (:func:`drawn_scale`, :func:`sums_error`); prices by
:mod:`.unit_price`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.calibration.evidence import Evidence, Grade, Surroundings
from dse.calibration.spread import held_out_spread
from dse.model.aggregation.algorithms import node_count
from dse.model.aggregation.base import Bucketed, Gradients, Layout, Summed
from dse.model.arrays import Array, ArrayLike
from dse.model.passes import LayerTimes
from dse.model.scale import FEW_NODES, Scale
from dse.pricing.draws import log_normal, normal
from dse.pricing.remembered import Wrapped
from dse.pricing.step_errors import COMMUNICATION, SLOWDOWN, WAITING, StepErrors

SIDES = ("inside", "outside")  # of what was measured: their errors are independent
INTERVAL = (5.0, 95.0)  # percentiles of the draws: a 90 % interval
OF_COST = ("capital", "hourly", "tco", "power")  # what every point costs
OF_RUN = (
    "time_to_target",
    "per_run",
    "energy",
    "carbon",
)  # that have one where a study has a target
# Of a step at 70 % of both peaks: median error and the 90th percentile on 303 published rates that
# nothing in it is fitted to (`make accuracy`, "dse at 70 % of both peaks").
SHARES_SPREAD = held_out_spread(0.25, 0.83)
# Of what a link moves at 70 % of its bandwidth, in the closed model: a judgement, as much as the
# catalogue's prices of MPI err (models/transports/mpi.yaml), which count latency and steps besides.
# The paper is known from notes that have no error of it.
LINKS_SPREAD = 0.50


def compute_factors(
    accelerators: Sequence[str], precision: str, log_spreads: Sequence[float], draws: int
) -> Array:
    """Factors by which a step at given shares of the peaks errs, (draws, accelerators).

    Log-normal; log_spreads: of measured efficiencies, which add their own interval. Points on the
    same accelerator at the same precision err together, so that the error cancels in their ratio;
    on others independently.
    """
    drawn = np.stack([
        normal(f"computing: {name} {precision}", draws) for name in accelerators
    ], axis=-1)  # fmt: skip
    width = np.hypot(SHARES_SPREAD, np.asarray(log_spreads))
    return np.asarray(np.exp(width * drawn))


def link_factors(link: str, draws: int) -> ArrayLike:
    """Factors by which a closed model's time on one kind of link errs, (draws,), log-normal; 1
    where there are none."""
    return log_normal(1.0, LINKS_SPREAD, f"links: {link}", draws)


@dataclass(frozen=True)
class Drawn(Wrapped, Bucketed):  # type: ignore[override]
    """Another aggregation, every draw of it off by the error that its evidence says.

    One factor for all messages of a step, log-normal: they err together, and so do two points of
    the same algorithm on the same side of the measured range; errors of others are independent.
    Prices have an axis of draws, if there are any, before those of the points. sharing, errors,
    transport: see :func:`sums_error`.
    """

    inner: Bucketed
    evidence: Evidence
    sharing: Array
    algorithm: str
    errors: StepErrors
    transport: str

    @property
    def leading_axes(self) -> int:  # type: ignore[override]
        return 1 if len(self.sharing) else 0

    def message_s(self, message_bytes: Array, gradients: Gradients, layout: Layout) -> Array:
        """(sizes, draws, *S)."""
        seconds = self.inner.message_s(message_bytes, gradients, layout)
        error = sums_error(
            self.evidence, self.algorithm, self.sharing, self.errors, gradients, layout,
            self.transport,
        )  # fmt: skip
        return np.asarray(seconds * error)


def drawn_scale(scale: Scale, spread: Scale, errors: StepErrors, draws: int) -> Scale:
    """Its terms as draws, (draws,), log-normal; where there are none, as they are expected to be.
    Sharing stays (:func:`sums_error`).

    Communication beside the backward pass slows it down by no more than it would take after it.
    """
    waiting, slowdown = (np.asarray(errors.drawn(name, draws)) for name in (WAITING, SLOWDOWN))
    return replace(
        scale,
        spread=scale.spread * np.exp(spread.spread * waiting),
        slowdown=np.minimum(scale.slowdown * np.exp(spread.slowdown * slowdown), 1.0),
    )


def sums_error(
    evidence: Evidence,
    name: str,
    sharing: Array,
    errors: StepErrors,
    gradients: Gradients,
    layout: Layout,
    transport: str = "",
) -> Array:
    """One factor per draw for all that a step sums, (draws, *S), as wide as the evidence says; the
    one that is expected, (*S), where there are no draws.

    Draws of one name on the same side of what was measured are the same at all points. Beyond the
    nodes that were measured, the network is shared by another power of them in each draw, at most
    by 1. sharing: standard normal, (draws,). errors: what is known of them, over the transport.
    """
    of: Surroundings = layout  # type: ignore[assignment]
    measured = evidence.grade(gradients, of) == Grade.INSIDE
    width = evidence.log_spread(gradients, of)
    names = [f"{COMMUNICATION}{name}, {side}" for side in SIDES]
    drawn = [np.asarray(errors.drawn(one, len(sharing), transport)) for one in names]
    if not len(sharing):
        return np.asarray(np.exp(width * np.where(measured, *drawn)))
    column = (-1,) + (1,) * layout.rank
    drawn = [one.reshape(column) for one in drawn]
    few = max([FEW_NODES, *(profile.max_nodes for profile in evidence.profiles)])
    nodes = np.maximum(node_count(layout.gpus, layout.gpus_per_node), few)
    off = layout.sharing_spread * sharing.reshape(column)
    shared = (nodes / few) ** (np.minimum(layout.sharing * np.exp(off), 1.0) - layout.sharing)
    return np.asarray(np.exp(width * np.where(measured, *drawn)) * shared)


@dataclass(frozen=True)
class DrawnSums(Wrapped):
    """Another :class:`~dse.model.aggregation.base.Aggregation` whose sums all take f times as long,
    with one factor f for each draw, or the one that is expected.

    Backward passes take as long as before, so that ends cannot simply be multiplied by f. They are
    counted in a unit of f seconds: in it gradients are ready at ``t / f``, sums take as long as the
    other has it, and all ends times f are seconds again, ``f end(t / f)``.
    """

    evidence: Evidence
    sharing: Array
    name: str
    errors: StepErrors

    def summed(self, gradients: Gradients, layer_done_s: LayerTimes, layout: Layout) -> Summed:
        """(draws, *S)."""
        error = sums_error(self.evidence, self.name, self.sharing, self.errors, gradients, layout)
        sooner = np.asarray(layer_done_s[:]) / error
        return Summed(
            *(error * seconds for seconds in self.inner.summed(gradients, sooner, layout))
        )


class Ends(NamedTuple):
    """The lower and the upper ends of intervals, (points,); NaN where there is none."""

    low: Array
    high: Array


def intervals(
    best: Mapping[str, Array],
    drawn: Iterable[tuple[NDArray[np.intp], Mapping[str, Array]]],
) -> dict[str, Ends]:
    """90 % intervals of quantities of points.

    There is one wherever a point has a value. best: the quantities by the best fit, (points,).
    drawn: (positions of points, the same points priced once per draw), see
    :meth:`.problem.Problem.scattered`.
    """
    found = {name: Ends(*(np.full(best[name].shape, np.nan) for _ in range(2))) for name in best}
    for where, points in drawn:
        for name in best:
            draws = points[name]
            priced = np.isfinite(best[name][where])
            at = where[priced]
            wide = np.broadcast_to(draws, (draws.shape[0], len(where)))[:, priced]
            with np.errstate(invalid="ignore"):  # a run that never ends has no interval
                low, high = np.percentile(wide, INTERVAL, axis=0)
            low = np.where(np.isfinite(high), low, np.nan)
            # Where all draws miss the best fit, the interval is stretched to it.
            found[name].low[at] = np.minimum(low, best[name][at])
            found[name].high[at] = np.maximum(high, best[name][at])
    return found
