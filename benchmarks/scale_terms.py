"""Fits what accelerators lose to one another to published training on several counts of them.

``python -m benchmarks.scale_terms`` writes models/scale.yaml anew from benchmarks/data/scale_*.csv.

Of every series the passes are those that the smallest count took, so that only what is lost from
there on is judged: the terms of :mod:`dse.model.scale`, and the aggregation as dse prices it.
Larger counts whose batch per accelerator is another by more than SAME_BATCH are not fitted to,
since a smaller batch is slower for reasons of its own.
"""

from __future__ import annotations

import csv
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.stats import norm
from scipy.stats import t as student

from benchmarks.scale_machines import machine_of
from benchmarks.scale_networks import Shared, fitted_cloud, read_networks
from dse import load_study
from dse.model import overlap, step
from dse.model.arrays import Array
from dse.model.passes import Compute
from dse.model.scale import FEW_NODES, Scale, largest_of, link_share
from dse.pricing.points import Points

ROOT = Path(__file__).parents[1]
DATA = ROOT / "benchmarks" / "data"
TRAINING = DATA / "scale_training.csv"
OUT = ROOT / "models" / "scale.yaml"
Row: TypeAlias = dict[str, str]
Mask: TypeAlias = NDArray[np.bool_]

SAME_BATCH = 0.3
NOISE = 0.02  # of a published rate, as in benchmarks.accuracy.scaling_fit
# Likewise where it follows from time to train: the samples to the target vary from run to run by
# 3.4 % (median over the batches of MLPerf's reference runs), and those that a batch needs, taken
# from such runs, are off by 3 % (2.4 % on average around fits over the batches of a benchmark).
MLPERF, MLPERF_NOISE = "mlperf", float(np.hypot(0.034, 0.03))
LARGEST_SHARING = 1.0  # then all nodes share the link of one
TYPICAL, NETWORK_TYPICAL = 0.03, 0.1  # residuals up to which an error counts in full, of logarithms
FREEDOM = 3.0  # of Student's t: single runs hold outliers
START = np.log([0.02, 0.06, 0.5, 0.05])  # spread, varying_spread, slowdown, sharing
STEP = 0.01  # over which derivatives are taken, of logarithms
FOUND = 1e-6  # relative change that ends the search
SECANTS, SOLVED = 30, 1e-6  # steps at most, and the relative error that ends them
QUANTILE = float(norm.ppf(0.95))  # at either end of a 90 % interval
LEAST_SHARING = 0.02  # below, a network counts as shared by nobody
DRAWS, SEED = 200, 0
WIDTHS = np.arange(0.2, 2.01, 0.1)  # tried standard deviations of logarithms
COVERAGE = 0.9


@dataclass(frozen=True)
class Terms:
    """The fitted medians, and the standard deviation of the logarithm of each."""

    spread: float
    varying_spread: float
    slowdown: float
    sharing: float
    width: float = 0.0
    sharing_width: float = 0.0

    def scale(self, varying: bool) -> Scale:
        """The medians, for a workload whose samples vary in length or do not."""
        return Scale(self.varying_spread if varying else self.spread, self.slowdown, self.sharing)

    def drawn(self, varying: bool) -> Scale:
        """DRAWS of them, each (DRAWS,)."""
        normal = np.random.default_rng(SEED).standard_normal((3, DRAWS))
        best = self.scale(varying)
        widths = (self.width, self.width, self.sharing_width)
        found = [
            value * np.exp(width * draws)
            for value, width, draws in zip(
                (best.spread, best.slowdown, best.sharing), widths, normal, strict=True
            )
        ]
        slowdown, sharing = np.minimum(found[1], 1.0), np.minimum(found[2], LARGEST_SHARING)
        return Scale(found[0], slowdown, sharing)


