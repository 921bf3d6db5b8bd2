"""What exchanges of a layout reach and take, as profiles or else the catalogue have it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.calibration.profile import ALLREDUCE, ALLTOALL, HALVES, SEND, ExchangeFit, Profile
from dse.catalog.exchanges import OTHER, exchanges
from dse.model.arrays import ArrayLike, Mask
from dse.model.parallel.exchanges import Tiers
from dse.model.parallel.layouts import ALL_GATHER, ALL_TO_ALL, RING, Layouts

# Share of Tiers -> the operations that tell it; the first ones' call and hop stand for all.
OPERATIONS: Mapping[str, tuple[str, ...]] = {
    "halves": HALVES, "all_reduce": (ALLREDUCE,), "exchange": (ALLTOALL,), "sends": (SEND,),
}  # fmt: skip
TITLES = {"halves": "all-gather and reduce-scatter", "all_reduce": "all-reduce",
          "exchange": "all-to-all", "sends": "sends"}  # fmt: skip


@dataclass(frozen=True)
class KnownTiers:
    """tiers: the parameters. measured: names of those that profiles tell."""

    tiers: Tiers
    measured: frozenset[str]

    def untold(self, at: Layouts, summed: Mask) -> Mapping[str, Mask]:
        """Layouts that exchange what no profile tells, by its share of tiers. summed: those whose
        gradients are summed in another way."""
        mesh, split, exchange = at.mesh, at.sequence_parallel, np.asarray(at.exchange)
        (shared, copies), every = mesh.gradients.split(at.shards), np.ones((), dtype=bool)
        found: dict[str, Mask] = {}
        for name, group, where in (
            ("halves", mesh.tensors, split), ("all_reduce", mesh.tensors, ~split),
            ("sends", mesh.contexts, exchange == RING), ("sends", mesh.stages, every),
            ("exchange", mesh.contexts, exchange == ALL_TO_ALL), ("exchange", mesh.experts, every),
            ("halves", mesh.contexts, exchange == ALL_GATHER), ("halves", shared, every),
            ("halves", mesh.expert_tensors, every), ("all_reduce", copies, ~summed),
        ):  # fmt: skip
            inside, across = (tier not in self.measured for tier in (name, f"{name}_across"))
            new = where & ((inside & (group.inside > 1)) | (across & (group.nodes > 1)))
            found[name] = found.get(name, ~every) | new
        return found


def tiers(
    link_bytes_per_s: ArrayLike,
    cards_bytes_per_s: ArrayLike,
    profiles: Sequence[Profile] = (),
    generation: str = OTHER,
    network: str = OTHER,
    sockets_bytes_per_s: ArrayLike = np.inf,
) -> KnownTiers:
    """Tiers on links and cards of these speeds, as :class:`Tiers` has them.

    profiles: those that suit; the first that measured an operation tells it. generation: of the
    accelerators. network: name of the fabric between nodes. sockets_bytes_per_s: of the cards by
    NCCL's TCP sockets. All-gather and reduce-scatter are one share; where both were measured, their
    geometric mean.
    """
    usual = exchanges()
    part = next((name for name in usual.hop_s if name in network), OTHER)
    shares = usual.reached.get(generation, usual.reached[OTHER])
    call_s, step_s = (times.get(generation, times[OTHER]) for times in (usual.call_s, usual.step_s))
    values: dict[str, ArrayLike] = {
        "call_s": call_s, "hop_s": usual.hop_s[part], "shared": usual.shared[part],
    }  # fmt: skip
    measured = set[str]()

    def tell(name: str, found: float | None, whole: ArrayLike = 1.0) -> None:
        if found:
            values[name] = found / np.maximum(whole, 1.0)
            measured.add(name)

    fits = {name: _first(operations, profiles) for name, operations in OPERATIONS.items()}
    for name, own in fits.items():
        across = f"{name}_across"
        values[name] = shares.get(name, shares["halves"])
        tell(name, _mean(own, "link_bytes_per_s"), link_bytes_per_s)
        tell(across, _mean(own, "cards_bytes_per_s"), cards_bytes_per_s)
        if own and all(fit.cards_share for fit in own):
            values[across] = float(np.exp(np.mean(np.log([fit.cards_share for fit in own]))))
    for number in ("call_s", "hop_s"):
        tell(number, next(filter(None, (_mean(own, number) for own in fits.values())), None))
    values["step_s"] = 0.0 if "call_s" in measured else step_s  # a fit's calls have all of it
    if any(name.endswith("_across") for name in measured):
        values["shared"] = Tiers.shared  # as the fits have it
    cards = np.minimum(usual.cards[part], sockets_bytes_per_s / np.asarray(cards_bytes_per_s))
    if "all_reduce_across" not in values and np.isfinite(sockets_bytes_per_s):
        values["all_reduce_across"] = np.minimum(values["all_reduce"], cards)
    found = Tiers(link_bytes_per_s, cards_bytes_per_s, **values, cards=cards)
    return KnownTiers(found, frozenset(measured))


def _first(operations: Iterable[str], profiles: Sequence[Profile]) -> list[ExchangeFit]:
    """Of each operation the fit of the first profile that has one."""
    own = ([p.exchanges[name] for p in profiles if name in p.exchanges] for name in operations)
    return [fits[0] for fits in own if fits]


def _mean(fits: Sequence[ExchangeFit], number: str) -> float | None:
    """Geometric mean of a number; None if unknown."""
    told = [getattr(fit, number) for fit in fits if getattr(fit, number)]
    return float(np.exp(np.log(told).mean())) if told else None
