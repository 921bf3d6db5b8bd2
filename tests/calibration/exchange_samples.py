"""Times of operations by known parameters, over nodes of up to eight ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dse.calibration.experiment import Experiment, Measurement
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.mesh import Group

CARDS = 50e9
TRUE = Tiers(
    300e9, CARDS, all_reduce=0.8, halves=0.6, exchange=0.5, call_s=20e-6, hop_s=10e-6, sends=0.7,
    all_reduce_across=0.9, halves_across=0.75, exchange_across=0.4, sends_across=0.65,
)  # fmt: skip
KINDS = {
    "allreduce": Tiers.all_reduce_s, "all_gather": Tiers.halves_s, "reduce_scatter": Tiers.halves_s,
    "alltoall": Tiers.exchange_s, "sendrecv": Tiers.send_s,
}  # fmt: skip
SIZES = tuple(1024 * 4**k for k in range(10))
PLACES = ((2, 1), (4, 1), (8, 1), (16, 2), (32, 4), (64, 8))


def measured(
    names: tuple[str, ...] = tuple(KINDS), noise: float = 0.0, cards: float | None = CARDS
) -> list[Measurement]:
    """Times by TRUE. noise: standard deviation of their logarithm."""
    random, found = np.random.default_rng(3), []
    for name in names:
        for ranks, nodes in PLACES:
            where = Group(*(np.array([float(v)]) for v in (ranks, nodes, 1)))
            for size in SIZES:
                exact = float(KINDS[name](TRUE, where, float(size))[0])
                seconds = exact * float(np.exp(noise * random.standard_normal()))
                link, speed = ("ib", cards) if nodes > 1 else ("intra-node", None)
                place = (ranks, ranks // nodes, nodes, link, size, 20, seconds)
                one = Measurement("nccl", "nccl", "2.29", 1, "auto", *place, collective=name)
                found.append(replace(one, link_bytes_per_s=speed))
    return found


def experiment(samples: list[Measurement]) -> Experiment:
    return Experiment("made-up", "2026-01-31", "0", None, tuple(samples))
