"""What a round takes by the model, and the few parameters that are fitted for each stack.

::

    round = latency x messages + (wire^p + host^p)^(1/p)                      1 <= p
    wire  = seconds of the approach's bytes on the busiest link / WIRE_EFFICIENCY
    host  = slope x bytes + latency x calls, of the host that has most to do

Messages, bytes and the chain come from dse.model: the steps of ring and halving-doubling, the
placement of tensors on servers, Open MPI's rules. A message of an allreduce waits for the one
before; calls to servers do not, so that their work hides behind the wire as copies do. What an
exchange of Open MPI takes of the wire is that of the lab's own profile, fitted to allreduce on 2 to
4 hosts. Two ranks that begin together take the wire once, and stay so until they fall out of step,
after which they take it twice to the end of the round (benchmarks/lab/lockstep.py)::

    in step in exchange k of a round = (1 - slip)^k,    k = 0, 1, ...

p = 1: bytes are copied, then sent; large: one hides behind the other. All hosts share the cores of
one machine, so the host's parts take as many times as long as there are hosts for a core. Fitted:
latency, slope and p of every stack, and slip. All rounds that are fitted to send the same tensors,
so they cannot tell a call from its bytes; the lab's measurement of single calls of gRPC can. A call
alone hides nothing: p = 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.optimize import least_squares, minimize_scalar

from benchmarks.approaches.cells import (
    BAIDU,
    GLOO,
    GLOO_25,
    GRPC_PS,
    HOROVOD_2,
    HOROVOD_64,
    MPI_PS,
    Cell,
    messages,
    tensor_bytes,
    to_servers,
)
from benchmarks.lab import compare
from dse.calibration.experiment import Measurement
from dse.calibration.network_part import NetworkFit, host_contention, in_lockstep
from dse.calibration.profile import Profile
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.library_rules import OPENMPI, mpi_rules
from dse.model.arrays import Array
from dse.model.links import FREE, Exchange, Link, Network, StepCost
from dse.model.tensor_servers import Servers, push_pull_s

GRPC, MPI_STACKS = "grpc", ("mpi ring", "mpi allreduce")
# Approaches that run the same code for a message share its parameters.
STACKS: Mapping[str, tuple[str, ...]] = {
    GRPC: (GRPC_PS,),
    "mpi servers": (MPI_PS,),
    "mpi ring": (BAIDU,),
    "mpi allreduce": (HOROVOD_64, HOROVOD_2),
    "gloo": (GLOO, GLOO_25),
}
SLEEPING = (GLOO, GLOO_25)  # while they wait; ranks of MPI poll, so that others wait for the core
SHARED_CORES = 2  # of the machine that all hosts of the lab are on
WIRE_EFFICIENCY = 0.97  # of the set rate that a plain stream reaches: 95 to 99 % (lab/README.md)
LEAST = (1e-7, 1e-12, 1.0)
START = (3e-4, 5e-10, 1.5)
MOST = (0.1, 1e-7, 8.0)
SLIP_WITHIN = 1e-3
ROBUST = 0.1  # in logarithms: errors beyond count linearly


@dataclass(frozen=True)
class Demand:
    """What an approach asks for in a cell.

    wire_s: seconds of its bytes on the busiest link, at the link's rate. messages, bytes, calls: of
    the host that has most to do, already times the contention for the cores. messages: one after
    the other; calls: as many at once as there are.
    """

    wire_s: float
    messages: float
    bytes: float
    calls: float = 0.0


@dataclass(frozen=True)
class Stack:
    """Fitted parameters; see the top of the module."""

    latency_s: float
    s_per_byte: float
    overlap: float

    def seconds(self, demand: Demand) -> float:
        """Of a round."""
        host_s = self.s_per_byte * demand.bytes + self.latency_s * demand.calls
        parts = np.array([demand.wire_s / WIRE_EFFICIENCY, host_s])
        longer = float(parts.max())
        together = np.sum((parts / longer) ** self.overlap)
        return float(self.latency_s * demand.messages + longer * together ** (1 / self.overlap))


def demand_of(approach: str, cell: Cell, lab: Profile, slip: float) -> Demand:
    """What the approach asks for; ``lab``: the profile whose exchanges Open MPI's are."""
    busy = float(host_contention(cell.hosts, SHARED_CORES))
    if approach in (GRPC_PS, MPI_PS):
        return _servers(cell, busy)
    found, before = np.zeros(3), 0.0
    for message in messages(approach, cell.workload):
        size = float(FLOAT_BYTES * sum(message))
        algorithm = algorithm_of(approach, cell.hosts, size)
        fit = None if approach in (GLOO, GLOO_25) else lab.network[algorithm]
        found += [
            _wire_s(algorithm, cell, size, fit, before, slip),
            _price(algorithm, cell.hosts, size, _software(StepCost(1.0, (0.0,)))),
            _price(algorithm, cell.hosts, size, _software(StepCost(0.0, (1.0,)))),
        ]
        before += ALGORITHMS[algorithm].pair_exchanges
    waits = 1.0 if approach in SLEEPING else busy
    return Demand(float(found[0]), waits * float(found[1]), busy * float(found[2]))


def _wire_s(
    algorithm: str,
    cell: Cell,
    message_bytes: float,
    fit: NetworkFit | None,
    before: float,
    slip: float,
) -> float:
    """Seconds of an allreduce on the wire; ``fit``: what its exchanges take of it, else once.

    before: exchanges of the round before it.
    """
    link = Link(0.0, cell.link_bytes_per_s)
    crossing = fit.crossing if fit else None
    whole = _price(algorithm, cell.hosts, message_bytes,
                   Network(FREE, FREE, inter=link, crossing=crossing))  # fmt: skip
    if fit is None:
        return whole
    n, m = np.array(float(cell.hosts)), np.array(message_bytes)
    size, count = in_lockstep(algorithm, n, m)
    in_step = float(count) * (before == 0)
    if cell.hosts == 2:
        in_step = float(np.sum((1 - slip) ** (before + np.arange(float(count)))))
    return whole - in_step * float(fit.crossing(size) - size) / cell.link_bytes_per_s


