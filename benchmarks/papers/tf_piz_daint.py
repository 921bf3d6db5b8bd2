"""Rates that were measured on Piz Daint, beside those of the model that the abstract's facts use.

The counts up to 8 of Inception v3 set the model's waiting; the larger ones set nothing, and none of
Horovod's did. A study has its own terms of scale in place of that waiting, which other systems set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

import dse
from benchmarks.accuracy.scaling_data import Series, read_series
from benchmarks.papers.fact import CHECK, Fact
from benchmarks.papers.tf_machines import PIZ_DAINT, samples_per_s
from dse import catalog
from dse.model.arrays import Array

WITHIN = 0.20  # of the published rate
SYNTHETIC = "synthetic"  # data, not read from disks
HOROVOD, GRPC = "piz-daint-horovod", "piz-daint-grpc"
SOURCES = {HOROVOD: "sarus-cookbook", GRPC: "distributed-tensorflow-2017"}
APPROACHES = {HOROVOD: "horovod-mpi", GRPC: "grpc"}
SERVERS = tuple(2**k for k in range(8))
# A study must know what its network costs; nothing here turns on it.
_ANY_PRICE = dict.fromkeys(("nic", "switch_port", "cable"), "1 USD")


@dataclass(frozen=True)
class Beside:
    """Rates by count, (counts,): images/s, or times the rate of one node."""

    nodes: Array
    modelled: Array
    measured: Array

    @property
    def error(self) -> Array:
        """Of the model, relative."""
        return np.asarray(self.modelled / self.measured - 1)


@dataclass(frozen=True)
class Studied(Beside):
    """A study's rates, images/s, and the ends of their 90 % intervals, (counts,)."""

    low: Array
    high: Array

    @property
    def inside(self) -> int:
        """How many of the measured rates lie in their interval."""
        return int(np.sum((self.low <= self.measured) & (self.measured <= self.high)))


def horovod(facts: catalog.Approach | None = None) -> Beside:
    """ResNet-50 by Horovod over MPI, images/s. facts: in place of the catalogue's."""
    return _beside(HOROVOD, facts)


def grpc() -> Beside:
    """Inception v3 on parameter servers over gRPC, times the rate of one node.

    Computing itself is not judged here: no fact of the abstract turns on it.
    """
    found = _beside(GRPC)
    first = found.modelled[0], found.measured[0]
    return Beside(found.nodes, found.modelled / first[0], found.measured / first[1])


def studied(system: str, scale: str = "fitted") -> Studied:
    """What a study gives for the same machine, by the best number of servers where there are any.

    scale: as a study has it: ``fitted``, to other systems, or ``ideal``.
    """
    of = _series(system)
    nodes = np.array([row.gpus for row in of.rows])
    study = dse.load_study(_study(of, scale))
    points = [{"gpus": int(n)} for n in nodes]
    if system == GRPC:
        points = [{**point, "ps_servers": count} for point in points for count in SERVERS
                  if count <= point["gpus"]]  # fmt: skip
    prices = study.price(points, intervals=True)
    where = np.array([point["gpus"] for point in points])
    rate, step_s, low, high = (
        np.asarray(prices[name])
        for name in ("throughput_samples_per_s", "step_s", "step_s_low", "step_s_high")
    )
    best = [int(np.flatnonzero(where == n)[np.argmax(rate[where == n])]) for n in nodes]
    ends = ((rate * step_s / end)[best] for end in (high, low))
    measured = np.array([row.samples_per_s for row in of.rows])
    return Studied(nodes.astype(float), rate[best], measured, *ends)


def _study(of: Series, scale: str) -> Mapping[str, object]:
    aggregation = APPROACHES[of.route.system]
    link = {"bandwidth": f"{8e-9 * PIZ_DAINT.link_bytes_per_s:g} Gbps",
            "latency": f"{1e6 * PIZ_DAINT.latency_s:g} us", **_ANY_PRICE}  # fmt: skip
    space = {
        "accelerator": [PIZ_DAINT.accelerator],
        "gpus": {"from": 1, "to": 128, "scale": "doubling"},
        "gpus_per_node": [1],
        "inter_node": [link],
        "batch_per_gpu": [of.batch],
        "precision": ["fp32"],
        "aggregation": [aggregation],
    }
    study: dict[str, object] = {
        "study": of.route.system,
        "workload": of.workload,
        "space": space,
        "objectives": {"maximize": "throughput", "minimize": "capital"},
        "scale": scale,
    }
    if aggregation == "grpc":
        served = {"aggregation": [aggregation]}
        study["when"] = [
            {"axis": "ps_servers", "values": list(SERVERS), "if": served},
            {"axis": "ps_placement", "values": ["colocated"], "if": served},
        ]
    return study


def rows() -> list[Fact]:
    """The largest count of each: the one that the abstract's facts are computed for."""
    return [
        _at_most(HOROVOD, "Piz Daint, Horovod over MPI, ResNet-50, images/s", horovod()),
        _at_most(GRPC, "Piz Daint, gRPC servers, Inception v3, times the rate of one node", grpc()),
        _at_most(HOROVOD, "Piz Daint, Horovod over MPI, ResNet-50, images/s of a study with its "
                 "terms of scale", studied(HOROVOD)),
        _at_most(GRPC, "Piz Daint, gRPC servers, Inception v3, images/s of a study with its terms "
                 "of scale", studied(GRPC)),
    ]  # fmt: skip


def _at_most(system: str, name: str, found: Beside) -> Fact:
    measured = float(found.measured[-1])
    fewer = ", ".join(
        f"{error:+.0%} on {nodes:g}"
        for nodes, error in zip(found.nodes[:-1], found.error[:-1], strict=True)
    )
    return Fact(
        SOURCES[system], f"{name}, {found.nodes[-1]:g} nodes", measured, float(found.modelled[-1]),
        measured * (1 - WITHIN), measured * (1 + WITHIN), CHECK, f"the model is off by {fewer}",
    )  # fmt: skip


def tried() -> Mapping[str, Beside]:
    """Horovod with what might slow it, one at a time; none of it is fitted.

    The published run was of a Horovod built without CUDA: it sums copies in host memory.
    """
    usual = catalog.approach(APPROACHES[HOROVOD])
    changed = {
        "as in the catalogue": usual,
        "gradients summed in host memory, as that Horovod was built":
            replace(usual, reaches_device=False, queries=0.0, sum_start_s=0.0),
        "the host sums at 1 GB/s in place of 5": replace(usual, sum_s_per_byte=1e-9),
        "half of the link": replace(usual, link_efficiency=usual.link_efficiency / 2),
        "no tensor fusion": replace(usual, buffer_bytes=1.0),
        "recursive doubling for every message": replace(usual, algorithm="recursive-doubling"),
    }  # fmt: skip
    return {what: horovod(facts) for what, facts in changed.items()}


def _beside(system: str, facts: catalog.Approach | None = None) -> Beside:
    of, approach = _series(system), facts or catalog.approach(APPROACHES[system])
    nodes = np.array([float(row.gpus) for row in of.rows])
    batch = np.full(nodes.shape, float(of.batch))
    rates = samples_per_s(PIZ_DAINT, approach, of.workload, nodes, batch)
    return Beside(nodes, rates, np.array([row.samples_per_s for row in of.rows]))


def _series(system: str) -> Series:
    (found,) = [of for of in read_series()
                if of.route.system == system and of.data == SYNTHETIC]  # fmt: skip
    return found
