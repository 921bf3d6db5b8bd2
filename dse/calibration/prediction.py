"""Allreduce seconds predicted by a profile, their interval, and whether the point was measured.

The system that the profile was measured on is the hardware of the points, and what speaks for a
prediction is the same :mod:`~dse.calibration.evidence` as in a study.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dse import catalog
from dse.calibration.evidence import Evidence, Grade
from dse.calibration.evidence.checks import MEASURED_ELEMENT_BYTES
from dse.calibration.evidence.fits import OfLibraryChoice, OfServers
from dse.calibration.evidence.joined import of_algorithm
from dse.calibration.library_part import AUTO, LibraryFit
from dse.calibration.network_part import NetworkFit
from dse.calibration.node_cost import contention, on_cores_s
from dse.calibration.profile import Profile, usual_node
from dse.calibration.ps_part import ServersFit
from dse.calibration.spread import NORMAL_90
from dse.errors import OutsideCalibration
from dse.model.aggregation.algorithms import ALGORITHMS, node_count
from dse.model.aggregation.base import Cluster, Gradients
from dse.model.aggregation.composed import Software
from dse.model.aggregation.library_rules import (
    BY_NAME,
    MPI_RULES,
    Rules,
    by_choice,
    mpi_library,
    mpi_rules,
    priced_names,
)
from dse.model.aggregation.measured_library import MeasuredLibrary
from dse.model.arrays import Array, ArrayLike, Mask
from dse.model.links import FREE, Link
from dse.model.overlap import Bucket

_WIRE = Software(FREE, FREE)  # a message on a link of the system takes what the wire takes


@dataclass(frozen=True)
class MeasuredSystem(Cluster):
    """Layouts of the very hardware that was measured, at links of any speed.

    gpus, gpus_per_node: ranks and ranks per node; of parameter servers the workers, one per node.
    message_bytes: what is summed. Points that are predicted have these in one shape.
    """

    message_bytes: Array = field(default_factory=lambda: np.zeros(()))
    own_inside_link: Mask = field(default_factory=lambda: np.ones((), dtype=bool))
    link_name: str = ""

    @cached_property
    def messages(self) -> Gradients:
        """What is summed, as one message."""
        return one_message(self.message_bytes)

    def has_device(self, measured: str) -> Mask:
        """It does."""
        del measured
        return np.asarray(True)

    def has_link(self, measured: str) -> Mask:
        """It does, whatever its speed."""
        del measured
        return np.asarray(True)

    def on_fabric(self, fabric: str) -> Mask:
        """It is what was measured, not a network of the catalogue."""
        del fabric
        return np.asarray(False)


def evidence_of(profile: Profile, algorithm: str) -> Evidence:
    """What speaks for a prediction of an algorithm on the system of the profile, which prices it.

    Where a library's rules choose, ask for the algorithm that they choose.
    Raises OutsideCalibration for an algorithm that the model or the profile lacks.
    """
    part = profile.servers(algorithm)
    if part is not None:
        return OfServers(profile, part, _WIRE, same_system=True)
    if algorithm == AUTO:
        if profile.auto is None:
            known = ", ".join(profile.measured_algorithms)
            problem = f"profile {profile.name} was measured with forced algorithms"
            raise OutsideCalibration(f"{problem}; choose --algorithm from {known}")
        choice = MeasuredLibrary(profile.auto.cost(), profile.link_bytes_per_s, 1.0, True)
        return OfLibraryChoice(profile, profile.auto, choice, same_system=True)
    if not profile.fits and algorithm not in profile.network:
        known = ", ".join(profile.measured_algorithms)
        problem = f"profile {profile.name} was not measured with '{algorithm}'"
        raise OutsideCalibration(f"{problem}; it measured {known or 'no allreduce'}")
    if algorithm not in ALGORITHMS:
        raise OutsideCalibration(f"unknown allreduce algorithm '{algorithm}'")
    return of_algorithm(profile, algorithm, _WIRE, same_system=True)


@dataclass(frozen=True)
class _OneMessage(Gradients):
    """Gradients that are summed as one message, of ``sizes`` bytes at the points, in shape S."""

    sizes: Array = field(kw_only=True)

    @cached_property
    def message_bytes(self) -> Array:
        """Of the message at every point: (1, *S)."""
        return self.sizes[np.newaxis]


def one_message(message_bytes: ArrayLike) -> Gradients:
    """Float32 gradients that are summed as one message, as a benchmark does.

    message_bytes: of every point, in their shape S.
    """
    sizes = np.asarray(message_bytes, dtype=np.float64)
    elements, largest = sizes[np.newaxis] / MEASURED_ELEMENT_BYTES, float(sizes.max(initial=0.0))
    return _OneMessage(
        elements, MEASURED_ELEMENT_BYTES, largest, (Bucket(0, largest),), elements,
        np.zeros(1, np.intp), sizes=sizes,
    )  # fmt: skip


class Prediction(NamedTuple):
    """Seconds, the ends of their 90 % interval, and whether the point is in the measured range."""

    seconds: Array
    low: Array
    high: Array
    in_range: Mask


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

    ``ranks`` (>= 1), ``message_bytes`` (>= 0), ``ranks_per_node`` (default:
    :func:`.profile.usual_ranks_per_node`) and ``link_bytes_per_s`` (default: the fastest
    measured) broadcast. 'auto' is the library's own choice; if that was not measured, each point
    has the time of the algorithm that the library's rules choose there (:func:`rules_of`).

    The interval is ``t / x .. t x`` with ``ln x = 1.645 sd``; sd combines, in quadrature, the
    spread of the bootstrap draws, if a fit has them, and that of the profile's evidence
    (:mod:`dse.calibration.evidence`), which studies ask too. 'ps', or 'ps-grpc', is a push to and a
    pull from ``servers`` parameter servers by ``ranks`` workers, with equal shards.
    Raises OutsideCalibration for an algorithm that the model or the profile lacks.
    """
    rules = rules_of(profile, algorithm)
    if rules is not None:
        return _by_rules(profile, rules, ranks, message_bytes, ranks_per_node, link_bytes_per_s)
    at = _points(
        profile, algorithm, ranks, message_bytes, ranks_per_node, link_bytes_per_s, servers
    )
    found, smallest = _predicted(profile, algorithm, at), profile.message_bytes[0]
    if np.any(at.message_bytes < smallest):  # a smaller message than measured costs no more than it
        least = replace(at, message_bytes=np.maximum(at.message_bytes, smallest))
        high = np.minimum(found.high, _predicted(profile, algorithm, least).high)
        found = found._replace(high=np.maximum(high, found.seconds))
    return found


