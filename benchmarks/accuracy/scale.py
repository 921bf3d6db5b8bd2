"""What is lost from one count of accelerators to a larger one, whole machines left out.

Of every series the largest count is predicted from the smallest: by ideal scale, and by terms that
were fitted to all other machines (:mod:`benchmarks.scale_terms`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.accuracy.board import Floats, Line
from benchmarks.accuracy.catalogue_prices import placed
from benchmarks.scale_machines import machine_of
from benchmarks.scale_networks import Shared, read_networks
from benchmarks.scale_terms import (
    LARGEST_SHARING,
    MLPERF,
    NOISE,
    QUANTILE,
    Judged,
    Series,
    fit,
    inside,
    read_series,
    sharing_width,
    without_each_machine,
)
from dse.model.scale import IDEAL
from dse.pricing.draws import DRAWS, normal
from dse.pricing.step_errors import StepErrors
from dse.pricing.uncertainty import sums_error

TARGET = (0.04, 0.10)
NETWORK_TARGET = (0.35, 0.35)
SHARED, CLOUD = "aws-h100-shared", "aws-p5.48xlarge"  # a cluster, and its nodes in the catalogue
LARGE = np.array([256e6])


def lines() -> list[Line]:
    """Lines of training by kind of run, and of allreduce."""
    networks = read_networks()
    judged = without_each_machine(read_series(), networks)
    alike = [replace(one, series=one.series.alike) for one in judged]
    found = []
    for name, kept in (
        ("one node", [one for one in alike if not _several(one) and not _mlperf(one)]),
        ("several nodes", [one for one in alike if _several(one) and not _mlperf(one)]),
        ("MLPerf, one node", [one for one in alike if not _several(one) and _mlperf(one)]),
        ("MLPerf, several nodes", [one for one in alike if _several(one) and _mlperf(one)]),
        ("MLPerf, several nodes, smaller batch per accelerator",
         [one for one in judged if _several(one) and _mlperf(one) and _smaller(one.series)]),
    ):  # fmt: skip
        counted = [one for one in kept if len(one.series.counts) > 1]
        about = f"scale: training, smallest -> largest count, machine left out, {name}"
        ideal = [_last(one.series.predicted(IDEAL)) for one in counted]
        fitted = [_last(one.series.predicted(one.terms.scale(one.series.varying)))
                  for one in counted]  # fmt: skip
        measured = np.array([one.series.measured[-1] for one in counted])
        held = np.array([inside(one.series, one.terms)[-1] for one in counted])
        found += [
            Line(about, "dse", np.array(fitted) / measured, held, TARGET),
            Line(about, "dse, scale: ideal", np.array(ideal) / measured),
        ]
    return [*found, *_networks(judged, networks), *_cloud()]


def _cloud() -> list[Line]:
    """Bus bandwidth of large allreduces on a shared cloud, by the catalogue of AWS's nodes of H100
    and by what all-gathers and reduce-scatters of that cluster lost."""
    (of,) = (one for one in read_networks() if one.system == SHARED)
    nodes, median = of.nodes, 1e9 * of.bytes_per_s
    best, ends = [], []
    for n in nodes:
        at = placed("auto-nccl", {"node": CLOUD}, int(8 * n), 8)
        seconds = float(np.ravel(at.aggregation.message_s(LARGE, at.gradients, at.layout))[0])
        off = sums_error(at.summing.evidence, "auto", normal("scale: sharing", DRAWS), StepErrors(),
                         at.gradients, at.layout)  # fmt: skip
        best.append(2 * (1 - 1 / (8 * n)) * float(LARGE[0]) / seconds)
        ends.append(best[-1] / np.percentile(off, (95, 5)))
    low, high = np.array(ends).T
    held = (low <= median) & (median <= high)
    about = "scale: large allreduce on a shared cloud, 2-64 nodes of H100, without a profile"
    return [Line(about, "dse", np.array(best) / median, held, NETWORK_TARGET)]


def _networks(judged: Sequence[Judged], networks: Sequence[Shared]) -> list[Line]:
    """Bandwidth of an allreduce on all further numbers of nodes, from that on the fewest."""
    series = [one.series for one in judged]
    found = []
    for system in sorted({of.system for of in networks} - {SHARED}):
        others = [of for of in networks if machine_of(of.system) != machine_of(system)]
        terms = fit(series, others, judged[0].terms)
        wide = sharing_width(terms, others)
        mine = [of for of in networks if of.system == system]
        seconds = np.concatenate([of.lost + terms.sharing * of.doublings for of in mine])
        edge = QUANTILE * NOISE * np.sqrt(2)
        low, high = (
            min(terms.sharing * np.exp(sign * QUANTILE * wide), LARGEST_SHARING) for sign in (-1, 1)
        )
        held = np.concatenate([
            (of.lost >= -high * of.doublings - edge) & (of.lost <= -low * of.doublings + edge)
            for of in mine
        ])  # fmt: skip
        name = f"scale: large allreduce, 2 -> more nodes, machine left out, {system}"
        ideal = np.concatenate([of.lost for of in mine])
        found += [
            Line(name, "dse", np.exp(seconds), held, NETWORK_TARGET),
            Line(name, "dse, scale: ideal", np.exp(ideal)),
        ]
    return found


def _several(one: Judged) -> bool:
    return one.series.counts[-1].nodes > 1


def _mlperf(one: Judged) -> bool:
    return one.series.source.startswith(MLPERF)


def _smaller(series: Series) -> bool:
    """Whether the largest count has a smaller batch than terms are fitted to."""
    return series.alike.counts[-1] is not series.counts[-1]


def _last(rates: Floats) -> float:
    return float(rates[-1])
