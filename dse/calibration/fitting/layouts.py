"""Fit what a stack of software takes on steps of its own layouts, held by what is known already."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.model.arrays import Array, Mask
from dse.model.parallel.layouts import Layouts
from dse.model.parallel.step import ParallelStep

# Of each number that a fit may move, the standard deviation of its logarithm before any run.
DEVICE = {"slowdown": 0.15, "attention": 0.2}
RUNTIME = {"host_s": 0.7, "host_tensor_s": 0.9, "host_stage_s": 1.2, "eager": 0.5, "sum_bytes": 0.7,
           "loss_bytes": 0.4}  # fmt: skip
TIERS = {"all_reduce": 0.15, "halves": 0.2, "exchange": 0.25, "call_s": 0.5, "hop_s": 0.6,
         "shared": 0.4}  # fmt: skip
SPREADS: Mapping[str, float] = {**DEVICE, **RUNTIME, **TIERS}
STEP = 0.05  # of a difference: products go by whole tiles, so small ones tell nothing
NOISE = 0.1  # of the logarithm of a step, what no layout's model explains
STALLED_TIMES, STALLED_S = 2.5, 0.25  # a micro-batch above the cheapest of its like


@dataclass(frozen=True)
class Run:
    """Measured steps of layouts of one transformer: their model before a fit, and seconds."""

    model: ParallelStep
    layouts: Layouts
    measured_s: Array


def stalled(micro_batch_s: Array, pipeline: Array, like: Sequence[Hashable]) -> Mask:
    """Runs of a pipeline whose micro-batches take far longer than those of their like."""
    least_of: dict[Hashable, float] = {}
    for kind, each in zip(like, micro_batch_s.tolist(), strict=True):
        least_of[kind] = min(each, least_of.get(kind, each))
    least = np.array([least_of[kind] for kind in like])
    longer = micro_batch_s > np.maximum(STALLED_TIMES * least, least + STALLED_S)
    return longer & (pipeline > 1)


def adjusted(model: ParallelStep, factors: Mapping[str, float]) -> ParallelStep:
    """The model with numbers of :data:`SPREADS` so many times as large."""
    device, runtime, tiers = model.device, model.runtime, model.tiers
    wide = model.wide or device
    slower = factors.get("slowdown", 1.0)
    law, plain = (replace(d.law, slowdown=d.law.slowdown * slower) for d in (device, wide))
    attention = np.asarray(device.attention_flops) * factors.get("attention", 1.0)
    times = {name: factors[name] for name in RUNTIME if name in factors}
    shares = {name: factors[name] for name in TIERS if name in factors}
    return replace(
        model,
        device=replace(device, law=law, attention_flops=attention),
        wide=replace(wide, law=plain, attention_flops=attention),
        runtime=replace(runtime, **{k: getattr(runtime, k) * v for k, v in times.items()}),
        tiers=replace(tiers, **{k: getattr(tiers, k) * v for k, v in shares.items()}),
    )


def fitted(runs: Sequence[Run], noise: float = NOISE) -> Mapping[str, float]:
    """Factors on the numbers of :data:`SPREADS` that bring predictions closest to the runs.

    Least squares of ``log(predicted / measured) / noise``, robust to runs that stalled (soft L1),
    and of ``log(factor) / spread``: what few runs do not tell stays as it was.
    """
    from scipy.optimize import least_squares

    names, spreads = list(SPREADS), np.array(list(SPREADS.values()))

    def residuals(steps: Array) -> Array:
        factors = dict(zip(names, np.exp(spreads * steps), strict=True))
        errors = np.concatenate([
            np.log(adjusted(run.model, factors).step(run.layouts).step_s / run.measured_s)
            for run in runs
        ])  # fmt: skip
        scaled = errors / noise
        robust = np.sign(scaled) * np.sqrt(2 * (np.sqrt(1 + scaled**2) - 1))
        return np.concatenate([robust, steps])

    def slopes(steps: Array) -> Array:
        here = residuals(steps)
        moved = (residuals(steps + STEP * unit) for unit in np.eye(len(names)))
        return np.stack([(there - here) / STEP for there in moved], axis=1)

    found = least_squares(residuals, np.zeros(len(names)), slopes, max_nfev=20)
    return dict(zip(names, map(float, np.exp(spreads * found.x)), strict=True))
