"""Run documents by a toy cost model: as objects, and as a run.json holds them, which tests vary
before they are read."""

from __future__ import annotations

import itertools
import math
from copy import deepcopy
from functools import cache
from typing import Any

from dse.report.design_point import Point
from dse.report.document import SCHEMA_VERSION, RunDocument
from dse.report.front_columns import front_columns
from dse.report.json_form import parsed
from dse.report.words import CATALOGUE, SILENT

ACCELERATORS = {"p100-pcie-16gb": (1.0, 5000.0), "v100-sxm2-16gb": (3.0, 9000.0),
                "a100-sxm4-80gb": (7.0, 15000.0)}  # fmt: skip
FABRICS = {"25 Gbps": (3.1e9, 400.0), "100 Gbps": (12.5e9, 1500.0)}
AGGREGATIONS = {"ps-grpc": 3.0, "ring-mpi": 1.2, "halving-doubling-mpi": 1.0, "tree-nccl": 0.9}
AXES = {
    "accelerator": list(ACCELERATORS),
    "gpus": ["1", "2", "4", "8", "12", "16", "24", "32", "48", "64", "96", "128"],
    "gpus_per_node": ["4"],
    "inter_node": list(FABRICS),
    "batch_per_gpu": ["32", "64"],
    "precision": ["fp32", "fp16"],
    "aggregation": list(AGGREGATIONS),
    "bucket": ["1 MiB", "25 MiB"],
    "ps_servers": ["1", "4"],
}
UNITS = {"speedup": "x", "capital": "USD", "hourly": "USD/hour", "tco": "USD/hour", "power": "W",
         "per_run": "USD", "time_to_target": "s", "throughput": "samples/s"}  # fmt: skip
THREE = (("capital", "power"), ("power", "step"), ("time_to_target", "per_run"))
COSTS = ("capital", "hourly", "tco", "power", "per_run", "time_to_target", "step")
BASE_THROUGHPUT = 1109.0


def point(config: dict[str, str], ties: int = 0) -> dict[str, Any]:
    """A POINT of the run document, priced by a toy model."""
    flops, price = ACCELERATORS[config["accelerator"]]
    link, port = FABRICS[config["inter_node"]]
    gpus, batch = int(config["gpus"]), int(config["batch_per_gpu"])
    nodes = math.ceil(gpus / int(config["gpus_per_node"]))
    half = config["precision"] == "fp16"
    forward = batch * 2.4e-3 / flops / (1.6 if half else 1.0)
    comm = AGGREGATIONS[config["aggregation"]] * (2.0e8 / link + gpus * 6e-4) * (0.5 if half else 1)
    comm *= (gpus - 1) / gpus
    if config["bucket"] == "1 MiB":
        comm *= 1.3
    exposed = max(0.0, comm - 0.7 * 2 * forward)
    terms = {
        "forward_s": forward,
        "backward_s": 2 * forward,
        "slowed_s": 0.0,
        "waiting_s": 0.0,
        "exposed_s": exposed,
        "optimizer_s": 1e-3,
        "stalled_s": 2e-3 if gpus > 8 else 0.0,
    }
    step = sum(terms.values())
    throughput = gpus * batch / step
    speedup = throughput / BASE_THROUGHPUT
    capital = gpus * price + nodes * (8000.0 + port)
    measured = not config["aggregation"].endswith(("nccl", "grpc"))
    power = gpus * 400.0 + nodes * 800.0
    hourly = gpus * price / 12000.0
    tied = [{**config, "ps_servers": "", "batch_per_gpu": other} for other in ("16", "128")]
    return {
        "config": config,
        "speedup": speedup,
        "throughput_samples_per_s": throughput,
        "step_s": step,
        "extrapolated": gpus > 16 or not measured,
        "evidence": _evidence(gpus, measured),
        "capital": capital,
        "per_run": hourly * 115e6 / throughput / 3600,
        "time_to_target": 115e6 / throughput,
        "costs": {"capital": capital, "hourly": hourly, "tco": hourly * 0.6, "power": power},
        "interval": (
            {"speedup": [speedup * 0.93, speedup * 1.06], "step_s": [step / 1.06, step / 0.93]}
            if measured
            else None
        ),
        "gpus": gpus,
        "nodes": nodes,
        "global_batch": gpus * batch,
        "memory_slack_bytes": 3.2e9 if half else 0.4e9,
        "terms": terms,
        "comm_s": comm,
        "ties": ties,
        "tied": tied[:ties],
    }


