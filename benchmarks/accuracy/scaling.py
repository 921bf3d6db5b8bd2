"""Throughput that others published on many accelerators, predicted from the smallest counts only.

The target holds for every line, also where it is missed; a line with real data has the reading of
that data in it, which nothing models. Where the authors tried every number of servers, that of a
held-out row is not told: the predictor takes the one that it finds fastest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from benchmarks.accuracy.scaling_data import Series, read_series
from benchmarks.accuracy.scaling_fit import SYNTHETIC, Predicted, predict_all

TARGET = (0.08, 0.20)
KNEE_TARGET = (0.5, 0.5)  # within a factor of 1.5
KNEE_EFFICIENCY = 2 / 3
CHANGED = "form changed 4 times after held-out errors"
ONE_NODE = ("dgx-1", "gce-8-k80", "ec2-p2.8xlarge-one-node")
SETS = {
    "Piz Daint, gRPC servers, 1-8 -> 16-128 GPUs": ("piz-daint-grpc",),
    "EC2 p2.xlarge, gRPC servers, 1-8 -> 16-128 GPUs": ("ec2-p2.xlarge",),
    "EC2 p2.8xlarge, gRPC servers, 1-8 -> 16-128 GPUs": ("ec2-p2.8xlarge",),
    "TensorFlow 2017, EC2 p2.8xlarge, 1-8 -> 16-64 GPUs": ("ec2-p2.8xlarge-tensorflow",),
    "TensorFlow 2017, one node, 1-4 -> 8 GPUs": ONE_NODE,
    "Piz Daint, Horovod over MPI, 2-8 -> 16-128 GPUs (read off a plot)": ("piz-daint-horovod",),
}


def lines() -> list[Line]:
    """One line per machine and kind of data, all together, and the knees of parameter servers."""
    series = read_series()
    both = list(zip(series, predict_all(series), strict=True))
    found = []
    for name, systems in SETS.items():
        for data in (SYNTHETIC, "real"):
            own = [pair for pair in both
                   if pair[0].route.system in systems and pair[0].data == data]  # fmt: skip
            if own:
                found.append(_judged(f"published: {name}, {data} data", own))
    found.append(_judged(f"published: all of these, {CHANGED}", both, again=True))
    aimed = [pair for pair in both if pair[0].route.system != "ec2-p2.8xlarge"]
    name = f"published: without EC2 p2.8xlarge, gRPC servers, {CHANGED}"
    found.append(_judged(name, aimed, again=True))
    several = [pair for pair in both if pair[0].route.system not in ONE_NODE]
    name = f"published: all of these on several nodes, {CHANGED}"
    found.append(_judged(name, several, again=True))
    kept = np.concatenate([_kept_efficiency(of) for of in series])
    found.append(Line("published: all of these", "efficiency of the last known count kept", kept))
    return [*found, *_knees(both)]


def _judged(name: str, pairs: Sequence[tuple[Series, Predicted]], again: bool = False) -> Line:
    ratios, inside = [], []
    for of, at in pairs:
        seen = len(of.small)
        measured = _rates(of)[seen:]
        ratios.append(at.middle[seen:] / measured)
        inside.append((at.low[seen:] <= measured) & (measured <= at.high[seen:]))
    return Line(name, "dse", np.concatenate(ratios), np.concatenate(inside), TARGET, again)


def _kept_efficiency(of: Series) -> Floats:
    """As if every further accelerator were worth what the last known ones are."""
    last = of.small[-1]
    gpus = np.array([row.gpus for row in of.held_out], dtype=np.float64)
    return gpus * last.samples_per_s / last.gpus / _rates(of)[len(of.small) :]


def _knees(pairs: Sequence[tuple[Series, Predicted]]) -> list[Line]:
    """By what factor the knee is misplaced, 1 or more, where servers were measured past it."""
    factors = []
    for of, at in pairs:
        measured = knee(of, _rates(of))
        if of.route.algorithm == "ps" and measured < of.rows[-1].gpus:
            found = knee(of, at.middle)
            factors.append(max(found / measured, measured / found))
    name = (
        "published: GPUs where servers saturate, Piz Daint and p2.xlarge, factor (1.5 wanted), "
        f"{CHANGED}"
    )
    return [Line(name, "dse", np.array(factors), target=KNEE_TARGET)]


def knee(of: Series, rates: Floats) -> float:
    """Accelerators at which two thirds of the first one's rate are left of each.

    On the straight line between two counts, over the logarithm of the count. Past the last count,
    rates are taken to grow no more.
    """
    gpus = np.array([row.gpus for row in of.rows], dtype=np.float64)
    efficiency = rates / gpus / (rates[0] / gpus[0])
    below = np.flatnonzero(efficiency < KNEE_EFFICIENCY)
    if below.size == 0:
        return float(gpus[-1] * efficiency[-1] / KNEE_EFFICIENCY)
    first = below[0]
    share = np.interp(KNEE_EFFICIENCY, efficiency[[first, first - 1]], [1.0, 0.0])
    return float(gpus[first - 1] * (gpus[first] / gpus[first - 1]) ** share)


def _rates(of: Series) -> Floats:
    return np.array([row.samples_per_s for row in of.rows])
