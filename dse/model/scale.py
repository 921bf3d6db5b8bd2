"""What accelerators that work together lose besides the wire.

The slowest of all ends a synchronous step, a collective takes units and memory bandwidth from the
passes that run beside it, and a network between many nodes gives each less than one between few::

    waiting = spread E[largest of n]    of the passes
    slowed  = slowdown min(communication, backward pass)
    link(N) = link (few / max(N, few))^sharing

:class:`Scale` holds the parameters; 0 is ideal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike
from dse.model.normal import AT, BELOW

FEW_NODES = 2.0  # the smallest network, and so the one that its nominal speed is taken to hold for


@dataclass(frozen=True)
class Scale:
    """The parameters of the terms, >= 0; arrays broadcast with the points.

    spread: standard deviation of one accelerator's step over its mean, where steps are normal and
    independent. Accelerators of which some are always slower, by this standard deviation among
    them, wait as long as ones that vary from step to step: a step ends with the slowest either way.
    slowdown: seconds by which a second of communication lengthens the backward pass it runs beside.
    sharing: by which power of the number of nodes the bandwidth of each falls. cloud_sharing:
    likewise where tenants of a cloud share the network.
    """

    spread: ArrayLike = 0.0
    slowdown: ArrayLike = 0.0
    sharing: ArrayLike = 0.0
    cloud_sharing: ArrayLike = 0.0


IDEAL = Scale()


def link_share(nodes: ArrayLike, few_nodes: ArrayLike, sharing: ArrayLike) -> Array:
    """What each of N nodes has of the bandwidth that each of few has: ``(few / N)^sharing``.

    1 up to ``few_nodes``. Arguments broadcast.
    """
    return np.asarray((np.maximum(nodes, few_nodes) / few_nodes) ** -np.asarray(sharing))


def slowed_s(comm_s: ArrayLike, backward_s: ArrayLike, slowdown: ArrayLike) -> Array:
    """Seconds by which the backward pass is longer for the communication beside it.

    At most all of it runs beside communication: ``slowdown min(T_comm, T_backward)``. Rises with
    ``comm_s``. Arguments broadcast.
    """
    return np.asarray(np.minimum(comm_s, backward_s) * slowdown)


def lengthened_s(comm_s: ArrayLike, backward_s: ArrayLike, slowdown: ArrayLike) -> Array:
    """Seconds of the backward pass with those of :func:`slowed_s`.

    ``min(T_backward + slowdown T_comm, T_backward + slowdown T_backward)``: both are computed
    before they broadcast against each other, and rounded as the sum with :func:`slowed_s` is.
    """
    slowdown, backward_s = np.asarray(slowdown), np.asarray(backward_s)
    longer, most = backward_s + slowdown * comm_s, backward_s + slowdown * backward_s
    return np.asarray(np.minimum(longer, most))


def largest_of(count: ArrayLike) -> Array:
    """Expected largest of ``count`` standard normal draws (any shape, values >= 1).

    ``E = b - int_-b^b F^n dx``, F(-b) = 0 and F(b) = 1, by the trapezoidal rule; to 1e-5 up to a
    million draws.
    """
    n = np.asarray(count, dtype=np.float64)
    distinct, which = np.unique(n, return_inverse=True)
    largest = np.array([AT[-1] - np.trapezoid(BELOW**value, AT) for value in distinct])
    return np.asarray(largest[which].reshape(n.shape))


def waiting_factor(count: ArrayLike, together: ArrayLike, spread: ArrayLike) -> Array:
    """By what factor the passes of ``count`` workers take longer than those of one alone.

    ``1 + together [n > 1] + spread E[largest of n]``. together: what working together costs at all;
    spread: standard deviation of one worker's step over its mean, where steps are normal and
    independent. Arguments broadcast.
    """
    several = np.asarray(count) > 1
    return np.asarray(1.0 + np.where(several, together + spread * largest_of(count), 0.0))