def _evidence(gpus: int, measured: bool) -> str:
    if gpus == 1:
        return SILENT
    return CATALOGUE if not measured else "far" if gpus > 16 else "inside"


def read(run: dict[str, Any]) -> RunDocument:
    """The document in a file."""
    return parsed(RunDocument, run)


def read_point(item: dict[str, Any]) -> Point:
    """The point of a document in a file."""
    return parsed(Point, item)


def document(gain: str = "speedup", cost: str = "capital", also: str | None = None) -> RunDocument:
    """The document that :func:`written` has."""
    return read(written(gain, cost, also))


def front_rows(run: RunDocument) -> tuple[list[str], list[list[Any]]]:
    """(header, rows) of front.csv, before values are text."""
    columns = front_columns(run)
    rows = zip(*(column.values for column in columns), strict=True)
    return [column.name for column in columns], [*map(list, rows)]


def configs() -> list[dict[str, str]]:
    """Every configuration of the toy space."""
    found = []
    for values in itertools.product(*AXES.values()):
        config = dict(zip(AXES, values, strict=True))
        if config["aggregation"] != "ps-grpc":
            if config["ps_servers"] != "1":
                continue
            config["ps_servers"] = ""
        found.append(config)
    return found


def value(item: dict[str, Any], name: str) -> float:
    """An objective's value at a point."""
    keys = {"throughput": "throughput_samples_per_s", "step": "step_s"}
    got = item.get(keys.get(name, name), item["costs"].get(name))
    assert got is not None
    return float(got)


def front_of(points: list[dict[str, Any]], gain: str, cost: str) -> list[dict[str, Any]]:
    """The non-dominated points by rising cost."""
    front: list[dict[str, Any]] = []
    for item in sorted(points, key=lambda p: (value(p, cost), -value(p, gain))):
        if not front or value(item, gain) > value(front[-1], gain):
            front.append(item)
    return front


def front_of_three(
    points: list[dict[str, Any]], gain: str, cost: str, also: str
) -> list[dict[str, Any]]:
    """The non-dominated points, one of each that are equal, by rising cost."""
    rows = {(value(p, cost), value(p, also), -value(p, gain)): p for p in points}
    return [
        rows[mine]
        for mine in sorted(rows)
        if not any(
            its != mine and all(a <= b for a, b in zip(its, mine, strict=True)) for its in rows
        )
    ]


def written(
    gain: str = "speedup", cost: str = "capital", also: str | None = None
) -> dict[str, Any]:
    """A whole run document as its file has it; ``also``: the second objective to have little of."""
    return deepcopy(_searched(gain, cost, also))


