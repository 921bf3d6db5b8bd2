"""Goodput: the share of a run's time that trains, where machines fail and state is saved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dse.model.arrays import Array, ArrayLike

SECONDS_PER_DAY = 86_400.0
SECONDS_PER_MONTH = 365.0 / 12 * SECONDS_PER_DAY


@dataclass(frozen=True)
class Failures:
    """How often a run stops, and what a stop costs; arrays that broadcast to the points.

    per_accelerator_s: stops a second for each accelerator that trains, with its share of node and
    network. per_job_s: for other reasons, of a job on ``whole_job`` accelerators or more; smaller
    jobs have it in proportion. recover_s: from a stop until training goes on. checkpoint_s: for
    which training waits while state is saved. interval_s: between two checkpoints; None for the
    best. interruptions_per_s: of one accelerator whose machine may be taken away (spot); n together
    are interrupted n to the power ``interruption_power`` times as often, wait ``wait_s`` until
    there are machines again, and ``restart_s`` until these have started.
    """

    per_accelerator_s: ArrayLike = 0.0
    per_job_s: ArrayLike = 0.0
    whole_job: float = 1.0
    recover_s: ArrayLike = 0.0
    checkpoint_s: ArrayLike = 0.0
    interval_s: float | None = None
    interruptions_per_s: ArrayLike = 0.0
    interruption_power: float = 0.0
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

    With M seconds between stops, u to recover, w to save, and t of training between checkpoints:

        share = (1 - (u + t/2) / M) / (1 + w / t)

    (effective training time ratio, Kokolis et al., HPCA 2025: each stop loses the recovery and half
    an interval), and at least 0: where M is shorter than what a stop costs, nothing is trained. The
    interval is Daly's, ``t = sqrt(2 w M) - w`` where w < M/2, else M (FGCS 22, 2006); for small w
    it is Young's. Machines that are taken away i times a second stop a run in addition, each time
    for their start, too, and are held 1 / (1 + i wait) of the time.
    """
    accelerators = np.asarray(accelerators, dtype=np.float64)
    whole = np.minimum(accelerators / failures.whole_job, 1.0)
    interruptions = accelerators**failures.interruption_power * failures.interruptions_per_s
    stops_per_s = accelerators * failures.per_accelerator_s + whole * failures.per_job_s
    stops_per_s = stops_per_s + interruptions
    saving = np.asarray(failures.checkpoint_s, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        between = 1.0 / np.asarray(stops_per_s)
        if failures.interval_s is None:
            daly = np.where(saving > 0, np.sqrt(2 * saving * between) - saving, 0.0)
            interval = np.where(saving < between / 2, daly, between)
            interval = np.where(stops_per_s > 0, interval, np.inf)
        else:
            interval = np.broadcast_to(failures.interval_s, np.shape(between * saving))
        # Without stops, or without saving, the product and the quotient are of no meaning.
        lost = np.where(stops_per_s > 0, stops_per_s * (failures.recover_s + interval / 2), 0.0)
        waiting = np.where(saving > 0, saving / interval, 0.0)
    lost = lost + interruptions * failures.restart_s
    held = 1.0 / (1.0 + interruptions * failures.wait_s)
    share = held * np.maximum(1.0 - lost, 0.0) / (1.0 + waiting)
    return Goodput(between, np.asarray(interval), np.asarray(share), np.asarray(held))