@dataclass(frozen=True)
class Count:
    """One count of accelerators of a series, as dse prices it by ideal scale.

    batch: samples of a pass on one accelerator. forward, ready: what the forward pass takes of both
    passes, and when each bucket is complete, of the backward pass. fixed_s, wire_s: of each bucket,
    what does not depend on the bandwidth between nodes, and what does.
    """

    gpus: int
    nodes: int
    batch: float
    accumulation: int
    samples_per_s: float
    forward: float
    ready: Array
    fixed_s: Array
    wire_s: Array
    update_s: float

    @property
    def measured_s(self) -> float:
        """Of a step."""
        return self.gpus * self.batch * self.accumulation / self.samples_per_s

    @cached_property
    def largest(self) -> float:
        """Of so many normal draws."""
        return float(largest_of(self.gpus))

    def step_s(self, passes_s: Array, scale: Scale) -> Array:
        """Seconds of a step whose passes take ``passes_s`` each; in the shape of the scale."""
        forward, backward = passes_s * self.forward, passes_s * (1 - self.forward)
        end = busy = np.zeros(())
        if len(self.ready):
            share = link_share(self.nodes, FEW_NODES, scale.sharing)
            costs = [f + w / share for f, w in zip(self.fixed_s, self.wire_s, strict=True)]
            end, busy = overlap.last_end_s([at * backward for at in self.ready], costs)
        more = self.accumulation - 1
        found = step.ended(
            Compute(forward, backward, backward[np.newaxis]), end, busy, np.zeros(()),
            np.asarray(self.update_s), step.Earlier(more * forward, more * backward),
            np.asarray(scale.spread) * self.largest, scale.slowdown,
        )  # fmt: skip
        return np.asarray(found.step_s)


@dataclass(frozen=True)
class Series:
    """Rates of one workload on one system, by rising count; the first is known."""

    source: str
    system: str
    workload: str
    varying: bool
    counts: tuple[Count, ...]

    @property
    def machine(self) -> str:
        """What is left out together."""
        return machine_of(self.system)

    @property
    def noise(self) -> float:
        """Of a rate: the standard deviation of its logarithm."""
        return MLPERF_NOISE if self.source.startswith(MLPERF) else NOISE

    @property
    def measured(self) -> Array:
        """Rate of an accelerator over that on the first count, (counts - 1,)."""
        rates = np.array([one.samples_per_s / one.gpus for one in self.counts])
        return np.asarray(rates[1:] / rates[0])

    def predicted(self, scale: Scale) -> Array:
        """The same by a scale, (counts - 1, *shape of the scale)."""
        first = self.counts[0]
        passes_s = _passes_s(first, scale)
        rates = [
            one.batch * one.accumulation / one.step_s(passes_s * one.batch / first.batch, scale)
            for one in self.counts[1:]
        ]
        return np.asarray(rates) * first.measured_s / (first.batch * first.accumulation)

    @property
    def alike(self) -> Series:
        """Without the counts whose batch per accelerator is another."""
        first, *rest = self.counts
        kept = [one for one in rest if abs(one.batch / first.batch - 1) <= SAME_BATCH]
        return replace(self, counts=(first, *kept))


def _passes_s(count: Count, scale: Scale) -> Array:
    """Seconds of a pass with which the step takes what was measured, by the secant method."""
    shape = np.broadcast_shapes(*(np.shape(value) for value in vars(scale).values()))
    wanted = count.measured_s
    after = np.full(shape, wanted / count.accumulation)
    before = 0.8 * after
    missed = count.step_s(before, scale) - wanted
    for _ in range(SECANTS):
        now = count.step_s(after, scale) - wanted
        if np.all(np.abs(now) <= SOLVED * wanted):
            break
        moved = np.where(after == before, 1.0, after - before)
        rise = np.where(now == missed, 1.0, (now - missed) / moved)
        before, missed = after, now
        after = np.maximum(after - now / rise, SOLVED * wanted)
    return np.asarray(after)


def read_series() -> list[Series]:
    """All series of the table, priced."""
    groups: dict[str, list[Row]] = {}
    with TRAINING.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            groups.setdefault(line["series"], []).append(line)
    return [
        Series(rows[0]["source"], rows[0]["system"], rows[0]["workload"],
               rows[0]["varying"] == "yes", _priced(rows))
        for rows in groups.values()
    ]  # fmt: skip


def _priced(rows: Sequence[Row]) -> tuple[Count, ...]:
    first = rows[0]
    workload: Any = first["workload"]
    if first["params"]:  # the passes are measured; of the rest only the parameters matter
        params = float(first["params"])
        workload = {"params": params, "forward_flops": params, "activation_bytes": "1 MB",
                    "input_bytes": "1 KB"}  # fmt: skip
    point = {
        "accelerator": first["accelerator"], "gpus_per_node": int(first["gpus_per_node"]),
        "inter_node": first["inter_node"], "nics_per_node": int(first["nics_per_node"]),
        "precision": first["precision"], "gradient": first["gradient"], "batch_per_gpu": 32,
        "aggregation": "auto-nccl", "optimizer": "momentum",
    }  # fmt: skip
    counts = [int(row["gpus"]) for row in rows]
    problem = load_study({
        "study": "scale", "workload": workload, "space": {**point, "gpus": counts},
        "baseline": {**point, "gpus": counts[0]}, "scale": "ideal", "memory": "ignore",
        "input": "synthetic",
        "objectives": {"maximize": "speedup", "minimize": "capital"},
    }).problem  # fmt: skip
    shared = replace(problem, scale=Scale(sharing=1.0))
    values = dict(problem.study.baseline.values)
    return tuple(
        _count(row, *(of.points_at({**values, "gpus": count}) for of in (problem, shared)))
        for count, row in zip(counts, rows, strict=True)
    )


