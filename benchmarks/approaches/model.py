"""What a round takes by the model, and the few parameters that are fitted for each stack.

::

    round = latency x messages + (wire^p + host^p)^(1/p)                      1 <= p
    wire  = seconds of the approach's bytes on the busiest link / WIRE_EFFICIENCY
    host  = slope x bytes, of the host that has most to do

Messages, bytes and the chain come from dse.model: the steps of ring and halving-doubling, the
placement of tensors on servers, Open MPI's rules. What an exchange of Open MPI takes of the wire is
that of the lab's own profile, fitted to allreduce on 2 to 4 hosts. p = 1: bytes are copied, then
sent; large: one hides behind the other. All hosts share the cores of one machine, so the host's
parts take as many times as long as there are hosts for a core. Fitted: latency, slope and p.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

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
from dse.calibration.network_part import NetworkFit, host_contention, in_lockstep
from dse.calibration.profile import Profile
from dse.calibration.runners.timing import FLOAT_BYTES
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.library_rules import OPENMPI, mpi_rules
from dse.model.arrays import Array
from dse.model.links import FREE, Exchange, Link, Network, StepCost
from dse.model.tensor_servers import Servers, served

# Approaches that run the same code for a message share its parameters.
STACKS: Mapping[str, tuple[str, ...]] = {
    "grpc": (GRPC_PS,),
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


@dataclass(frozen=True)
class Demand:
    """What an approach asks for in a cell.

    wire_s: seconds of its bytes on the busiest link, at the link's rate. messages, bytes: of the
    host that has most to do, already times the contention for the cores.
    """

    wire_s: float
    messages: float
    bytes: float


@dataclass(frozen=True)
class Stack:
    """Fitted parameters; see the top of the module."""

    latency_s: float
    s_per_byte: float
    overlap: float

    def seconds(self, demand: Demand) -> float:
        """Of a round."""
        parts = np.array([demand.wire_s / WIRE_EFFICIENCY, self.s_per_byte * demand.bytes])
        longer = float(parts.max())
        together = np.sum((parts / longer) ** self.overlap)
        return float(self.latency_s * demand.messages + longer * together ** (1 / self.overlap))


def demand_of(approach: str, cell: Cell, lab: Profile) -> Demand:
    """What the approach asks for; ``lab``: the profile whose exchanges Open MPI's are."""
    busy = float(host_contention(cell.hosts, SHARED_CORES))
    if approach in (GRPC_PS, MPI_PS):
        return _servers(cell, busy)
    sizes = [float(FLOAT_BYTES * sum(one)) for one in messages(approach, cell.workload)]
    found = np.zeros(3)
    for place, size in enumerate(sizes):
        algorithm = algorithm_of(approach, cell.hosts, size)
        fit = None if approach in (GLOO, GLOO_25) else lab.network[algorithm]
        found += [
            _wire_s(algorithm, cell, size, fit, after_barrier=place == 0),
            _price(algorithm, cell.hosts, size, _software(StepCost(1.0, (0.0,)))),
            _price(algorithm, cell.hosts, size, _software(StepCost(0.0, (1.0,)))),
        ]
    waits = 1.0 if approach in SLEEPING else busy
    return Demand(float(found[0]), waits * float(found[1]), busy * float(found[2]))


def _wire_s(
    algorithm: str, cell: Cell, message_bytes: float, fit: NetworkFit | None, after_barrier: bool
) -> float:
    """Seconds of an allreduce on the wire; ``fit``: what its exchanges take of it, else once."""
    link = Link(0.0, cell.link_bytes_per_s)
    crossing = fit.crossing if fit else None
    whole = _price(algorithm, cell.hosts, message_bytes,
                   Network(FREE, FREE, inter=link, crossing=crossing))  # fmt: skip
    if fit is None or not after_barrier:
        return whole
    n, m = np.array(float(cell.hosts)), np.array(message_bytes)
    size, count = in_lockstep(algorithm, n, m)
    return whole - float(count * (fit.crossing(size) - size)) / cell.link_bytes_per_s


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
    wire, _ = served(sizes, ready, np.array([float(cell.hosts)]), servers, network)
    calls = to_servers(cell.workload, cell.hosts)
    return Demand(float(wire[0]), busy * 2 * len(calls), busy * 2 * sum(s for _, s in calls))


def _price(algorithm: str, hosts: int, message_bytes: float, network: Network) -> float:
    return float(ALGORITHMS[algorithm](hosts, 1, message_bytes, network))


def _software(cost: Exchange) -> Network:
    return Network(cost, cost)


@dataclass(frozen=True)
class Model:
    """Predicts a round of every approach that it was fitted to."""

    stacks: Mapping[str, Stack]
    lab: Profile

    def seconds(self, approach: str, cell: Cell) -> float:
        """Of a round of the approach in the cell."""
        return self.stacks[stack_of(approach)].seconds(demand_of(approach, cell, self.lab))

    def best(self, approaches: Iterable[str], cell: Cell) -> str:
        """The approach of the least predicted time."""
        return min(approaches, key=lambda name: self.seconds(name, cell))


def stack_of(approach: str) -> str:
    """The name of the stack that an approach runs on."""
    return next(name for name, members in STACKS.items() if approach in members)


def fit(seconds: Mapping[tuple[Cell, str], float], lab: Profile) -> Model:
    """Fit every stack to what may be fitted of ``seconds``: relative least squares, robust.

    Raises ValueError where that leaves nothing of a stack.
    """
    stacks = {}
    for name, members in STACKS.items():
        known = {key: s for key, s in seconds.items() if key[1] in members and key[0].fitted}
        if not known:
            raise ValueError(f"nothing to fit of {name}")
        demands = [demand_of(approach, cell, lab) for cell, approach in known]
        stacks[name] = fit_stack(demands, np.array(list(known.values())))
    return Model(stacks, lab)


def fit_stack(demands: list[Demand], seconds: Array) -> Stack:
    """The parameters that explain ``seconds`` (cells,) best, in logarithms."""

    def missed(logs: Array) -> Array:
        stack = Stack(*(float(value) for value in np.exp(logs)))
        return np.log([stack.seconds(demand) for demand in demands]) - np.log(seconds)

    found = least_squares(missed, np.log(START), bounds=(np.log(LEAST), np.log(MOST)),
                          loss="soft_l1", f_scale=0.1)  # fmt: skip
    return Stack(*(float(value) for value in np.exp(found.x)))
