"""Failures, goodput and spot machines: each cluster, zone or provider by all the others.

What is drawn in a study, and how wide, is in models/failures.yaml and models/rental.yaml. Levels
are found anew without the source that is judged, by the same rule; widths that were judged, not
fitted, stay.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from dse import catalog
from dse.calibration.spread import NORMAL_90
from dse.model.goodput import SECONDS_PER_DAY, Failures, goodput

DATA = Path(__file__).parents[1] / "data"
STOPS, BETWEEN, SHARE = (
    "stops in 1000 node-days", "hours between stops of a job", "share of the time that trains",
)  # fmt: skip
# Whose stops of nodes set the catalogue's rate of an accelerator, and whose job that of a job.
OF_NODES, OF_A_JOB = ("Llama 3", "RSC-1", "RSC-2", "504 B200"), ("RSC-1", 1024.0)
GPUS_OF_A_NODE = 8.0
DRAWS = 4000
PERCENTILES = (5.0, 95.0)
# Spot prices over those on demand, by provider: SkyPilot's catalogue, as models/rental.yaml.
SPOT_PRICES = {"Nebius": 0.415, "Verda": 0.35, "OCI": 0.5}

Row = Mapping[str, str]


def rows(name: str) -> list[Row]:
    """Those of a table of benchmarks/data."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def of(what: str) -> list[tuple[str, float, float]]:
    """(cluster, accelerators, value) of everything published of one kind."""
    return [
        (row["cluster"], float(row["accelerators"]), float(row["value"]))
        for row in rows("failures.csv")
        if row["what"] == what
    ]


def node_rate(left_out: str = "") -> float:
    """Stops in 1000 days of a node, the geometric mean of the sources without one."""
    return _geometric(
        value for cluster, _, value in of(STOPS) if cluster in OF_NODES and cluster != left_out
    )


def job_rate_per_day(left_out: str = "") -> float:
    """Stops a day of a large job beyond those of its nodes: from RSC-1, else from OPT-175B."""
    source, count = OF_A_JOB if left_out != OF_A_JOB[0] else ("OPT-175B", 992.0)
    hours = next(value for cluster, n, value in of(BETWEEN) if (cluster, n) == (source, count))
    # What nodes of RSC-1 alone leave is by its own rate of nodes, of the other job by all sources'.
    rates = {cluster: value for cluster, _, value in of(STOPS)}
    nodes = rates[source] if source == OF_A_JOB[0] else node_rate(left_out)
    return 24 / hours - count / GPUS_OF_A_NODE * nodes / 1000


def failures(left_out: str = "", draws: int = 0) -> Failures:
    """The terms without one source; as draws, (draws,), where a number is given."""
    known = catalog.failure_terms()
    random = np.random.default_rng(0)

    def drawn(name: str, value: float) -> Floats:
        wide = known.terms[name].draws
        return np.asarray(value * np.exp(wide * random.standard_normal(draws)) if draws else value)

    per_node_day = node_rate(left_out) / 1000
    return Failures(
        per_accelerator_s=drawn("per_accelerator_month", per_node_day / GPUS_OF_A_NODE)
        / SECONDS_PER_DAY,
        per_job_s=drawn("per_job_day", job_rate_per_day(left_out)) / SECONDS_PER_DAY,
        whole_job=known.whole_job,
        recover_s=drawn("recover", known.terms["recover"].value),
        checkpoint_s=drawn("checkpoint", known.terms["checkpoint"].value),
    )


def lines() -> list[Line]:
    """Rates of stops, times between them, goodput; spells, waits and prices of spot machines."""
    return [_stops(), _between(), _goodput(), *_spot(), _spot_prices()]


def _stops() -> Line:
    wide = catalog.failure_terms().terms["per_accelerator_month"].draws
    found = [(node_rate(cluster) / value) for cluster, _, value in of(STOPS)]
    return _log_normal("stops of nodes a day: cluster left out", found, [wide] * len(found))


def _between() -> Line:
    ratio, inside = [], []
    for cluster, count, hours in of(BETWEEN):
        if count < GPUS_OF_A_NODE * 2:  # small jobs set whole_job, with RSC-1's own rate
            continue
        best = float(goodput(count, failures(cluster)).between_stops_s) / 3600
        drawn = goodput(count, failures(cluster, DRAWS)).between_stops_s / 3600
        low, high = np.percentile(drawn, PERCENTILES)
        ratio.append(best / hours)
        inside.append(bool(low <= hours <= high))
    name = "hours between two stops of a large job: cluster left out"
    return Line(name, "dse", np.array(ratio), np.array(inside))


def _goodput() -> Line:
    ratio, inside = [], []
    for cluster, count, share in of(SHARE):
        best = float(goodput(count, failures(cluster)).share)
        low, high = np.percentile(goodput(count, failures(cluster, DRAWS)).share, PERCENTILES)
        ratio.append(best / share)
        inside.append(bool(low <= share <= high))
    name = "share of the time that trains (goodput): cluster left out"
    return Line(name, "dse", np.array(ratio), np.array(inside))


def _spot() -> list[Line]:
    """Every zone by the level that all others have; all traces of a zone are left out."""
    known = catalog.rental_facts()
    traces = rows("spot_availability.csv")
    zones = [row["zone"] for row in traces]
    together = np.array([float(row["nodes"]) * float(row["gpus_per_node"]) for row in traces])
    up, down = (
        np.array([float(row[column]) for row in traces]) for column in ("mean_up_h", "mean_down_h")
    )
    found = []
    for name, level, how in (
        ("hours that spot machines stay", up * together**known.spell_power, _geometric),
        ("hours until spot machines are back", down, lambda values: float(np.median(list(values)))),
    ):
        ratio, wide = [], []
        for zone, value in zip(zones, level, strict=True):
            others = np.array([v for z, v in zip(zones, level, strict=True) if z != zone])
            ratio.append(how(others) / value)
            wide.append(float(np.std(np.log(others), ddof=1)))
        found.append(_log_normal(f"{name}: zone left out", ratio, wide))
    return found


def _spot_prices() -> Line:
    wide = catalog.rental_facts().discounts["neocloud"]["spot"].draws
    ratio = [
        _geometric(v for other, v in SPOT_PRICES.items() if other != name) / value
        for name, value in SPOT_PRICES.items()
    ]
    name = "spot price over that on demand: provider left out"
    return _log_normal(name, ratio, [wide] * len(ratio))


def _log_normal(name: str, ratio: list[float], wide: list[float]) -> Line:
    """A line of values whose intervals are log-normal."""
    inside = np.abs(np.log(ratio)) < NORMAL_90 * np.array(wide)
    return Line(name, "dse", np.array(ratio), inside)


def _geometric(values: Iterable[float]) -> float:
    return float(np.exp(np.mean(np.log(list(values)))))