def _predicted(profile: Profile, algorithm: str, at: MeasuredSystem) -> Prediction:
    evidence, part = evidence_of(profile, algorithm), profile.servers(algorithm)
    if part is not None:
        return _of_servers(part, evidence, at)
    if algorithm == AUTO and profile.auto is not None:
        return _of_choice(profile, profile.auto, evidence, at)
    return _of_algorithm(profile, algorithm, evidence, at)


def why_outside(
    profile: Profile,
    algorithm: str,
    ranks: int,
    message_bytes: float,
    ranks_per_node: int | None = None,
    link_bytes_per_s: float | None = None,
    servers: int = 1,
) -> str:
    """Which values of a point were not measured, and what was: '9 ranks (measured: 2-8)'.

    Empty inside the measured range. The arguments are those of :func:`predict`, which has a price
    for the point. Raises OutsideCalibration for an algorithm that the model or the profile lacks.
    """
    rules = rules_of(profile, algorithm)
    if rules is not None:
        choice = int(rules(ranks, _local(profile, ranks, ranks_per_node), message_bytes))
        algorithm = rules.algorithms[choice].priced_as
    at = _points(
        profile, algorithm, ranks, message_bytes, ranks_per_node, link_bytes_per_s, servers
    )
    evidence = evidence_of(profile, algorithm)
    return ", ".join(evidence.why_outside(at.messages, at))


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
    algorithm: str,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike | None,
    link_bytes_per_s: ArrayLike | None,
    servers: ArrayLike,
) -> MeasuredSystem:
    """What is asked, with the layout and the link as measured where they are not given."""
    part = profile.servers(algorithm)
    speed = link_bytes_per_s
    if part is not None:
        local: ArrayLike = 1.0  # a node for every worker
        speed = speed if speed is not None else part.link_bytes_per_s[1] or np.inf
    else:
        local = _local(profile, ranks, ranks_per_node)
        if speed is None:
            between = profile.network.get(algorithm)
            known = between.link_bytes_per_s[1] if between is not None else 0.0
            speed = profile.link_bytes_per_s or known or np.inf
    given = (ranks, local, message_bytes, speed, servers)
    n, g, m, bytes_per_s, p = np.broadcast_arrays(*(np.asarray(v, np.float64) for v in given))
    link = Link(0.0, bytes_per_s)
    return MeasuredSystem(n, g, across=link, servers=p, message_bytes=m)


