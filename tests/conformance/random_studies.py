"""Small valid studies at random: any mixture of what a study file can say, by a seed."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from dse.study.quantities import QUANTITIES, TARGET
from tests.pricing import studies

T = TypeVar("T")

MOST_POINTS = 100  # without those that conditions add

ACCELERATORS = (
    "p100-sxm2-16gb", "v100-sxm2-16gb", "v100-sxm2-32gb", "a100-sxm4-40gb", "a100-sxm4-80gb",
    "a100-pcie-80gb", "h100-sxm", "h200-sxm", "t4", "l40s", "k80-die", "a10", "mi250x",
)  # fmt: skip
NODES = (
    "dgx-1-v100", "dgx-a100-40gb", "dgx-a100-80gb", "dgx-h100", "aws-p3.16xlarge",
    "aws-p4d.24xlarge", "azure-nd96asr-a100-v4", "gcp-a2-highgpu-8g", "mi300x-8",
)  # fmt: skip
NETWORKS = ("10gbe", "25gbe", "100gbe", "200gbe", "ib-edr", "ib-hdr", "ib-ndr")
IN_NODES = (
    "nvlink3",
    {"bandwidth": "200 Gbps", "latency": "2 us"},
)
OVER_PCIE = ("a100-pcie-80gb", "t4", "l40s", "k80-die", "a10")  # its latency must be given
# What the catalogue does not know of some machines, so that studies give it.
PRICE = {"purchase": "150 kUSD", "hourly": "25 USD/hour"}
UNPRICED = ("mi250x", *NODES)
WORKLOADS = (
    "resnet50", "resnet101", "vgg16", "alexnet", "mobilenet-v1", "inception-v3",
    "bert-base-s128", "bert-large-s128", "gpt2-124m", "gnmt-v2", "transformer-base",
    "dlrm-mlperf-v1-dense",
)  # fmt: skip
UNKNOWN_ACTIVATIONS = ("gnmt-v2", "transformer-base", "dlrm-mlperf-v1-dense")
OWN_WORKLOAD = {
    "name": "mine", "params": 110e6, "forward_flops": 22e9, "activation_bytes": "60 MB",
    "input_bytes": "1 kB",
}  # fmt: skip
ALGORITHMS = (
    "ring", "recursive-doubling", "halving-doubling", "reduce-broadcast", "tree", "hierarchical",
)  # fmt: skip
TRANSPORTS = ("mpi", "mpi-gdr", "nccl", "nccl-tcp", "gloo", "grpc")
BY_RULES = (
    "auto-mpi", "auto-mpi-gdr", "auto-nccl", "auto-nccl-tcp", "auto-openmpi-mpi", "auto-mpich-mpi",
)  # fmt: skip
SERVERS = ("ps-grpc", "ps-mpi", "ps-nccl", "ps-gloo")
OF_TENSORS = ("grpc", "grpc-verbs", "grpc-mpi", "grpc-gdr")
FUSED = ("horovod-mpi", "horovod-mpi-opt", "horovod-nccl")
AGGREGATIONS = (
    *(f"{algorithm}-{transport}" for algorithm in ALGORITHMS for transport in TRANSPORTS),
    *BY_RULES, *SERVERS, *OF_TENSORS, *FUSED, "baidu-mpi",
)  # fmt: skip
PROFILES = (
    "a100-node", "h100-node", "h100-cluster01", "polaris-ofi", "lassen-mpi", "oci-mpi-144",
    "aws-p5-efa", "l40s-node",
)  # fmt: skip
TARGETS: tuple[dict[str, Any], ...] = (
    {"samples": 1e6},
    {"samples": 115e6},
    {"epochs": 90, "epoch_samples": 1.28e6},
)
# Comparisons, some of which hardly any point meets and some of which all do.
LIMITS = (
    "capital <= 60 kUSD", "capital <= 400 kUSD", "capital < 3 MUSD", "capital / gpus <= 30 kUSD",
    "hourly <= 40 USD/hour", "tco <= 30 USD/hour", "power <= 20 kW", "power <= 200 kW",
    "global_batch <= 512", "global_batch >= 64", "exposed <= 0.3 * step", "comm <= 100 ms",
    "speedup >= 1", "speedup >= 4", "throughput >= 500 samples/s", "step <= 1 s", "nodes <= 4",
    "gpus == 8", "ps_servers <= nodes", "racks <= 2", "memory_slack >= 2 GiB", "goodput >= 0.9",
    "compute >= exposed", "speedup <= 6", "exposed >= 0.05 * step",
)  # fmt: skip
OF_RUNS = ("time_to_target <= 10 d", "per_run <= 20 kUSD", "energy <= 2 MWh", "carbon <= 2 t")


def study_of(seed: int, *, continuous: bool = False) -> dict[str, Any]:
    """What a study file holds, by its seed; all are valid.

    continuous: a size of buckets, or a speed of the network, has a continuous range.
    """
    draw = random.Random(seed)
    closed = draw.random() < 0.1
    space = _hardware(draw)
    space |= _software(draw, closed)
    _cut(space)
    chosen = space["aggregation"]
    when = _conditions(draw, chosen, closed)
    if continuous:
        _make_continuous(draw, space, when)
    found: dict[str, Any] = {"study": f"random-{seed}", "space": space}
    own = draw.random() < 0.1
    found["workload"] = OWN_WORKLOAD if own else draw.choice(WORKLOADS)
    if when:
        found["when"] = when
    if closed:
        found["model"] = "pai"
    elif draw.random() < 0.35:
        found["calibration"] = some(draw, PROFILES, 3)
    target = draw.choice(TARGETS) if draw.random() < 0.6 else None
    if target:
        found["target"] = target
        if found["workload"] == "resnet50" and draw.random() < 0.4:
            found["target"] = {"quality": "mlperf-resnet50"}
    found["objectives"] = _objectives(draw, target is not None)
    found["constraints"] = _constraints(draw, target is not None)
    if found["workload"] in UNKNOWN_ACTIVATIONS:
        found["constraints"] = [one for one in found["constraints"] if "memory" not in one]
    found["baseline"] = _baseline(draw, found)
    _money(draw, found)
    if draw.random() < 0.15:
        found["scale"] = "ideal"
    if draw.random() < 0.3:
        found["memory"] = "ignore"
        found["constraints"] = [one for one in found["constraints"] if one != "fits_memory"]
    if draw.random() < 0.2:
        found["input"] = "synthetic"
    if draw.random() < 0.1:
        found["efficiency"] = {"compute": 0.5, "memory": 0.8}
    return found


def written(folder: Path, study: dict[str, Any]) -> Path:
    """The path of its file; JSON is YAML."""
    return studies.written(folder, json.dumps(study, indent=1), f"{study['study']}.yaml")


def some(draw: random.Random, values: Sequence[T], most: int) -> list[T]:
    """One of the values, or up to ``most``, in any order."""
    return draw.sample(values, draw.randint(1, min(most, len(values))))


def _cut(space: dict[str, Any]) -> None:
    """Leave out last values until few points are left: a plain loop prices every one alone."""
    lists = [values for values in space.values() if isinstance(values, list)]
    while prod(map(len, lists)) > MOST_POINTS:
        max(lists, key=len).pop()


def _hardware(draw: random.Random) -> dict[str, Any]:
    space: dict[str, Any] = {"gpus": some(draw, (1, 2, 3, 4, 6, 8, 16, 24, 64, 96, 512), 4)}
    if draw.random() < 0.25:
        space["node"] = some(draw, NODES, 3)
        if draw.random() < 0.5:
            return space
    else:
        space["accelerator"] = some(draw, ACCELERATORS, 3)
        if draw.random() < 0.8:
            space["gpus_per_node"] = some(draw, (1, 2, 4, 8), 2)
        if draw.random() < 0.2:
            space["intra_node"] = draw.choice(IN_NODES)
        elif any(one in OVER_PCIE for one in space["accelerator"]):
            space["intra_node"] = IN_NODES[1]
    if draw.random() < 0.3:
        link = {"bandwidth": some(draw, ("1 Gbps", "12 Gbps", "80 Gbps"), 2),
                "latency": draw.choice(("1 us", "20 us")), "nic": "200 USD",
                "switch_port": "150 USD", "cable": "60 USD"}  # fmt: skip
        space["inter_node"] = [link, draw.choice(NETWORKS)]
    else:
        space["inter_node"] = some(draw, NETWORKS, 3)
    if draw.random() < 0.3:
        space["nics_per_node"] = some(draw, (1, 2, 4), 2)
    if draw.random() < 0.25:
        space["oversubscription"] = some(draw, (1, 2, 4, 7), 2)
    return space


def _software(draw: random.Random, closed: bool) -> dict[str, Any]:
    kinds = draw.choice((AGGREGATIONS, BY_RULES, SERVERS, OF_TENSORS + FUSED, AGGREGATIONS))
    chosen = some(draw, kinds, 3)
    space: dict[str, Any] = {
        "batch_per_gpu": some(draw, (1, 8, 16, 32, 64, 200), 3),
        "aggregation": chosen,
    }
    if draw.random() < 0.6:
        space["precision"] = some(draw, ("fp32", "tf32", "fp16", "bf16", "fp8"), 3)
    if draw.random() < 0.3:
        space["gradient"] = some(draw, ("fp32", "fp16", "bf16", "auto"), 2)
    if draw.random() < 0.25:
        space["accumulation"] = some(draw, (1, 2, 8), 2)
    if draw.random() < 0.25:
        space["optimizer"] = some(draw, ("sgd", "momentum", "adam"), 2)
    if draw.random() < 0.25:
        space["stack"] = some(draw, ("plain", "vendor", "tuned"), 2)
    if draw.random() < 0.3:
        space["overlap"] = some(draw, ("none", "ideal" if closed else "bucketed"), 2)
    return space


def _conditions(draw: random.Random, chosen: list[str], closed: bool) -> list[dict[str, Any]]:
    """Of the chosen aggregations: servers, fusion and buckets, each where it means something."""

    def under(axis: str, kinds: Sequence[str], values: Sequence[Any], share: float) -> None:
        mine = [one for one in chosen if one in kinds]
        if mine and draw.random() < share:
            found.append({"axis": axis, "values": some(draw, values, 2),
                          "if": {"aggregation": mine}})  # fmt: skip

    found: list[dict[str, Any]] = []
    buckets = [one for one in AGGREGATIONS if one not in (*OF_TENSORS, *FUSED, "baidu-mpi")]
    under("ps_servers", (*SERVERS, *OF_TENSORS), (1, 2, 3, 8), 0.8)
    under("ps_placement", (*SERVERS, *OF_TENSORS), ("dedicated", "colocated"), 0.5)
    if not closed:
        under("fusion_buffer", FUSED, ("1 MiB", "64 MiB"), 0.6)
        under("fusion_cycle", FUSED, ("1 ms", "5 ms", "20 ms"), 0.4)
    under("bucket", buckets, ("64 KiB", "1 MiB", "25 MiB", "100 MiB"), 0.5)
    return found


def _make_continuous(
    draw: random.Random, space: dict[str, Any], when: list[dict[str, Any]]
) -> None:
    """Bucket or bandwidth becomes a range."""
    if draw.random() < 0.5 and all(one["axis"] != "bucket" for one in when):
        space["bucket"] = {"from": "1 MiB", "to": "64 MiB", "continuous": True}
        space["aggregation"] = some(draw, ("ring-mpi", "tree-nccl", "ps-grpc", "auto-mpi"), 2)
        for one in list(when):
            when.remove(one)
        return
    space["inter_node"] = {
        "bandwidth": {"from": "1 Gbps", "to": "100 Gbps", "continuous": True},
        "latency": "5 us", "nic": "200 USD", "switch_port": "200 USD", "cable": "60 USD",
    }  # fmt: skip


def _objectives(draw: random.Random, target: bool) -> dict[str, Any]:
    needs = {None, TARGET} if target else {None}
    known = {name: one for name, one in QUANTITIES.items() if one.needs in needs}
    maximal = [name for name, one in known.items() if one.objective == "maximize"]
    minimal = [name for name, one in known.items() if one.objective == "minimize"]
    least = "capital" if draw.random() < 0.4 else draw.sample(minimal, draw.choice((1, 2, 2)))
    return {"maximize": draw.choice(maximal), "minimize": least}


def _constraints(draw: random.Random, target: bool) -> list[str]:
    found = some(draw, LIMITS + OF_RUNS if target else LIMITS, 2) if draw.random() < 0.6 else []
    if draw.random() < 0.4:
        found.append("fits_memory")
    if draw.random() < 0.1:
        found.append("equal_batch")
    return found


def _baseline(draw: random.Random, study: dict[str, Any]) -> dict[str, Any]:
    """Something small that any accelerator can do; of continuous axes a value."""
    space = study["space"]
    baseline: dict[str, Any] = {"gpus": draw.choice((1, 2, 8)), "batch_per_gpu": 1}
    if "precision" in space:
        baseline["precision"] = "fp32"
    if "gradient" in space:
        baseline["gradient"] = "fp32"
    if isinstance(space.get("bucket"), dict):
        baseline["bucket"] = "4 MiB"
    link = space.get("inter_node")
    if isinstance(link, dict):
        baseline["inter_node"] = link | {"bandwidth": "10 Gbps"}
    for one in study.get("when", ()):
        if one["axis"] == "ps_placement" and space["aggregation"][0] in one["if"]["aggregation"]:
            baseline["ps_placement"] = "dedicated"  # a server on each worker's node may be too many
    return baseline


def _money(draw: random.Random, study: dict[str, Any]) -> None:
    """Rental, ownership, what is owned, the market, prices, failures and the region."""
    space = study["space"]
    if draw.random() < 0.4:
        study["market"] = "used"
    if draw.random() < 0.25:
        study["rental"] = draw.choice(
            ("1-year", "spot", {"term": "spot", "discount": 0.5, "minimum": "1 h",
                                "billing_unit": "1 h", "start_up": "10 min", "rented_in": 8})
        )  # fmt: skip
    if draw.random() < 0.2:
        study["ownership"] = {"residual_value": 0.3, "utilisation": 0.5}
    if draw.random() < 0.2:
        study["region"] = draw.choice(("iowa", "france", "poland", "gcp-us-central1"))
    if draw.random() < 0.2:
        study["failures"] = draw.choice(("ideal", {"per_accelerator_month": 0.5}))
    prices: dict[str, Any] = {}
    if draw.random() < 0.2:
        prices = {"host": "9 kUSD", "electricity": "0.1 USD/kWh", "pue": 1.2,
                  "rack": "3000 USD", "rack_power": "17 kW"}  # fmt: skip
    for kind in ("accelerator", "node"):
        if unpriced := [one for one in space.get(kind, ()) if one in UNPRICED]:
            prices[f"{kind}s"] = dict.fromkeys(unpriced, PRICE)
    if prices:
        study["prices"] = prices
    compared = str([study["objectives"], study["constraints"]])
    if draw.random() < 0.25 and "hourly" not in compared and "per_run" not in compared:
        count = draw.choice((1, 4, 12))
        if "node" in space:
            study["owned"] = {"node": draw.choice(space["node"]), "nodes": count}
        else:
            study["owned"] = [
                {"accelerator": draw.choice(space["accelerator"]), "gpus": 4 * count,
                 "gpus_per_node": 4, "inter_node": draw.choice(NETWORKS)}
            ]  # fmt: skip
