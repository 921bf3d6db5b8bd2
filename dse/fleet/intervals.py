"""90 % intervals of a fleet's numbers: which jobs were seen, and what share of its peak each
resource reaches.

Every number here is a ratio of two sums over jobs, ``sum a / sum b``. Two things move it:

- **Jobs.** Those seen are taken to be a sample of those that the fleet runs. They are put at random
  into :data:`BLOCKS` blocks (each job its own where there are fewer), and blocks are drawn with
  replacement (the bootstrap of Efron, Annals of Statistics 7, 1979), so that a million jobs cost no
  more than a thousand.
- **Constants.** The model gives all resources one share e of their peaks. Here each resource has
  its own, ``e / f`` with f log-normal and at most 1: as wide as steps at given shares of both peaks
  err for the accelerator and its memory (:data:`~dse.pricing.uncertainty.SHARES_SPREAD`), as links
  do in the closed model for PCIe, Ethernet and NVLink (``LINKS_SPREAD``). All jobs, before and
  after an upgrade or a move, have the same draws. They are followed on :data:`FOLLOWED` jobs.

Both are independent, so that a draw adds their departures: of logarithms for speedups, of the
numbers for shares. In money, prices of the catalogue are drawn as well (:mod:`.money`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dse.fleet.breakdown import LEVELS, Priced, priced, shares, weights
from dse.fleet.document import Band, FleetIntervals, MoneyBand
from dse.fleet.population import Group
from dse.fleet.ports import move
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import FIELDS
from dse.model.arrays import Array, ArrayLike
from dse.model.pai import PS_WORKER, Hardware, Jobs, step_times
from dse.pricing.draws import normal
from dse.pricing.uncertainty import INTERVAL, LINKS_SPREAD, SHARES_SPREAD

DRAWS = 500
BLOCKS = 1000
FOLLOWED = 1000  # jobs whose times are drawn; constants move many jobs as they move these
FEW = 30  # jobs; fewer say little of how much jobs differ
SPREADS = {"gpu": SHARES_SPREAD, "memory": SHARES_SPREAD,
           "pcie": LINKS_SPREAD, "ethernet": LINKS_SPREAD, "nvlink": LINKS_SPREAD}  # fmt: skip
# Kinds of numbers, and the names of those that have several.
TIME, UPGRADE, PORT = "time", "upgrade", "port"
COMPUTING = "computing"  # compute-bound and memory-bound work together
MEAN_OF_RATIOS, AGGREGATE, GPU_HOURS = "mean_of_ratios", "aggregate", "gpu_hours"
GAIN_PER_CNODE, GAIN_THROUGHPUT, FLEET = "gain_per_cnode", "gain_throughput", "fleet_speedup"
SPEEDUPS = (MEAN_OF_RATIOS, AGGREGATE, GPU_HOURS, FLEET)


class Number(NamedTuple):
    """Which number: its kind, of what (a component, an upgrade, an architecture), and counted how
    (a level, a way to sum up speedups, a gain)."""

    kind: str
    of: str
    way: str


class Part(NamedTuple):
    """The share of a class in a number's two sums, each (jobs,) or (draws, jobs)."""

    number: Number
    above: ArrayLike
    below: ArrayLike


@dataclass(frozen=True)
class Drawn:
    """A number of a fleet. best: by the jobs seen and one share of all peaks. jobs, both: draws of
    it, (draws,), over which jobs were seen alone, and over constants, too."""

    best: float
    jobs: Array
    both: Array


def ends(best: float, draws: Array) -> tuple[float, float]:
    """The 90 % interval of draws, (draws,), stretched to the best estimate where they miss it."""
    known = draws[np.isfinite(draws)]
    if not len(known):
        return best, best
    low, high = np.percentile(known, INTERVAL)
    return min(float(low), best), max(float(high), best)


def drawn(
    study: FleetStudy, found: Sequence[Priced], hardware: Hardware, draws: int = DRAWS
) -> dict[Number, Drawn]:
    """Every headline number of a fleet: shares of time, speedups by upgrade, gains by port.

    found: its jobs priced on ``hardware``.
    """
    best, jobs = _over_jobs(study, found, hardware, draws)
    constants = _over_constants(study, [entry.group for entry in found], hardware, draws)
    out = {}
    for number, value in best.items():
        way, off = (np.log if number.way in SPEEDUPS else np.asarray), constants[number]
        departed = way(jobs[number]) + way(off[1:]) - way(off[:1])
        both = np.exp(departed) if way is np.log else np.clip(departed, 0.0, 1.0)
        out[number] = Drawn(value, jobs[number], both)
    return out


def parts(
    entry: Priced,
    study: FleetStudy,
    hardware: Hardware,
    factors: dict[str, Array] | None = None,
) -> Iterator[Part]:
    """The parts of a class in the sums of each number.

    entry: priced on ``hardware`` at these factors. factors: by resource, by what it is slower,
    (draws, 1).
    """
    group, before = entry.group, entry.total_s
    found = shares(entry.times)
    found[COMPUTING] = found["flops"] + found["memory"]
    for level in LEVELS:
        counted = weights(group, level)
        for component, share in found.items():
            yield Part(Number(TIME, component, level), share * counted, counted)
    hours, run_hours, ones = group.gpu_hours, group.run_hours, np.ones(group.size)
    place = slowed(hardware, factors)
    for upgrade in study.upgrades:
        faster = slowed(upgrade.applied(hardware), factors)
        after = step_times(group.architecture, group.jobs, faster).total_s(study.overlapped)
        left = after / before
        name = upgrade.name
        yield Part(Number(UPGRADE, name, MEAN_OF_RATIOS), 1 / left, ones)
        yield Part(Number(UPGRADE, name, AGGREGATE), run_hours, run_hours * left)
        yield Part(Number(UPGRADE, name, GPU_HOURS), hours, hours * left)
    for to in study.ports:
        left = ones
        if group.architecture == PS_WORKER:
            gains = move(group, before, to, place, study.overlapped, study.gpu_memory_bytes)
            yield Part(Number(PORT, to, GAIN_PER_CNODE), gains.gains_per_cnode.astype(float), ones)
            more = gains.gains_throughput.astype(float)
            yield Part(Number(PORT, to, GAIN_THROUGHPUT), more, ones)
            # Of its GPU-hours what each needs if it moves where it gains per cNode.
            left = np.where(gains.gains_per_cnode, 1 / gains.per_cnode, 1.0)
        yield Part(Number(PORT, to, FLEET), hours, hours * left)


