"""One synchronous training step, term by term."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from dse.model import compute
from dse.model.aggregation.base import Aggregation, Layout, Summed
from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device, Layers
from dse.model.passes import Compute
from dse.model.precision import Precision
from dse.model.scale import lengthened_s, slowed_s
from dse.model.terms import Terms

PARAMETER_SERVER = "ps"
ROUNDING = 1e-12  # of a step, by sums and differences of its terms


class Work(Protocol):
    """What the steps of some points are made of; arrays that broadcast to the points' shape S.

    batch: samples of one pass per accelerator. accumulation: passes of a step, whose gradients are
    added up on the accelerator before they are summed. state_bytes: optimizer state per parameter.
    passes, loading_s: one forward and backward pass, its input; update_s: the weight update, once a
    step; see :mod:`dse.model.compute`. decoding_s: in which hosts decode the images of a step.
    overlap: what runs beside the backward pass, a word of the step model's. inside_efficiency,
    across_efficiency: of a link's speed what the transport reaches, inside a node and between
    nodes. waiting: by which share of their time passes are longer where all accelerators wait for
    the slowest. slowdown: see :class:`.scale.Scale`. summed: when the gradients are, by the
    aggregation. sums_bounded: whether that is finite at all points for certain.
    """

    @property
    def layers(self) -> Layers: ...
    @property
    def precision(self) -> Precision: ...
    @property
    def device(self) -> Device: ...
    @property
    def batch(self) -> ArrayLike: ...
    @property
    def accumulation(self) -> ArrayLike: ...
    @property
    def state_bytes(self) -> ArrayLike: ...
    @property
    def passes(self) -> Compute: ...
    @property
    def loading_s(self) -> Array: ...
    @property
    def decoding_s(self) -> ArrayLike: ...
    @property
    def update_s(self) -> Array: ...
    @property
    def layout(self) -> Layout: ...
    @property
    def aggregation(self) -> Aggregation: ...
    @property
    def overlap(self) -> str: ...
    @property
    def inside_efficiency(self) -> float: ...
    @property
    def across_efficiency(self) -> float: ...
    @property
    def waiting(self) -> ArrayLike: ...
    @property
    def slowdown(self) -> ArrayLike: ...
    def summed(self) -> Summed: ...
    def sums_bounded(self) -> bool: ...


def _exposed_s(step: Terms) -> Array:
    """Aggregation that the backward pass does not hide; what rounding leaves of it is none."""
    rest = step.compute_s + step["optimizer_s"] + step["stalled_s"]
    left = step.step_s - (rest + step["slowed_s"] + step["waiting_s"])
    return np.where(left <= ROUNDING * step.step_s, 0.0, left)


@dataclass(frozen=True)
class _Slowed:
    """The term of :func:`slowed_s`, once it is asked for."""

    comm_s: Array
    beside_s: ArrayLike
    slowdown: ArrayLike

    def __call__(self, _: Terms) -> Array:
        return slowed_s(self.comm_s, self.beside_s, self.slowdown)


def terms(
    forward_s: Array,
    backward_s: Array,
    input_s: Array,
    comm_s: Array,
    stalled_s: Array,
    optimizer_s: Array,
    step_s: Array,
    waiting_s: ArrayLike = 0.0,
    beside_s: ArrayLike = 0.0,
    slowdown: ArrayLike = 0.0,
) -> Terms:
    """A step of passes and an update, of which the rest of the step is communication.

    stalled_s: input that the rest of the step does not hide. waiting_s: for the slowest
    accelerator. beside_s: of the backward pass that communication may run beside; slowdown: see
    :class:`Work`. Arrays broadcast.
    """
    return Terms(
        step_s,
        comm_s,
        input_s,
        {
            "forward_s": forward_s,
            "backward_s": backward_s,
            "slowed_s": _Slowed(comm_s, beside_s, slowdown),
            "waiting_s": np.asarray(waiting_s),
            "exposed_s": _exposed_s,
            "optimizer_s": optimizer_s,
            "stalled_s": stalled_s,
        },
    )


class StepModel(Protocol):
    """How the time of a step follows from its work. overlaps: the words it knows, usual one first.

    measurable: whether measured costs have a part in it.
    """

    @property
    def overlaps(self) -> tuple[str, ...]: ...
    @property
    def measurable(self) -> bool: ...

    def step_time(self, work: Work) -> Terms:
        """Every term of the step."""
        ...

    def without_communication(self, work: Work) -> Terms:
        """The same if communication took no time: no point is faster."""
        ...

    def bounded(self, work: Work) -> bool:
        """Whether the communication of all points is finite for certain."""
        ...


@dataclass(frozen=True)
class OverlappedStep:
    """``T = max(T_input, max(T_forward + T_backward + T_slowed, end of the sums) + T_waiting +
    T_optimizer)``.

    Without overlap the plain sum, in which nothing is slowed. Of k passes whose gradients are
    accumulated the first k - 1 sum nothing: ``(k - 1)(T_forward + T_backward + T_adding)`` more,
    and k times the input. Hosts decode the next images beside all of it: no step is shorter than
    ``T_decoding``.
    """

    overlaps: ClassVar[tuple[str, ...]] = ("bucketed", "none")
    measurable: ClassVar[bool] = True

    def step_time(self, work: Work) -> Terms:
        """See :class:`StepModel`."""
        return _step(work, work.summed())

    def without_communication(self, work: Work) -> Terms:
        """See :class:`StepModel`. T enters by sums and maxima, which do not fall where one of their
        terms rises, and rounding keeps the order."""
        return _step(work, Summed(np.zeros(()), np.zeros(())))

    def bounded(self, work: Work) -> bool:
        """See :class:`StepModel`."""
        return work.sums_bounded()


@dataclass(frozen=True)
class Earlier:
    """Seconds of all passes of a step before the last, which sum nothing; arrays broadcast."""

    forward_s: ArrayLike = 0.0
    backward_s: ArrayLike = 0.0
    loading_s: ArrayLike = 0.0


NO_EARLIER = Earlier()


def _earlier(work: Work) -> Earlier:
    count, passes = np.asarray(work.accumulation) - 1, work.passes
    if not count.any():
        return NO_EARLIER
    adding_s = compute.adding_s(work.layers, work.device, work.precision)
    return Earlier(
        count * passes.forward_s, count * (passes.backward_s + adding_s), count * work.loading_s
    )


def _step(work: Work, summed: Summed) -> Terms:
    passes, earlier, waiting = work.passes, _earlier(work), work.waiting
    loading_s, update_s = work.loading_s, work.update_s
    if work.overlap != "none":
        step = ended(passes, *summed, loading_s, update_s, earlier, waiting, work.slowdown)
    else:
        step = in_turn(passes, summed.end_s, loading_s, update_s, earlier, waiting)
    return fed(step, work.decoding_s)


def fed(step: Terms, decoding_s: ArrayLike) -> Terms:
    """The step where accelerators wait for images that hosts decode meanwhile: the longer of both.

    What it waits counts as input that is not hidden.
    """
    short = np.asarray(decoding_s) > step.step_s if np.any(decoding_s) else np.zeros((), dtype=bool)
    if not np.any(short):
        return step
    waited = np.where(short, decoding_s - step.step_s, 0.0)
    longer = np.where(short, decoding_s, step.step_s)
    stalled = {"stalled_s": step["stalled_s"] + waited}
    return replace(step, step_s=longer, by_term={**step.by_term, **stalled})


def ended(
    passes: Compute,
    end_s: Array,
    comm_s: Array,
    loading_s: Array,
    update_s: Array,
    earlier: Earlier = NO_EARLIER,
    waiting: ArrayLike = 0.0,
    slowdown: ArrayLike = 0.0,
) -> Terms:
    """The step whose gradients are summed ``end_s`` after its last backward pass began.

    comm_s: seconds that took, hidden or not. passes, loading_s: of the last pass. waiting,
    slowdown: see :class:`Work`. Arrays broadcast.
    """
    forward_s, backward_s = passes.forward_s + earlier.forward_s, passes.backward_s
    waiting_s = np.asarray((forward_s + earlier.backward_s + backward_s) * waiting)
    around = passes.forward_s + update_s + (earlier.forward_s + earlier.backward_s) + waiting_s
    loading_s = loading_s + earlier.loading_s
    stalled: Array = np.zeros(())
    step = np.maximum(end_s, lengthened_s(comm_s, backward_s, slowdown)) + around
    if not np.all(loading_s <= around + backward_s):  # else the input never binds
        stalled = np.maximum(loading_s - step, 0.0)
        step = np.maximum(step, loading_s)
    return terms(
        forward_s, backward_s + earlier.backward_s, loading_s, comm_s, stalled, update_s, step,
        waiting_s, backward_s, slowdown,
    )  # fmt: skip


def in_turn(
    passes: Compute,
    comm_s: Array,
    loading_s: Array,
    update_s: Array,
    earlier: Earlier = NO_EARLIER,
    waiting: ArrayLike = 0.0,
) -> Terms:
    """The step in which nothing overlaps: the plain sum."""
    forward_s = passes.forward_s + earlier.forward_s
    backward_s = passes.backward_s + earlier.backward_s
    waiting_s = np.asarray((forward_s + backward_s) * waiting)
    loading_s = loading_s + earlier.loading_s
    step = comm_s + (forward_s + update_s + backward_s + loading_s + waiting_s)
    return terms(
        forward_s, backward_s, loading_s, comm_s, loading_s, update_s, step, waiting_s=waiting_s
    )
