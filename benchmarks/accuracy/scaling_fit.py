"""Throughput on many accelerators, from that on few: dse's step, with what few counts leave open.

The compute time is that of the smallest count, the aggregation is dse.model's over one effective
link. Four numbers are not known: the rate of that link, how much longer the passes take where
several accelerators wait for one another, and how much less of its link a node has among more nodes
than those seen::

    passes(n) = passes(1) * (1 + together [n > 1] + spread * E[largest of n normal draws])
    link(N)   = link * (seen / max(N, seen))^sharing

All that is possible is weighed by how well it explains the small counts, the link and what working
together costs at all between two limits known beforehand, spread and sharing as other systems have
them (models/scale.yaml). What small counts do not show stays open, and so is in the interval. Where
the authors tried every number of servers and published the fastest, that number tells something
too: fewer servers than workers are not the best where the link holds the step up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import logsumexp
from scipy.stats import norm

from benchmarks.accuracy.board import Floats
from benchmarks.accuracy.scaling_data import Route, Row, Series
from dse import catalog
from dse.catalog.scale import Spread
from dse.model import compute, overlap, step
from dse.model.aggregation.algorithms import ALGORITHMS
from dse.model.aggregation.base import Bucketed, Cluster, Gradients, Layout
from dse.model.aggregation.composed import Composed, Software
from dse.model.aggregation.parameter_server import ParameterServer, shard_imbalance
from dse.model.links import FREE, Link, StepCost
from dse.model.passes import Compute, scaled
from dse.model.precision import PRECISIONS
from dse.model.scale import link_share, waiting_factor
from dse.pricing import devices
from dse.pricing.devices import USUAL_STACK
from dse.pricing.network import model_layers
from dse.pricing.points import DEFAULT_BUCKET_BYTES

NOISE = 0.02  # of a published rate: Inception v3 on one K80 die is given as 29.7 to 30.8 images/s
# Which of two noisy rates is larger is nearly logistic, of this scale: the variances are equal.
CHOICE_NOISE = NOISE * np.sqrt(6) / np.pi
LARGEST_TOGETHER, LARGEST_SHARING = 0.15, 1.0
# Values tried of the link's rate, of what working together costs, of spread, and of sharing.
RATES, SHARES, SPREADS, SHARINGS = 33, 16, 8, 10
SERVERS = 9  # numbers of servers tried on a count that is held out, from 1 to one a node
FP32 = PRECISIONS["fp32"]
SYNTHETIC = "synthetic"


@dataclass(frozen=True)
class Predicted:
    """Samples/s on each count of a series, (rows,), with its 90 % interval.

    link_bytes_per_s: likewise low, middle and high. together, spread: means.
    """

    middle: Floats
    low: Floats
    high: Floats
    link_bytes_per_s: tuple[float, float, float]
    together: float
    spread: float


@dataclass(frozen=True)
class _Tried:
    """Every combination of the four unknown numbers, each (combinations,)."""

    link_bytes_per_s: Floats
    together: Floats
    spread: Floats
    sharing: Floats


def predict_all(series: Sequence[Series]) -> list[Predicted]:
    """Rates on every count of every series, small ones included.

    A route has one link, so its series weigh it together; those with real data only take part in
    their own prediction, because reading it is no part of the model.
    """
    seen = [_log_weight(of) for of in series]
    links = [logsumexp(weight.reshape(RATES, -1), axis=1) for weight in seen]
    found = []
    for at, of in enumerate(series):
        others = [links[i] for i, other in enumerate(series)
                  if i != at and other.route == of.route and other.data == SYNTHETIC]  # fmt: skip
        both = seen[at].reshape(RATES, -1) + sum(others, np.zeros(RATES))[:, None]
        found.append(_predicted(of, np.exp(both - both.max()).ravel()))
    return found


def _predicted(of: Series, weight: Floats) -> Predicted:
    tried = _tried(of.route)
    rates = [_best_samples_per_s(of, row, tried) for row in of.rows]
    shares = (0.05, 0.5, 0.95)
    low, middle, high = (np.array([_quantile(r, weight, s) for r in rates]) for s in shares)
    edge = 1.0 + norm.ppf(0.95) * NOISE  # the measurement's own noise, at either end
    link = [_quantile(tried.link_bytes_per_s, weight, share) for share in shares]
    together, spread = (
        float(np.average(v, weights=weight)) for v in (tried.together, tried.spread)
    )
    link_range = (link[0], link[1], link[2])
    return Predicted(middle, low / edge, high * edge, link_range, together, spread)


def _best_samples_per_s(of: Series, row: Row, tried: _Tried) -> Floats:
    """Rate of one count; with the number of servers that is fastest here, where it is not known.

    What the authors found fastest on a count that is held out is not told.
    """
    if of.route.placement != "swept" or row in of.small:
        return _samples_per_s(of, row.gpus, row.servers, tried)
    nodes = -(-row.gpus // of.gpus_per_node)
    counts = np.unique(np.geomspace(1, nodes, SERVERS).round().astype(int))
    return np.max([_samples_per_s(of, row.gpus, int(n), tried) for n in counts], axis=0)


def _log_weight(of: Series) -> Floats:
    """How well every combination explains the small counts, (combinations,)."""
    tried = _tried(of.route)
    total = np.zeros(tried.spread.size)
    for row in of.small:
        rate = _samples_per_s(of, row.gpus, row.servers, tried)
        total -= 0.5 * (np.log(rate / row.samples_per_s) / NOISE) ** 2
        if of.route.placement == "swept":
            total += _log_chosen(of, row, tried)
    return total


def _log_chosen(of: Series, row: Row, tried: _Tried) -> Floats:
    """Log likelihood that as many servers as were published came out fastest."""
    nodes = -(-row.gpus // of.gpus_per_node)
    rates = [_samples_per_s(of, row.gpus, servers, tried) for servers in range(1, nodes + 1)]
    scores = np.log(np.stack(rates)) / CHOICE_NOISE
    return np.asarray(scores[row.servers - 1] - logsumexp(scores, axis=0))


@cache
def _tried(route: Route) -> _Tried:
    known = catalog.scale_terms()
    numbers = np.meshgrid(
        np.geomspace(route.low_bytes_per_s, route.high_bytes_per_s, RATES),
        np.linspace(0.0, LARGEST_TOGETHER, SHARES),
        of_other_systems(known.spread, SPREADS),
        np.minimum(of_other_systems(known.sharing, SHARINGS), LARGEST_SHARING),
        indexing="ij",
    )
    return _Tried(*(number.ravel() for number in numbers))


def of_other_systems(prior: Spread, count: int) -> Floats:
    """Values of a log-normal number that are equally likely: the middles of so many shares."""
    middles = (np.arange(count) + 0.5) / count
    return np.asarray(prior.value * np.exp(prior.draws * norm.ppf(middles)))


def _samples_per_s(of: Series, gpus: int, servers: int, tried: _Tried) -> Floats:
    """Rate of one count under every combination.

    The smallest count is taken to hide its aggregation, if it has any: its passes are its step.
    """
    least = of.rows[0]
    waits = [waiting_factor(float(n), tried.together, tried.spread) for n in (least.gpus, gpus)]
    least_s = of.batch * least.gpus / least.samples_per_s
    passes = scaled(_passes(of.workload, of.accelerator, of.batch, least_s),
                            waits[1] / waits[0])  # fmt: skip
    sums = _aggregation(of.route)
    done_s = passes.layer_done_s
    summed = sums.summed(_gradients(of.workload), done_s, _cluster(of, gpus, servers, tried))
    free = np.zeros(())
    terms = step.ended(passes, *summed, free, free)
    return np.asarray(of.batch * gpus / terms.step_s)


@dataclass(frozen=True)
class _InOrder(ParameterServer):
    """Servers as tf_cnn_benchmarks has them: tensors go to them in the order of creation."""

    def imbalance(self, gradients: Gradients, layout: Layout) -> Floats:
        """Largest shard over the mean one, of one number of servers."""
        return np.asarray(
            shard_imbalance(gradients.layer_elements, int(layout.servers), as_created=True)
        )


def _aggregation(route: Route) -> Bucketed:
    """Inside of a node nothing takes time."""
    software = Software(FREE, StepCost(route.latency_s, (0.0,)))
    if route.algorithm == step.PARAMETER_SERVER:
        return _InOrder(software)
    return Composed(ALGORITHMS[route.algorithm], software)


def _cluster(of: Series, gpus: int, servers: int, tried: _Tried) -> Cluster:
    placement = of.route.placement
    one_node = placement in ("host", "spread") or of.rows[-1].gpus <= of.gpus_per_node
    if placement == "spread":
        servers = gpus
    nodes, seen = (-(-count // of.gpus_per_node) for count in (gpus, of.small[-1].gpus))
    share = 1.0 if one_node else link_share(nodes, seen, tried.sharing)
    return Cluster(
        np.asarray(float(gpus)),
        np.asarray(1.0 if one_node else float(of.gpus_per_node)),
        across=Link(0.0, tried.link_bytes_per_s * share),
        servers=np.asarray(float(servers)),
        colocated=np.asarray(placement != "host"),
    )


@cache
def _layers(workload: str) -> compute.Layers:
    return model_layers(catalog.workload(workload))


@cache
def _gradients(workload: str) -> Gradients:
    params = _layers(workload).params
    buckets = overlap.fuse(params * FP32.gradient_bytes, DEFAULT_BUCKET_BYTES)
    elements, layer = catalog.gradient_tensors(catalog.workload(workload))
    return Gradients(params, FP32.gradient_bytes, DEFAULT_BUCKET_BYTES, buckets, elements, layer)


@cache
def _passes(workload: str, accelerator: str, batch: int, total_s: float) -> Compute:
    """The passes, made to take ``total_s``: how long each layer's share of it is."""
    machine = devices.alone(catalog.workload(workload), accelerator, "fp32", USUAL_STACK)
    passes = compute.forward_backward(
        _layers(workload), machine, batch, FP32, devices.software(USUAL_STACK)
    )
    return scaled(passes, total_s / float(passes.forward_s + passes.backward_s))


def _quantile(values: Floats, weight: Floats, share: float) -> float:
    """Weighted quantile."""
    order = np.argsort(values)
    below = np.cumsum(weight[order])
    return float(values[order][np.searchsorted(below, share * below[-1])])
