"""What other models say of a fleet's upgrades, beside the one that prices it.

The PAI paper's formula adds up what a step takes, unless the study lets all of it overlap. Which of
the two holds of a fleet's jobs is not known before one of them is measured, and much hangs on it.
So where the study does not say, the formula is asked again with the other. dse's own model
(:mod:`.model_comparison`) is always asked: with latency, copies and overlap with the backward pass,
without the last where the study says that nothing overlaps.

Both are asked of :data:`FOLLOWED` jobs, of each class as many as its share. The fleet's model is
asked of the same, so that it is the models that differ, not the jobs::

    speedup = speedup of all jobs by the fleet's model * speedup of some by the other
              / speedup of the same by the fleet's
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from dse.fleet.document import ByModel
from dse.fleet.intervals import followed
from dse.fleet.measured_costs import Measured
from dse.fleet.model_comparison import Effects, step_s
from dse.fleet.money import of_upgrade, terms, worth_after_move
from dse.fleet.moved_jobs import AfterMove, Seconds, after_move
from dse.fleet.population import Group
from dse.fleet.study import FleetStudy
from dse.fleet.upgrades import SpeedupSums
from dse.model.arrays import Array
from dse.model.pai import Hardware, Jobs, step_times

IDEAL, NONE, OWN, OWN_UNHIDDEN = "ideal", "none", "own", "own-unhidden"

FOLLOWED = 20_000  # jobs


def by_other_models(
    study: FleetStudy,
    groups: Sequence[Group],
    hardware: Hardware,
    known: Measured,
    upgraded: Mapping[str, float],
    moved: AfterMove | None,
) -> tuple[ByModel, ...]:
    """Every upgrade by every other model.

    groups: the fleet's jobs. known: measured costs. upgraded: the speedup of all jobs by each
    upgrade, by GPU-hours, as the fleet's own model has it; moved: the same after a move.
    """
    some = tuple(followed(groups, FOLLOWED))
    at = terms(study, study.money) if study.money is not None else None
    own = _speedups(study, some, hardware, paper(study.overlapped))
    own_moved = _after_move(study, some, hardware, paper(study.overlapped), moved)
    out = []
    for name, seconds in _models(study, known):
        found = _speedups(study, some, hardware, seconds)
        also = _after_move(study, some, hardware, seconds, moved)
        if moved is not None and own_moved is not None and also is not None:
            also = AfterMove(moved.target, moved.move * also.move / own_moved.move, {
                one: speedup * also.upgrades[one] / own_moved.upgrades[one]
                for one, speedup in moved.upgrades.items()
            })  # fmt: skip
        for upgrade in study.upgrades:
            speedup = upgraded[upgrade.name] * found[upgrade.name] / own[upgrade.name]
            if at is None:
                out.append(ByModel(name, upgrade.name, speedup, None))
                continue
            worth = of_upgrade(at, upgrade, speedup)[0]
            after = None if also is None else worth_after_move(at, worth, also)
            out.append(ByModel(name, upgrade.name, speedup, worth.net_usd_per_year, after))
    return tuple(out)


def _after_move(
    study: FleetStudy,
    some: Sequence[tuple[Group, float]],
    hardware: Hardware,
    seconds: Seconds,
    moved: AfterMove | None,
) -> AfterMove | None:
    """What the upgrades gain some jobs after the same move, by another model."""
    if moved is None:
        return None
    memory = study.gpu_memory_bytes
    return after_move(some, moved.target, hardware, study.upgrades, seconds, memory)


def _speedups(
    study: FleetStudy, some: Sequence[tuple[Group, float]], hardware: Hardware, seconds: Seconds
) -> dict[str, float]:
    """By upgrade, the speedup of some jobs by GPU-hours. some: with how many each stands for."""
    before = [seconds(group.architecture, group.jobs, hardware) for group, _ in some]
    out = {}
    for upgrade in study.upgrades:
        faster, sums = upgrade.applied(hardware), SpeedupSums()
        for (group, stands_for), own in zip(some, before, strict=True):
            run_hours, gpu_hours = stands_for * group.run_hours, stands_for * group.gpu_hours
            after = seconds(group.architecture, group.jobs, faster)
            sums.add(own, after, run_hours, gpu_hours)
        out[upgrade.name] = sums.result().gpu_hours
    return out


def _models(study: FleetStudy, known: Measured) -> Iterator[tuple[str, Seconds]]:
    if not study.overlap_told:
        yield (NONE if study.overlapped else IDEAL), paper(not study.overlapped)
    unhidden = study.overlap_told and not study.overlapped
    effects = Effects(software=True, overlapped=not unhidden, measured=known)
    yield (OWN_UNHIDDEN if unhidden else OWN), _own(effects)


def paper(overlapped: bool) -> Seconds:
    """The formula, with or without ideal overlap."""

    def seconds(architecture: str, jobs: Jobs, hardware: Hardware) -> Array:
        return step_times(architecture, jobs, hardware).total_s(overlapped)

    return seconds


def _own(effects: Effects) -> Seconds:
    """dse's own model."""

    def seconds(architecture: str, jobs: Jobs, hardware: Hardware) -> Array:
        return step_s(architecture, jobs, hardware, effects)[0]

    return seconds
