"""What accelerators reach when they train, one row per value of the axis that decides them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from dse import catalog
from dse.calibration import Profile
from dse.catalog.computing import OTHER
from dse.model.arrays import Array, ArrayLike
from dse.model.compute import Device, roofline_device
from dse.model.products import ProductLaw
from dse.model.stack import Footprint, Stack
from dse.pricing import anchors, hardware
from dse.pricing.efficiency import DEFAULT_EFFICIENCY, USUAL_UNITS, measured
from dse.pricing.hardware import Machine, column, number

USUAL_STACK = "vendor"  # where a study has no such axis
# Precisions with a fused attention kernel, which runs in 16 bits.
FUSED_ATTENTION = ("fp16", "bf16", "fp8")


def by_law(
    machines: Sequence[Machine],
    precision: str,
    kernels: str,
    log_factors: Sequence[float] = (),
    profiles: Iterable[Profile] = (),
    memory_efficiency: float | None = None,
) -> Device:
    """By the laws of their generations or as profiles have measured them, and by what published
    training has left of both; arrays (machines,).

    kernels: of attention, one of :data:`dse.catalog.computing.KERNELS`. log_factors: what is left,
    see :func:`.anchors.log_factor`; without any, no factor is applied. memory_efficiency: of
    element-wise kernels where the study gives it.
    """
    known, profiles = catalog.computing(), tuple(profiles)
    chips = [machine.accelerator for machine in machines]
    laws = [known.law(chip, precision) for chip in chips]
    timed = [measured(profiles, chip, precision) for chip in chips]
    reached = [
        found.efficiency if found else known.efficiency(chip, precision)
        for found, chip in zip(timed, chips, strict=True)
    ]
    # A rate that was measured for long has slowed down already.
    slowdown = [
        1.0 if found and found.sustained else known.sustained_slowdown(chip, precision)
        for found, chip in zip(timed, chips, strict=True)
    ]
    flops, memory = _peaks(machines, precision), _memory_speed(machines)
    law = ProductLaw(
        flops_per_s=flops,
        bytes_per_s=memory,
        efficiency=column(reached, float),
        extra_k=column(laws, lambda law: law.extra_k),
        start_s=column(laws, lambda law: law.start_s),
        memory_efficiency=column(laws, lambda law: law.memory_efficiency),
        small_tile=column(laws, lambda law: law.small_tile),
        units=column(chips, lambda chip: chip.units or USUAL_UNITS),
        slowdown=column(slowdown, float),
        convolution=column(laws, lambda law: law.convolution),
        winograd=column(laws, lambda law: law.winograd),
    )
    share = column(laws, lambda law: law.attention_share(kernels))
    return Device(
        law=law,
        memory_bytes_per_s=memory,
        memory_bytes=column(machines, lambda m: number(m.accelerator.memory_bytes)),
        host_bytes_per_s=column(machines, lambda m: m.host_bytes_per_s),
        memory_efficiency=memory_efficiency or known.elementwise_efficiency,
        attention_flops=_attention_peaks(machines, precision) * share,
        factor=np.exp(log_factors) if len(log_factors) else 1.0,
        most=known.most_of_products,
        grouped_rows=column(chips, lambda chip: known.grouped_rows.get(
            chip.generation or OTHER, known.grouped_rows[OTHER]
        )),
    )  # fmt: skip


def under(
    machines: Sequence[Machine],
    precision: str,
    stack: str,
    log_factors: Sequence[float] = (),
    profiles: Iterable[Profile] = (),
    memory_efficiency: float | None = None,
) -> Device:
    """See :func:`by_law`, with the kernels of a stack and its launches."""
    known = catalog.computing().stacks[stack]
    found = by_law(machines, precision, known.kernels, log_factors, profiles, memory_efficiency)
    taken = [known.launches_s.get(m.accelerator.generation or OTHER) for m in machines]
    return replace(found, launch=column(taken, lambda s: 1.0 if s is None else s / known.launch_s))


def alone(network: catalog.Workload, accelerator: str, precision: str, stack: str) -> Device:
    """One accelerator that trains a network, apart from any study; arrays of shape ()."""
    machines = hardware.machines("accelerator", [accelerator], catalog.default_prices())
    kind = anchors.levels(network, machines[0].accelerator, precision, stack)
    left = anchors.log_factor(catalog.anchors(), kind)
    return under(machines, precision, stack, [left]).take(np.zeros((), dtype=np.int64))


def software(name: str) -> Stack:
    """A stack of the catalogue."""
    found, footprint = catalog.computing().stacks[name], catalog.footprints()[name]
    taken = {key: value for key, value in vars(footprint).items() if key != "facts"}
    return Stack(name, found.eager, found.launch_s, found.fuses_attention, Footprint(**taken))


def by_share(
    machines: Sequence[Machine], precision: str, compute: float | None, memory: float | None
) -> Device:
    """At the same shares of both peaks, :data:`DEFAULT_EFFICIENCY` where None; (machines,)."""
    share = compute or DEFAULT_EFFICIENCY
    return roofline_device(
        _peaks(machines, precision),
        _memory_speed(machines),
        column(machines, lambda m: number(m.accelerator.memory_bytes)),
        column(machines, lambda m: m.host_bytes_per_s),
        share,
        memory or DEFAULT_EFFICIENCY,
        _attention_peaks(machines, precision) * share,
    )


def _peaks(machines: Sequence[Machine], precision: str) -> Array:
    return column(machines, lambda m: number(m.accelerator.peak_flops_per_s.get(precision)))


def _memory_speed(machines: Sequence[Machine]) -> Array:
    return column(machines, lambda m: number(m.accelerator.memory_bytes_per_s))


def _attention_peaks(machines: Sequence[Machine], precision: str) -> ArrayLike:
    """FLOP/s of the format in which fused attention runs; NaN where there is none."""
    if precision not in FUSED_ATTENTION:
        return float("nan")
    half = "fp16" if precision == "fp16" else "bf16"
    return _peaks(machines, half)
