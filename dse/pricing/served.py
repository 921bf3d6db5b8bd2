"""Parameter servers of a study, priced by those that a profile measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from dse.calibration.number_text import short, span_text
from dse.calibration.prediction import octaves_outside
from dse.calibration.ps_part import ServersFit
from dse.model.arrays import Array, Mask
from dse.model.collectives import node_count
from dse.model.parameter_server import MeasuredServers

if TYPE_CHECKING:
    from dse.pricing.setting import Setting

Check: TypeAlias = tuple[Mask, Callable[[], str]]  # which points pass, and what to say of one else


def cost(setting: Setting) -> MeasuredServers | None:
    """What was measured, for a machine of its own for every worker and server; draws if asked."""
    part = setting.served
    if part is None:
        return None
    if setting.problem.draws:
        return part.drawn(setting.problem.draw_count, setting.rank, apart=True)
    return part.cost(apart=True)


def checks(setting: Setting, part: ServersFit, same_speed: float) -> Iterator[Check]:
    """What a point must have in common with the servers measured, besides its messages.

    same_speed: the factor within which two links are called equal.
    """
    workers = node_count(setting.gpus, setting.gpus_per_node)
    for what, counts, limits in (
        ("workers", workers, part.workers), ("servers", setting.servers, part.servers),
    ):  # fmt: skip
        yield _within(what, counts, limits)
    yield from _likeness(setting, part, same_speed)


def _within(what: str, counts: Array, limits: tuple[int, int]) -> Check:
    few, many = limits
    return (
        np.asarray((counts >= few) & (counts <= many)),
        lambda: f"{_one(counts):,.0f} {what}; measured {span_text(few, many)}",
    )


def _likeness(setting: Setting, part: ServersFit, same_speed: float) -> Iterator[Check]:
    """Machines and link as measured."""
    shared = part.cores
    together = f"all processes on one machine of {shared or 0:g} cores"
    yield (
        np.asarray(shared is None),
        lambda: f"a machine for every worker and server; measured {together}",
    )
    yield (
        np.asarray(~setting.colocated),
        lambda: "servers on the workers' machines; measured beside them",
    )
    local = np.minimum(setting.gpus, setting.gpus_per_node)
    yield (
        np.asarray(local <= 1),
        lambda: f"{_one(local):,.0f} accelerators a worker; measured 1",
    )
    slow, fast = part.link_bytes_per_s
    speed = 1.0 / setting.network.wire_s_per_byte()
    ends = " to ".join(dict.fromkeys(short(8e-9 * end) for end in (slow, fast)))
    measured = f"at {ends} Gbps" if fast > 0 else "over no link of known speed"
    yield (
        np.asarray((speed * same_speed >= slow) & (speed <= fast * same_speed)),
        lambda: f"a link of {short(8e-9 * _one(speed))} Gbps; measured {measured}",
    )


def log_spread(setting: Setting, part: ServersFit, same_speed: float, widening: float) -> Array:
    """Standard deviation of the logarithm besides the draws', in the points' shape.

    It grows with every doubling of workers, servers and bytes beyond what was measured, and is
    ``widening`` times that where machines or link are not alike.
    """
    workers = node_count(setting.gpus, setting.gpus_per_node)
    sizes = np.array([bucket.message_bytes for bucket in setting.buckets] or [1.0])
    octaves = (
        octaves_outside(workers, part.workers)
        + octaves_outside(setting.servers, part.servers)
        + float(octaves_outside(sizes, part.message_bytes).max())
    )
    alike = np.asarray(True)
    for mask, _ in _likeness(setting, part, same_speed):
        alike = alike & mask
    return np.asarray(part.log_spread(octaves) * np.where(alike, 1.0, widening))


def _one(values: Array) -> float:
    return float(np.ravel(values)[0])
