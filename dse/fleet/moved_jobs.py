"""What upgrades gain once the jobs have moved that a move makes faster.

On any hardware a job of the moving class is where each of its cNodes is faster, as it is or in
architecture ``to``. Its place may differ between the base and an upgrade. So a move and an upgrade
together never save less than either does alone, and, by GPU-hours of all jobs::

    speedup by the upgrade after the move = GPU-hours after the move, on the base
                                            / GPU-hours after the move, on the upgrade
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dse.fleet.document import Port
from dse.fleet.population import Group
from dse.fleet.ports import GAIN, moved_to, state_fits
from dse.fleet.upgrades import Upgrade
from dse.model.arrays import Array
from dse.model.pai import PS_WORKER, Hardware, Jobs, placed_cnodes

Seconds = Callable[[str, Jobs, Hardware], Array]  # of a step of each job of a class, (jobs,)


@dataclass(frozen=True)
class AfterMove:
    """Speedups of all jobs by GPU-hours: by the move to ``target`` alone, and by upgrade, what each
    gains after the move."""

    target: str
    move: float
    upgrades: Mapping[str, float]


def best_target(ports: Iterable[Port]) -> str:
    """Where the move leads that frees most GPU-hours; empty where none frees any."""
    best = max(ports, key=lambda port: port.fleet_speedup_by_gpu_hours, default=None)
    return best.target if best is not None and best.fleet_speedup_by_gpu_hours > GAIN else ""


def after_move(
    groups: Sequence[tuple[Group, float]],
    to: str,
    hardware: Hardware,
    upgrades: Sequence[Upgrade],
    seconds: Seconds,
    gpu_memory_bytes: float | None,
) -> AfterMove:
    """Of jobs, each with how many it stands for, that move to architecture ``to``.

    gpu_memory_bytes: None where not known; else a job whose state does not fit does not move.
    """
    before = [seconds(group.architecture, group.jobs, hardware) for group, _ in groups]

    def gpu_hours(on: Hardware) -> float:
        return sum(
            stands_for
            * float(group.gpu_hours @ (_fastest_s(group, to, on, seconds, gpu_memory_bytes) / own))
            for (group, stands_for), own in zip(groups, before, strict=True)
        )

    moved = gpu_hours(hardware)
    whole = sum(stands_for * float(group.gpu_hours.sum()) for group, stands_for in groups)
    return AfterMove(
        target=to,
        move=whole / moved,
        upgrades={one.name: moved / gpu_hours(one.applied(hardware)) for one in upgrades},
    )


def _fastest_s(
    group: Group, to: str, hardware: Hardware, seconds: Seconds, gpu_memory_bytes: float | None
) -> Array:
    """Seconds of a step where each cNode is faster, as it is or in architecture ``to``, (jobs,)."""
    own = seconds(group.architecture, group.jobs, hardware)
    if group.architecture != PS_WORKER:
        return own
    placed = placed_cnodes(to, group.cnodes, hardware.gpus_per_server)
    after = seconds(to, moved_to(group.jobs, placed), hardware)
    moves = (own / after > GAIN) & state_fits(group, to, placed, gpu_memory_bytes)
    return np.where(moves, after, own)