def _local(profile: Profile, ranks: ArrayLike, ranks_per_node: ArrayLike | None) -> ArrayLike:
    """Ranks per node as given, else the usual number; all of them where there are fewer."""
    return np.minimum(ranks, usual_node(profile)) if ranks_per_node is None else ranks_per_node


def _sureness(evidence: Evidence, at: MeasuredSystem) -> tuple[Array, Mask]:
    """Standard deviation of the logarithm but for that of draws, and whether it was measured."""
    spread = evidence.log_spread(at.messages, at)
    inside = evidence.grade(at.messages, at) == Grade.INSIDE
    return np.broadcast_to(spread, at.gpus.shape), np.broadcast_to(inside, at.gpus.shape)


def _of_choice(
    profile: Profile, fit: LibraryFit, evidence: Evidence, at: MeasuredSystem
) -> Prediction:
    """As the library chose where it was measured; at another link's speed only what crosses it
    is slower."""
    measured = profile.link_bytes_per_s
    if measured is None and np.any(np.isfinite(at.across.bytes_per_s)):
        problem = f"profile {profile.name} does not state its link speed"
        raise OutsideCalibration(f"{problem}, so it cannot predict another link")
    # How many times as fast as the one asked for is the measured link.
    slower = np.ones_like(at.gpus) if measured is None else measured / at.across.bytes_per_s
    cost = fit.cost()
    priced = cost.priced(at.gpus, at.gpus_per_node)
    if not np.all(priced):
        one = node_count(at.gpus, at.gpus_per_node) <= 1
        where = "within one node" if np.any(one & ~priced) else "between nodes"
        layouts = sorted({(round(a.nodes), a.ranks_per_node) for a in fit.anchors})
        listed = ", ".join(f"{nodes:g} x {ranks:g}" for nodes, ranks in layouts)
        raise OutsideCalibration(
            f"profile {profile.name} cannot price that layout: it was measured only on {listed} "
            f"(nodes x ranks per node), so the cost {where} is unknown"
        )
    spread, inside = _sureness(evidence, at)
    wire = np.where(inside, 0.0, _wire_s(at, at.across.bytes_per_s))
    seconds = cost(at.gpus, at.gpus_per_node, at.message_bytes, slower)
    # What cannot be faster than the wire may still take longer, by as much as anything else there.
    found = _with_spread(np.maximum(seconds, wire), spread, inside)
    return found._replace(low=np.maximum(found.low, wire))


def _wire_s(at: MeasuredSystem, node_bytes_per_s: ArrayLike) -> Array:
    """The least seconds in which nodes can share their sums: ``2 (N-1)/N m / B``.

    Every node sends and receives so much whatever the algorithm, unless a switch adds between nodes
    (Patarasuk & Yuan, JPDC 69, 2009).
    """
    nodes = node_count(at.gpus, at.gpus_per_node)
    return np.asarray(2 * (nodes - 1) / nodes * at.message_bytes / node_bytes_per_s)


