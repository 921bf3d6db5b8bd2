"""Allreduce priced from the catalogue alone, no profile, against every system that was measured.

The price is that of a study without ``calibration:``: the library's own choice of algorithm, on
links of the catalogue. Benchmarks of MPI make no copies to and from accelerators; their prices
leave these out. No constant is taken from these measurements, but the forms were changed while
looking at all of them, so this says how good the prices are, not how good they would be elsewhere.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from benchmarks.accuracy.public_logs import TABLE
from dse import load_study
from dse.calibration.experiment import Measurement
from dse.calibration.importers.logs import import_logs
from dse.model.arrays import Array
from dse.pricing.points import Points

CLOUD_TRAINING = TABLE.with_name("cloud_training.csv")
KIB, MIB = 2.0**10, 2.0**20


@dataclass(frozen=True)
class Class:
    """Messages from so many bytes on up to so many, and the factor they are wanted within."""

    title: str
    least: float
    below: float
    factor: float

    def holds(self, message_bytes: Floats) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of the messages are in it."""
        return np.asarray((message_bytes >= self.least) & (message_bytes < self.below))


CLASSES = (
    Class("below 64 KiB", 0.0, 64 * KIB, 2.0),
    Class("64 KiB to 1 MiB", 64 * KIB, MIB, 2.0),
    Class("1 MiB to 64 MiB", MIB, 64 * MIB, 1.3),
    Class("from 64 MiB", 64 * MIB, np.inf, 1.3),
)


@dataclass(frozen=True)
class System:
    """A measured system in words of the catalogue.

    where: of its rows of benchmarks/data/allreduce.csv. points: its nodes and links as axes of a
    study. transport: between nodes.
    """

    title: str
    where: Mapping[str, str]
    points: Mapping[str, Any] = field(default_factory=dict)
    transport: str = "nccl"

    def holds(self, sample: Measurement) -> bool:
        """Whether it was measured on this system."""
        found = {"system": sample.system, "library": f"{sample.library}-{sample.version}",
                 "link": sample.link}  # fmt: skip
        return all(found[name].startswith(value) for name, value in self.where.items())


_SLINGSHOT = {"inter_node": "slingshot-11"}
# Of Alps 4 cards of 200 Gbps are recalled; its GH200 counts as an H100 with the
# links of one. cluster01 does not name its network: 400 Gbps for each GPU used is what it reaches.
SYSTEMS = (
    System("Polaris, NCCL 2.18, OFI", {"system": "polaris", "library": "nccl-2.18", "link": "ofi"},
           {"node": "alcf-polaris"}),
    System("Polaris, NCCL 2.21, OFI", {"system": "polaris", "library": "nccl-2.21", "link": "ofi"},
           {"node": "alcf-polaris"}),
    System("Alps GH200, CXI", {"system": "alps", "link": "slingshot-cxi"},
           {"accelerator": "h100-sxm", "nics_per_node": 4, **_SLINGSHOT}),
    System("AWS p4de", {"system": "aws-p4de"},
           {"node": "aws-p4de.24xlarge"}),
    System("AWS p5", {"system": "aws-p5", "link": "efa"},
           {"node": "aws-p5.48xlarge"}),
    System("cluster01, 10 nodes of H100", {"system": "cluster01", "link": "network"},
           {"accelerator": "h100-sxm", "inter_node": "ib-ndr"}),
    System("one node of A100", {"system": "aic-a100"}, {"accelerator": "a100-sxm4-80gb"}),
    System("one node of A100, Azure", {"system": "superbench"}, {"accelerator": "a100-sxm4-40gb"}),
    System("one node of H100", {"system": "aic-h100"}, {"accelerator": "h100-sxm"}),
    System("one node of H100, Snellius", {"system": "snellius"}, {"accelerator": "h100-sxm"}),
    System("one node of H100, AWS p5", {"system": "aws-p5-node"}, {"accelerator": "h100-sxm"}),
    System("one node of H100, cluster01", {"system": "cluster01", "link": "nvlink"},
           {"accelerator": "h100-sxm"}),
    System("one node of L40S, PCIe", {"system": "aic-l40s"}, {"accelerator": "l40s"}),
    System("Polaris, TCP", {"system": "polaris", "link": "tcp"},
           {"node": "alcf-polaris"}, "nccl-tcp"),
    System("Alps GH200, sockets", {"system": "alps", "link": "slingshot-sockets"},
           {"accelerator": "h100-sxm", "nics_per_node": 4, **_SLINGSHOT}, "nccl-tcp"),
)  # fmt: skip
_HOSTS = {"accelerator": "v100-sxm2-16gb", "nics_per_node": 1}  # whatever it is, hosts do the sums
MPI_SYSTEMS = (
    System("Lassen, 4 to 32 nodes of one rank, EDR", {"system": "lassen"},
           {**_HOSTS, "inter_node": "ib-edr"}, "mpi"),
    System("OCI, 4 nodes of 36 ranks, RoCE", {"system": "oci-optimized3"},
           {**_HOSTS, "inter_node": "100gbe"}, "mpi"),
)  # fmt: skip


def priced_s(
    name: str, points: Mapping[str, Any], ranks: int, per_node: int, message_bytes: Array
) -> Array:
    """Seconds of one allreduce of every size, as a study without a profile prices it.

    Without the copies to and from accelerators.

    name: of the aggregation. points: axes of a study other than the accelerators' counts.
    """
    at = placed(name, points, ranks, per_node)
    sizes = np.asarray(message_bytes).reshape((-1,) + (1,) * at.rank)
    reached = at.summing.transport.reaches_device
    copied_s = 0.0 if reached else 2 * sizes / at.host_bytes_per_s
    return np.ravel(at.aggregation.message_s(sizes, at.gradients, at.layout) - copied_s)


