"""Goodput: the share of a run's time that trains, where machines fail and state is saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike

SECONDS_PER_DAY = 86_400.0
SECONDS_PER_MONTH = 365.0 / 12 * SECONDS_PER_DAY
LEAST_SHARE = 1e-100  # 0 would make times infinite, and no number of them
HOPELESS = 1e-6  # of the time: a day of training takes 2,700 years


@dataclass(frozen=True)
class Failures:
    """How often a run stops, and what a stop costs; arrays that broadcast to the points.

    per_accelerator_s: stops a second for each accelerator that trains, with its share of node and
    network. per_job_s: for other reasons, of a job on ``whole_job`` accelerators or more; smaller
    jobs have it in proportion. recover_s: from a stop until training goes on. checkpoint_s: for
    which training waits while state is saved. interval_s: between two checkpoints; None for the
    best. interruptions_per_s: of one accelerator that may be taken away (spot); n together, in
    machines of any size, are interrupted n to the power ``interruption_power`` times as often, wait
    ``wait_s`` until there are machines again, and ``restart_s`` until these have started.
    """

    per_accelerator_s: ArrayLike = 0.0
    per_job_s: ArrayLike = 0.0
    whole_job: float = 1.0
    recover_s: ArrayLike = 0.0
    checkpoint_s: ArrayLike = 0.0
    interval_s: float | None = None
    interruptions_per_s: ArrayLike = 0.0
    interruption_power: ArrayLike = 0.0
    restart_s: ArrayLike = 0.0
    wait_s: ArrayLike = 0.0


IDEAL = Failures()


@dataclass(frozen=True)
class Goodput:
    """Arrays: mean seconds between two stops, seconds of training between two checkpoints (both
    without bound where nothing fails), the share of the time that trains, and the share for which
    machines are held, in [0, 1]."""

    between_stops_s: Array
    interval_s: Array
    share: Array
    held: Array


def goodput(accelerators: ArrayLike, failures: Failures) -> Goodput:
    """The goodput of jobs on so many accelerators.

    With M seconds between stops, u to recover, w to save, and t of training between checkpoints
    (J. T. Daly, FGCS 22, 2006, section 3, stops at a constant rate, also while a job recovers):

        share = t / (M exp(u / M) (exp((t + w) / M) - 1))

    For rare stops this is ``(1 - (u + t/2) / M) / (1 + w / t)``, the effective training time ratio
    of Kokolis et al., HPCA 2025. The interval is Daly's (his equation 37), with r = w / 2M:
    ``t = sqrt(2 w M) (1 + sqrt(r) / 3 + r / 9) - w`` where w < 2M, else M. Spot machines that are
    taken away i times a second stop a run in addition, each time for their start, too, and are held
    1 / (1 + i wait) of the time. The share is at least :data:`LEAST_SHARE`.
    """
    accelerators = np.asarray(accelerators, dtype=np.float64)
    whole = np.minimum(accelerators / failures.whole_job, 1.0)
    interruptions = accelerators**failures.interruption_power * failures.interruptions_per_s
    stops_per_s = accelerators * failures.per_accelerator_s + whole * failures.per_job_s
    stops_per_s = stops_per_s + interruptions
    saving = np.asarray(failures.checkpoint_s, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        between = 1.0 / np.asarray(stops_per_s)
        interval = _interval(saving, between, failures.interval_s)
        # Without stops, or without saving, a product or a quotient is of no meaning.
        training = np.where(np.isfinite(interval) & (saving > 0), interval / (interval + saving), 1)
        between_checkpoints = np.where(stops_per_s > 0, stops_per_s * (interval + saving), 0.0)
        unspoilt = np.where(
            between_checkpoints > 0, between_checkpoints / np.expm1(between_checkpoints), 1.0
        )
    recovered = np.exp(-stops_per_s * failures.recover_s - interruptions * failures.restart_s)
    held = 1.0 / (1.0 + interruptions * failures.wait_s)
    share = np.maximum(held * training * unspoilt * recovered, LEAST_SHARE)
    return Goodput(between, np.asarray(interval), np.asarray(share), np.asarray(held))


def _interval(saving: Array, between: Array, given: float | None) -> Array:
    """Seconds of training between two checkpoints, without bound where nothing fails."""
    if given is not None:
        return np.broadcast_to(given, np.shape(between * saving))
    ratio = saving / (2 * between)
    best = np.sqrt(2 * saving * between) * (1 + np.sqrt(ratio) / 3 + ratio / 9) - saving
    found = np.where(ratio < 1, np.where(saving > 0, best, 0.0), between)
    return np.where(np.isfinite(between), found, np.inf)
