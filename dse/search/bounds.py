"""What no point of a box can beat: its objectives if communication took no time.

    T_step >= T_step without communication

holds in floating point too: communication enters by sums and maxima, which do not fall where one of
their terms rises, and rounding keeps the order. Throughput and speedup fall with the step, and no
cost does, so the objectives at that step bound those of the point. They need none of the terms of
the network, which are the dearest ones, and depend on fewer axes.
"""

from __future__ import annotations

import numpy as np

from dse.model import step
from dse.pricing import closed
from dse.pricing.problem import Problem
from dse.pricing.quantities import Evaluation
from dse.pricing.setting import Setting
from dse.study import Study
from dse.study.space import Box

# Quantities that communication changes; all others are the same without it.
OF_THE_STEP = frozenset(
    {"speedup", "throughput", "step", "comm", "exposed", "time_to_target", "per_run", "energy"}
)

SCREENED_FROM = 1 << 18  # points; pricing all of a smaller box takes no longer than screening it


def ideal(setting: Setting) -> Evaluation:
    """The same points with communication that takes no time."""
    baseline_samples_per_s = setting.problem.baseline_samples_per_s
    if setting.problem.closed:
        return setting.evaluation(baseline_samples_per_s, closed.without_weights(setting))
    passes, _, loading, update = setting.passes()
    overlapped = setting.fixed.get("overlap", "bucketed") != "none"
    terms = step.combine(passes, [], [], loading, update, overlapped)
    return setting.evaluation(baseline_samples_per_s, terms)


def steps_decide(study: Study) -> list[str]:
    """The constraints that communication may decide, so that no bound can count who meets them."""
    return [
        constraint.text
        for constraint in study.constraints
        if constraint.expression and constraint.expression.names & OF_THE_STEP
    ]


def screens(problem: Problem, box: Box) -> bool:
    """Whether the bounds tell which points of a box are feasible, and it is large enough to pay."""
    if box.size < SCREENED_FROM:
        return False
    return not steps_decide(problem.study) and surely_priced(problem.placed(box))


def surely_priced(setting: Setting) -> bool:
    """Whether every message of these points has a finite price, whatever the algorithm.

    Algorithms are sums of exchanges inside and between nodes, of messages no larger than the whole
    with no more flows than a node has accelerators; prices rise with both. So the dearest exchange
    tells.
    """
    if setting.problem.closed:
        return closed.surely_priced(setting)
    if setting.rules is not None:
        names = {known.priced_as for known in setting.rules.algorithms}
        return all(surely_priced(setting.by(name)) for name in names)
    network, cluster = setting.network, setting.cluster
    most = setting.largest_bytes
    flows = float(np.max(setting.gpus_per_node))
    prices = (
        network.within(most),
        network.across(most, flows),
        network.one_way(most, flows),
        np.asarray(network.wire_s_per_byte(flows)),
        np.asarray(network.slower),
        np.asarray(network.gamma_s_per_byte),
        np.asarray(most / np.asarray(cluster.staging_bytes_per_s)),
        np.asarray(cluster.imbalance),
    )
    return all(bool(np.all(np.isfinite(price) & (price >= 0))) for price in prices)