def slowed(hardware: Hardware, factors: dict[str, Array] | None) -> Hardware:
    """The hardware of which each resource reaches so many times less; None: as it is."""
    if factors is None:
        return hardware
    peaks: dict[str, Any] = {
        field: np.asarray(getattr(hardware, field)) / factors[name]
        for name, field in FIELDS.items()
    }
    return replace(hardware, **peaks)


def factors_of(hardware: Hardware, draws: int) -> dict[str, Array]:
    """By resource, by what it is slower than by the one efficiency, (draws, 1). No resource reaches
    more than its peak."""
    least = np.asarray(hardware.efficiency, dtype=np.float64)
    return {
        name: np.maximum(np.exp(spread * normal(f"fleet: {name}", draws)), least)[:, np.newaxis]
        for name, spread in SPREADS.items()
    }


def _over_jobs(
    study: FleetStudy, found: Sequence[Priced], hardware: Hardware, draws: int
) -> tuple[dict[Number, float], dict[Number, Array]]:
    """Best estimates, and draws over which jobs were seen, (draws,)."""
    size = sum(entry.group.size for entry in found)
    count = min(size, BLOCKS)
    random = np.random.default_rng(0)
    order = random.permutation(size) % count
    ends = np.cumsum([0, *(entry.group.size for entry in found)])
    sums: dict[Number, Array] = {}
    for entry, first in zip(found, ends, strict=False):
        block = order[first : first + entry.group.size]
        for number, *columns in parts(entry, study, hardware, None):
            own = np.stack([  # sums over the jobs of every block
                np.bincount(block, np.broadcast_to(column, block.shape), count).astype(float)
                for column in columns
            ])  # fmt: skip
            sums[number] = sums.get(number, 0.0) + own
    picked = random.multinomial(count, np.full(count, 1 / count), draws).astype(float)
    best = {number: float(own[0].sum() / own[1].sum()) for number, own in sums.items()}
    drawn = {number: _quotient(*(own @ picked.T)) for number, own in sums.items()}
    return best, drawn


def _over_constants(
    study: FleetStudy, groups: Sequence[Group], hardware: Hardware, draws: int
) -> dict[Number, Array]:
    """On some of the jobs: at the best constants, and by draws of them, (1 + draws,)."""
    factors = {
        name: np.concatenate([np.ones((1, 1)), drawn])
        for name, drawn in factors_of(hardware, draws).items()
    }
    place = slowed(hardware, factors)
    sums: dict[Number, Array] = {}
    for group, stands_for in followed(groups, FOLLOWED):
        (entry,) = priced([group], place, study.overlapped)
        for number, *columns in parts(entry, study, hardware, factors):
            shape = (1 + draws, group.size)
            own = stands_for * np.stack([
                np.broadcast_to(np.asarray(c, dtype=np.float64), shape).sum(axis=1)
                for c in columns
            ])  # fmt: skip
            sums[number] = sums.get(number, 0.0) + own
    return {number: _quotient(*own) for number, own in sums.items()}


def followed(groups: Sequence[Group], most: int) -> Iterator[tuple[Group, float]]:
    """Some of the jobs of each class, about ``most`` in all, and how many of the class stand behind
    one; all of them where there are no more."""
    share = min(1.0, most / sum(group.size for group in groups))
    for group in groups:
        count = min(group.size, max(round(share * group.size), FEW))
        at = np.random.default_rng(0).choice(group.size, count, replace=False)
        yield _only(group, at), group.size / count


def _only(group: Group, at: NDArray[np.intp]) -> Group:
    """Some of the jobs of a class."""

    def of(values: ArrayLike) -> Array:
        whole = np.asarray(values, dtype=np.float64)
        return whole[at] if whole.ndim else whole

    some = Jobs(**{name: of(values) for name, values in vars(group.jobs).items()})
    return Group(group.architecture, some, of(group.gpu_hours), of(group.state_bytes))


def _quotient(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):  # no job of the class was drawn
        return np.asarray(above / below)


def intervals(
    found: Mapping[Number, Drawn], groups: Sequence[Group], money: tuple[MoneyBand, ...]
) -> FleetIntervals:
    """The draws of every headline number for the document. groups: the jobs; money: its own."""
    moving = any(group.architecture == PS_WORKER for group in groups)
    return FleetIntervals(
        draws=DRAWS,
        spreads=dict(SPREADS),
        few_jobs=sum(group.size for group in groups) < FEW,
        numbers=tuple(
            Band(*number, own.best, *ends(own.best, own.both), *ends(own.best, own.jobs))
            for number, own in found.items()
            if moving or number.kind != PORT
        ),
        money=money,
    )