def placed(name: str, points: Mapping[str, Any], ranks: int, per_node: int) -> Points:
    """The point of a study without a profile; see :func:`priced_s`."""
    network = {} if "node" in points else {"nics_per_node": per_node, "inter_node": "ib-ndr"}
    space = {**network, "batch_per_gpu": 1, **points, "gpus": ranks, "gpus_per_node": per_node,
             "aggregation": [name]}  # fmt: skip
    problem = load_study({
        "study": "catalogue", "workload": "resnet50", "space": space,
        "objectives": {"maximize": "throughput", "minimize": "power"},
    }).problem  # fmt: skip
    return problem.points_at({axis.name: axis.values[0] for axis in problem.study.axes})


def ratios(
    system: System, samples: Sequence[Measurement], algorithm: str = "auto"
) -> tuple[Floats, Floats]:
    """Bytes of every measured message, and its predicted over its measured time."""
    mine = [sample for sample in samples if system.holds(sample) and sample.bytes > 0]
    layouts = dict.fromkeys((sample.ranks, sample.ranks_per_node) for sample in mine)
    sizes, found = [], []
    for n, g in layouts:
        there = [s for s in mine if (s.ranks, s.ranks_per_node) == (n, g)]
        size = np.array([float(s.bytes) for s in there])
        measured = np.array([s.median_s for s in there])
        name = f"{algorithm}-{system.transport}"
        sizes.append(size)
        found.append(priced_s(name, system.points, n, g, size) / measured)
    return np.concatenate(sizes), np.concatenate(found)


def cloud_lines() -> list[Line]:
    """Training on nodes of a cloud without RDMA, fp32, by NCCL's sockets and without a profile."""
    ratio, held = [], []
    with CLOUD_TRAINING.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        point: dict[str, Any] = {
            "node": row["node"], "gpus": int(row["gpus"]), "precision": "fp32",
            "batch_per_gpu": int(row["batch_per_gpu"]), "aggregation": "auto-nccl",
        }  # fmt: skip
        found = load_study({
            "study": "cloud", "workload": row["workload"], "space": point, "stack": "plain",
            "input": "synthetic", "objectives": {"maximize": "throughput", "minimize": "step"},
        }).price([point], intervals=True)  # fmt: skip
        rate, low, high = (
            found[f"throughput_samples_per_s{end}"][0] for end in ("", "_low", "_high")
        )
        ratio.append(rate / float(row["samples_per_s"]))
        held.append(low <= float(row["samples_per_s"]) <= high)
    about = (
        "published: cloud without RDMA, without a profile, flow of a socket chosen on these rows"
    )
    several = np.array([row["gpus"] != "8" for row in rows])
    return [Line(about, "dse", np.array(ratio)[several], np.array(held)[several])]


@dataclass(frozen=True)
class Row:
    """A system, and in every class that it was measured in the predicted over measured times."""

    title: str
    found: Mapping[str, Floats]

    def record(self) -> dict[str, Any]:
        """The row for the JSON file."""
        return {"system": self.title, "ratios": {of: r.tolist() for of, r in self.found.items()}}


def rows(systems: Sequence[System] = SYSTEMS) -> list[Row]:
    """One for each system."""
    samples = import_logs([TABLE]).samples
    found = []
    for system in systems:
        sizes, ratio = ratios(system, samples)
        parts = {size.title: ratio[size.holds(sizes)] for size in CLASSES}
        found.append(Row(system.title, {name: part for name, part in parts.items() if part.size}))
    return found


def table(found: Sequence[Row], what: str = "NCCL") -> str:
    """A row a system as Markdown, and all together.

    Of each class the median of predicted over measured time, its range, and how many of the
    messages are within the factor wanted.
    """
    wanted = [f"{size.title} (within {size.factor:g})" for size in CLASSES]
    lines = [
        f"| {what} without a profile: predicted / measured time | {' | '.join(wanted)} |",
        "|---" * (len(CLASSES) + 1) + "|",
    ]
    for row in found:
        cells = [_cell(row.found[c.title], c.factor) if c.title in row.found else ""
                 for c in CLASSES]  # fmt: skip
        lines.append(f"| {row.title} | {' | '.join(cells)} |")
    cells = []
    for size in CLASSES:
        parts = [row.found[size.title] for row in found if size.title in row.found]
        ratio = np.concatenate(parts)
        off = np.exp(np.median(np.abs(np.log(ratio))))
        right = sum(_within(np.median(part), size.factor) for part in parts)
        cells.append(f"median factor {off:.2f}, {_share(ratio, size.factor)}; "
                     f"the median of {right} of {len(parts)} systems")  # fmt: skip
    lines.append(f"| all | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(ratio: Floats, factor: float) -> str:
    return f"{np.median(ratio):.2f} ({ratio.min():.2f}-{ratio.max():.2f}), {_share(ratio, factor)}"


def _share(ratio: Floats, factor: float) -> str:
    return f"{np.mean([_within(each, factor) for each in ratio]):.0%} within"


def _within(ratio: float, factor: float) -> bool:
    return bool(1 / factor <= ratio <= factor)
