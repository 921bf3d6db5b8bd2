"""Allreduce seconds predicted by a profile, their interval, and whether the point was measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dse import catalog
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.node_cost import on_cores_s
from dse.calibration.profile import Profile
from dse.calibration.ps_part import ServersFit
from dse.calibration.spread import NORMAL_90, octaves_of_speed, octaves_outside
from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import ALGORITHMS, node_count
from dse.model.aggregation.library_rules import (
    BY_NAME,
    MPI_RULES,
    Rules,
    by_choice,
    mpi_library,
    mpi_rules,
    priced_names,
)
from dse.model.arrays import Array, ArrayLike, Mask


class Prediction(NamedTuple):
    """Seconds, the ends of their 90 % interval, and whether the point is in the measured range."""

    seconds: Array
    low: Array
    high: Array
    in_range: Mask


class _Points(NamedTuple):
    """Points asked for, in one shape; doublings beyond the measured ranks, and beyond all else."""

    ranks: Array
    ranks_per_node: Array
    message_bytes: Array
    link_bytes_per_s: Array
    octaves_ranks: Array
    octaves_rest: Array

    @property
    def octaves(self) -> Array:
        return self.octaves_ranks + self.octaves_rest


def predict(
    profile: Profile,
    algorithm: str,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike | None = None,
    link_bytes_per_s: ArrayLike | None = None,
    servers: ArrayLike = 1.0,
) -> Prediction:
    """Allreduce seconds on the measured system, including contention for its cores.

    ``ranks`` (>= 1), ``message_bytes`` (>= 0), ``ranks_per_node`` (default: as measured if only
    one number was, else all on one node) and ``link_bytes_per_s`` (default: as measured)
    broadcast. 'auto' is the library's own choice; if that was not measured, each point has the
    time of the algorithm that the library's rules choose there (:func:`rules_of`).

    The interval is ``t / x .. t x`` with ``ln x = 1.645 sd``; sd combines, in quadrature, the
    spread of the bootstrap draws, if a fit has them, and the formula of
    :mod:`dse.calibration.spread`, which studies use too. 'ps', or 'ps-grpc', is a push to and a
    pull from ``servers`` parameter servers by ``ranks`` workers, with equal shards.
    Raises OutsideCalibration for an algorithm that the model or the profile lacks.
    """
    part = profile.servers(algorithm)
    if part is not None:
        return _of_servers(part, ranks, servers, message_bytes, link_bytes_per_s)
    rules = rules_of(profile, algorithm)
    if rules is not None:
        return _by_rules(profile, rules, ranks, message_bytes, ranks_per_node, link_bytes_per_s)
    if algorithm == AUTO:
        return _of_choice(profile, ranks, message_bytes, ranks_per_node, link_bytes_per_s)
    return _of_algorithm(profile, algorithm, ranks, message_bytes, ranks_per_node, link_bytes_per_s)


def rules_of(profile: Profile, algorithm: str) -> Rules | None:
    """The selection rules for 'auto', 'auto-openmpi' or 'auto-mpich'; None for other algorithms.

    None too for 'auto' if the profile measured the library's choice, and for NCCL, whose rules
    depend on the machine's links, which a profile does not hold.
    """
    if not MPI_RULES.keys() & set(_libraries(profile.transport)):
        return None
    if algorithm in BY_NAME:
        return mpi_rules(BY_NAME[algorithm])
    unmeasured = algorithm == AUTO and profile.auto is None
    return mpi_rules(mpi_library(profile.library)) if unmeasured else None


def _libraries(transport: str) -> tuple[str, ...]:
    """The libraries that run over a transport; empty if the transport is not in the catalogue."""
    known = transport in catalog.names("transports")
    return catalog.transport(transport).libraries if known else ()


def _points(
    profile: Profile,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike,
    link_bytes_per_s: ArrayLike,
) -> tuple[_Points, Mask]:
    """What is asked, and whether so many ranks, bytes and nodes were measured; one rank costs
    nothing, wherever it is."""
    given = (ranks, ranks_per_node, message_bytes, link_bytes_per_s)
    n, g, m, speed = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in given))
    points = _Points(n, g, m, speed, octaves_outside(n, profile.ranks),
                     octaves_outside(m, profile.message_bytes))  # fmt: skip
    measured = (points.octaves == 0) & (node_count(n, g) <= profile.max_nodes)
    return points, measured | (n <= 1)


def _of_choice(
    profile: Profile,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike | None,
    link_bytes_per_s: ArrayLike | None,
) -> Prediction:
    """As the library chose where it was measured; at another link's speed only what crosses it
    is slower."""
    if profile.auto is None:
        known = ", ".join(profile.measured_algorithms)
        problem = f"profile {profile.name} was measured with forced algorithms"
        raise OutsideCalibration(f"{problem}; choose --algorithm from {known}")
    local = ranks_per_node
    if local is None:
        few, many = profile.auto.ranks_per_node
        local = np.minimum(ranks, few if few == many else np.inf)
    measured = profile.link_bytes_per_s
    if link_bytes_per_s is not None and measured is None:
        problem = f"profile {profile.name} does not state its link speed"
        raise OutsideCalibration(f"{problem}, so it cannot predict another link")
    default = np.inf if measured is None else measured
    speed_asked = default if link_bytes_per_s is None else link_bytes_per_s
    at, in_range = _points(profile, ranks, message_bytes, local, speed_asked)
    # How many times as fast as the one asked for is the measured link.
    slower = np.ones_like(at.ranks) if measured is None else measured / at.link_bytes_per_s
    cost = profile.auto.cost()
    priced = cost.priced(at.ranks, at.ranks_per_node)
    if not np.all(priced):
        one = node_count(at.ranks, at.ranks_per_node) <= 1
        where = "within one node" if np.any(one & ~priced) else "between nodes"
        layouts = sorted({(round(a.nodes), a.ranks_per_node) for a in profile.auto.anchors})
        listed = ", ".join(f"{nodes:g} x {ranks:g}" for nodes, ranks in layouts)
        raise OutsideCalibration(
            f"profile {profile.name} cannot price that layout: it was measured only on {listed} "
            f"(nodes x ranks per node), so the cost {where} is unknown"
        )
    local_ranks = np.minimum(at.ranks, at.ranks_per_node)
    covered = octaves_outside(local_ranks, profile.auto.ranks_per_node) == 0
    one = node_count(at.ranks, at.ranks_per_node) <= 1
    covered = covered & (one | (np.mod(at.ranks, at.ranks_per_node) == 0))
    several = node_count(at.ranks, at.ranks_per_node) > 1
    limits = (measured or 0.0, measured or 0.0)
    off = octaves_of_speed(at.link_bytes_per_s, limits) * several
    in_range = in_range & (covered & (off == 0) | (at.ranks <= 1))
    at = at._replace(octaves_rest=at.octaves_rest + off)
    seconds, low, high = _chosen_interval(profile.auto, at, slower)
    # A smaller message than measured costs no more than the smallest one.
    least = np.maximum(at.message_bytes, profile.message_bytes[0])
    beyond = np.where(at.message_bytes < least, off, at.octaves_rest)
    most = _chosen_interval(
        profile.auto, at._replace(message_bytes=least, octaves_rest=beyond), slower
    )[2]
    wire = np.where(in_range, 0.0, _wire_s(at, at.link_bytes_per_s))
    low, seconds, high = (np.maximum(value, wire) for value in (low, seconds, high))
    return Prediction(seconds, low, np.maximum(np.minimum(high, most), seconds), in_range)


def _chosen_interval(auto: LibraryFit, at: _Points, slower: Array) -> tuple[Array, Array, Array]:
    seconds = auto.cost()(at.ranks, at.ranks_per_node, at.message_bytes, slower)
    spread = auto.log_spread(at.ranks, at.ranks_per_node, at.octaves_rest, at.message_bytes)
    factor = np.exp(NORMAL_90 * spread)
    return seconds, seconds / factor, seconds * factor


def _wire_s(at: _Points, node_bytes_per_s: ArrayLike) -> Array:
    """The least seconds in which nodes can share their sums: ``2 (N-1)/N m / B``.

    Every node sends and receives so much whatever the algorithm, unless a switch adds between nodes
    (Patarasuk & Yuan, JPDC 69, 2009).
    """
    nodes = node_count(at.ranks, at.ranks_per_node)
    return np.asarray(2 * (nodes - 1) / nodes * at.message_bytes / node_bytes_per_s)


def _by_rules(
    profile: Profile,
    rules: Rules,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike | None,
    link_bytes_per_s: ArrayLike | None,
) -> Prediction:
    choices = rules(ranks, ranks if ranks_per_node is None else ranks_per_node, message_bytes)
    found = {
        name: predict(profile, name, ranks, message_bytes, ranks_per_node, link_bytes_per_s)
        for name in priced_names(rules.algorithms, choices)
    }

    def part(at: int) -> Array:
        return by_choice(
            rules.algorithms, choices, lambda name: np.asarray(found[name][at], dtype=np.float64)
        )

    return Prediction(part(0), part(1), part(2), part(3) > 0)


def _of_servers(
    part: ServersFit,
    workers: ArrayLike,
    servers: ArrayLike,
    message_bytes: ArrayLike,
    link_bytes_per_s: ArrayLike | None,
) -> Prediction:
    slow, fast = part.link_bytes_per_s
    speed = link_bytes_per_s if link_bytes_per_s is not None else (fast or np.inf)
    given = (np.asarray(v, dtype=np.float64) for v in (workers, servers, message_bytes, speed))
    n, p, m, b = np.broadcast_arrays(*given)
    octaves = (
        octaves_outside(n, part.workers)
        + octaves_outside(p, part.servers)
        + octaves_outside(m, part.message_bytes)
    )
    octaves = octaves + octaves_of_speed(b, (slow, fast))
    spread = np.hypot(part.draw_spread(n, p, m, b), part.log_spread(octaves))
    inside = (octaves == 0) & (np.isinf(b) if fast <= 0 else True)
    return _with_spread(part.seconds(n, p, m, b), spread, np.asarray(inside))


def _of_algorithm(
    profile: Profile,
    algorithm: str,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike | None,
    link_bytes_per_s: ArrayLike | None,
) -> Prediction:
    """A named algorithm: between nodes by the fit of those runs, on one node by the other."""
    between, local, speed = profile.network.get(algorithm), ranks_per_node, link_bytes_per_s
    if local is None:
        widest: float = np.inf
        if between is not None and algorithm not in profile.fits:
            widest = between.ranks_per_node[0]
        local = np.minimum(ranks, widest)
    if speed is None:
        known = between.link_bytes_per_s[1] if between is not None else 0.0
        speed = profile.link_bytes_per_s or known or np.inf
    points, in_range = _points(profile, ranks, message_bytes, local, speed)
    if between is None:
        return _on_one_node(profile, algorithm, points, in_range)
    n, nodes = points.ranks, node_count(points.ranks, points.ranks_per_node)
    if bool(np.all((nodes > 1) | (n <= 1))):
        return _between_nodes(profile, algorithm, points, in_range)
    # One rank costs nothing, wherever it is.
    alone = points._replace(ranks=np.where(nodes > 1, 1.0, n))
    inside = _on_one_node(profile, algorithm, alone, in_range)
    across = _between_nodes(profile, algorithm, points, in_range)
    return Prediction(*(np.where(nodes > 1, a, b) for a, b in zip(across, inside, strict=True)))


def _between_nodes(profile: Profile, algorithm: str, at: _Points, in_range: Mask) -> Prediction:
    fit = profile.network[algorithm]
    seconds = fit.seconds(
        algorithm, at.ranks, at.message_bytes, at.link_bytes_per_s, profile.gamma_s_per_byte,
        ranks_per_node=at.ranks_per_node,
        inside=profile.software(algorithm) if profile.fits else None,
    )  # fmt: skip
    off = octaves_outside(np.minimum(at.ranks, at.ranks_per_node), fit.ranks_per_node)
    off = off + octaves_of_speed(at.link_bytes_per_s, fit.link_bytes_per_s)
    unlike = node_count(at.ranks, at.ranks_per_node) <= 1
    spread = fit.log_spread(at.octaves + off, unlike)
    return _with_spread(seconds, spread, in_range & ((off == 0) & ~unlike | (at.ranks <= 1)))


def _with_spread(seconds: Array, spread: Array, in_range: Mask) -> Prediction:
    factor = np.exp(NORMAL_90 * spread)
    return Prediction(seconds, seconds / factor, seconds * factor, in_range)


def _on_one_node(profile: Profile, algorithm: str, at: _Points, in_range: Mask) -> Prediction:
    if not profile.fits:
        known = ", ".join(profile.measured_algorithms)
        problem = f"profile {profile.name} was not measured with '{algorithm}' at that layout"
        raise OutsideCalibration(f"{problem}; it measured {known or 'no allreduce'}")
    if algorithm not in ALGORITHMS:
        raise OutsideCalibration(f"unknown allreduce algorithm '{algorithm}'")
    if np.any(node_count(at.ranks, at.ranks_per_node) > 1):
        problem = f"profile {profile.name} was measured on one node"
        raise OutsideCalibration(f"{problem}, so it cannot price a link between nodes")
    fit, gamma, cores = profile.fit(algorithm), profile.gamma_s_per_byte, profile.cores
    n, m = at.ranks, at.message_bytes
    seconds = on_cores_s(algorithm, n, m, cores, fit.step(), gamma, fit.switch_s)
    switch_draws = np.array(fit.draws)[:, -1:]
    drawn = on_cores_s(
        algorithm, n.ravel(), m.ravel(), cores, fit.step_draws(), gamma, switch_draws
    )
    of_draws = np.std(np.log(np.maximum(drawn, 1e-30)), axis=0).reshape(n.shape)
    unlike = algorithm not in profile.measured_algorithms
    spread = np.hypot(of_draws, fit.log_spread(at.octaves, unlike))
    return _with_spread(seconds, spread, in_range & ((not unlike) | (n <= 1)))
