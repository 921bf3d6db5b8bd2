"""Fits what an operation reaches inside nodes and between them, and what a call and a hop take.

The model is :class:`dse.model.parallel.exchanges.Tiers` with all shares 1, so that what is fitted
is what layouts are priced by. Errors are those of logarithms, of which large ones count less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from dse.calibration.experiment import Measurement
from dse.calibration.files import rounded
from dse.calibration.fitting.step_cost import error_quantiles
from dse.calibration.importers.records import STREAM
from dse.calibration.profile import ALLREDUCE, ALLTOALL, HALVES, SEND, ExchangeFit
from dse.model.arrays import Array
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.mesh import Group

OPERATIONS: Mapping[str, str] = {  # of a measurement -> of a profile
    ALLREDUCE: ALLREDUCE, **{name: name for name in HALVES}, ALLTOALL: ALLTOALL,
    "sendrecv": SEND, "ping-pong": SEND, STREAM: SEND,
}  # fmt: skip
OWN = frozenset({*HALVES, ALLTOALL, "sendrecv", STREAM})  # measured for the sake of this part
_PRICES: Mapping[str, Callable[[Tiers, Group, Array], Array]] = {
    ALLREDUCE: Tiers.all_reduce_s, **dict.fromkeys(HALVES, Tiers.halves_s),
    ALLTOALL: Tiers.exchange_s, SEND: Tiers.send_s,
}  # fmt: skip
LOSS_SCALE = 0.1  # errors of logarithms beyond which a row loses weight
HELD = 0.01  # weight of a first guess, at which stays what no row tells
DRAWS, SEED, SIZE_FOLDS, LEAST_SIZES = 40, 20241, 3, 3
RANKS, NODES, BYTES, SPEED, STARTS, SECONDS = range(6)  # columns of rows


def fit_exchanges(samples: Sequence[Measurement]) -> dict[str, ExchangeFit]:
    """A fit of every operation that was measured at LEAST_SIZES sizes or more.

    Of allreduce the fastest algorithm counts. Nothing where only allreduce and pairs of ranks were
    measured, as every runner does: what these cost has parts of its own.
    """
    good = [s for s in samples if s.verified and s.ranks > 1 and s.collective in OPERATIONS]
    if not any(s.collective in OWN for s in good):
        return {}
    found = {}
    for operation in dict.fromkeys(OPERATIONS.values()):
        rows = _rows([s for s in good if OPERATIONS[s.collective] == operation])
        if np.unique(rows[:, BYTES]).size >= LEAST_SIZES:
            found[operation] = _fit(operation, rows)
    return found


def _rows(samples: Sequence[Measurement]) -> Array:
    """One row per run, (runs, 6): the columns above. A stream's messages start behind one another,
    so that their starts take no time. Speeds are 1 where one is not known."""
    known = all(s.link_bytes_per_s for s in samples if s.nodes > 1)
    times: dict[tuple[float, ...], float] = {}
    for s in samples:
        speed = (s.link_bytes_per_s or 1.0) if known and s.nodes > 1 else 1.0
        key = (s.ranks, s.nodes, s.bytes, speed, s.collective != STREAM, s.run)
        times[key] = min(s.median_s, times.get(key, np.inf))
    return np.array([(*key[:5], seconds) for key, seconds in times.items()]).reshape(-1, 6)


def _fit(operation: str, rows: Array) -> ExchangeFit:
    random = np.random.default_rng(SEED)
    first = np.array([1e-5, 1e10, 1e-5, 1e10 / rows[:, SPEED].max()])
    best = solve(operation, rows, first)
    places = rows[:, RANKS] + 1j * rows[:, NODES]
    strata = [np.flatnonzero(places == place) for place in np.unique(places)]
    picks = (np.concatenate([random.choice(s, s.size) for s in strata]) for _ in range(DRAWS))
    draws = [solve(operation, rows[pick], best) for pick in picks]
    folds, held_out = _folds(rows), np.empty(len(rows))
    for fold in np.unique(folds):
        test = folds == fold
        held_out[test] = seconds(operation, rows[test], solve(operation, rows[~test], first))
    error, error_p90 = error_quantiles(held_out, rows[:, SECONDS])
    across = rows[:, NODES] > 1
    speed = rows[across, SPEED].max(initial=0.0)
    scale = np.array([not across.all(), not across.all(), across.any(), speed])
    ends_of_draws = np.quantile(draws, (0.05, 0.95), axis=0) * scale
    ends = zip(rows.min(axis=0).tolist(), rows.max(axis=0).tolist(), strict=True)
    (least, most), (fewest, several), (small, large), *_ = ends
    call, link, hop, cards, share = (rounded(float(x), 5) for x in (*best * scale, best[3]))
    return ExchangeFit(
        call, link, hop, cards, share if speed > 1 else 0.0, (int(least), int(most)),
        (int(fewest), int(several)), (small, large), error, error_p90,
        *(tuple(rounded(x, 4) for x in end.tolist()) for end in ends_of_draws),
    )  # fmt: skip


def seconds(operation: str, rows: Array, numbers: Array) -> Array:
    """Of every row by (a call, a link, a hop, cards beside their speed): (rows,)."""
    call, link, hop, cards = numbers
    starts = rows[:, STARTS]
    tiers = Tiers(link, cards * rows[:, SPEED], 1.0, 1.0, 1.0, 1.0, call * starts, hop * starts)
    one = Group(rows[:, RANKS], rows[:, NODES], np.ones(len(rows)))
    return _PRICES[operation](tiers, one, rows[:, BYTES])


def solve(operation: str, rows: Array, first: Array) -> Array:
    """The four numbers that fit rows best, near ``first`` where no row tells: (4,).

    Where no group on one node was measured, its call takes nothing and its links hide behind cards.
    """
    free = np.repeat([np.any(rows[:, NODES] == 1), np.any(rows[:, NODES] > 1)], 2)
    numbers = np.where(free, first, (1e-12, 1e18, 1e-12, 1e18))
    measured = np.log(rows[:, SECONDS])

    def off(logs: Array) -> Array:
        numbers[free] = np.exp(logs)
        error = np.log(seconds(operation, rows, numbers)) - measured
        return np.concatenate([error, HELD * (logs - np.log(first[free]))])

    found = least_squares(off, np.log(first[free]), loss="soft_l1", f_scale=LOSS_SCALE)
    numbers[free] = np.exp(found.x)
    return numbers


def _folds(rows: Array) -> NDArray[np.intp]:
    """Rank counts, where both tiers keep one when another is left out; else thirds of the sizes."""
    tiers = (rows[rows[:, NODES] == 1, RANKS], rows[rows[:, NODES] > 1, RANKS])
    by_sizes = any(np.unique(ranks).size == 1 for ranks in tiers)
    groups = np.unique(rows[:, BYTES if by_sizes else RANKS], return_inverse=True)[1]
    return groups % SIZE_FOLDS if by_sizes else groups
