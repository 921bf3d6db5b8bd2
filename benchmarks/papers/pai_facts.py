"""Numbers that the PAI paper published, beside the same numbers of a population.

``role`` says how far a fact counts: an ``identity`` is what the equations say of any jobs on the
paper's hardware, ``fitted`` facts set the equations or the populations that ship, or follow from
what did (that either agrees is no evidence), ``assumed`` ones depend on unverified values (neither
agrees nor fails). None is a check that was free to disagree. Every published
number here was read in its source; some of what the populations rest on was not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.fleet.breakdown import Priced, shares, weights
from dse.fleet.ports import port
from dse.fleet.recipe import population_path, read_recipe
from dse.fleet.upgrades import most_sensitive, sensitivity, speedups
from dse.model.pai import (
    ALLREDUCE_CLUSTER,
    ALLREDUCE_LOCAL,
    ONE_WORKER_N_GPUS,
    ONE_WORKER_ONE_GPU,
    PS_WORKER,
    Hardware,
    Jobs,
    step_times,
)


@dataclass(frozen=True)
class PaperFact:
    """One published number or name, and ours; from low to high they agree.

    source: where it was read. why: what set it, or what it follows from. ok: None where what was
    assumed decides it.
    """

    paper: str
    fact: str
    published: float | str
    computed: float | str
    low: float | None
    high: float | None
    role: str
    source: str
    why: str
    ok: bool | None


PAPER = "Wang et al., Alibaba-PAI, IISWC 2019"
ABSTRACT, NOTES, EQUATIONS = "abstract", "reading notes", "the equations"
IDENTITY, FITTED, ASSUMED = "identity", "fitted", "assumed"
BASE_OF = "pai-ps-worker"  # the population whose base is the paper's hardware
FASTER_ETHERNET = 100e9 / 8  # bytes/s


def _number(
    fact: str, published: float | str, computed: float, ends: tuple[float, float], *rest: str
) -> PaperFact:
    role, source, why = rest
    low, high = ends
    ok = None if role == ASSUMED else bool(low <= computed <= high)
    return PaperFact(PAPER, fact, published, float(computed), low, high, role, source, why, ok)


def _name(fact: str, published: str, computed: str, role: str, source: str, why: str) -> PaperFact:
    ok = None if role == ASSUMED else computed == published
    return PaperFact(PAPER, fact, published, computed, None, None, role, source, why, ok)


def facts(found: Sequence[Priced], hardware: Hardware) -> list[PaperFact]:
    """Every fact that the classes in ``found`` allow. hardware: what they were priced on.

    Identities are of the paper's hardware, whatever ``hardware`` is.
    """
    by_class = {entry.group.architecture: entry for entry in found}
    gains = sensitivity(found, hardware, False)
    out = list(of_equations(paper_hardware()))
    if PS_WORKER in by_class:
        out += _of_ps_worker(by_class[PS_WORKER], hardware, gains)
    if {PS_WORKER, ONE_WORKER_ONE_GPU, ONE_WORKER_N_GPUS} <= set(by_class):
        out += _of_fleet(by_class, gains)
    return out


def paper_hardware() -> Hardware:
    """The base hardware of the paper, which the published numbers are of."""
    return read_recipe(population_path(BASE_OF)).base


def of_equations(hardware: Hardware) -> Iterator[PaperFact]:
    """Facts that follow from the equations alone, for servers of two accelerators or more.

    hardware: the paper's, or one with the same links.
    """
    one = Jobs(1.0, 0.0, 0.0, 0.0, 1.0)

    def weights_s(architecture: str, on: Hardware) -> float:
        return float(step_times(architecture, one, on).weights_s)

    ps = weights_s(PS_WORKER, hardware)
    why = "both legs of PS/Worker over those of the port, on the paper's hardware"
    yield _number("largest speedup of communication, PS/Worker to AllReduce-Local", 21.0,
                  ps / weights_s(ALLREDUCE_LOCAL, hardware), (20.95, 21.05),
                  IDENTITY, EQUATIONS, why)  # fmt: skip
    yield _number("largest speedup of communication, PS/Worker to AllReduce-Cluster", 1.235,
                  ps / weights_s(ALLREDUCE_CLUSTER, hardware), (1.2345, 1.2355),
                  IDENTITY, EQUATIONS, why)  # fmt: skip
    faster = replace(hardware, ethernet_bytes_per_s=FASTER_ETHERNET)
    yield _number("communication of PS/Worker left from 25 to 100 Gbps", 0.4286,
                  weights_s(PS_WORKER, faster) / ps, (0.42855, 0.42865),
                  IDENTITY, EQUATIONS,
                  "Ethernet's leg is a quarter, PCIe's stays, on the paper's hardware")  # fmt: skip


def _of_ps_worker(
    ps: Priced, hardware: Hardware, gains: Mapping[str, Mapping[str, float]]
) -> Iterator[PaperFact]:
    part = shares(ps.times)
    share = part["weights"]
    yield _number("mean share of weights in a PS/Worker step", 0.62, share.mean(),
                  (0.615, 0.625), FITTED, NOTES, "mean_shares of the population")  # fmt: skip
    yield _number("PS/Worker jobs above 80 % communication", "> 0.40", (share > 0.8).mean(),
                  (0.40, 1.0), FITTED, NOTES, "concentration of the population")  # fmt: skip
    fast = replace(hardware, ethernet_bytes_per_s=FASTER_ETHERNET)
    ways = speedups([ps], fast, False)[PS_WORKER]
    yield _number("mean speedup of PS/Worker jobs from 25 to 100 Gbps", 1.7,
                  ways.mean_of_ratios, (1.65, 1.75), FITTED, ABSTRACT,
                  "the equation's two legs were chosen because only they give it")  # fmt: skip
    local = port(ps, ALLREDUCE_LOCAL, hardware, False, None)
    yield _number("PS/Worker jobs that gain from AllReduce-Local", 0.6, local.gain_throughput,
                  (0.55, 0.65), ASSUMED, ABSTRACT,
                  "in samples per second; depends on unverified hardware, sizes from another trace "
                  "and how input is spread")  # fmt: skip
    yield _name("what PS/Worker is most sensitive to", "ethernet",
                most_sensitive(gains[PS_WORKER]), FITTED, NOTES,
                "follows from mean_shares and both legs")  # fmt: skip


def _of_fleet(
    by_class: Mapping[str, Priced], gains: Mapping[str, Mapping[str, float]]
) -> Iterator[PaperFact]:
    jobs = sum(entry.group.size for entry in by_class.values())
    hours = sum(float(entry.group.gpu_hours.sum()) for entry in by_class.values())
    ps, alone = by_class[PS_WORKER], by_class[ONE_WORKER_ONE_GPU]
    means = {name: {part: float(share.mean()) for part, share in shares(entry.times).items()}
             for name, entry in by_class.items()}  # fmt: skip
    sums = dict.fromkeys(("weights", "compute"), 0.0)
    for entry in by_class.values():
        part, weight = shares(entry.times), weights(entry.group, "cnode") / hours
        sums["weights"] += float(part["weights"] @ weight)
        sums["compute"] += float((part["flops"] + part["memory"]) @ weight)
    yield _number("share of PS/Worker in all jobs", 0.29, ps.group.size / jobs, (0.285, 0.295),
                  FITTED, NOTES, "job_share of the population")  # fmt: skip
    yield _number("share of PS/Worker in all cNodes", 0.81, ps.group.gpu_hours.sum() / hours,
                  (0.79, 0.83), FITTED, NOTES, "sizes of the 1wng jobs")  # fmt: skip
    yield _number("communication in the cNode time of all jobs", 0.62, sums["weights"],
                  (0.615, 0.625), FITTED, ABSTRACT, "size_coupling of the population")  # fmt: skip
    larger = "communication" if sums["weights"] > sums["compute"] else "computing"
    yield _name("the largest part of the fleet's cNode time", "communication", larger, FITTED,
                ABSTRACT, "follows from the line before")  # fmt: skip
    yield _number("mean share of input in a 1w1g step", 0.1, means[ONE_WORKER_ONE_GPU]["data"],
                  (0.095, 0.105), FITTED, NOTES, "data_share of the population")  # fmt: skip
    above = float((shares(alone.times)["data"] > 0.5).mean())
    yield _number("1w1g jobs with more than half of the step input", 0.05, above, (0.045, 0.055),
                  FITTED, NOTES, "data_share of the population")  # fmt: skip
    several = [entry for name, entry in by_class.items() if name != ONE_WORKER_ONE_GPU]
    data = np.concatenate([shares(entry.times)["data"] for entry in several])
    yield _number("mean share of input in a step of several cNodes", 0.03, data.mean(),
                  (0.025, 0.035), FITTED, NOTES, "data_share of the population")  # fmt: skip
    bound = all(mean["memory"] > mean["flops"] for mean in means.values())
    yield _name("memory-bound work takes longer than compute-bound", "in every class",
                "in every class" if bound else "not in every class", FITTED, NOTES,
                "mean_shares of the population")  # fmt: skip
    for name, resource in ((ONE_WORKER_ONE_GPU, "memory"), (ONE_WORKER_N_GPUS, "pcie")):
        yield _name(f"what {name} is most sensitive to", resource, most_sensitive(gains[name]),
                    FITTED, NOTES, "mean_shares of the population")  # fmt: skip