def _by_rules(
    profile: Profile,
    rules: Rules,
    ranks: ArrayLike,
    message_bytes: ArrayLike,
    ranks_per_node: ArrayLike | None,
    link_bytes_per_s: ArrayLike | None,
) -> Prediction:
    choices = rules(ranks, _local(profile, ranks, ranks_per_node), message_bytes)
    found = {
        name: predict(profile, name, ranks, message_bytes, ranks_per_node, link_bytes_per_s)
        for name in priced_names(rules.algorithms, choices)
    }

    def part(at: int) -> Array:
        return by_choice(
            rules.algorithms, choices, lambda name: np.asarray(found[name][at], dtype=np.float64)
        )

    return Prediction(part(0), part(1), part(2), part(3) > 0)


def _of_servers(part: ServersFit, evidence: Evidence, at: MeasuredSystem) -> Prediction:
    given = (at.gpus, at.servers, at.message_bytes, at.across.bytes_per_s)
    spread, inside = _sureness(evidence, at)
    return _with_spread(part.seconds(*given), np.hypot(part.draw_spread(*given), spread), inside)


def _of_algorithm(
    profile: Profile, algorithm: str, evidence: Evidence, at: MeasuredSystem
) -> Prediction:
    """A named algorithm: between nodes by the fit of those runs, on one node by the other."""
    several = node_count(at.gpus, at.gpus_per_node) > 1
    between = profile.network.get(algorithm)
    if between is None:
        seconds, drawn = _on_one_node(profile, algorithm, at)
    elif bool(np.all(several | (at.gpus <= 1))):
        seconds, drawn = _between_nodes(profile, between, algorithm, at), np.zeros(())
    else:
        # One rank costs nothing, wherever it is.
        alone = replace(at, gpus=np.where(several, 1.0, at.gpus))
        inside, drawn = _on_one_node(profile, algorithm, alone)
        seconds = np.where(several, _between_nodes(profile, between, algorithm, at), inside)
        drawn = np.where(several, 0.0, drawn)
    spread, measured = _sureness(evidence, at)
    return _with_spread(seconds, np.hypot(drawn, spread), measured)


def _between_nodes(profile: Profile, fit: NetworkFit, algorithm: str, at: MeasuredSystem) -> Array:
    return fit.seconds(
        algorithm, at.gpus, at.message_bytes, at.across.bytes_per_s, profile.gamma_s_per_byte,
        ranks_per_node=at.gpus_per_node,
        inside=profile.fit(algorithm).step() if profile.fits else None,
    )  # fmt: skip


def _with_spread(seconds: Array, spread: Array, in_range: Mask) -> Prediction:
    factor = np.exp(NORMAL_90 * spread)
    return Prediction(seconds, seconds / factor, seconds * factor, in_range)


def _on_one_node(profile: Profile, algorithm: str, at: MeasuredSystem) -> tuple[Array, Array]:
    """Seconds, and the standard deviation of their logarithm over the draws."""
    if not profile.fits:
        problem = f"profile {profile.name} measured '{algorithm}' between nodes only"
        raise OutsideCalibration(f"{problem}, so it cannot price one node")
    if np.any(node_count(at.gpus, at.gpus_per_node) > 1):
        problem = f"profile {profile.name} was measured on one node"
        raise OutsideCalibration(f"{problem}, so it cannot price a link between nodes")
    fit, n, m = profile.fit(algorithm), at.gpus, at.message_bytes
    busy, gamma = contention(n, profile.cores), profile.gamma_s_per_byte
    seconds = on_cores_s(algorithm, n, m, busy, fit.step(), gamma, fit.switch_s)
    drawn = drawn_s(profile, algorithm, n.ravel(), m.ravel())
    return seconds, np.std(np.log(np.maximum(drawn, 1e-30)), axis=0).reshape(n.shape)


def drawn_s(profile: Profile, algorithm: str, ranks: Array, message_bytes: Array) -> Array:
    """Seconds on one node by each of the bootstrap draws: (draws, points)."""
    fit, busy = profile.fit(algorithm), contention(ranks, profile.cores)
    draws, gamma = fit.step_draws(), profile.gamma_s_per_byte
    return on_cores_s(
        algorithm, ranks, message_bytes, busy, draws, gamma, np.array(fit.draws)[:, -1:]
    )