def _count(row: Row, alone: Points, shared: Points) -> Count:
    gpus = int(row["gpus"])
    nodes = -(-gpus // int(row["gpus_per_node"]))
    ready = fixed = wire = np.zeros(0)
    forward, backward = _one(alone.passes.forward_s), _one(alone.passes.backward_s)
    if gpus > 1:
        whole, slower = (_bucket_s(points) for points in (alone, shared))
        slower_by = 1 / float(link_share(nodes, FEW_NODES, 1.0))
        wire = (slower - whole) / (slower_by - 1) if slower_by > 1 else np.zeros_like(whole)
        fixed = whole - wire
        done = alone.passes.layer_done_s
        ready = np.array([_one(done[bucket.first]) for bucket in alone.gradients.buckets])
    return Count(
        gpus, nodes, float(row["batch_per_gpu"]), int(row["accumulation"]),
        float(row["samples_per_s"]), forward / (forward + backward), ready / backward, fixed, wire,
        _one(alone.update_s),
    )  # fmt: skip


def _bucket_s(points: Points) -> Array:
    costs = points.aggregation.bucket_s(points.gradients, points.layout)  # type: ignore[attr-defined]
    return np.array([_one(seconds) for seconds in costs])


def _one(values: Any) -> float:
    return float(np.ravel(values)[0])


def fit(series: Iterable[Series], networks: Iterable[Shared], start: Terms | None = None) -> Terms:
    """The medians by the least error, a series and a network counting one each.

    The error is the mean negative logarithm of Student's t over the counts of each. Its slope over
    sharing is small, so that it is followed by derivatives: a simplex stops wherever it began.
    Sharing is LEAST_SHARING at least: that no network known is shared says little of the next, and
    a logarithm's spread around none would be none. start: where the search begins; of a similar fit
    it makes it quicker.
    """
    known = [one for one in (of.alike for of in series) if len(one.counts) > 1]
    systems: dict[str, list[Shared]] = {}
    for network in networks:
        systems.setdefault(network.system, []).append(network)

    def residuals(logs: Array) -> list[Array]:
        terms = Terms(*np.exp(logs))
        return [
            *(np.log(of.predicted(terms.scale(of.varying)) / of.measured) / TYPICAL
              for of in known),
            *(np.concatenate([row.lost + terms.sharing * row.doublings for row in rows])
              / NETWORK_TYPICAL for rows in systems.values()),
        ]  # fmt: skip

    begin = START if start is None else np.log([*vars(start).values()][: len(START)])
    sizes = [len(part) for part in residuals(begin)]
    weights = (FREEDOM + 1) / FREEDOM / np.repeat(sizes, sizes)

    def surprise(squares: Array) -> Array:
        """Twice the error of each residual, of its square over FREEDOM, and two derivatives."""
        return weights * np.array([np.log1p(squares), 1 / (1 + squares), -((1 + squares) ** -2)])

    most = np.array([np.inf, np.inf, np.inf, np.log(LARGEST_SHARING)])
    found = least_squares(
        lambda logs: np.concatenate(residuals(logs)), np.minimum(begin, most - STEP),
        bounds=(-np.inf, most), loss=surprise, f_scale=np.sqrt(FREEDOM), diff_step=STEP,
        ftol=FOUND, xtol=FOUND, gtol=FOUND,
    )  # fmt: skip
    terms = Terms(*map(float, np.exp(found.x)))
    return replace(terms, sharing=max(terms.sharing, LEAST_SHARING))


@dataclass(frozen=True)
class Judged:
    """A series beside its prediction by terms that were fitted without its machine."""

    series: Series
    terms: Terms


def without_each_machine(series: Sequence[Series], networks: Sequence[Shared]) -> list[Judged]:
    """Every series by what all other machines say, with intervals as wide as their errors ask."""
    whole = fit(series, networks)
    machines = sorted({of.machine for of in series})
    medians = {
        name: fit([of for of in series if of.machine != name], networks, whole) for name in machines
    }
    judged = [Judged(of, medians[of.machine]) for of in series]
    widened = {
        name: _widened(terms, [one for one in judged if one.series.machine != name], networks)
        for name, terms in medians.items()
    }
    return [replace(one, terms=widened[one.series.machine]) for one in judged]


def _widened(terms: Terms, judged: Sequence[Judged], networks: Sequence[Shared]) -> Terms:
    wide = replace(terms, sharing_width=sharing_width(terms, networks))
    return replace(wide, width=width(judged, wide.sharing_width))


def sharing_width(terms: Terms, networks: Sequence[Shared]) -> float:
    """Standard deviation of the logarithm of networks' exponents around the median.

    Larger by as much as Student's t has wider 90 % intervals with so few of them.
    """
    systems: dict[str, list[float]] = {}
    for network in networks:
        systems.setdefault(network.system, []).append(max(network.exponent, LEAST_SHARING))
    middle = np.array([np.median(found) for found in systems.values()])
    off = np.log(middle / terms.sharing)
    few = student.ppf(0.95, len(middle)) / QUANTILE
    return float(few * np.sqrt(np.mean(off**2)))


def width(judged: Sequence[Judged], sharing: float) -> float:
    """The least standard deviation with which intervals hold COVERAGE of what was left out."""
    alike = [replace(one, series=one.series.alike) for one in judged]
    last = [
        Judged(replace(one.series, counts=(one.series.counts[0], one.series.counts[-1])), one.terms)
        for one in alike
        if len(one.series.counts) > 1
    ]

    def held(wide: float) -> float:
        return float(np.mean([
            inside(one.series, replace(one.terms, width=wide, sharing_width=sharing))
            for one in last
        ]))  # fmt: skip

    at = bisect_left(WIDTHS, True, key=lambda wide: held(wide) >= COVERAGE)
    return float(WIDTHS[min(at, len(WIDTHS) - 1)])


def interval(series: Series, terms: Terms) -> tuple[Array, Array]:
    """Ends of the 90 % interval of the relative rates, the noise of both rates included."""
    drawn = series.predicted(terms.drawn(series.varying))
    low, high = np.percentile(drawn, (5, 95), axis=-1)
    edge = np.exp(QUANTILE * series.noise * np.sqrt(2))
    return np.asarray(low / edge), np.asarray(high * edge)


def inside(series: Series, terms: Terms) -> Mask:
    """Which of the measured values lie in it."""
    low, high = interval(series, terms)
    return np.asarray((low <= series.measured) & (series.measured <= high))


def fitted(series: Sequence[Series], networks: Sequence[Shared]) -> Terms:
    """What is written: medians of all, with widths from what was left out."""
    return _widened(fit(series, networks), without_each_machine(series, networks), networks)


def written(terms: Terms, series: Sequence[Series], networks: Sequence[Shared]) -> str:
    """The file of the catalogue."""
    kept = [of.alike for of in series if len(of.alike.counts) > 1]
    systems = len({of.system for of in kept})
    runs = f"{sum(len(of.counts) for of in kept)} published rates of {systems} systems"
    nets = f"{len({of.system for of in networks})} networks"
    rows = (
        ("spread", terms.spread, terms.width, runs),
        ("varying_spread", terms.varying_spread, terms.width, runs),
        ("slowdown", terms.slowdown, terms.width, runs),
        ("sharing", terms.sharing, terms.sharing_width, f"{runs}, and {nets}"),
        ("cloud_sharing", *fitted_cloud(), "all-gathers and reduce-scatters of 256 MB on 2 to 64 "
         "nodes of H100 of a cloud, whose network others share"),
    )  # fmt: skip
    lines = [
        "# Written by python -m benchmarks.scale_terms from benchmarks/data/scale_*.csv.",
        "# value: the median of systems; draws: standard deviation of its logarithm from system to",
        "# system, set so that 90 % intervals hold what was left out. Terms: dse/model/scale.py.",
        "name: scale",
        f"title: {runs} and the bandwidth of {nets}",
    ]
    for name, value, wide, what in rows:
        most = LARGEST_SHARING if "sharing" in name else np.inf
        low, high = (min(value * np.exp(sign * QUANTILE * wide), most) for sign in (-1, 1))
        detail = f"fitted to {what}; 90 % of systems between {low:.2g} and {high:.2g}"
        source = "nanotron-playbook" if name == "cloud_sharing" else "dse-scale-terms"
        about = f"source: {source}, status: derived, date: '{datetime.now(UTC):%Y-%m-%d}'"
        lines += [
            f"{name}:",
            f"  value: {{value: {value:.3g}, {about}, detail: '{detail}'}}",
            f"  draws: {{value: {wide:.2g}, {about}}}",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fit and write."""
    series, networks = read_series(), read_networks()
    terms = fitted(series, networks)
    OUT.write_text(written(terms, series, networks), encoding="utf-8")
    print(OUT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