@cache
def _searched(gain: str, cost: str, also: str | None) -> dict[str, Any]:
    points = [point(config) for config in configs()]
    bound = 1.2e6
    feasible = [p for p in points if p["costs"]["capital"] <= bound]
    front = front_of(feasible, gain, cost)
    if also is not None:
        front = front_of_three(feasible, gain, cost, also)
    for at, item in enumerate(front):
        item["ties"] = at % 4
        item["tied"] = point(item["config"], min(at % 4, 2))["tied"]
        for name in filter(None, (cost, also)):
            item.setdefault(name, value(item, name))
    sample = feasible[::2]
    base = point(
        {"accelerator": "p100-pcie-16gb", "gpus": "8", "gpus_per_node": "4",
         "inter_node": "25 Gbps", "batch_per_gpu": "64", "precision": "fp32",
         "aggregation": "ps-grpc", "bucket": "25 MiB", "ps_servers": "1"}
    )  # fmt: skip
    for name in filter(None, (cost, also)):
        base[name] = value(base, name)
    fastest = max(front, key=lambda p: value(p, gain))
    near = [p for p in front if value(p, gain) >= 0.95 * value(fastest, gain)]
    recommended = front[len(front) // 2]
    return {
        "schema_version": SCHEMA_VERSION,
        "created": "2026-11-21T12:00:00Z",
        "study": {
            "name": "resnet50-ethernet-upgrade",
            "path": "search_spaces/example.yaml",
            "description": "Is 100 Gbps Ethernet worth it for eight more P100s?",
            "workload": "resnet50",
            "workload_title": "ResNet-50 v1.5, 224x224",
        },
        "command": "dse run search_spaces/example.yaml",
        "versions": {"dse": "0.1.0", "python": "3.11.9", "numpy": "2.4.1", "optuna": "5.0.0"},
        "hashes": {
            "study": "a1b2c3d4e5f60718",
            "catalogue": "0f1e2d3c4b5a6978",
            "calibration": "1234567890abcdef",
        },
        "seed": 0,
        "engine": "exhaustive",
        "engine_reason": "960 points take about 0.1 s on one core",
        "executor": "local",
        "counts": {
            "points": len(points),
            "feasible": len(feasible),
            "front": len(front),
            "ties": sum(p["ties"] for p in front),
        },
        "bills": {
            "recommended": [
                {
                    "item": "NVIDIA V100",
                    "quantity": 8,
                    "unit_usd": 9000.0,
                    "usd": 72000.0,
                    "price_class": "list",
                    "price_date": "2018-05-08",
                    "age_years": 8.5,
                    "checked": True,
                    "source": "epoch-prices",
                },
                {
                    "item": "Host | <b>1</b>",
                    "quantity": 1,
                    "unit_usd": None,
                    "usd": None,
                    "price_class": "list",
                    "price_date": "",
                    "age_years": None,
                    "checked": False,
                    "source": "recalled",
                },
            ],
        },
        "rejected": {
            "capital <= 1.2 MUSD": len(points) - len(feasible),
            "fits_memory": 12,
            "whole nodes": 0,
        },
        "timings": {"search_s": 0.031, "total_s": 1.42},
        "objectives": {"maximize": gain, "minimize": cost}
        | ({} if also is None else {"minimize_also": also}),
        "units": dict(UNITS),
        "axes": [
            {
                "name": name,
                "values": values,
                "default": name == "gpus_per_node",
                "conditional": "only where aggregation is ps-grpc" if name == "ps_servers" else "",
            }
            for name, values in AXES.items()
        ],
        "constraints": ["fits_memory", "capital <= 1.2 MUSD"],
        "baseline": {**base, "assumed": ["bucket", "ps_servers"]},
        "recommended": {
            **recommended,
            "rule": "fastest",
            "why": "Beyond it, each further dollar buys less than half the speed.",
        },
        "cheapest_within_5_percent": min(near, key=lambda p: value(p, cost)),
        "fastest": fastest,
        "front": front,
        "sample": {
            "cost": [value(p, cost) for p in sample],
            "gain": [value(p, gain) for p in sample],
            "aggregation": [p["config"]["aggregation"] for p in sample],
            "gpus": [p["gpus"] for p in sample],
        },
        "calibration": [calibration()],
        "transports": [
            {"name": "mpi", "title": "MPI on host memory", "calibrated": True, "note": ""},
            {
                "name": "nccl",
                "title": "NCCL",
                "calibrated": False,
                "note": "latency and efficiency from the catalogue",
            },
            {
                "name": "grpc",
                "title": "gRPC",
                "calibrated": False,
                "note": "latency and copies from the catalogue",
            },
        ],
        "extrapolated": {"front": sum(p["extrapolated"] for p in front), "why": "Ranks and sizes."},
        "assumptions": ["Efficiency 0.7 of peak is recalled, not checked."],
        "sources": sources(),
        "reproduce": ["git checkout v0.1.0", "dse run search_spaces/example.yaml --seed 0"],
        "study_text": "study: resnet50-ethernet-upgrade\nworkload: resnet50\n",
    }


def calibration() -> dict[str, Any]:
    """One calibration profile."""
    return {
        "name": "this-machine", "transport": "mpi", "library": "Open MPI 5.0.8",
        "machine": {"cores": 2}, "split": "assumed: measured on one link",
        "date": "2026-11-20", "link": "shared memory", "ranks": [2, 8],
        "message_bytes": [8, 67108864],
        "algorithms": {"ring": {"error_median": 0.08},
                       "recursive-doubling": {"error_median": 0.05}},
        "path": "models/calibrations/this-machine.yaml", "hash": "1234567890abcdef",
    }  # fmt: skip


def sources() -> list[dict[str, Any]]:
    """Facts of the catalogue, each with its source."""
    keys = ("item", "fact", "value", "source", "url", "accessed", "date", "status")
    rows = [
        ("accelerator v100-sxm2-16gb", "memory bandwidth", "900 GB/s", "NVIDIA V100 data sheet",
         "https://images.nvidia.com/v100.pdf", "2026-08-21", "", "sourced"),
        ("accelerator v100-sxm2-16gb", "purchase price", "9000 USD", "recalled", "", "",
         "2019-05", "unverified"),
        ("fabric 100gbe", "latency", "unknown", "no source", "", "", "", "unknown"),
        ("workload resnet50", "forward FLOPs", "8.2 GFLOP", "counted from the layer table", "",
         "2026-08-21", "", "derived"),
    ]  # fmt: skip
    return [dict(zip(keys, row, strict=True)) for row in rows]