def algorithm_of(approach: str, hosts: int, message_bytes: float) -> str:
    """The model's algorithm of one message."""
    if approach not in (HOROVOD_64, HOROVOD_2):
        return "ring"
    rules = mpi_rules(OPENMPI)
    return rules.algorithms[int(rules(hosts, 1, message_bytes))].priced_as


def _servers(cell: Cell, busy: float) -> Demand:
    """Tensors on colocated servers: one on each host, every call served by the shared cores."""
    sizes = tensor_bytes(cell.workload)
    ready = np.zeros((len(sizes), 1))
    network = Network(FREE, FREE, inter=Link(0.0, cell.link_bytes_per_s))
    servers = Servers(cell.hosts, colocated=True)
    wire, _ = push_pull_s(sizes, ready, np.array([float(cell.hosts)]), servers, network)
    calls = to_servers(cell.workload, cell.hosts)
    moved = 2 * sum(size for _, size in calls)
    return Demand(float(wire[0]), 0.0, busy * moved, busy * 2 * len(calls))


def call_demand(sample: Measurement) -> Demand:
    """What one measured push and pull asks for: a call to every server, and one back.

    Workers and servers are on hosts of their own, one on each; all share the cores.
    """
    busy = float(host_contention(sample.ranks, SHARED_CORES))
    calls = busy * 2 * sample.servers
    return Demand(compare.wire_s(sample), 0.0, busy * 2 * sample.bytes, calls)


def _price(algorithm: str, hosts: int, message_bytes: float, network: Network) -> float:
    return float(ALGORITHMS[algorithm](hosts, 1, message_bytes, network))


def _software(cost: Exchange) -> Network:
    return Network(cost, cost)


@dataclass(frozen=True)
class Model:
    """Predicts a round of every approach that it was fitted to.

    slip: chance of two ranks of Open MPI to fall out of step in an exchange.
    """

    stacks: Mapping[str, Stack]
    lab: Profile
    slip: float
    _demands: dict[tuple[str, Cell], Demand] = field(default_factory=dict, compare=False)

    def seconds(self, approach: str, cell: Cell) -> float:
        """Of a round of the approach in the cell."""
        if (approach, cell) not in self._demands:
            self._demands[approach, cell] = demand_of(approach, cell, self.lab, self.slip)
        return self.stacks[stack_of(approach)].seconds(self._demands[approach, cell])

    def best(self, approaches: Iterable[str], cell: Cell) -> str:
        """The approach of the least predicted time."""
        return min(approaches, key=lambda name: self.seconds(name, cell))


def stack_of(approach: str) -> str:
    """The name of the stack that an approach runs on."""
    return next(name for name, members in STACKS.items() if approach in members)


def fit(
    seconds: Mapping[tuple[Cell, str], float], lab: Profile, calls: Sequence[Measurement] = ()
) -> Model:
    """Fit every stack to what may be fitted of ``seconds``, and the slip of those of Open MPI.

    calls: pushes and pulls of gRPC that were measured by themselves. Raises ValueError where there
    is nothing of a stack.
    """
    single = Timed([call_demand(call) for call in calls], [call.median_s for call in calls])
    known = {}
    for name, members in STACKS.items():
        known[name] = {key: s for key, s in seconds.items() if key[1] in members and key[0].fitted}
        if not known[name]:
            raise ValueError(f"nothing to fit of {name}")

    def fitted(name: str, slip: float) -> tuple[Stack, float]:
        demands = [demand_of(approach, cell, lab, slip) for cell, approach in known[name]]
        rounds = Timed(demands, list(known[name].values()))
        return fit_stack(rounds, single if name == GRPC else NO_CALLS)

    def left(slip: float) -> float:
        return sum(fitted(name, slip)[1] for name in MPI_STACKS)

    slip = float(minimize_scalar(left, bounds=(0.0, 1.0), method="bounded",
                                 options={"xatol": SLIP_WITHIN}).x)  # fmt: skip
    return Model({name: fitted(name, slip)[0] for name in STACKS}, lab, slip)


@dataclass(frozen=True)
class Timed:
    """Demands, and the seconds that each took."""

    demands: Sequence[Demand]
    seconds: Sequence[float]

    def missed(self, stack: Stack) -> Array:
        """Predicted over measured, in logarithms."""
        said = [stack.seconds(demand) for demand in self.demands]
        return np.asarray(np.log(said) - np.log(self.seconds))


NO_CALLS = Timed((), ())


def fit_stack(rounds: Timed, calls: Timed = NO_CALLS) -> tuple[Stack, float]:
    """The parameters that explain rounds and single calls best, and what is left.

    Relative least squares, robust. All calls together weigh as much as all rounds.
    """
    weight = np.sqrt(len(rounds.demands) / max(1, len(calls.demands)))

    def missed(logs: Array) -> Array:
        stack = Stack(*(float(value) for value in np.exp(logs)))
        alone = replace(stack, overlap=1.0)
        return np.concatenate([rounds.missed(stack), weight * calls.missed(alone)])

    found = least_squares(missed, np.log(START), bounds=(np.log(LEAST), np.log(MOST)),
                          loss="soft_l1", f_scale=ROBUST)  # fmt: skip
    return Stack(*(float(value) for value in np.exp(found.x))), float(found.cost)
